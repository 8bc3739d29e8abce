#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "opr/image_layout.h"
#include "optimize/pass.h"
#include "optimize/tensor_formats.h"

namespace megascope {

/// The inputs of an operator as the rewriting has them by now.
using NewInputs = std::vector<VarId>;

/// What the passes that change formats have in common: operators of some classes are rebuilt by a rule, all others are copied on
/// their new inputs. Rules ask for a change of format with `placeholder`; the placeholders become operators when all is rebuilt.
/// Lives while one pass is applied.
class LayoutRewrite {
public:
    /// Gives the operator that stands for `opr`.
    using Rule = std::function<OprId(OprId opr, const NewInputs& inputs)>;
    /// Gives the var that stands for a graph output; `fresh` is what the rule made of `old`.
    using EndpointRule = std::function<VarId(VarId fresh, VarId old)>;

    explicit LayoutRewrite(Workspace& graph) : graph_(graph) {}

    void rule(std::initializer_list<std::string_view> types, const Rule& rule);
    /// For operators without a rule: gives the var that the operator reads instead of `fresh`, which stands for `old`. They know
    /// nothing of other formats, so `fresh` itself is only right when it is as `old` was.
    void input_rule(std::function<VarId(OprId opr, VarId fresh, VarId old)> rule) { input_rule_ = std::move(rule); }
    void endpoint_rule(EndpointRule rule) { endpoint_rule_ = std::move(rule); }
    /// Checks of replaced vars (both off unless asked for).
    void check(bool dtype, bool shape) { check_dtype_ = dtype, check_shape_ = shape; }
    [[nodiscard]] Workspace& graph() const { return graph_; }

    /// A var in the format `key.to`, until `run` puts the real operators in its place.
    VarId placeholder(VarId x, const RelayoutKey& key);
    /// The operator on other inputs.
    OprId copy(OprId opr, const NewInputs& inputs) { return graph_.copy(opr, inputs); }
    /// The operator on other inputs in another image format.
    OprId with_format(OprId opr, const NewInputs& inputs, ImageFormat format);

    /// Rebuilds the graph by the rules. Returns the number of replaced vars.
    std::size_t run();

private:
    std::size_t translate();

    Workspace& graph_;
    std::unordered_map<std::string_view, Rule> rules_;
    EndpointRule endpoint_rule_;
    std::function<VarId(OprId, VarId, VarId)> input_rule_;
    std::unordered_map<VarId, RelayoutKey> placeholders_;
    bool check_dtype_ = false;
    bool check_shape_ = false;
};

/// Axes of a var; 0 when its shape is not known.
[[nodiscard]] std::size_t ndim_of(const Workspace& graph, VarId var);
/// Size of one axis. Precondition: the shape is known and has it.
[[nodiscard]] std::int64_t size_of(const Workspace& graph, VarId var, std::size_t axis);
/// Is the var of shape {1}?
[[nodiscard]] bool is_scalar_shape(const Workspace& graph, VarId var);
/// Do the shapes agree, two unknown ones included?
[[nodiscard]] bool equal_shapes(const Workspace& graph, VarId a, VarId b);

/// Type and name for messages: "Pooling pool1".
[[nodiscard]] std::string opr_text(const Workspace& graph, OprId opr);
/// Throws a RewriteFailure at that operator unless `holds`.
void require(const Workspace& graph, OprId opr, bool holds, std::string_view message);

[[nodiscard]] ImageFormat format_of(const Opr& opr);
[[nodiscard]] inline bool is_grouped(const Opr& opr) { return opr.param().enum_name("sparse") == "GROUP"; }

} // namespace megascope
