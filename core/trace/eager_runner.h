#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/backend.h"
#include "trace/opr_desc.h"

namespace megascope {

/// Runs single operators on a backend: each as a graph of its own, compiled once per description, input dtypes and shapes (and
/// the small values that decide shapes). The last programs are kept. Not thread-safe; each thread has its own.
class EagerRunner {
public:
    /// Errors of `run`: invalid_argument (the inputs do not fit), unsupported, run_failed.
    explicit EagerRunner(std::shared_ptr<const Backend> backend) : backend_(std::move(backend)) {}

    [[nodiscard]] Expected<std::vector<Tensor>> run(const OprDesc& desc, std::span<const Tensor> inputs);

    /// This thread's runner, on the "cpu" backend until `use_backend` says otherwise.
    [[nodiscard]] static EagerRunner& of_thread();
    /// Errors: invalid_argument, when there is no such backend.
    static Expected<void> use_backend(std::string_view name);
    [[nodiscard]] const Backend& backend() const { return *backend_; }
    [[nodiscard]] const std::shared_ptr<const Backend>& shared_backend() const { return backend_; }

private:
    struct Entry {
        std::string key;
        std::unique_ptr<Program> program;
    };
    [[nodiscard]] Expected<Program*> program(const OprDesc& desc, std::span<const Tensor> inputs, const std::vector<bool>& host);

    std::shared_ptr<const Backend> backend_;
    std::list<Entry> entries_; ///< the last used first
    std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
};

} // namespace megascope
