#pragma once

#include <QWidget>

#include "views/profile/timeline_view.h"

class QLabel;
class QLineEdit;

namespace megascope {

class ReportTableView;

/// TimelineView with a line that says what it shows, a search that steps through what it finds, and the statistics of the chosen
/// time range below.
class TimelinePanel : public QWidget {
    Q_OBJECT
public:
    explicit TimelinePanel(QWidget* parent = nullptr);

    [[nodiscard]] TimelineView* view() const { return view_; }
    [[nodiscard]] QLineEdit* searchEdit() const { return search_; }
    [[nodiscard]] ReportTableView* statistics() const { return statistics_; }
    [[nodiscard]] QString caption() const;

    void setScene(std::shared_ptr<const TimelineScene> scene);
    /// What is shown: a file's name, "profiled run on cpu, 2 threads".
    void setCaption(const QString& caption);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void search();
    void showRange(double begin, double end);

    TimelineView* view_;
    QLabel* caption_;
    QLineEdit* search_;
    QLabel* found_;
    QWidget* rangeFrame_;
    QLabel* rangeTitle_;
    ReportTableView* statistics_;
};

} // namespace megascope
