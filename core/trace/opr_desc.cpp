#include "trace/opr_desc.h"

#include <algorithm>
#include <array>
#include <utility>

#include "opr/catalogue.h"
#include "opr/param_registry.h"
#include "trace/trace_error.h"

namespace megascope {
namespace {

const ParamType* param_type(std::string_view name) {
    if (name.ends_with('?')) name.remove_suffix(1);
    return ParamRegistry::builtin().find(name);
}

/// Class name → name of MegEngine's imperative operator, where they differ. An empty name: the operator sets none.
struct TracedName {
    std::string_view type;
    std::string_view name;
};
constexpr std::array traced_names = {
    TracedName{"ConvBiasForward", "ConvBias"},
    TracedName{"BatchConvBiasForward", "BatchConvBias"},
    TracedName{"CorrelationForward", "Correlation"},
    TracedName{"Padding", ""},
    TracedName{"LRN", ""},
    TracedName{"Convolution3D", ""},
    TracedName{"Convolution3DBackwardData", ""},
    TracedName{"DeformableConvForward", ""},
    TracedName{"DeformablePSROIPoolingForward", ""},
    TracedName{"RNNForward", ""},
    TracedName{"LSTMForward", ""},
    TracedName{"RNNCellForward", ""},
    TracedName{"LSTMCellForward", ""},
};

bool is_elemwise(const OprDesc& desc) { return desc.type == "Elemwise" || desc.type == "ElemwiseMultiType"; }

} // namespace

OprDesc::OprDesc(std::string_view class_name) : type(class_name) {
    const OprDef* def = Catalogue::builtin().find_type(class_name);
    if (!def) throw OprError(ErrorCode::invalid_argument, "There is no operator class " + type + ".");
    for (const std::string_view name : def->params)
        if (const ParamType* found = param_type(name)) params.emplace_back(*found);
}

OprDesc& OprDesc::set(std::string_view field, ParamValue value) {
    params.front().set(field, std::move(value));
    return *this;
}

OprDesc& OprDesc::set_enum(std::string_view field, std::string_view value) {
    Param& param = params.front();
    const auto at = param.type().find(field);
    const ParamEnum* values = at ? param.type().fields[*at].enumeration : nullptr;
    const auto number = values ? values->find(value) : std::nullopt;
    if (!number) throw OprError(ErrorCode::invalid_argument, type + " has no " + std::string(field) + " " + std::string(value) + ".");
    param.set(*at, *number);
    return *this;
}

OprDesc& OprDesc::with_name(std::string own_name) {
    name = std::move(own_name);
    return *this;
}

OprDesc& OprDesc::without_name() {
    named = false;
    return *this;
}

std::optional<std::uint64_t> OprDesc::seed() const {
    if (params.empty() || !params.front().type().find("seed")) return std::nullopt;
    return params.front().u64("seed");
}

void OprDesc::set_seed(std::uint64_t seed) { params.front().set("seed", seed); }

bool OprDesc::is_same(const OprDesc& other) const {
    if (type != other.type || output_dtype != other.output_dtype || comp_nodes != other.comp_nodes ||
        params.size() != other.params.size())
        return false;
    for (std::size_t p = 0; p < params.size(); ++p) {
        const ParamType& kind = params[p].type();
        if (&kind != &other.params[p].type()) return false;
        for (std::size_t f = 0; f < kind.fields.size(); ++f)
            if (kind.fields[f].name != "seed" && params[p].value(f) != other.params[p].value(f)) return false;
    }
    return true;
}

std::string OprDesc::text() const { return is_elemwise(*this) ? type + " " + params.front().enum_name("mode") : type; }

std::string traced_name(const OprDesc& desc) {
    if (!desc.named) return {};
    if (!desc.name.empty()) return desc.name;
    if (is_elemwise(desc)) {
        std::string mode = desc.params.front().enum_name("mode");
        while (mode.ends_with('_')) mode.pop_back();
        return mode;
    }
    if (desc.type == "AxisAddRemove") {
        const std::vector<AxisDesc>& axes = desc.params.front().axes("desc");
        return !axes.empty() && axes.front().method == AxisDesc::Method::add_1 ? "AddAxis" : "RemoveAxis";
    }
    const auto found = std::ranges::find(traced_names, std::string_view(desc.type), &TracedName::type);
    return std::string(found == traced_names.end() ? std::string_view(desc.type) : found->name);
}

Opr make_opr(const OprDesc& desc, std::vector<VarId> inputs) {
    const OprDef* def = Catalogue::builtin().find_type(desc.type);
    Opr opr;
    opr.type = desc.type;
    if (def) {
        opr.kind = def->kind;
        opr.registered_type = def->v2_name;
        opr.type_id = def->v2.id;
        opr.version = def->v2.version;
    }
    opr.params = desc.params;
    opr.output_dtype = desc.output_dtype;
    opr.comp_nodes = desc.comp_nodes;
    opr.inputs = std::move(inputs);
    return opr;
}

Expected<std::size_t> count_outputs(const OprDesc& desc, std::size_t inputs) {
    Opr opr = make_opr(desc, std::vector<VarId>(inputs));
    const OprDef* def = Catalogue::builtin().of(opr);
    if (!def) return fail(ErrorCode::invalid_argument, "There is no operator class " + desc.type + ".");
    if (auto settled = Catalogue::builtin().settle(opr); !settled)
        return fail(ErrorCode::invalid_argument, std::move(settled.error().message));
    if (!def->count_outputs) return def->outputs.size();
    return def->count_outputs(opr);
}

} // namespace megascope
