#pragma once

#include <QWidget>

#include <memory>
#include <vector>

#include "views/common/graph_facts.h"
#include "views/testcase/inputs_editor.h"
#include "views/testcase/testcase_model.h"

class QLabel;
class QListView;
class QPushButton;
class QStackedLayout;

namespace megascope {

/// The file's testcases, what the last run said about each, and the editor for inputs of one's own.
class TestcasePanel : public QWidget {
    Q_OBJECT
public:
    explicit TestcasePanel(QWidget* parent = nullptr);

    void setModel(std::shared_ptr<const Model> model, std::shared_ptr<const Graph> graph);
    [[nodiscard]] TestcaseModel* model() const { return model_; }
    [[nodiscard]] InputsEditor* editor() const { return editor_; }
    [[nodiscard]] QListView* list() const { return list_; }
    /// Selected testcases of the file; empty with `ownInputs()`, or when there is nothing to run.
    [[nodiscard]] std::vector<std::uint32_t> selectedTestcases() const;
    [[nodiscard]] bool ownInputs() const;
    /// The testcase whose values stand for "the" inputs: the current one. Nothing for own inputs.
    [[nodiscard]] std::optional<std::uint32_t> currentTestcase() const;
    void setRunning(bool running);

signals:
    /// Run what is selected / all testcases of the file.
    void runRequested();
    void runAllRequested();
    void stopRequested();
    void openRequested();
    void currentChanged();

private:
    void updateState();

    std::shared_ptr<const Model> file_;
    TestcaseModel* model_;
    QListView* list_;
    InputsEditor* editor_;
    QWidget* editorFrame_;
    QLabel* detail_;
    QPushButton* run_;
    QPushButton* runAll_;
    QStackedLayout* stack_;
    bool running_ = false;
};

} // namespace megascope
