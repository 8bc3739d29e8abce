#pragma once

#include <QString>

#include <memory>

#include "format/reader.h"
#include "views/common/graph_facts.h"

// The bundled samples, opened: real dumps that MegEngine wrote.

namespace megascope {

struct SampleModel {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const GraphFacts> facts;
};

inline std::string samplePath(const char* name) { return std::string(MEGASCOPE_TEST_DATA "/../../resources/samples/") + name; }

/// Ends the test program with a message when the sample cannot be read: nothing here works without it.
inline SampleModel openSample(const char* name = "resnet18_w4.test.mge") {
    const auto file = MappedFile::open(samplePath(name));
    if (!file) qFatal("%s", file.error().text().c_str());
    const auto model = read_model(*file);
    if (!model) qFatal("%s", model.error().text().c_str());
    const auto facts = computeGraphFacts((*model)->main().graph, {}, Progress());
    if (!facts) qFatal("%s", facts.error().text().c_str());
    return {*model, *facts};
}

/// The first operator of a type; invalid when there is none.
inline OprId firstOfType(const Graph& graph, std::string_view type) {
    for (const Opr& opr : graph.oprs())
        if (graph.type_text(opr.id) == type) return opr.id;
    return {};
}

} // namespace megascope
