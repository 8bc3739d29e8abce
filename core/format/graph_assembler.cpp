#include "format/graph_assembler.h"

namespace megascope {

std::string opr_text(std::size_t index, const Opr& opr) {
    std::string s = "Operator " + std::to_string(index);
    const std::string type = opr.type.empty() ? "type id " + std::to_string(opr.type_id) : opr.type;
    s += " (" + type;
    if (!opr.name.empty()) s += " \"" + opr.name + "\"";
    return s + ")";
}

void GraphAssembler::identify(Opr& opr, const OprDef* def) {
    if (def) {
        opr.kind = def->kind;
        opr.type = def->type;
    } else {
        opr.type = opr.registered_type;
    }
}

Expected<OprId> GraphAssembler::add(Opr opr, std::optional<std::size_t> stored_outputs, std::size_t names, std::uint64_t file_offset) {
    const auto refuse = [&](Error error) {
        if (!error.offset) error.offset = file_offset;
        error.where = opr_text(builder_.opr_count(), opr);
        return forward(std::move(error));
    };
    const Catalogue& catalogue = Catalogue::builtin();
    // Who cannot read all params does not know what the operator computes.
    const bool newer = opr.kind.valid() && !opr.raw_params.empty();
    if (newer) opr.kind = {};
    std::size_t outputs = 0;
    if (const OprDef* def = catalogue.of(opr)) {
        if (auto settled = catalogue.settle(opr); !settled) return refuse(std::move(settled).error());
        const std::size_t listed = stored_outputs.value_or(names);
        if (def->category == OprCategory::external && listed != 0) {
            outputs = listed; // what an external library computes only the file knows
        } else {
            auto counted = def->count_outputs(opr);
            if (!counted) return refuse(std::move(counted).error());
            outputs = *counted;
        }
        if (stored_outputs && *stored_outputs != outputs)
            return refuse({ErrorCode::corrupt, "The file lists " + std::to_string(*stored_outputs) + " outputs, but this operator has " +
                                                   std::to_string(outputs) + ".", {}, {}});
        if (names != 0 && names != outputs)
            return refuse({ErrorCode::corrupt, "The file names " + std::to_string(names) + " outputs, but this operator has " +
                                                   std::to_string(outputs) + ".", {}, {}});
    } else {
        outputs = stored_outputs.value_or(names != 0 ? names : 1);
        if (newer) ++newer_[opr.type];
        else ++unknown_[opr.type.empty() ? "type id " + std::to_string(opr.type_id) : "'" + opr.type + "'"];
    }
    const bool input = opr.type == "Host2DeviceCopy" && opr.kind.valid();
    const std::string text = opr_text(builder_.opr_count(), opr);
    auto added = builder_.add(std::move(opr), outputs, input);
    if (!added) {
        Error error = std::move(added).error();
        error.offset = file_offset;
        error.where = text;
        return forward(std::move(error));
    }
    return added;
}

std::shared_ptr<const Graph> GraphAssembler::finish() {
    for (const auto& [type, count] : unknown_)
        context_.warnings.push_back(std::to_string(count) + (count == 1 ? " operator has" : " operators have") + " the unknown " +
                                    (type.front() == '\'' ? "type " : "") + type + "; it is shown but cannot be computed.");
    for (const auto& [type, count] : newer_)
        context_.warnings.push_back(std::to_string(count) + " " + type + (count == 1 ? " operator has" : " operators have") +
                                    " params of an unknown kind; it is shown but cannot be computed.");
    return builder_.finish();
}

std::optional<Shape> read_shape(const FlatTable& table, std::uint16_t vt) {
    const FlatVector v = table.vector(vt, sizeof(std::uint32_t));
    if (!v.present) return std::nullopt;
    if (v.size > Shape::max_ndim) {
        table.violation("a shape has " + std::to_string(v.size) + " axes, at most " + std::to_string(Shape::max_ndim) + " are possible");
        return std::nullopt;
    }
    Shape shape = Shape::filled(v.size, 0);
    for (std::size_t i = 0; i < v.size; ++i) shape[i] = table.element<std::uint32_t>(v, i);
    if (!shape.checked_elements()) {
        table.violation("the shape " + shape.text() + " has too many elements");
        return std::nullopt;
    }
    return shape;
}

std::optional<CompNode> read_comp_node(const FlatTable& table, std::uint16_t locator_vt) {
    if (!table.present()) return std::nullopt;
    return CompNode{std::string(table.text(locator_vt).value_or(""))};
}

bool holds_shared_tensors(const Opr& opr) {
    return opr.type == "SharedDeviceTensor" || opr.type == "VolatileSharedDeviceTensor" || opr.type == "MultipleDeviceTensorHolder" ||
           opr.type == "MultipleDeviceTensorWithFormatHolder";
}

void describe_kept_names(StoredGraph& stored) {
    const Graph& graph = *stored.graph;
    KeptNames& kept = stored.kept;
    bool every_opr_names = true;
    bool any_opr_names = false;
    for (const Opr& opr : graph.oprs()) {
        if (opr.has_name) kept.opr_name = true;
        if (opr.priority != 0) kept.opr_priority = true;
        if (holds_shared_tensors(opr))
            for (const StoredTensor& tensor : opr.tensors) kept.param_name |= tensor.has_name;
        for (VarId out : opr.outputs) {
            any_opr_names |= graph.var(out).has_name;
            every_opr_names &= graph.var(out).has_name;
        }
    }
    if (!any_opr_names)
        kept.var_name = 0;
    else if (stored.container == Container::fbs_v2)
        kept.var_name = 1; // the same bytes as 2
    else
        kept.var_name = every_opr_names ? 2 : 1;
}

} // namespace megascope
