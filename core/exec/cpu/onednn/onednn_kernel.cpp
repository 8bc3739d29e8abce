#include "exec/cpu/onednn/onednn_kernel.h"

#include <cstring>

namespace megascope {

dnnl::memory OnednnKernel::bind(Source source, std::size_t index, std::size_t offset, const dnnl::memory::desc& desc) {
    dnnl::memory memory(desc, engine_, nullptr);
    bindings_.push_back({source, index, offset, memory, nullptr});
    return memory;
}

dnnl::memory OnednnKernel::scratch(const dnnl::memory::desc& desc) {
    const std::size_t offset = scratch_bytes_;
    scratch_bytes_ += (desc.get_size() + 63) / 64 * 64;
    return bind(Source::scratch, 0, offset, desc);
}

void OnednnKernel::add(const dnnl::primitive& primitive, const std::vector<Argument>& arguments) {
    Call call;
    call.primitive = primitive;
    for (const Argument& argument : arguments) {
        call.memories.push_back(argument.memory);
        call.arguments.push_back({argument.id, argument.memory.get()});
    }
    calls_.push_back(std::move(call));
}

Expected<void> OnednnKernel::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                                 std::byte* scratch) {
    for (Binding& binding : bindings_) {
        const void* address = binding.source == Source::input    ? static_cast<const void*>(inputs[binding.index])
                              : binding.source == Source::output ? static_cast<const void*>(outputs[binding.index])
                                                                 : static_cast<const void*>(scratch + binding.offset);
        if (address == binding.address) continue;
        // oneDNN has no read-only memories; inputs are never bound to what a primitive writes.
        if (dnnl_memory_set_data_handle(binding.memory.get(), const_cast<void*>(address)) != dnnl_success)
            return fail(ErrorCode::run_failed, "oneDNN refused the memory of a value.");
        binding.address = address;
    }
    for (const Call& call : calls_) {
        const dnnl_status_t status = dnnl_primitive_execute(call.primitive.get(), stream_.get(),
                                                            static_cast<int>(call.arguments.size()), call.arguments.data());
        if (status == dnnl_out_of_memory) return fail(ErrorCode::out_of_memory, "There is not enough memory for oneDNN.");
        if (status != dnnl_success)
            return fail(ErrorCode::run_failed,
                        "oneDNN could not run its primitive (status " + std::to_string(static_cast<int>(status)) + ").");
    }
    return {};
}

dnnl::memory owned_memory(const CpuContext& context, const dnnl::memory::desc& desc, const void* content) {
    dnnl::memory memory(desc, context.engine);
    if (content) std::memcpy(memory.get_data_handle(), content, desc.get_size());
    return memory;
}

dnnl::memory packed_memory(const CpuContext& context, const dnnl::memory::desc& from, const void* content,
                           const dnnl::memory::desc& to) {
    if (from == to) return owned_memory(context, from, content);
    dnnl::memory stored(from, context.engine, const_cast<void*>(content)); // only read
    dnnl::memory packed(to, context.engine);
    dnnl::stream stream = context.stream;
    dnnl::reorder(stored, packed).execute(stream, stored, packed);
    stream.wait();
    return packed;
}

} // namespace megascope
