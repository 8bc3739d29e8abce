#pragma once

#include <cctype>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>

#include "format/writer.h"
#include "graph_compare.h"

namespace megascope::test {

/// How alike a rewritten graph and MegEngine's dump of the same options are; a smaller value is closer.
enum class Likeness {
    bytes,      ///< written with the dump's options, the file is the same to the last byte
    ids,        ///< the same but for the numbers in generated names
    names,      ///< the same but for names
    values,     ///< the same operators in the same order; constants differ by rounding
    configured, ///< the same operators; a constant is configured with a comp node in one of them only
    order,      ///< the same operators; constants stand elsewhere because inputs of a commutative operator are swapped
    different,
};

inline const char* likeness_text(Likeness likeness) {
    switch (likeness) {
    case Likeness::bytes: return "bytes equal";
    case Likeness::ids: return "operators equal, other ids in generated names";
    case Likeness::names: return "operators equal, other names";
    case Likeness::values: return "operators equal, constants differ by rounding";
    case Likeness::configured: return "operators equal, a constant with another configured comp node";
    case Likeness::order: return "operators equal, inputs of MAX or MIN swapped";
    default: return "different";
    }
}

/// "conv(data)[232]" → "conv(data)[]", "fuse():x@7" → "fuse():x@".
inline std::string without_ids(const std::string& name) {
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
        text += name[i];
        if (name[i] != '[' && name[i] != '@') continue;
        while (i + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[i + 1]))) ++i;
    }
    return text;
}

/// Matches two graphs from their outputs upwards. Inputs of commutative Elemwise modes may be swapped.
class GraphMatcher {
public:
    GraphMatcher(const Graph& ours, const Graph& theirs, double tolerance) : a_(ours), b_(theirs), tolerance_(tolerance) {}
    /// Empty when they match.
    std::string first_mismatch() {
        if (a_.outputs().size() != b_.outputs().size()) return "number of outputs";
        for (std::size_t i = 0; i < a_.outputs().size(); ++i)
            if (!same(a_.outputs()[i].var, b_.outputs()[i].var)) return what_;
        return {};
    }

    [[nodiscard]] bool swapped() const { return swapped_; }

private:
    bool differs(const Opr& a, const Opr& b, const char* what) {
        if (what_.empty()) what_ = std::string(what) + "\n  ours:   " + describe(a_, a) + "\n  theirs: " + describe(b_, b);
        return false;
    }
    bool same(VarId x, VarId y) {
        if (const auto it = matched_.find(y); it != matched_.end())
            return it->second == x || differs(a_.producer(x), b_.producer(y), "var");
        const Opr &a = a_.producer(x), &b = b_.producer(y);
        if (a.type != b.type) return differs(a, b, "type");
        if (a.params != b.params) return differs(a, b, "params");
        if (a.output_dtype != b.output_dtype) return differs(a, b, "output dtype");
        if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return differs(a, b, "counts");
        if (a.tensors.size() != b.tensors.size()) return differs(a, b, "tensors");
        for (std::size_t t = 0; t < a.tensors.size(); ++t) {
            if (a.tensors[t].dtype != b.tensors[t].dtype || a.tensors[t].shape != b.tensors[t].shape ||
                !(a.tensors[t].format == b.tensors[t].format))
                return differs(a, b, "tensor layout");
            const auto difference = relative_difference(a.tensors[t], b.tensors[t]);
            if (!difference || !(*difference <= tolerance_)) return differs(a, b, "tensor value");
        }
        bool swap = false;
        if (a.type == "Elemwise" && a.inputs.size() == 2) {
            const std::string mode = a.param().enum_name("mode");
            if (mode == "MAX" || mode == "MIN" || mode == "ADD" || mode == "MUL") {
                const auto seen = matched_;
                if (!(same(a.inputs[0], b.inputs[0]) && same(a.inputs[1], b.inputs[1]))) {
                    matched_ = seen;
                    // The message of the order that begins alike is the better one.
                    const std::string first =
                        a_.producer(a.inputs[0]).type == b_.producer(b.inputs[0]).type ? what_ : std::string();
                    what_.clear();
                    if (!(same(a.inputs[1], b.inputs[0]) && same(a.inputs[0], b.inputs[1]))) {
                        if (!first.empty()) what_ = first;
                        return false;
                    }
                    what_.clear();
                    swap = swapped_ = true;
                }
            }
        }
        for (std::size_t i = 0; i < a.inputs.size(); ++i)
            if (!same(a.inputs[swap ? 1 - i : i], b.inputs[i])) return false;
        for (std::size_t i = 0; i < a.outputs.size(); ++i) matched_[b.outputs[i]] = a.outputs[i];
        return matched_[y] == x;
    }

    const Graph& a_;
    const Graph& b_;
    double tolerance_;
    bool swapped_ = false;
    std::unordered_map<VarId, VarId> matched_; ///< theirs → ours
    std::string what_;
};

/// `difference` gets the first one when they are different.
inline Likeness likeness(const std::shared_ptr<const Graph>& ours, const StoredGraph& theirs, double tolerance,
                         std::string& difference) {
    const Graph& dump = *theirs.graph;
    WriteOptions options = WriteOptions::like_input(theirs);
    options.read_from.reset();
    const auto a = encode_graph(ours, options), b = encode_graph(theirs.graph, options);
    if (a && b && a->joined() == b->joined()) return Likeness::bytes;
    if (first_difference(*ours, dump, 0).empty()) {
        for (std::size_t i = 0; i < dump.vars().size(); ++i)
            if (without_ids(ours->vars()[i].name) != without_ids(dump.vars()[i].name)) return Likeness::names;
        return Likeness::ids;
    }
    if (first_difference(*ours, dump, tolerance).empty()) return Likeness::values;
    GraphMatcher matcher(*ours, dump, tolerance);
    difference = matcher.first_mismatch();
    if (!difference.empty()) return Likeness::different;
    return matcher.swapped() ? Likeness::order : Likeness::configured;
}

} // namespace megascope::test
