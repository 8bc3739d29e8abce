#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "exec/cpu/kernel.h"

namespace megascope {

/// A fixed sequence of oneDNN primitives with fixed memories; running it allocates nothing on our side.
class OnednnKernel final : public CpuKernel {
public:
    explicit OnednnKernel(const CpuContext& context) : engine_(context.engine), stream_(context.stream) {}

    /// Memories whose address each run decides.
    [[nodiscard]] dnnl::memory input(std::size_t index, const dnnl::memory::desc& desc) {
        return bind(Source::input, index, 0, desc);
    }
    [[nodiscard]] dnnl::memory output(std::size_t index, const dnnl::memory::desc& desc) {
        return bind(Source::output, index, 0, desc);
    }
    /// A piece of the scratch memory; grows `scratch_bytes`.
    [[nodiscard]] dnnl::memory scratch(const dnnl::memory::desc& desc);

    struct Argument {
        int id = 0;
        dnnl::memory memory;
    };
    /// Appends a primitive. The memories are kept alive.
    void add(const dnnl::primitive& primitive, const std::vector<Argument>& arguments);

    /// Keeps what others look for, as long as this kernel lives.
    void hold(std::shared_ptr<const dnnl::memory> weights) { held_.push_back(std::move(weights)); }

    [[nodiscard]] std::size_t scratch_bytes() const { return scratch_bytes_; }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                       std::byte* scratch) override;

private:
    enum class Source : std::uint8_t { input, output, scratch };
    struct Binding {
        Source source;
        std::size_t index;
        std::size_t offset;
        dnnl::memory memory;
        const void* address = nullptr;
    };
    struct Call {
        dnnl::primitive primitive;
        std::vector<dnnl::memory> memories;
        std::vector<dnnl_exec_arg_t> arguments;
    };

    dnnl::memory bind(Source source, std::size_t index, std::size_t offset, const dnnl::memory::desc& desc);

    dnnl::engine engine_;
    dnnl::stream stream_;
    std::vector<Binding> bindings_;
    std::vector<Call> calls_;
    std::vector<std::shared_ptr<const dnnl::memory>> held_;
    std::size_t scratch_bytes_ = 0;
};

/// A memory with its own 64-byte aligned bytes.
[[nodiscard]] dnnl::memory owned_memory(const CpuContext& context, const dnnl::memory::desc& desc, const void* content = nullptr);

/// The bytes at `content`, which lie as `from` says, in a memory of their own in the form `to`, now. Throws dnnl::error.
[[nodiscard]] dnnl::memory packed_memory(const CpuContext& context, const dnnl::memory::desc& from, const void* content,
                                         const dnnl::memory::desc& to);

/// oneDNN's int8 sums are exact only where the processor multiplies bytes into 32 bits at once.
[[nodiscard]] bool exact_int8();

} // namespace megascope
