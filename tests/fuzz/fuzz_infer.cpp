// Infers shapes, dtypes and costs of whatever graph opens.

#include "format/reader.h"
#include "opr/catalogue.h"
#include "opr/infer.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto model = read_model(MappedFile::from_bytes("fuzz", std::as_bytes(std::span(data, size))));
    if (!model) return 0;
    for (const StoredGraph& stored : (*model)->graphs) (void)infer_graph(*stored.graph);
    return 0;
}
