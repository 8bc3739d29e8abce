#pragma once

#include <QWidget>

#include <optional>

#include "views/graph/colour_legend.h"

class QLineEdit;

namespace megascope {

/// A ramp of colours over the histogram of what it colours, with a handle at each end: what lies beyond a handle has the colour of
/// that end. Handles are dragged, or moved with the arrow keys (Tab goes from one to the other, Page keys make large steps, Home and
/// End go to the ends); Enter, or a click on an end's number, types one; a double click, Delete or Escape lets both go. GUI thread.
class ColourRamp : public QWidget {
    Q_OBJECT
public:
    explicit ColourRamp(QWidget* parent = nullptr);

    void setRamp(const ColourLegend::Ramp& ramp);
    [[nodiscard]] const ColourLegend::Ramp& ramp() const { return ramp_; }
    [[nodiscard]] int leastWidth() const;
    [[nodiscard]] QSize sizeHint() const override;
    /// The middle of a handle.
    [[nodiscard]] QPointF handle(bool high) const;
    /// Where the number of an end stands.
    [[nodiscard]] QRect label(bool high) const;

signals:
    /// Nothing: that end of the axis.
    void rangeChosen(std::optional<double> low, std::optional<double> high);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;
    bool focusNextPrevChild(bool next) override;
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    [[nodiscard]] QRectF strip() const; ///< the axis
    [[nodiscard]] QString endText(bool high) const;
    [[nodiscard]] int room(bool high) const; ///< width of an end's number
    [[nodiscard]] double placeAt(double x) const;
    void moveTo(bool high, double place);
    void choose(double low, double high);
    void type(bool high);
    void endTyping(bool apply);

    ColourLegend::Ramp ramp_;
    bool high_ = true; ///< the handle that keys move
    std::optional<bool> dragged_;
    QLineEdit* edit_ = nullptr;
    bool editHigh_ = false;
};

} // namespace megascope
