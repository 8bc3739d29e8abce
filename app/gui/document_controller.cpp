#include "app/gui/document_controller.h"

#include <QFileInfo>

#include <cmath>

#include "format/reader.h"
#include "profile/graph_profile_reader.h"
#include "profile/gunzip.h"
#include "profile/trace_reader.h"
#include "session/profile_graph.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

std::filesystem::path fsPath(const QString& path) { return std::filesystem::path(path.toStdU16String()); }

/// A file with its stamp, which is taken before: a change in between is noticed later.
struct StampedFile {
    std::optional<FileStamp> stamp;
    std::shared_ptr<const MappedFile> file;
};

Expected<StampedFile> openStamped(const QString& path) {
    StampedFile stamped{file_stamp(fsPath(path)), nullptr};
    MGS_ASSIGN(stamped.file, MappedFile::open(fsPath(path)));
    return stamped;
}

Expected<std::shared_ptr<const OpenedModel>> openModel(const QString& path, const ReadOptions& options, const StampedFile& stamped,
                                                       const CancelToken& cancel, const Progress& progress) {
    auto opened = std::make_shared<OpenedModel>();
    opened->path = path;
    opened->stamp = stamped.stamp;
    opened->open = options;
    MGS_ASSIGN(opened->model, read_model(stamped.file, options, cancel, progress));
    MGS_ASSIGN(opened->facts, computeGraphFacts(opened->model->main().graph, cancel, progress));
    return opened;
}

/// Times by the operators of a graph; `of_opr` says which operator of the profile each one is.
std::shared_ptr<const OprTimes> timesOf(const GraphProfile& profile, const std::vector<ProfileOprId>& of_opr, const std::string& source) {
    auto times = std::make_shared<OprTimes>();
    times->source = source;
    times->seconds.assign(of_opr.size(), OprTimes::none);
    times->host.assign(of_opr.size(), OprTimes::none);
    const ProfileTimes longest = longest_times(profile);
    for (std::size_t i = 0; i < of_opr.size(); ++i) {
        if (!of_opr[i].valid()) continue;
        const auto& device = longest.device[of_opr[i].index()];
        const auto& host = longest.host[of_opr[i].index()];
        if (host) times->host[i] = host->duration();
        if (const auto& span = device ? device : host) times->seconds[i] = span->kernel_time();
    }
    // Shares are of the whole profile, whether or not all of it was matched.
    for (std::size_t i = 0; i < profile.oprs.size(); ++i)
        if (const auto& span = longest.device[i] ? longest.device[i] : longest.host[i]) times->total += span->kernel_time();
    return times;
}

Expected<std::shared_ptr<const OpenedProfile>> openProfile(const QString& path, const StampedFile& stamped, const TraceReadOptions& range, const CancelToken& cancel,
                                                           const Progress& progress) {
    auto opened = std::make_shared<OpenedProfile>();
    opened->path = path;
    opened->stamp = stamped.stamp;
    opened->range = range;
    const auto& file = stamped.file;
    std::shared_ptr<const Timeline> timeline;
    std::shared_ptr<const MappedFile> plain = file;
    if (is_gzip(file->bytes())) {
        MGS_ASSIGN(plain, gunzip(*file, cancel));
    }
    if (looks_like_graph_profile(plain->bytes())) {
        MGS_ASSIGN(opened->profile, read_graph_profile(plain->bytes(), cancel, progress));
        timeline = timeline_of(opened->profile);
        progress.report("preparing the graph", 0, 0);
        ProfileGraph own = profile_graph(*opened->profile);
        opened->times = timesOf(*opened->profile, own.of_opr, QFileInfo(path).fileName().toStdString());
        opened->ofOpr = std::move(own.of_opr);
        MGS_ASSIGN(opened->facts, graphFactsFrom(std::move(own.graph), std::move(own.info), std::move(own.costs), own.order, cancel));
    } else {
        if (!looks_like_trace(plain->bytes())) {
            // The sniffed sentence speaks of graphs ("…, not a graph"); a profile would do as well.
            std::string what = sniff(plain->bytes()).sentence;
            if (const auto at = what.find(", not a graph"); at != std::string::npos) what.erase(at);
            return fail(ErrorCode::foreign, "This is " + what + ", not a graph, a profile or a list of trace events.");
        }
        MGS_ASSIGN(auto trace, read_trace(plain, range, cancel, progress));
        MGS_ASSIGN(timeline, timeline_of(std::shared_ptr<const TraceEvents>(std::move(trace)), cancel));
    }
    progress.report("preparing the timeline", 0, 0);
    opened->scene = makeTimelineScene(std::move(timeline));
    return opened;
}

} // namespace

Expected<std::shared_ptr<const OpenedModel>> DocumentController::readModelFile(const QString& path, const CancelToken& cancel, const Progress& progress) {
    MGS_ASSIGN(const StampedFile stamped, openStamped(path));
    return openModel(path, {}, stamped, cancel, progress);
}

Expected<std::shared_ptr<const DocumentController::Opened>> DocumentController::openFile(const QString& path, const ReadOptions& options, bool& mayBeEncrypted,
                                                                                         const CancelToken& cancel, const Progress& progress) {
    auto opened = std::make_shared<Opened>();
    if (looksLikeRunRecord(path)) {
        MGS_ASSIGN(opened->record, readRunRecord(path, cancel, progress));
        return opened;
    }
    MGS_ASSIGN(const StampedFile stamped, openStamped(path));
    const auto& file = stamped.file;
    const Sniffed sniffed = sniff(file->bytes());
    switch (sniffed.kind) {
    case FileKind::profile_json:
    case FileKind::json:
    case FileKind::gzip: {
        if (looks_like_static_memory(file->bytes())) {
            MGS_ASSIGN(StaticMemory info, read_static_memory(file->bytes()));
            opened->memory = std::make_shared<const StaticMemory>(std::move(info));
            return opened;
        }
        MGS_ASSIGN(opened->profile, openProfile(path, stamped, {}, cancel, progress));
        return opened;
    }
    default: {
        mayBeEncrypted = sniffed.kind == FileKind::unknown || sniffed.kind == FileKind::packed_model;
        MGS_ASSIGN(opened->model, openModel(path, options, stamped, cancel, progress));
        return opened;
    }
    }
}

DocumentController::DocumentController(JobRunner* jobs, QObject* parent) : QObject(parent), jobs_(jobs) {
    for (const FileWatch* watch : {&modelWatch_, &profileWatch_}) connect(watch, &FileWatch::changedOnDisk, this, &DocumentController::changedOnDisk);
}

void DocumentController::open(const QString& path, const ReadOptions& options) {
    const QString title = tr("Opening %1").arg(QFileInfo(path).fileName());
    const auto mayBeEncrypted = std::make_shared<bool>(false); // written by the job, read after it
    // A profile does not supersede a model that is being opened, so the slot is the path's.
    jobs_->start<Opened>(
        QStringLiteral("open/") + (path.endsWith(QLatin1String(".json"), Qt::CaseInsensitive) || path.endsWith(QLatin1String(".gz"), Qt::CaseInsensitive) ? QStringLiteral("profile") : QStringLiteral("model")),
        title,
        [path, options, mayBeEncrypted](const CancelToken& cancel, const Progress& progress) { return openFile(path, options, *mayBeEncrypted, cancel, progress); },
        this,
        [this, path, mayBeEncrypted](JobRunner::Result<Opened> result) {
            if (!result) {
                if (result.error().code == ErrorCode::cancelled) return;
                emit failed(path, result.error());
                if (*mayBeEncrypted) emit keyWanted(path);
                return;
            }
            if ((*result)->model) {
                setModel((*result)->model);
            } else if ((*result)->record) {
                emit recordOpened((*result)->record);
            } else if ((*result)->memory) {
                emit staticMemoryOpened(path, (*result)->memory);
            } else {
                setProfile((*result)->profile);
            }
        });
}

void DocumentController::openTracePart(const QString& path, const TraceReadOptions& range) {
    jobs_->start<OpenedProfile>(
        QStringLiteral("open/profile"), tr("Opening a part of %1").arg(QFileInfo(path).fileName()),
        [path, range](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const OpenedProfile>> {
            MGS_ASSIGN(const StampedFile stamped, openStamped(path));
            return openProfile(path, stamped, range, cancel, progress);
        },
        this,
        [this, path](JobRunner::Result<OpenedProfile> result) {
            if (!result) {
                if (result.error().code != ErrorCode::cancelled) emit failed(path, result.error());
                return;
            }
            setProfile(*result);
        });
}

void DocumentController::setModel(std::shared_ptr<const OpenedModel> model) {
    model_ = std::move(model);
    modelWatch_.watch(model_->path, model_->stamp);
    emit modelOpened(model_);
    joinProfile();
}

void DocumentController::setProfile(std::shared_ptr<const OpenedProfile> profile) {
    profile_ = std::move(profile);
    profileWatch_.watch(profile_->path, profile_->stamp);
    emit profileOpened(profile_);
    joinProfile();
}

void DocumentController::reload() {
    if (model_) open(model_->path, model_->open);
    if (!profile_ || (model_ && !profileWatch_.changed())) return;
    if (std::isfinite(profile_->range.from) || std::isfinite(profile_->range.to)) openTracePart(profile_->path, profile_->range);
    else open(profile_->path);
}

bool DocumentController::modelIsCurrent() {
    if (!modelWatch_.changed()) return true;
    emit changedOnDisk(model_->path);
    return false;
}

void DocumentController::checkFiles() {
    modelWatch_.check();
    profileWatch_.check();
}

void DocumentController::showGraph(std::uint32_t graph) {
    if (!model_ || graph >= model_->model->graphs.size() || graph == model_->graph) return;
    jobs_->start<OpenedModel>(
        QStringLiteral("open/model"), tr("Preparing graph %1").arg(graph + 1),
        [before = model_, graph](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const OpenedModel>> {
            auto opened = std::make_shared<OpenedModel>(*before);
            opened->graph = graph;
            MGS_ASSIGN(opened->facts, computeGraphFacts(before->model->graphs[graph].graph, cancel, progress));
            return opened;
        },
        this,
        [this](JobRunner::Result<OpenedModel> result) {
            if (result) setModel(*result);
            else if (result.error().code != ErrorCode::cancelled) emit failed(model_ ? model_->path : QString(), result.error());
        });
}

void DocumentController::close() {
    for (const auto* slot : {"open/model", "open/profile", "join"}) jobs_->dropSlot(QLatin1String(slot));
    model_.reset();
    profile_.reset();
    modelWatch_.watch({}, {});
    profileWatch_.watch({}, {});
    emit modelClosed();
}

void DocumentController::joinProfile() {
    if (!model_ || !profile_ || !profile_->profile) return;
    jobs_->start<JoinedProfile>(
        QStringLiteral("join"), tr("Matching the profile with the graph"),
        [facts = model_->facts, opened = profile_](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const JoinedProfile>> {
            auto joined = std::make_shared<JoinedProfile>();
            joined->opened = opened;
            joined->join = join_profile(*facts->graph, facts->info, *opened->profile);
            if (cancel.cancelled()) return CancelToken::error();
            if (joined->join.trustworthy()) joined->times = timesOf(*opened->profile, joined->join.of_opr, QFileInfo(opened->path).fileName().toStdString());
            return joined;
        },
        this,
        [this](JobRunner::Result<JoinedProfile> result) {
            if (result) emit profileJoined(*result);
        });
}

} // namespace megascope
