#include "exec/cpu/vector/elemwise_program.h"

#include <algorithm>

#include "exec/cpu/vector/formulas.h"

namespace megascope {

bool elemwise_program_supports(const Opr& opr) {
    if (opr.type != "Elemwise" || opr.params.empty() || opr.outputs.size() != 1) return false;
    const std::int64_t mode = opr.param().integer("mode");
    if (mode < 0 || mode >= elemwise_mode_count) return false;
    const auto formula = static_cast<ElemwiseMode>(mode);
    return has_float_formula(formula) && opr.inputs.size() == elemwise_arity(formula);
}

std::size_t ElemwiseProgram::add(ElemwiseMode mode, std::span<const std::size_t> registers) {
    Formula formula{mode};
    for (std::size_t i = 0; i < registers.size(); ++i) formula.in[i] = static_cast<std::uint16_t>(registers[i]);
    formulas_.push_back(formula);
    return inputs_ + formulas_.size() - 1;
}

void ElemwiseProgram::finish() {
    std::vector<std::size_t> last_use(formulas_.size());
    for (std::size_t i = 0; i < formulas_.size(); ++i)
        for (std::size_t k = 0; k < elemwise_arity(formulas_[i].mode); ++k)
            if (formulas_[i].in[k] >= inputs_) last_use[formulas_[i].in[k] - inputs_] = i;
    std::vector<bool> busy;
    for (std::size_t i = 0; i + 1 < formulas_.size(); ++i) { // the last one writes the output
        for (std::size_t j = 0; j < i; ++j)
            if (last_use[j] == i) busy[formulas_[j].buffer] = false; // formulas may overwrite what they read
        std::size_t free = static_cast<std::size_t>(std::ranges::find(busy, false) - busy.begin());
        if (free == busy.size()) busy.push_back(false);
        busy[free] = true;
        formulas_[i].buffer = static_cast<std::uint16_t>(free);
    }
    buffers_ = busy.size();
}

void ElemwiseProgram::run(const float* const* inputs, float* out, std::size_t count, float* temporary) const {
    for (std::size_t i = 0; i < formulas_.size(); ++i) {
        const Formula& formula = formulas_[i];
        std::array<const float*, 4> in{};
        for (std::size_t k = 0; k < elemwise_arity(formula.mode); ++k)
            in[k] =
                formula.in[k] < inputs_ ? inputs[formula.in[k]] : temporary + formulas_[formula.in[k] - inputs_].buffer * tile;
        float* to = i + 1 == formulas_.size() ? out : temporary + formula.buffer * tile;
        float_formula(formula.mode, in[0], in[1], in[2], in[3], to, count);
    }
}

} // namespace megascope
