#include "opr/catalogue.h"

#include <algorithm>
#include <unordered_map>

#include "opr/catalogue_builder.h"
#include "opr/param_registry.h"

namespace megascope {

struct Catalogue::Index {
    std::unordered_map<std::string_view, std::uint32_t> type;
    std::unordered_map<std::uint64_t, std::uint32_t> v1;
    std::unordered_map<std::uint64_t, std::uint32_t> mgbs;
    std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> v2; ///< id → (version, kind)
};

Catalogue::Catalogue(std::vector<OprDef> defs) : defs_(std::move(defs)) {
    auto index = std::make_shared<Index>();
    for (const OprDef& def : defs_) {
        const std::uint32_t kind = def.kind.value();
        index->type.emplace(def.type, kind);
        index->v1.emplace(def.v1_id, kind);
        index->mgbs.emplace(def.mgbs_id, kind);
        index->v2[def.v2.id].emplace_back(def.v2.version, kind);
        for (const OprIdentity& also : def.v2_also) index->v2[also.id].emplace_back(also.version, kind);
    }
    index_ = std::move(index);
}

const Catalogue& Catalogue::builtin() {
    static const Catalogue catalogue([] {
        CatalogueBuilder b;
        for (auto add : {add_data, add_convolution, add_local_convolution, add_matmul, add_elemwise, add_norm, add_pooling, add_roi,
                         add_reduce, add_shape, add_window, add_indexing, add_selection, add_creation, add_image, add_random, add_rnn,
                         add_attention, add_quantization, add_control, add_external})
            add(b);
        return b.take();
    }());
    return catalogue;
}

const OprDef* Catalogue::find_type(std::string_view type) const {
    const auto it = index_->type.find(type);
    return it == index_->type.end() ? nullptr : &defs_[it->second];
}

const OprDef* Catalogue::find_v1(std::uint64_t id) const {
    const auto it = index_->v1.find(id);
    return it == index_->v1.end() ? nullptr : &defs_[it->second];
}

const OprDef* Catalogue::find_mgbs(std::uint64_t id) const {
    const auto it = index_->mgbs.find(id);
    return it == index_->mgbs.end() ? nullptr : &defs_[it->second];
}

const OprDef* Catalogue::find_v2(std::uint64_t id, std::uint32_t version) const {
    const auto it = index_->v2.find(id);
    if (it == index_->v2.end()) return nullptr;
    for (const auto& [v, kind] : it->second)
        if (v == version) return &defs_[kind];
    return nullptr;
}

namespace {

std::string count_text(std::size_t n, std::string_view what) {
    return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

Expected<void> settle_params(const OprDef& def, Opr& opr) {
    if (!opr.raw_params.empty())
        return fail(ErrorCode::unsupported, opr.type + " carries a param of the unknown kind " +
                                                std::to_string(opr.raw_params.front().number) + ".");
    const auto wanted = [&](std::size_t i) {
        std::string_view name = def.params[i];
        if (name.ends_with('?')) name.remove_suffix(1);
        return name;
    };
    if (opr.params.size() > def.params.size())
        return fail(ErrorCode::corrupt, opr.type + " carries " + count_text(opr.params.size(), "param") + ", but it has " +
                                            std::to_string(def.params.size()) + ".");
    for (std::size_t i = 0; i < opr.params.size(); ++i) {
        const std::string_view name = wanted(i);
        if (opr.params[i].type().name == name) continue;
        if (def.type == "CheckNonFinite" && opr.params[i].type().name == "Empty") { // written for old readers
            opr.params[i] = Param(*ParamRegistry::builtin().find(name));
            continue;
        }
        return fail(ErrorCode::corrupt, opr.type + " carries the param " + opr.params[i].type().name + " where " + std::string(name) +
                                            " belongs.");
    }
    for (std::size_t i = opr.params.size(); i < def.params.size(); ++i)
        if (!def.params[i].ends_with('?'))
            return fail(ErrorCode::corrupt, opr.type + " lacks its param " + std::string(def.params[i]) + ".");
    return {};
}

} // namespace

Expected<void> Catalogue::settle(Opr& opr) const {
    const OprDef* def = of(opr);
    if (!def) return {};
    MGS_TRY(settle_params(*def, opr));
    const std::size_t n = opr.inputs.size();
    if (n < def->inputs.required)
        return fail(ErrorCode::corrupt, opr.type + " has " + count_text(n, "input") + ", but it needs " +
                                            std::to_string(def->inputs.required) + ".");
    if (n > def->inputs.fixed.size() && def->inputs.repeated.empty())
        return fail(ErrorCode::corrupt, opr.type + " has " + count_text(n, "input") + ", but it takes at most " +
                                            std::to_string(def->inputs.fixed.size()) + ".");
    return {};
}

bool OprDef::params_fit(const Opr& opr) const {
    if (opr.params.size() > params.size()) return false;
    for (std::size_t i = 0; i < params.size(); ++i) {
        std::string_view name = params[i];
        const bool optional = name.ends_with('?');
        if (optional) name.remove_suffix(1);
        if (i >= opr.params.size()) {
            if (!optional) return false;
        } else if (opr.params[i].type().name != name) {
            return false;
        }
    }
    return true;
}

std::string_view category_name(OprCategory category) {
    switch (category) {
    case OprCategory::convolution: return "convolution";
    case OprCategory::matmul: return "matmul";
    case OprCategory::elementwise: return "elementwise";
    case OprCategory::normalisation: return "normalisation";
    case OprCategory::pooling: return "pooling";
    case OprCategory::shape: return "shape";
    case OprCategory::data: return "data";
    case OprCategory::reduction: return "reduction";
    case OprCategory::indexing: return "indexing";
    case OprCategory::image: return "image";
    case OprCategory::random: return "random";
    case OprCategory::rnn: return "rnn";
    case OprCategory::quantization: return "quantization";
    case OprCategory::control: return "control";
    case OprCategory::external: return "external";
    case OprCategory::other: break;
    }
    return "other";
}

} // namespace megascope
