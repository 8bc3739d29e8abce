#pragma once

#include <QObject>

#include <filesystem>
#include <memory>
#include <optional>

#include "app/gui/file_watch.h"
#include "app/gui/run_record.h"
#include "base/file_stamp.h"
#include "format/model.h"
#include "format/reader.h"
#include "format/static_memory.h"
#include "profile/graph_profile.h"
#include "profile/trace_reader.h"
#include "session/profile_join.h"
#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/profile/timeline_view.h"

namespace megascope {

/// A model file with one of its graphs in view.
struct OpenedModel {
    QString path;
    ReadOptions open;          ///< how it was opened
    std::optional<FileStamp> stamp; ///< the file as it was opened
    std::shared_ptr<const Model> model;
    std::uint32_t graph = 0;
    std::shared_ptr<const GraphFacts> facts;
};

/// A profile or trace file. `profile`, `facts` and `times` are null for a trace of events.
struct OpenedProfile {
    QString path;
    std::optional<FileStamp> stamp; ///< the file as it was opened
    TraceReadOptions range;         ///< the part that was opened
    std::shared_ptr<const GraphProfile> profile;
    std::shared_ptr<const TimelineScene> scene;
    std::shared_ptr<const GraphFacts> facts; ///< the profile's own graph, shown when no model is open
    std::shared_ptr<const OprTimes> times;   ///< by the operators of that graph
    std::vector<ProfileOprId> ofOpr;         ///< by the operators of that graph: which of the profile's each one is
};

/// A profile's times brought to the operators of the open graph.
struct JoinedProfile {
    std::shared_ptr<const OpenedProfile> opened;
    ProfileJoin join;
    std::shared_ptr<const OprTimes> times; ///< null when nothing matched
};

/// Opens files by jobs and keeps what is open. GUI thread.
class DocumentController : public QObject {
    Q_OBJECT
public:
    explicit DocumentController(JobRunner* jobs, QObject* parent = nullptr);

    /// Looks at the content and opens it as what it is. A model replaces the open model, a profile the open profile.
    void open(const QString& path, const ReadOptions& options = {});
    /// Reads a model file with the facts of its first graph. Blocking; any thread.
    [[nodiscard]] static Expected<std::shared_ptr<const OpenedModel>> readModelFile(const QString& path, const CancelToken& cancel, const Progress& progress);
    /// Opens only the events of a trace that touch a range of time.
    void openTracePart(const QString& path, const TraceReadOptions& range);
    /// Shows another graph of the open file.
    void showGraph(std::uint32_t graph);
    void close();
    /// Opens the model again, and the profile if that changed on disk.
    void reload();
    /// The file of the open model is still what was opened. Otherwise says `changedOnDisk` and returns false: what is written or run
    /// now would not be what is shown. True without a model.
    [[nodiscard]] bool modelIsCurrent();
    /// Looks for changes on disk soon.
    void checkFiles();

    [[nodiscard]] const std::shared_ptr<const OpenedModel>& model() const { return model_; }
    [[nodiscard]] const std::shared_ptr<const OpenedProfile>& profile() const { return profile_; }

signals:
    void modelOpened(std::shared_ptr<const megascope::OpenedModel> model);
    void modelClosed();
    void profileOpened(std::shared_ptr<const megascope::OpenedProfile> profile);
    void recordOpened(std::shared_ptr<const megascope::RunRecord> record);
    void staticMemoryOpened(const QString& path, std::shared_ptr<const megascope::StaticMemory> info);
    void profileJoined(std::shared_ptr<const megascope::JoinedProfile> joined);
    void failed(const QString& path, const megascope::Error& error);
    /// After `failed`: with another key the file could perhaps be opened.
    void keyWanted(const QString& path);
    /// An open file was written again by someone.
    void changedOnDisk(const QString& path);

private:
    struct Opened { ///< one of them
        std::shared_ptr<const StaticMemory> memory;
        std::shared_ptr<const RunRecord> record;
        std::shared_ptr<const OpenedModel> model;
        std::shared_ptr<const OpenedProfile> profile;
    };
    static Expected<std::shared_ptr<const Opened>> openFile(const QString& path, const ReadOptions& options, bool& mayBeEncrypted, const CancelToken& cancel,
                                                            const Progress& progress);
    void setModel(std::shared_ptr<const OpenedModel> model);
    void setProfile(std::shared_ptr<const OpenedProfile> profile);
    void joinProfile();

    JobRunner* jobs_;
    FileWatch modelWatch_;
    FileWatch profileWatch_;
    std::shared_ptr<const OpenedModel> model_;
    std::shared_ptr<const OpenedProfile> profile_;
};

} // namespace megascope
