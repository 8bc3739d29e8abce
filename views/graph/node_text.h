#pragma once

#include <QList>
#include <QString>

#include <utility>
#include <vector>

#include "graph/graph.h"
#include "layout/graph_scene.h"
#include "opr/infer.h"

namespace megascope {

// What is written on nodes, edges and tooltips. Any thread; `info` may be null (then shapes come from the file alone).

/// Shape and dtype of a var: inferred, else what the file says.
[[nodiscard]] std::optional<Shape> known_shape(const Graph& graph, const GraphInfo* info, VarId var);
[[nodiscard]] std::optional<DType> known_dtype(const Graph& graph, const GraphInfo* info, VarId var);

/// One line of what matters about an operator: "7×7/2, 64" for a convolution, "RELU" for Elemwise, "axis 1" for Concat.
[[nodiscard]] QString attribute_line(const Graph& graph, const GraphInfo* info, OprId opr);

/// A name worth showing on the node; empty when it is an expression of the optimizer ("ADD(a,b)[7]"). `inside` is the path of the
/// frame around it, which need not be repeated.
[[nodiscard]] QString node_name(const Graph& graph, OprId opr, const QString& inside);

/// What the catalogue calls input `index` of the operator: "filter"; empty when it does not say.
[[nodiscard]] QString input_name(const Opr& opr, std::uint32_t index);

/// Label and text.
using TooltipLines = QList<std::pair<QString, QString>>;
/// Rich text with everything that is known about an operator: `more` is what the graph alone does not say (times, costs).
[[nodiscard]] QString opr_tooltip(const Graph& graph, const GraphInfo* info, OprId opr, const TooltipLines& more = {});
/// The same for a var. `along`: other vars on the same line of the drawing.
[[nodiscard]] QString var_tooltip(const Graph& graph, const GraphInfo* info, VarId var, const std::vector<VarId>& along = {});
[[nodiscard]] QString group_tooltip(const GraphStructure& structure, GroupId group, const TooltipLines& more = {});

} // namespace megascope
