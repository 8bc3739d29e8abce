#pragma once

#include <optional>
#include <vector>

#include "optimize/pass.h"

namespace megascope {

/// A pass that replaces an operator by an expression whose parts may be replaced again.
class RecursiveRewrite {
public:
    virtual ~RecursiveRewrite() = default;

protected:
    /// An expression, and parts of it that are looked at before it.
    struct Replacement {
        VarId result;
        std::vector<VarId> inner;
    };

    explicit RecursiveRewrite(Workspace& graph) : graph_(graph), rewriter_(graph) {}
    std::size_t run();

    /// What should stand for `out` (a var whose inputs were replaced already); nothing when it stays.
    virtual std::optional<Replacement> process(VarId out) = 0;
    /// Called for every operator that is met, with what `auto_replace` gave for it. Should it be processed?
    virtual bool met(OprId opr, OprId copy) = 0;
    virtual void replaced(VarId from, VarId to) = 0;

    Workspace& graph_;
    Rewriter rewriter_;

private:
    void visit(OprId id);
};

} // namespace megascope
