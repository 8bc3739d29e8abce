#include "views/testcase/testcase_document.h"

#include <QFileInfo>

#include <algorithm>

#include "trace/expected_by_runner.h"
#include "views/common/number_text.h"
#include "views/testcase/inputs_editor.h"

namespace megascope {

namespace {

const QString slot = QStringLiteral("testcases");

std::filesystem::path fsPath(const QString& path) { return std::filesystem::path(path.toStdU16String()); }

/// Random values are told apart by their seed.
void nameSeed(std::vector<EditedTestcase>& testcases, std::uint64_t seed) {
    for (EditedTestcase& testcase : testcases)
        if (testcase.source.find("#rand") != std::string::npos) testcase.source += " (seed " + std::to_string(seed) + ")";
}

} // namespace

void TestcaseDocument::setModel(std::shared_ptr<const Model> model) {
    if (list_ && model == list_->model()) return emit changed(); // another graph of the same file: edits stay
    jobs_->dropSlot(slot);
    list_ = model ? std::make_unique<TestcaseList>(std::move(model)) : nullptr;
    seed_ = 0;
    if (list_) setSource(list_->path(), {}, {});
    emit changed();
}

void TestcaseDocument::setSource(const std::filesystem::path& path, const ReadOptions& open, const std::optional<FileStamp>& stamp) {
    how_.model = path;
    how_.open = open;
    how_.stamp = stamp;
}

const std::vector<EditedTestcase>& TestcaseDocument::testcases() const {
    static const std::vector<EditedTestcase> none;
    return list_ ? list_->now().testcases : none;
}

void TestcaseDocument::setBackend(const QString& backend, int threads) {
    how_.backend = backend.toStdString();
    how_.threads = threads;
}

TestcaseDocument::Compute TestcaseDocument::compute() const {
    if (!list_->network()) return {};
    return [network = list_->network(), how = how_, runner = runner_](Testcases testcases, const CancelToken& cancel, const Progress& progress) {
        return expected_by_runner(std::move(testcases), *network, how, *runner, cancel, progress);
    };
}

FeedOptions TestcaseDocument::nextFeed() {
    FeedOptions options;
    options.seed = ++seed_;
    return options;
}

void TestcaseDocument::give(const Error& error) {
    if (error.code != ErrorCode::cancelled) emit failed(error);
}

void TestcaseDocument::replaceBy(std::function<Expected<Testcases>(const CancelToken&, const Progress&)> make, std::function<void(const Testcases&)> use) {
    saving_ = false;
    jobs_->start<Testcases>(
        slot, tr("Preparing testcases"),
        [make = std::move(make)](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const Testcases>> {
            MGS_ASSIGN(Testcases made, make(cancel, progress));
            return std::make_shared<const Testcases>(std::move(made));
        },
        this,
        [this, use = std::move(use), model = list_->model()](JobRunner::Result<Testcases> made) {
            if (!list_ || list_->model() != model) return;
            if (made) use(**made);
            else give(made.error());
            emit changed();
        });
    emit changed();
}

void TestcaseDocument::addMade(std::function<Expected<Testcases>(const CancelToken&)> make) {
    if (!list_) return;
    replaceBy(
        [make = std::move(make), complete = list_->now().assert_outputs ? compute() : Compute()](const CancelToken& cancel, const Progress& progress) -> Expected<Testcases> {
            MGS_ASSIGN(Testcases made, make(cancel));
            if (!complete) return made;
            return complete(std::move(made), cancel, progress);
        },
        [this](const Testcases& made) {
            if (const auto added = list_->add(made); !added) give(added.error());
        });
}

void TestcaseDocument::addSpecs(const QStringList& items) {
    if (!list_) return;
    std::vector<std::string> specs;
    for (const QString& item : items)
        if (!item.trimmed().isEmpty()) specs.push_back(item.trimmed().toStdString());
    if (specs.empty()) return give({ErrorCode::invalid_argument, "Type a testcase: #rand(0,1), name:file;name:file or @list.", std::nullopt, {}});
    addMade([specs, targets = list_->targets(), feed = nextFeed()](const CancelToken& cancel) -> Expected<Testcases> {
        MGS_ASSIGN(Testcases made, testcases_from_spec(specs, targets, feed, cancel));
        nameSeed(made, feed.seed);
        return made;
    });
}

void TestcaseDocument::addFiles(const QStringList& paths) {
    if (!list_) return;
    const auto targets = list_->targets();
    QStringList items;
    QStringList arrays;
    for (const QString& path : paths) (QFileInfo(path).suffix().compare(QLatin1String("txt"), Qt::CaseInsensitive) == 0 ? items : arrays) << path;
    for (QString& list : items) list.prepend(QLatin1Char('@'));
    if (targets.size() == 1) {
        for (const QString& path : arrays) items << text(targets.front().name) + QLatin1Char(':') + path;
    } else if (!arrays.isEmpty()) {
        QStringList parts;
        for (const FeedTarget& target : targets)
            for (const QString& path : arrays)
                if (QFileInfo(path).completeBaseName() == text(target.name)) parts << text(target.name) + QLatin1Char(':') + path;
        items << parts.join(QLatin1Char(';'));
        if (parts.size() != static_cast<qsizetype>(targets.size())) {
            QStringList names;
            for (const FeedTarget& target : targets) names << text(target.name);
            return give({ErrorCode::invalid_argument, tr("The graph has several inputs: drop one file for each, called like it: %1.").arg(names.join(QStringLiteral(", "))).toStdString(),
                         std::nullopt, {}});
        }
    }
    addSpecs(items);
}

void TestcaseDocument::addSources(const std::vector<std::pair<GraphInput, std::string>>& sources) {
    addMade([sources](const CancelToken& cancel) -> Expected<Testcases> {
        MGS_ASSIGN(const std::vector<NamedTensor> values, makeInputs(sources, cancel));
        EditedTestcase testcase;
        for (const NamedTensor& value : values) testcase.inputs.push_back({value.name, value.value, false});
        for (const auto& [input, source] : sources) testcase.source += (testcase.source.empty() ? "" : ";") + input.name + ":" + source;
        return Testcases{std::move(testcase)};
    });
}

void TestcaseDocument::duplicate(std::size_t index) {
    if (!list_ || index >= testcases().size()) return;
    list_->duplicate(index);
    emit changed();
}

void TestcaseDocument::remove(std::vector<std::size_t> indices) {
    if (!list_) return;
    list_->remove(std::move(indices));
    emit changed();
}

void TestcaseDocument::rename(std::size_t index, const QString& name) {
    if (!list_ || index >= testcases().size() || name.trimmed().isEmpty()) return;
    list_->rename(index, name.trimmed().toStdString());
    emit changed();
}

void TestcaseDocument::setInput(std::size_t index, const QString& input, const QString& source) {
    if (!list_ || index >= testcases().size()) return;
    const auto targets = list_->targets();
    const auto target = std::ranges::find(targets, input.toStdString(), &FeedTarget::name);
    if (target == targets.end()) return;
    const EditedTestcase old = testcases()[index];
    replaceBy(
        [old, target = *target, source = source.trimmed().toStdString(), feed = nextFeed(),
         complete = list_->now().assert_outputs ? compute() : Compute()](const CancelToken& cancel, const Progress& progress) -> Expected<Testcases> {
            const std::vector<std::string> items = {source};
            MGS_ASSIGN(Testcases made, testcases_from_spec(items, std::span(&target, 1), feed, cancel));
            nameSeed(made, feed.seed);
            EditedTestcase testcase = old;
            for (TestcaseInput& value : testcase.inputs)
                if (value.name == target.name) value.value = made.front().inputs.front().value;
            testcase.source = target.name + ":" + made.front().source;
            Testcases changed{std::move(testcase)};
            if (complete) return complete(std::move(changed), cancel, progress);
            return changed;
        },
        [this, name = target->name](const Testcases& made) {
            const auto at = std::ranges::find(testcases(), made.front().id, &EditedTestcase::id);
            if (at == testcases().end()) return;
            const auto index = static_cast<std::size_t>(at - testcases().begin());
            const auto value = std::ranges::find(made.front().inputs, name, &TestcaseInput::name);
            const auto set = list_->set_input(index, name, value->value, made.front().source, made.front().expected);
            if (!set) give(set.error());
        });
}

void TestcaseDocument::recompute(const std::vector<std::size_t>& indices) {
    if (!list_) return;
    if (!list_->network()) return give(list_->network_error());
    Testcases chosen;
    for (const std::size_t index : indices)
        if (index < testcases().size()) chosen.push_back(testcases()[index]);
    if (chosen.empty()) return;
    replaceBy([chosen, compute = compute()](const CancelToken& cancel, const Progress& progress) { return compute(chosen, cancel, progress); },
              [this](const Testcases& made) { list_->set_expected(made); });
}

void TestcaseDocument::setMaxerr(double maxerr) {
    if (!list_ || list_->now().maxerr == maxerr) return;
    list_->set_maxerr(maxerr);
    emit changed();
}

void TestcaseDocument::setVerbose(bool verbose) {
    if (!list_ || list_->now().verbose == verbose) return;
    list_->set_verbose(verbose);
    emit changed();
}

void TestcaseDocument::setAssertOutputs(bool on) {
    if (!list_ || list_->now().assert_outputs == on) return;
    list_->set_assert_outputs(on);
    emit changed();
}

void TestcaseDocument::undo() {
    if (!list_) return;
    list_->undo();
    emit changed();
}

void TestcaseDocument::redo() {
    if (!list_) return;
    list_->redo();
    emit changed();
}

void TestcaseDocument::save(const QString& path) {
    if (!list_) return;
    struct Written {
        Testcases computed;
    };
    saving_ = true;
    jobs_->start<Written>(
        slot, tr("Saving testcases"),
        [list = *list_, path = fsPath(path), compute = compute()](const CancelToken& cancel, const Progress& progress) mutable
        -> Expected<std::shared_ptr<const Written>> {
            std::error_code error;
            // The open file stays mapped and is what the list is based on.
            if (std::filesystem::equivalent(path, list.path(), error))
                return fail_in(ErrorCode::invalid_argument, "The edited testcases go to another file than the open one.", path.string());
            auto written = std::make_shared<Written>();
            if (list.now().assert_outputs)
                for (const EditedTestcase& testcase : list.now().testcases)
                    if (testcase.expected.empty()) written->computed.push_back(testcase);
            if (!written->computed.empty() && compute) {
                MGS_ASSIGN(written->computed, compute(std::move(written->computed), cancel, progress));
                list.set_expected(written->computed);
            }
            MGS_ASSIGN(const DumpContent content, list.content());
            MGS_TRY(save_dump(path, content, false, cancel));
            return written;
        },
        this,
        [this, path, model = list_->model()](JobRunner::Result<Written> written) {
            if (!list_ || list_->model() != model) return;
            if (!written) {
                give(written.error());
            } else {
                if (!(*written)->computed.empty()) list_->set_expected((*written)->computed);
                list_->mark_saved();
                emit saved(path);
            }
            emit changed();
        });
    emit changed();
}

} // namespace megascope
