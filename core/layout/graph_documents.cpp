#include "layout/graph_documents.h"

#include <array>
#include <cstdio>
#include <string_view>

namespace megascope {

namespace {

/// Bytes at the start of `text` that are one well-formed UTF-8 character; 0 when they are not.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const std::size_t n = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
    if (n == 0 || n > text.size()) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xc0U) != 0x80) return 0;
    if (n == 3 && ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f))) return 0;
    if (n == 4 && ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))) return 0;
    return n;
}

/// A quoted string; names come from files and may hold any byte.
void append_json(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const unsigned char c = static_cast<unsigned char>(text.front());
        std::size_t n = utf8_length(text);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += text.front();
        } else if (c < 0x20) {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\u%04x", c);
            out += code.data();
        } else if (n == 0) {
            out += "\xef\xbf\xbd"; // the replacement character
            n = 1;
        } else {
            out += text.substr(0, n);
        }
        text.remove_prefix(n);
    }
    out += '"';
}

void append_dot(std::string& out, std::string_view text) {
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c == '\n' || c == '\0' ? ' ' : c;
    }
}

void append_ids(std::string& out, const auto& ids) {
    out += '[';
    bool first = true;
    for (const auto id : ids) {
        if (!first) out += ',';
        first = false;
        out += std::to_string(id.value());
    }
    out += ']';
}

} // namespace

std::string graph_as_dot(const GraphStructure& structure) {
    const Graph& graph = *structure.graph;
    const GroupTree& tree = *structure.groups;
    std::string out = "digraph graph {\n  node [shape=box];\n";
    const auto node = [&](const Opr& o) {
        out += "  n" + std::to_string(o.id.value()) + " [label=\"";
        append_dot(out, graph.type_text(o.id));
        out += "\\n";
        append_dot(out, graph.display_name(o.id));
        out += "\"];\n";
    };
    // Clusters nest; a stack instead of recursion, since names decide how deep.
    struct Open {
        GroupId group;
        std::size_t next_child = 0;
    };
    for (const GroupId top : tree.top()) {
        std::vector<Open> open;
        const auto enter = [&](GroupId id) {
            const Group& g = tree.group(id);
            out += "subgraph cluster_" + std::to_string(id.value()) + " {\n  label=\"";
            append_dot(out, g.title);
            out += "\";\n";
            for (OprId o : g.oprs) node(graph.opr(o));
            open.push_back({id, 0});
        };
        enter(top);
        while (!open.empty()) {
            const Group& g = tree.group(open.back().group);
            if (open.back().next_child < g.children.size()) {
                enter(g.children[open.back().next_child++]);
            } else {
                out += "}\n";
                open.pop_back();
            }
        }
    }
    for (const Opr& o : graph.oprs())
        if (!tree.of(o.id).valid()) node(o);
    for (const Opr& o : graph.oprs())
        for (VarId v : o.inputs)
            out += "  n" + std::to_string(graph.var(v).producer.value()) + " -> n" + std::to_string(o.id.value()) + ";\n";
    return out + "}\n";
}

std::string graph_as_json(const GraphStructure& structure, const GraphInfo* info) {
    const Graph& graph = *structure.graph;
    const GroupTree& tree = *structure.groups;
    std::string out = "{\"operators\":[";
    for (const Opr& o : graph.oprs()) {
        if (o.id.value()) out += ',';
        out += "\n{\"id\":" + std::to_string(o.id.value()) + ",\"type\":";
        append_json(out, graph.type_text(o.id));
        out += ",\"name\":";
        append_json(out, o.name);
        out += ",\"inputs\":";
        append_ids(out, o.inputs);
        out += ",\"outputs\":";
        append_ids(out, o.outputs);
        const GroupId group = tree.of(o.id);
        out += ",\"group\":" + (group.valid() ? std::to_string(group.value()) : std::string("null")) + "}";
    }
    out += "],\n\"vars\":[";
    for (const Var& v : graph.vars()) {
        if (v.id.value()) out += ',';
        out += "\n{\"id\":" + std::to_string(v.id.value()) + ",\"name\":";
        append_json(out, v.name);
        const std::optional<Shape>& shape = info && info->var(v.id).shape ? info->var(v.id).shape : v.shape;
        const std::optional<DType>& dtype = info && info->var(v.id).dtype ? info->var(v.id).dtype : v.dtype;
        out += ",\"shape\":";
        if (shape) {
            out += '[';
            for (std::size_t i = 0; i < shape->ndim(); ++i) out += (i ? "," : "") + std::to_string((*shape)[i]);
            out += ']';
        } else {
            out += "null";
        }
        out += ",\"dtype\":";
        if (dtype) append_json(out, dtype->name());
        else out += "null";
        out += "}";
    }
    out += "],\n\"inputs\":";
    append_ids(out, graph.inputs());
    std::vector<VarId> outputs;
    for (const GraphOutput& o : graph.outputs()) outputs.push_back(o.var);
    out += ",\n\"outputs\":";
    append_ids(out, outputs);
    out += ",\n\"groups\":[";
    for (const Group& g : tree.groups()) {
        if (g.id.value()) out += ',';
        out += "\n{\"id\":" + std::to_string(g.id.value()) + ",\"parent\":" + (g.parent.valid() ? std::to_string(g.parent.value()) : std::string("null")) + ",\"title\":";
        append_json(out, g.title);
        out += ",\"path\":";
        append_json(out, g.path);
        out += "}";
    }
    return out + "]}\n";
}

} // namespace megascope
