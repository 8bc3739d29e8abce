#pragma once

#include <QWidget>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/id.h"
#include "profile/profile_compare.h"
#include "views/profile/timeline_view.h"

class QCheckBox;
class QComboBox;
class QLabel;

namespace megascope {

class ReportTableView;

/// Two measurements, compared in every grouping; prepared by a job, shared.
struct ProfileCompareScene {
    CompareSide a;
    CompareSide b;
    std::array<ProfileComparison, 5> by; ///< indexed by CompareBy
    std::shared_ptr<const TimelineScene> timelineA, timelineB;
    /// By item of a side: the operator of the shown graph; invalid where it has none, empty when the graph is another one.
    std::vector<OprId> oprOfA, oprOfB;
};
/// Blocking; any thread. `oprOfA` and `oprOfB` stay empty. Errors: those of `compare_profiles`.
[[nodiscard]] Expected<std::shared_ptr<ProfileCompareScene>> makeProfileCompareScene(CompareSide a, CompareSide b, const CancelToken& cancel);

/// The table of changes above, both timelines below with one zoom: the same span, each from its own begin.
class ProfileCompareView : public QWidget {
    Q_OBJECT
public:
    explicit ProfileCompareView(QWidget* parent = nullptr);

    /// Null empties the view.
    void setScene(std::shared_ptr<const ProfileCompareScene> scene);
    [[nodiscard]] const ProfileCompareScene* scene() const { return scene_.get(); }
    [[nodiscard]] ReportTableView* table() const { return table_; }
    [[nodiscard]] TimelineView* timelineBefore() const { return before_; }
    [[nodiscard]] TimelineView* timelineAfter() const { return after_; }
    void setBy(CompareBy by);
    [[nodiscard]] bool coloursGraph() const;
    void setColoursGraph(bool on);
    /// Whether there is a graph to colour.
    void offerColours(bool offered);
    /// Shows the operator in table and timelines; invalid clears.
    void setSelected(OprId opr);

signals:
    void oprPicked(megascope::OprId opr);
    /// Whether the graph should be coloured, or in which colours (theme), changed.
    void coloursChanged();

protected:
    void changeEvent(QEvent* event) override;

private:
    void showTable();
    void rowPicked(std::size_t row);
    void itemPicked(bool ofA, std::uint32_t item);
    void link(TimelineView* from, TimelineView* to);
    [[nodiscard]] std::optional<std::uint32_t> itemOf(bool ofA, OprId opr) const;

    std::shared_ptr<const ProfileCompareScene> scene_;
    QLabel* title_;
    QLabel* summary_;
    QComboBox* by_;
    QCheckBox* colour_;
    ReportTableView* table_;
    QLabel* beforeTitle_;
    QLabel* afterTitle_;
    TimelineView* before_;
    TimelineView* after_;
    bool linking_ = false;
};

/// A class of change and its colour in the diverging map; the neutral class is what cannot be told from noise.
struct ChangeClass {
    QString text;
    double position = 0; ///< in the diverging map, −1 … 1
};
[[nodiscard]] std::vector<ChangeClass> changeClasses();
/// Index into `changeClasses` for a row that both sides have: by its relative change; what chance explains is neutral.
[[nodiscard]] std::size_t changeClass(const CompareRow& row);

} // namespace megascope
