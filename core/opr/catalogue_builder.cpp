#include "opr/catalogue_builder.h"

#include <cstdlib>

#include "opr/opr_id.h"

namespace megascope {

namespace {

template <std::size_t n>
Expected<std::size_t> fixed_count(const Opr&) {
    return n;
}

Expected<std::size_t> (*count_of(std::size_t outputs))(const Opr&) {
    switch (outputs) {
    case 0: return fixed_count<0>;
    case 1: return fixed_count<1>;
    case 2: return fixed_count<2>;
    case 3: return fixed_count<3>;
    case 4: return fixed_count<4>;
    case 5: return fixed_count<5>;
    case 6: return fixed_count<6>;
    default: std::abort(); // no class has more
    }
}

InputUse all_on_device(const Opr&, std::size_t) { return InputUse::device; }

} // namespace

OprDef& CatalogueBuilder::append(OprSpec&& spec) {
    OprDef def;
    def.kind = OprKind(defs_.size());
    def.type = spec.type;
    def.v1_name = spec.v1.empty() ? spec.type : spec.v1;
    def.v2_name = spec.v2.empty() ? def.v1_name : spec.v2;
    def.params = std::move(spec.params);
    def.inputs.required = static_cast<std::uint32_t>(spec.inputs.size() - spec.optional);
    def.inputs.fixed = std::move(spec.inputs);
    def.inputs.repeated = spec.repeated;
    def.count_outputs = spec.count ? spec.count : count_of(spec.outputs.size());
    def.outputs = std::move(spec.outputs);
    def.category = category_;
    def.summary = spec.summary;
    def.profile_type = spec.profile.empty() ? spec.type : spec.profile;
    def.input_use = spec.use ? spec.use : all_on_device;
    def.infer = spec.infer;
    def.cost = spec.cost;
    return defs_.emplace_back(std::move(def));
}

void CatalogueBuilder::add(OprSpec spec) {
    const bool has_v2_entry = !spec.v2.empty();
    OprDef& def = append(std::move(spec));
    def.v1_id = versioned_opr_id(def.v1_name);
    def.mgbs_id = unversioned_opr_id(def.v1_name);
    // The version-1 entry of the v2 registry reuses the v1 registration under its unversioned id.
    const OprIdentity version1{1, def.mgbs_id};
    if (has_v2_entry) {
        def.v2 = {2, versioned_opr_id(def.v2_name)};
        def.v2_also = {version1};
    } else {
        def.v2 = version1;
    }
}

void CatalogueBuilder::add_unversioned(OprSpec spec) {
    OprDef& def = append(std::move(spec));
    def.v1_id = def.mgbs_id = versioned_opr_id(def.v1_name);
    def.v2 = {2, def.v1_id};
}

InputUse last_on_host(const Opr& opr, std::size_t input) {
    return input + 1 == opr.inputs.size() ? InputUse::host_value : InputUse::device;
}

InputUse last_for_shape(const Opr& opr, std::size_t input) {
    return input + 1 == opr.inputs.size() ? InputUse::shape_only : InputUse::device;
}

InputUse rest_on_host(const Opr&, std::size_t input) { return input == 0 ? InputUse::device : InputUse::host_value; }

InputUse all_on_host(const Opr&, std::size_t) { return InputUse::host_value; }

} // namespace megascope
