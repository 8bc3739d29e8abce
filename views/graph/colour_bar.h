#pragma once

#include <QList>
#include <QWidget>

#include "views/graph/colour_legend.h"

class QComboBox;
class QLabel;
class QToolButton;

namespace megascope {

class ColourClasses;
class ColourRamp;

/// What a graph can be coloured by, for a list to choose from.
struct Colouring {
    QString id;    ///< empty: a separator
    QString title;
};

/// The strip below a graph: what colours it, and what the colours mean. A list to choose from (where there is one), a switch between a
/// linear and a logarithmic axis, and a ramp with its range, or classes with their colours. GUI thread.
class ColourBar : public QWidget {
    Q_OBJECT
public:
    explicit ColourBar(QWidget* parent = nullptr);

    /// Empty: nothing to choose. `current`: none of them when something else colours the graph; the list then shows the legend's title.
    void setColourings(const QList<Colouring>& colourings, const QString& current);
    void setCurrent(const QString& id);
    void setLegend(const ColourLegend& legend);
    [[nodiscard]] bool empty() const;
    /// Height that it needs at this width, at most `most`.
    [[nodiscard]] int heightFor(int width, int most) const;

    [[nodiscard]] QComboBox* list() const { return list_; }
    [[nodiscard]] ColourRamp* ramp() const { return ramp_; }
    [[nodiscard]] QToolButton* scaleButton(bool logarithmic) const { return logarithmic ? log_ : linear_; }

signals:
    void colouringChosen(const QString& id);
    void scaleChosen(bool logarithmic);
    void rangeChosen(std::optional<double> low, std::optional<double> high);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    struct Places {
        QRect title, list, linear, log, content;
        int height = 0;
    };
    [[nodiscard]] Places places(int width, int most) const;
    [[nodiscard]] Places places(int width, int most, int list_width) const;
    void place();

    QLabel* title_;
    QComboBox* list_;
    QToolButton* linear_;
    QToolButton* log_;
    ColourRamp* ramp_;
    ColourClasses* classes_;
    QLabel* note_;
    ColourLegend legend_;
    int longest_ = 0; ///< width of the widest text of the list
};

/// Classes with their colours, wrapped; what has no room is named in the tooltip. GUI thread.
class ColourClasses : public QWidget {
    Q_OBJECT
public:
    explicit ColourClasses(QWidget* parent = nullptr) : QWidget(parent) { setMouseTracking(true); }
    void setClasses(const std::vector<GraphMark>& classes);
    [[nodiscard]] const std::vector<GraphMark>& classes() const { return classes_; }
    [[nodiscard]] ClassLines lines(int width, int height) const;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    std::vector<GraphMark> classes_;
};

} // namespace megascope
