#pragma once

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "format/reader.h"
#include "graph/graph.h"
#include "tensor/element.h"

namespace megascope::test {

/// The main graph of a dump; null when it cannot be read.
inline std::shared_ptr<const Model> read_dump(const std::filesystem::path& path) {
    const auto file = MappedFile::open(path);
    if (!file) return nullptr;
    const auto model = read_model(*file);
    return model ? *model : nullptr;
}

inline std::string describe(const Graph& graph, const Opr& opr) {
    std::string text = opr.type + "(";
    for (const VarId in : opr.inputs) text += (text.ends_with('(') ? "" : ", ") + std::to_string(in.value());
    text += ")";
    for (const Param& param : opr.params)
        for (std::size_t i = 0; i < param.type().fields.size(); ++i)
            if (!param.is_default(i)) text += " " + param.type().fields[i].name + "=" + param.text(i);
    for (const CompNode& node : opr.comp_nodes) text += " @" + node.locator;
    if (opr.output_dtype) text += " -> " + opr.output_dtype->text();
    for (const StoredTensor& tensor : opr.tensors)
        text += " [" + (tensor.dtype ? tensor.dtype->text() : "?") + " " + (tensor.shape ? tensor.shape->text() : "?") + "]";
    if (!opr.outputs.empty()) text += "  '" + graph.var(opr.outputs.back()).name + "'";
    return text;
}

/// Largest difference of two stored values relative to the largest value; nothing when they cannot be compared.
inline std::optional<double> relative_difference(const StoredTensor& a, const StoredTensor& b) {
    const auto x = a.value();
    const auto y = b.value();
    if (!x || !y) return (!x && !y) ? std::optional(0.0) : std::nullopt;
    if (x->dtype().id != y->dtype().id || x->shape() != y->shape()) return std::nullopt;
    double largest = 1e-30;
    double difference = 0;
    for (std::size_t i = 0; i < x->elements(); ++i) {
        const double u = real_at(x->ref(), i);
        const double v = real_at(y->ref(), i);
        largest = std::max({largest, std::abs(u), std::abs(v)});
        if (u != v && !(std::isnan(u) && std::isnan(v))) difference = std::max(difference, std::abs(u - v));
    }
    return difference / largest;
}

/// Where two graphs part: empty when they have the same operators in the same order, with the same inputs, params, configured comp
/// nodes and dtypes, constants within `tolerance` of each other, and the same outputs. Names do not count.
inline std::string first_difference(const Graph& ours, const Graph& theirs, double tolerance) {
    const std::size_t n = std::min(ours.oprs().size(), theirs.oprs().size());
    for (std::size_t i = 0; i < n; ++i) {
        const Opr& a = ours.oprs()[i];
        const Opr& b = theirs.oprs()[i];
        const auto at = [&](const std::string& what) {
            return what + " of operator " + std::to_string(i) + "\n  ours:   " + describe(ours, a) + "\n  theirs: " + describe(theirs, b);
        };
        if (a.type != b.type) return at("type");
        if (a.inputs != b.inputs) return at("inputs");
        if (a.params != b.params) return at("params");
        if (a.comp_nodes != b.comp_nodes) return at("comp nodes");
        if (a.output_dtype != b.output_dtype) return at("output dtype");
        if (a.tensors.size() != b.tensors.size()) return at("tensors");
        for (std::size_t t = 0; t < a.tensors.size(); ++t) {
            if (a.tensors[t].dtype != b.tensors[t].dtype || a.tensors[t].shape != b.tensors[t].shape) return at("tensor layout");
            const auto difference = relative_difference(a.tensors[t], b.tensors[t]);
            if (!difference) return at("tensor value");
            if (!(*difference <= tolerance)) return at("tensor value (" + std::to_string(*difference) + ")");
        }
    }
    if (ours.oprs().size() != theirs.oprs().size())
        return "number of operators: ours " + std::to_string(ours.oprs().size()) + ", theirs " + std::to_string(theirs.oprs().size());
    if (ours.outputs().size() != theirs.outputs().size()) return "number of outputs";
    for (std::size_t i = 0; i < ours.outputs().size(); ++i)
        if (ours.outputs()[i].var != theirs.outputs()[i].var) return "output " + std::to_string(i);
    return {};
}

/// The first operator whose names differ; empty when all var names agree.
inline std::string first_other_name(const Graph& ours, const Graph& theirs) {
    for (std::size_t i = 0; i < std::min(ours.vars().size(), theirs.vars().size()); ++i)
        if (ours.vars()[i].name != theirs.vars()[i].name) return ours.vars()[i].name + " | " + theirs.vars()[i].name;
    return {};
}

} // namespace megascope::test
