#pragma once

#include <QWidget>

#include <memory>
#include <vector>

#include "format/model.h"
#include "trace/dump_command.h"
#include "trace/dump_options.h"

class QCheckBox;
class QComboBox;
class QGroupBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QSpinBox;
class QVBoxLayout;

namespace megascope {

/// All options of a dump, in groups, with the defaults of MegEngine's trace.dump. GUI thread.
class DumpForm : public QWidget {
    Q_OBJECT
public:
    explicit DumpForm(QWidget* parent = nullptr);

    /// What is dumped. `network` is the graph without assertions: its inputs and outputs can be renamed.
    void setSource(const StoredGraph& stored, const Graph& network, std::vector<DumpTestcase> testcases, double maxerr, bool verbose);
    [[nodiscard]] DumpOptions options() const;
    /// The part of the command that options do not hold.
    [[nodiscard]] DumpCommand command() const;

    /// Where an error belongs.
    enum class Place { names, format, testcases, metadata };
    /// A sentence beside the fields it concerns; empty takes it away.
    void setProblem(Place place, const QString& sentence);
    void clearProblems();

signals:
    void changed();

private:
    QGroupBox* buildNames();
    QGroupBox* buildFormat();
    QGroupBox* buildOptimization();
    QGroupBox* buildTestcases();
    QGroupBox* buildMetadata();
    QCheckBox* check(const QString& name, const QString& title, bool on, const QString& tip);
    QLabel* problem(Place place, QVBoxLayout* layout);
    void updateEnabled();

    std::vector<DumpTestcase> given_;
    std::string storedInfo_;
    std::uint64_t optimizedBefore_ = 0;
    std::vector<QLineEdit*> argNames_, outputNames_;
    QWidget* nameFields_ = nullptr;
    QComboBox *keepVarName_, *format_, *layout_;
    QCheckBox *keepOprName_, *keepParamName_, *keepOprPriority_;
    QCheckBox *compat_, *noChange_, *append_, *appendJson_;
    QLineEdit* stripInfo_;
    QSpinBox *modelVersion_, *repeat_, *seed_;
    QGroupBox *optimize_, *metadata_;
    std::vector<std::pair<QCheckBox*, bool OptimizeOptions::*>> flags_;
    QCheckBox *takeOver_, *recompute_, *resize_, *silent_, *noAssert_;
    QPlainTextEdit* inputData_;
    QLineEdit *transform_, *maxerr_, *userInfo_;
    QLabel* problems_[4] = {};
};

} // namespace megascope
