#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "optimize/workspace.h"

namespace megascope {

/// Replaces vars while a pass walks over the operators in `Workspace::order()`: an operator whose inputs were replaced is copied
/// on the new inputs (`auto_replace`), or a pass says itself what stands for a var (`replace`).
class Rewriter {
public:
    explicit Rewriter(Workspace& graph) : graph_(graph) {}

    /// What stands for `var` now; itself when nothing replaced it.
    [[nodiscard]] VarId get(VarId var) const;
    /// If an input of the operator was replaced: a copy on the new inputs, whose outputs stand for the old ones and keep their
    /// names. Otherwise the operator itself.
    OprId auto_replace(OprId opr);
    /// From now on `to` stands for `from`, which `auto_replace` may have replaced before. dtype and shape must agree unless
    /// `check` is off. The new var takes the old one's name when it has no given one.
    /// Throws RewriteFailure when they do not.
    void replace(VarId from, VarId to);
    void unchecked(bool dtype, bool shape) { check_dtype_ = !dtype, check_shape_ = !shape; }
    /// Was it replaced by `replace`, not only by `auto_replace`?
    [[nodiscard]] bool replaced_by_hand(VarId var) const;
    /// Makes the endpoints what stands for them. Returns the number of replaced vars.
    std::size_t apply();

private:
    struct Entry {
        bool automatic = true;
        VarId to;
    };
    [[nodiscard]] Entry find(VarId var) const;
    void check(VarId from, VarId to);

    Workspace& graph_;
    std::unordered_map<VarId, Entry> map_;
    std::size_t count_ = 0;
    bool check_dtype_ = true;
    bool check_shape_ = true;
};

/// Who reads a var's value: operators that need only its shape or its host value do not count, being a graph output does.
/// Counted once for the graph as it is at construction; vars that were added later have a single reader.
class UniqueReaders {
public:
    explicit UniqueReaders(const Workspace& graph);
    /// At most one reader?
    [[nodiscard]] bool operator()(VarId var) const;
    [[nodiscard]] std::size_t count(VarId var) const;
    /// After `Rewriter::auto_replace(opr)` gave `copy`: its outputs have as many readers as the old ones.
    void update(const Workspace& graph, OprId opr, OprId copy);

private:
    std::unordered_map<VarId, std::size_t> counts_;
};

/// Does the operator give the same result for the same inputs, and change none of them? (Random numbers, AddUpdate and batch
/// normalisation that trains do not.)
[[nodiscard]] bool is_pure(const Opr& opr);

/// Which operators depend on constants alone. Feed it operators in order; inputs that it does not know are added first.
class ConstPropagation {
public:
    explicit ConstPropagation(const Workspace& graph) : graph_(graph) {}

    struct Inputs {
        bool any_const = false;     ///< at least one input is constant
        bool any_mid_const = false; ///< … and computed, not stored
        bool all_const = false;
    };
    Inputs add(OprId opr);
    [[nodiscard]] bool is_const(OprId opr);
    [[nodiscard]] bool is_const(VarId var) { return is_const(graph_.owner(var)); }
    /// Constant, but computed.
    [[nodiscard]] bool is_mid_const(VarId var);

private:
    struct Info {
        bool is_const = false;
        Inputs inputs;
    };
    const Info& info(OprId opr);
    const Workspace& graph_;
    std::unordered_map<OprId, Info> infos_;
};

} // namespace megascope
