#include "trace/trace_value.h"

namespace megascope {

const EagerTensor& TraceValue::tensor() const {
    if (const auto* sequence = std::get_if<Sequence>(&value_)) return sequence->front();
    if (const auto* mapping = std::get_if<Mapping>(&value_)) return mapping->begin()->second;
    return std::get<EagerTensor>(value_);
}

std::size_t TraceValue::size() const { return flat().size(); }

TraceValue::Sequence TraceValue::flat() const {
    if (const auto* tensor = std::get_if<EagerTensor>(&value_)) return {*tensor};
    if (const auto* sequence = std::get_if<Sequence>(&value_)) return *sequence;
    Sequence tensors;
    if (const auto* mapping = std::get_if<Mapping>(&value_))
        for (const auto& [name, tensor] : *mapping) tensors.push_back(tensor);
    return tensors;
}

std::vector<std::string> TraceValue::names() const {
    std::vector<std::string> names;
    if (const auto* mapping = std::get_if<Mapping>(&value_))
        for (const auto& [name, tensor] : *mapping) names.push_back(name);
    return names;
}

TraceValue TraceValue::with(const Sequence& tensors) const {
    if (std::holds_alternative<EagerTensor>(value_)) return tensors.front();
    if (std::holds_alternative<Sequence>(value_)) return tensors;
    if (const auto* mapping = std::get_if<Mapping>(&value_)) {
        Mapping result;
        std::size_t i = 0;
        for (const auto& [name, tensor] : *mapping) result[name] = tensors[i++];
        return result;
    }
    return {};
}

} // namespace megascope
