#include <algorithm>
#include <cmath>

#include "views/common/theme.h"
#include "views/graph/colour_bar.h"
#include "views/graph/graph_view.h"
#include "views/graph/minimap.h"

// What a graph view fills its boxes with instead of categories, and what its strip says about it.

namespace megascope {

namespace {

constexpr std::size_t histogram_bars = 32;

} // namespace

void GraphView::setColumn(OprNumbers numbers, const QString& title, bool logarithmic) {
    if (!column_ || column_->numbers.column.id != numbers.column.id) range_low_ = range_high_ = std::nullopt;
    column_ = Column{std::move(numbers), title, logarithmic};
    marks_.clear();
    coloursChanged();
}

void GraphView::setColourRange(std::optional<double> low, std::optional<double> high) {
    if (range_low_ == low && range_high_ == high) return;
    range_low_ = low;
    range_high_ = high;
    coloursChanged();
}

void GraphView::setMarks(std::vector<std::uint8_t> mark_of, std::vector<GraphMark> marks, const QString& title, GroupMark of_group) {
    mark_of_ = std::move(mark_of);
    marks_ = std::move(marks);
    marks_title_ = title;
    of_group_ = of_group;
    if (!marks_.empty()) column_.reset();
    coloursChanged();
}

void GraphView::showCategories(const QString& title, std::vector<GraphMark> classes, const QString& note) {
    column_.reset();
    range_low_ = range_high_ = std::nullopt;
    marks_.clear();
    default_legend_ = {title, std::move(classes), std::nullopt, note};
    coloursChanged();
}

void GraphView::setColourings(const QList<Colouring>& colourings, const QString& current) {
    bar_->setColourings(colourings, current);
    placeBar();
}

void GraphView::setColouring(const QString& current) {
    bar_->setCurrent(current);
    placeBar();
}

void GraphView::coloursChanged() {
    applyColours();
    minimap_->setPicture(picture_, paint_);
    update();
}

void GraphView::applyColours() {
    paint_.colours.clear();
    paint_.legend = {};
    if (picture_) {
        if (column_) applyColumn();
        else if (!marks_.empty()) applyMarks();
        else paint_.legend = default_legend_;
    }
    bar_->setLegend(paint_.legend);
    placeBar();
}

void GraphView::applyMarks() {
    const GraphScene& scene = picture_->scene;
    const auto several = static_cast<std::uint8_t>(marks_.size());
    std::vector<std::uint8_t> of_node(scene.nodes.size(), 0);
    for (std::size_t o = 0; o < std::min(mark_of_.size(), scene.node_of_opr.size()); ++o) {
        const auto node = mark_of_[o] ? nodeOf(OprId(o)) : std::nullopt; // a folded constant marks its reader
        if (!node) continue;
        std::uint8_t& mark = of_node[*node];
        if (of_group_ == GroupMark::highest || mark == 0) mark = std::max(mark, mark_of_[o]);
        else if (mark != mark_of_[o] && scene.nodes[*node].kind == SceneNode::Kind::group) mark = several;
    }
    paint_.colours.resize(of_node.size());
    for (std::size_t i = 0; i < of_node.size(); ++i)
        if (of_node[i] && of_node[i] <= marks_.size()) paint_.colours[i] = marks_[of_node[i] - 1U].colour;
    paint_.legend.title = marks_title_;
    paint_.legend.classes = marks_;
    // "several" means boxes: it needs a line only while there are such.
    if (of_group_ == GroupMark::common && std::find(of_node.begin(), of_node.end(), several) == of_node.end()) paint_.legend.classes.pop_back();
}

void GraphView::applyColumn() {
    // By node: an operator's own number, or what the operators of a group have together.
    const GraphScene& scene = picture_->scene;
    std::vector<OprColumnSum> sums(scene.nodes.size(), OprColumnSum(column_->numbers.column.together));
    for (std::size_t o = 0; o < scene.node_of_opr.size(); ++o)
        if (scene.node_of_opr[o] != GraphScene::hidden) column_->numbers.add(sums[scene.node_of_opr[o]], OprId(o));
    std::vector<std::optional<double>> values;
    values.reserve(sums.size());
    for (const OprColumnSum& sum : sums) values.push_back(sum.value());

    ColourLegend::Ramp ramp;
    ramp.unit = column_->numbers.column.unit;
    ramp.scale = ColourScale::of(values, column_->logarithmic);
    ramp.scale.clip(range_low_, range_high_);
    ramp.bars = histogram(values, ramp.scale, histogram_bars);
    paint_.colours.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) continue;
        const bool finite = std::isfinite(*values[i]);
        ramp.not_numbers += !finite;
        paint_.colours[i] = finite ? viridis(ramp.scale.on_ramp(*values[i])) : not_a_number_colour(style_);
    }
    paint_.legend.title = column_->title;
    paint_.legend.ramp = std::move(ramp);
}

} // namespace megascope
