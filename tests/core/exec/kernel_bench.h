#pragma once

#include <string>
#include <vector>

#include "exec/reference/kernel_table.h"
#include "opr/param_registry.h"
#include "tensor/element.h"

namespace megascope::test {

/// Runs one plain kernel of the reference backend on hand-made tensors.
class KernelBench {
public:
    explicit KernelBench(std::string type) { opr_.type = std::move(type); }

    KernelBench& param(Param param) {
        opr_.params.push_back(std::move(param));
        return *this;
    }
    /// Values are real values, rounded as the dtype does.
    KernelBench& input(DType dtype, Shape shape, const std::vector<double>& values) {
        TensorBuffer buffer(dtype, shape);
        std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{0});
        from_real(values, buffer.ref());
        inputs_.push_back(std::move(buffer).freeze());
        return *this;
    }
    KernelBench& output(DType dtype, Shape shape) {
        outputs_.emplace_back(dtype, shape);
        return *this;
    }

    /// Empty on success, otherwise the error's sentence.
    std::string run() {
        std::vector<TensorRef> in;
        std::vector<MutTensorRef> out;
        for (const Tensor& t : inputs_) in.push_back(t.ref());
        for (const TensorBuffer& t : outputs_) {
            std::fill(t.bytes().begin(), t.bytes().end(), std::byte{0x5a}); // what a kernel does not write shows
            out.push_back(t.ref());
        }
        const auto kernel = reference_kernels().find(opr_.type);
        if (kernel == reference_kernels().end()) return "no kernel for " + opr_.type;
        const auto result = kernel->second.run({opr_, in, out, nullptr});
        return result ? std::string() : result.error().message;
    }
    std::vector<double> real(std::size_t output = 0) const { return to_real(outputs_[output].ref()); }
    std::vector<std::int64_t> stored(std::size_t output = 0) const { return to_stored(outputs_[output].ref()); }

private:
    Opr opr_;
    std::vector<Tensor> inputs_;
    std::vector<TensorBuffer> outputs_;
};

inline Param make_param(std::string_view type) { return Param(*ParamRegistry::builtin().find(type)); }
inline std::int64_t enum_value(const Param& param, std::string_view field, std::string_view name) {
    return *param.type().fields[*param.type().find(field)].enumeration->find(name);
}

} // namespace megascope::test
