#pragma once

#include <QWidget>

#include <memory>
#include <vector>

#include "views/common/graph_facts.h"
#include "views/testcase/inputs_editor.h"
#include "views/testcase/testcase_document.h"
#include "views/testcase/testcase_model.h"

class QAction;
class QCheckBox;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QListView;
class QMenu;
class QPushButton;
class QStackedLayout;
class QToolBar;

namespace megascope {

/// The testcases of the open file while they are edited, what the last run said about each, and the editor for inputs of one's own.
/// Files that are dropped on it become testcases.
class TestcasePanel : public QWidget {
    Q_OBJECT
public:
    /// The panel does not own the document.
    explicit TestcasePanel(TestcaseDocument* document, QWidget* parent = nullptr);

    void setModel(std::shared_ptr<const Model> model, std::shared_ptr<const Graph> graph);
    [[nodiscard]] TestcaseModel* model() const { return model_; }
    [[nodiscard]] InputsEditor* editor() const { return editor_; }
    [[nodiscard]] QListView* list() const { return list_; }
    /// Positions of the selected testcases; empty with `ownInputs()`, or when there is nothing to run.
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
    void saveRequested();

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    QWidget* buildList();
    QWidget* buildAdding();
    QWidget* buildAsserting();
    QToolBar* buildTools();
    QHBoxLayout* buildRunning();
    void buildInputMenu(QMenu* menu);
    void addTyped();
    void showEdits();
    void updateState();
    [[nodiscard]] std::vector<std::size_t> chosen() const;

    TestcaseDocument* document_;
    std::shared_ptr<const Model> file_;
    TestcaseModel* model_;
    QListView* list_;
    InputsEditor* editor_;
    QWidget* editorFrame_;
    QLabel* detail_;
    QLineEdit* spec_;
    QPushButton* add_;
    QLineEdit* maxerr_;
    QCheckBox* verbose_;
    QCheckBox* assert_;
    QAction* duplicate_;
    QAction* rename_;
    QAction* remove_;
    QAction* recompute_;
    QAction* undo_;
    QAction* redo_;
    QAction* save_;
    QLabel* modified_;
    QPushButton* run_;
    QPushButton* runAll_;
    QStackedLayout* stack_;
    bool running_ = false;
};

} // namespace megascope
