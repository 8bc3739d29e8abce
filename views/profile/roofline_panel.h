#pragma once

#include <QWidget>

#include <memory>
#include <optional>

#include "views/profile/roofline_view.h"

class QLabel;
class QPushButton;
class QStackedWidget;
class QToolButton;

namespace megascope {

class CategoryLegend;

/// RooflineView with what the machine can do, what is not drawn, and a legend.
class RooflinePanel : public QWidget {
    Q_OBJECT
public:
    explicit RooflinePanel(QWidget* parent = nullptr);

    /// Null shows what goes here.
    void setScene(std::shared_ptr<const RooflineScene> scene);
    /// `measured`: when, for people. No peak: offers to measure.
    void setPeak(const std::optional<MachinePeak>& peak, const QString& measured);
    void setMeasuring(bool measuring);
    /// Writes the drawing; .svg is one, everything else a PNG. False when the file cannot be written.
    [[nodiscard]] bool savePicture(const QString& path) const;

    [[nodiscard]] RooflineView* view() const { return view_; }
    [[nodiscard]] QPushButton* measureButton() const { return measure_; }
    [[nodiscard]] QString notDrawn() const;

signals:
    void profileRequested();
    void measureRequested();
    void pictureFailed(const QString& path);

private:
    void choosePicture();
    void showWords();

    std::shared_ptr<const RooflineScene> scene_;
    std::optional<MachinePeak> peak_;
    QString measured_;
    QStackedWidget* stack_;
    RooflineView* view_;
    QLabel* machine_;
    QPushButton* measure_;
    QToolButton* save_;
    QLabel* rest_;
    CategoryLegend* legend_;
};

} // namespace megascope
