#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/backend.h"
#include "opr/infer.h"
#include "trace/trace_result.h"

namespace megascope {

/// A recorded sequence made ready to run. Usually one program computes all that a call needs; when the function reads values in
/// between, the part that the read value needs becomes a program of its own, and later parts go on from its results, so that
/// every operator runs once per call. Not thread-safe.
class CompiledTrace {
public:
    /// Makes the program of a graph. Replaceable, so that memory plans can stand in for a backend's own.
    using Compile = std::function<Expected<std::unique_ptr<Program>>(std::shared_ptr<const Graph>)>;
    /// `watch`: told of every run, with the graph that runs, and how it ran; may be null.
    struct Watcher {
        virtual ~Watcher() = default;
        virtual RunObserver* begin(const std::shared_ptr<const Graph>& graph) = 0;
        virtual void end(std::span<const Tensor> inputs, const Plan& plan) = 0;
    };

    /// `result` must outlive it. `opt_level` ≥ 1: graphs are simplified before they are compiled (optimize/rebuild.h).
    CompiledTrace(const TraceResult& result, Compile compile, int opt_level);

    /// The values of one call, by root var.
    struct Values {
        std::vector<Tensor> by_root;
        /// Seeds of random items in this call, by item; others run with the recorded seed.
        std::unordered_map<std::size_t, std::uint64_t> seeds;
        std::vector<std::optional<VarDesc>> inferred; ///< by root var: what `infer` found, as far as dtype and shape are known
    };
    [[nodiscard]] Values start() const;
    /// Gives an outside (or constant) var its value.
    void set(Values& values, std::size_t var, Tensor value) const { values.by_root[roots_[var]] = std::move(value); }
    [[nodiscard]] const Tensor& get(const Values& values, std::size_t var) const { return values.by_root[roots_[var]]; }
    [[nodiscard]] std::size_t root(std::size_t var) const { return roots_[var]; }

    /// Computes `wanted` vars that have no value yet. Errors: those of the programs; invalid_argument, when an outside var that is
    /// needed has no value.
    Expected<void> compute(Values& values, std::span<const std::size_t> wanted, Watcher* watcher = nullptr);
    /// What inference says of a var from the dtypes and shapes that outside vars have in this call; may be unknown.
    [[nodiscard]] VarDesc infer(Values& values, std::size_t var) const;

private:
    struct Part {
        std::vector<std::size_t> inputs;  ///< root vars, parallel to the graph's inputs
        std::vector<std::size_t> outputs; ///< root vars, parallel to the graph's outputs
        std::shared_ptr<const Graph> graph;
        std::unique_ptr<Program> program;
        bool random = false;
    };
    [[nodiscard]] Expected<Part> make_part(const Values& values, const std::vector<std::size_t>& wanted) const;

    const TraceResult& result_;
    Compile compile_;
    int opt_level_;
    std::vector<std::size_t> roots_;
    std::vector<std::size_t> maker_; ///< by root var: the item that makes it, or npos
    std::vector<std::vector<std::size_t>> readers_; ///< by root var: live items that read it
    std::vector<bool> asked_;        ///< by root var: some handle or read wants it
    std::unordered_map<std::string, Part> parts_; ///< by what was there and what was wanted
};

} // namespace megascope
