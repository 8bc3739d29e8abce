#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

/// Builds a new graph from an old one, operator by operator; passes use it. Operators are copied with their inputs translated;
/// an operator may be left out, or others added, as long as every var that is read later has a translation.
/// Stored tensors share their bytes with the old graph. Not thread-safe; `source` must outlive the rewriter.
class GraphRewriter {
public:
    explicit GraphRewriter(const Graph& source);

    /// The new var that stands for an old one; invalid when it has none (yet).
    [[nodiscard]] VarId translated(VarId old) const { return vars_[old.index()]; }
    /// From now on `fresh` (a var of the new graph) stands for `old`.
    void translate(VarId old, VarId fresh) { vars_[old.index()] = fresh; }

    /// Copies an operator with all that it says, and translates its outputs, keeping their names and stored layouts.
    /// Errors: invalid_argument, when an input has no translation.
    Expected<OprId> copy(OprId old);
    /// Appends an operator of the new graph; its inputs are vars of the new graph. Errors: as GraphBuilder::add.
    Expected<OprId> add(Opr opr, std::size_t output_count, bool is_input = false);
    /// The operator that was added or copied last under this id.
    [[nodiscard]] Opr& opr(OprId id) { return builder_.opr(id); }
    [[nodiscard]] Var& var(VarId id) { return builder_.var(id); }
    [[nodiscard]] const Opr& opr(OprId id) const { return const_cast<GraphRewriter*>(this)->builder_.opr(id); }

    /// The source's outputs become the new graph's. Errors: invalid_argument, when one has no translation.
    [[nodiscard]] Expected<std::shared_ptr<const Graph>> finish();
    /// With other outputs, given as vars of the source.
    [[nodiscard]] Expected<std::shared_ptr<const Graph>> finish(std::span<const GraphOutput> outputs);

private:
    const Graph& source_;
    GraphBuilder builder_;
    std::vector<VarId> vars_;
    std::vector<bool> is_input_;
};

/// A graph made of parts of another one.
struct DerivedGraph {
    std::shared_ptr<const Graph> graph;
    std::vector<VarId> vars; ///< by old VarId; invalid where the var is gone
};

/// The graph in which whoever read a key of `replacements` reads its value instead, graph outputs included; operators that no
/// output needs any more are dropped. Graph inputs stay. Replacements are not chained: a value is read as it is.
/// Errors: invalid_argument, when a replacement depends on what it replaces (a cycle).
[[nodiscard]] Expected<DerivedGraph> replace_vars(const Graph& graph, const std::unordered_map<VarId, VarId>& replacements);

/// The graph without the operators that no output depends on. Graph inputs stay even when nothing reads them.
[[nodiscard]] DerivedGraph without_unused(const Graph& graph);

} // namespace megascope
