#pragma once

#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

#include "views/common/graph_facts.h"
#include "views/common/selection.h"

class QLabel;
class QPushButton;
class QStackedLayout;
class QTreeView;

namespace megascope {

class JobRunner;
class PropertyModel;
struct PropertyGroup;
class TensorView;

/// Everything about what is selected: an operator or a var, with the var's value when one is known.
class Inspector : public QWidget {
    Q_OBJECT
public:
    Inspector(Selection* selection, JobRunner* jobs, QWidget* parent = nullptr);

    void setFacts(std::shared_ptr<const GraphFacts> facts);
    void setTimes(std::shared_ptr<const OprTimes> times);
    /// By OprId: the operator whose step also ran this one, so that it has no time of its own; invalid: none. May be null.
    void setFusedInto(std::shared_ptr<const std::vector<OprId>> fused);
    /// Operators that are selected together: they are summed up instead of showing one. Empty: none.
    void setSeveral(const std::vector<OprId>& oprs);
    /// Whether values can be computed at all: a profile's graph has no weights.
    void setComputable(bool computable);
    /// The value of the selected var, from the file or a run; nothing = not known. Ignored when another var is selected.
    void setValue(VarId var, const Tensor& value, const QString& source);
    /// Forgets shown values: they belong to an older run.
    void clearValue();

    [[nodiscard]] PropertyModel* model() const { return model_; }
    [[nodiscard]] QString title() const;

signals:
    /// The selected var's value is not known here: somebody may look it up or compute it.
    void valueWanted(megascope::VarId var);
    /// The button "Compute" was pressed.
    void computeRequested(megascope::VarId var);

protected:
    void changeEvent(QEvent* event) override;

private:
    void showPick(Pick pick);
    void showSeveral();
    void showGroups(std::vector<PropertyGroup> groups);
    void setValueShown(bool shown);
    void copy();
    /// The var whose value is shown for a pick: the var itself, or an operator's first output.
    [[nodiscard]] VarId valueVar(Pick pick) const;

    Selection* selection_;
    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const OprTimes> times_;
    std::shared_ptr<const std::vector<OprId>> fused_;
    std::vector<OprId> several_;
    bool computable_ = true;
    PropertyModel* model_;
    QStackedLayout* stack_;
    QLabel* swatch_;
    QLabel* title_;
    QLabel* name_;
    QLabel* summary_;
    QTreeView* tree_;
    QLabel* valueTitle_;
    QPushButton* compute_;
    TensorView* value_;
    QWidget* valueFrame_;
};

} // namespace megascope
