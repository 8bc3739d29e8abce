#pragma once

#include <QObject>
#include <QString>
#include <QStringList>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "session/inputs.h"
#include "trace/testcase_list.h"
#include "views/common/job_runner.h"
#include "views/testcase/shared_runner.h"

namespace megascope {

/// The testcases of the open file while they are edited: slow edits run as jobs, everything else at once. GUI thread.
class TestcaseDocument : public QObject {
    Q_OBJECT
public:
    /// `runner` computes expected values, as a rule in another process: a kernel that dies takes no window with it.
    TestcaseDocument(JobRunner* jobs, std::shared_ptr<SharedRunner> runner, QObject* parent = nullptr) : QObject(parent), jobs_(jobs), runner_(std::move(runner)) {}

    /// Null closes it. Edits of the old file are dropped: ask before.
    void setModel(std::shared_ptr<const Model> model);
    /// Where the runner finds the model's file, how it opens it and what it must still be; without this, by the path that the model
    /// was read from.
    void setSource(const std::filesystem::path& path, const ReadOptions& open, const std::optional<FileStamp>& stamp);
    [[nodiscard]] bool open() const { return list_ != nullptr; }
    /// Precondition: open.
    [[nodiscard]] const TestcaseList& list() const { return *list_; }
    [[nodiscard]] const std::vector<EditedTestcase>& testcases() const;
    [[nodiscard]] bool modified() const { return list_ && list_->modified(); }
    [[nodiscard]] bool saving() const { return saving_ && busy(); }
    [[nodiscard]] bool busy() const { return jobs_->busy(QStringLiteral("testcases")); }

    /// Who computes expected values.
    void setBackend(const QString& backend, int threads);

    /// Testcases of `input_data` items: "#rand(0,1)", "data:image.png", "@list.txt". Every call takes another seed, which the
    /// testcase's source names. Their expected values are computed, too.
    void addSpecs(const QStringList& items);
    /// Array and picture files, one testcase each for a graph with one input; for several inputs, one testcase of files that are
    /// called like the inputs ("data.npy"). A text file is a list of testcases.
    void addFiles(const QStringList& paths);
    /// From sources as the inputs editor has them.
    void addSources(const std::vector<std::pair<GraphInput, std::string>>& sources);
    void duplicate(std::size_t index);
    void remove(std::vector<std::size_t> indices);
    void rename(std::size_t index, const QString& name);
    /// Another source for one input of a testcase; the expected values are computed again.
    void setInput(std::size_t index, const QString& input, const QString& source);
    void recompute(const std::vector<std::size_t>& indices);
    void setMaxerr(double maxerr);
    void setVerbose(bool verbose);
    void setAssertOutputs(bool on);
    void undo();
    void redo();

    /// Writes the file with the edited testcases; missing expected values are computed first. `saved` or `failed` tells the end.
    void save(const QString& path);

signals:
    void changed();
    void failed(const megascope::Error& error);
    void saved(const QString& path);

private:
    using Testcases = std::vector<EditedTestcase>;
    /// Computes expected values on the thread of a job. Copies share what they need.
    using Compute = std::function<Expected<Testcases>(Testcases, const CancelToken&, const Progress&)>;
    /// Empty when the graph's outputs cannot be computed for a testcase (TestcaseList::network).
    [[nodiscard]] Compute compute() const;
    /// Runs `make` as a job, completes expected values if the graph asserts, and appends the result.
    void addMade(std::function<Expected<Testcases>(const CancelToken&)> make);
    void replaceBy(std::function<Expected<Testcases>(const CancelToken&, const Progress&)> make, std::function<void(const Testcases&)> use);
    [[nodiscard]] FeedOptions nextFeed();
    void give(const Error& error);

    JobRunner* jobs_;
    std::shared_ptr<SharedRunner> runner_;
    std::unique_ptr<TestcaseList> list_;
    bool saving_ = false; ///< the job that is busy writes a file
    RunRequest how_; ///< file, key, backend and threads
    std::uint64_t seed_ = 0;
};

} // namespace megascope
