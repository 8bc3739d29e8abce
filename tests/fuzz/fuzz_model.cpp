// Opens any bytes as a model. What opens is written again, and what was written must open with the same operators.

#include <cstdlib>

#include "format/reader.h"
#include "format/writer.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto file = MappedFile::from_bytes("fuzz", std::as_bytes(std::span(data, size)));
    const auto model = read_model(file);
    if (!model) {
        if (model.error().message.empty()) std::abort();
        return 0;
    }
    const auto written = encode_graph((*model)->main().graph, WriteOptions::like_input((*model)->main()));
    if (!written) return 0;
    const auto again = read_model(MappedFile::from_bytes("again", written->joined()));
    if (!again || (*again)->main().graph->oprs().size() != written->summary.opr_count) std::abort();
    return 0;
}
