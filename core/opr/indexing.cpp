#include "opr/catalogue_builder.h"

namespace megascope {

namespace {

/// Bounds and steps are read on the host, index vectors on the device. `leading` = 1 (data) or 2 (data and value).
template <std::size_t leading>
InputUse bounds_on_host(const Opr& opr, std::size_t input) {
    if (input < leading) return InputUse::device;
    std::size_t at = leading;
    for (const IndexItem& item : opr.param().index("items")) {
        at += std::size_t{item.begin} + item.end + item.step;
        if (input < at) return InputUse::host_value;
        at += item.idx;
        if (input < at) return InputUse::device;
    }
    return InputUse::device;
}

/// Subtensor and its modifying forms read every index on the host.
InputUse all_but_two_on_host(const Opr&, std::size_t input) { return input < 2 ? InputUse::device : InputUse::host_value; }

} // namespace

void add_indexing(CatalogueBuilder& b) {
    b.category(OprCategory::indexing);
    const auto get = [&](std::string_view type, std::string_view summary, InputUse (*use)(const Opr&, std::size_t)) {
        b.add({.type = type, .params = {"IndexDescMaskDump"}, .inputs = {"data"}, .repeated = "index", .outputs = {"dst"},
               .summary = summary, .use = use});
    };
    const auto modify = [&](std::string_view type, std::string_view summary, InputUse (*use)(const Opr&, std::size_t)) {
        b.add({.type = type, .params = {"IndexDescMaskDump"}, .inputs = {"data", "value"}, .repeated = "index", .outputs = {"data"},
               .summary = summary, .use = use});
    };
    get("Subtensor", "Slice with begin, end, step or a single index per axis", rest_on_host);
    modify("SetSubtensor", "Copy with a slice replaced", all_but_two_on_host);
    modify("IncrSubtensor", "Copy with a slice increased", all_but_two_on_host);
    get("IndexingMultiAxisVec", "Selects elements by index vectors that go together", bounds_on_host<1>);
    modify("IndexingSetMultiAxisVec", "Copy with the elements at index vectors replaced", bounds_on_host<2>);
    modify("IndexingIncrMultiAxisVec", "Copy with the elements at index vectors increased", bounds_on_host<2>);
    get("MeshIndexing", "Selects the grid that index vectors span", bounds_on_host<1>);
    modify("SetMeshIndexing", "Copy with the grid that index vectors span replaced", bounds_on_host<2>);
    modify("IncrMeshIndexing", "Copy with the grid that index vectors span increased", bounds_on_host<2>);
    get("BatchedMeshIndexing", "MeshIndexing with index vectors of its own for every sample", bounds_on_host<1>);
    modify("BatchedSetMeshIndexing", "SetMeshIndexing with index vectors of its own for every sample", bounds_on_host<2>);
    modify("BatchedIncrMeshIndexing", "IncrMeshIndexing with index vectors of its own for every sample", bounds_on_host<2>);
    b.add({.type = "IndexingOneHot", .params = {"Axis"}, .inputs = {"src", "index"}, .outputs = {"dst"},
           .summary = "Picks one element along an axis at every position"});
    b.add({.type = "IndexingSetOneHot", .params = {"Axis"}, .inputs = {"data", "index", "sub"}, .outputs = {"data"},
           .summary = "Copy with one element along an axis replaced at every position"});
    b.add({.type = "IndexingRemap", .params = {"IndexingRemap"}, .inputs = {"src", "map"}, .outputs = {"dst"},
           .summary = "Reads its input at the coordinates that a map gives"});
    b.add({.type = "IndexingRemapBackward", .params = {"IndexingRemap"}, .inputs = {"diff", "map", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of IndexingRemap", .use = last_for_shape});
}

} // namespace megascope
