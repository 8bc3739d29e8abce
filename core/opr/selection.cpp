#include "opr/catalogue_builder.h"

namespace megascope {

namespace {

Expected<std::size_t> count_top_k(const Opr& opr) { return opr.param().enum_name("mode") == "KTH_ONLY" ? 1 : 2; }

} // namespace

void add_selection(CatalogueBuilder& b) {
    b.category(OprCategory::indexing);
    b.add({.type = "CondTake", .params = {"CondTake"}, .inputs = {"data", "mask"}, .outputs = {"values", "offsets"},
           .summary = "The elements whose mask value fulfils a condition, with their positions"});
    b.add({.type = "NonZero", .params = {"Empty"}, .inputs = {"src"}, .outputs = {"dst"}, .summary = "Coordinates of all non-zero elements"});
    b.add({.type = "TopK", .params = {"TopK"}, .inputs = {"data", "k"}, .outputs = {"values", "indices"},
           .summary = "The k smallest (largest for negative k) elements of every row", .count = count_top_k, .use = last_on_host});
    b.add({.type = "Argsort", .params = {"Argsort"}, .inputs = {"src"}, .outputs = {"sorted", "indices"}, .profile = "ArgsortForward",
           .summary = "Sorts every row and gives the order"});
    b.add({.type = "ArgsortBackward", .params = {"Empty"}, .inputs = {"diff", "indices", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of Argsort and TopK", .use = last_for_shape});
    b.add({.type = "NMSKeep", .v1 = "NMSKeepMGB", .params = {"NMSKeep"}, .inputs = {"boxes"}, .outputs = {"indices", "sizes"},
           .summary = "Non-maximum suppression of boxes that are sorted by score"});
}

} // namespace megascope
