#pragma once

#include <vector>

#include "optimize/pass.h"

namespace megascope {

/// A pass over chains of Elemwise operators of one mode: finds where a chain ends (its result is read by an operator of another
/// mode, by several, or is a graph output) and gives it to `process`.
class ElemChainPass {
public:
    virtual ~ElemChainPass() = default;

protected:
    explicit ElemChainPass(Workspace& graph) : graph_(graph), readers_(graph), rewriter_(graph) {}
    std::size_t run();

    [[nodiscard]] virtual bool takes(ElemwiseMode mode) const = 0;
    virtual void process(VarId end, ElemwiseMode mode) = 0;
    virtual void visited(OprId /*opr*/) {}
    /// Called after an Elemwise and its inputs were dealt with; false: its output is not processed as an end.
    virtual bool finished(OprId /*opr*/) { return true; }

    /// What the chain that ends there adds up, left to right.
    [[nodiscard]] std::vector<VarId> terms(VarId end, ElemwiseMode mode) const;

    Workspace& graph_;
    UniqueReaders readers_;
    Rewriter rewriter_;

private:
    void visit(OprId id);
};

} // namespace megascope
