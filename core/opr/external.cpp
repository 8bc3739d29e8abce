#include "opr/catalogue_builder.h"

namespace megascope {

namespace {

/// Only the vendor's library knows how many outputs its model has; a file that does not list them is not readable.
Expected<std::size_t> count_unknown(const Opr& opr) {
    if (opr.outputs.empty())
        return fail(ErrorCode::unsupported, "Only the library behind " + opr.type + " knows how many outputs it has, and the file does not say.");
    return opr.outputs.size();
}

} // namespace

void add_external(CatalogueBuilder& b) {
    b.category(OprCategory::external);
    const auto runtime = [&](std::string_view type, std::string_view v2, std::string_view summary) {
        b.add({.type = type, .v2 = v2, .inputs = {}, .repeated = "x", .outputs = {"out"}, .summary = summary, .count = count_unknown});
    };
    runtime("AtlasRuntimeOpr", "", "Runs an embedded Ascend model");
    runtime("CambriconRuntimeOpr", "", "Runs an embedded Cambricon model");
    runtime("MagicMindRuntimeOpr", "", "Runs an embedded MagicMind model");
    runtime("TensorRTRuntimeOpr", "", "Runs an embedded TensorRT engine");
    runtime("ExternCOprRunner", "", "Runs an operator of an external C library");
    runtime("CustomOpNode", "CustomOpNode", "Runs an operator of a custom operator library");
    b.add_unversioned({.type = "dynamic", .inputs = {}, .repeated = "x", .outputs = {"out"},
                       .summary = "Runs an operator of an external C library that names its own loader", .count = count_unknown});
}

} // namespace megascope
