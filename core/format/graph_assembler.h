#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/progress.h"
#include "format/flat_reader.h"
#include "format/model.h"
#include "opr/catalogue.h"

namespace megascope {

/// What every graph of one file is read with.
struct ReadContext {
    std::shared_ptr<const MappedFile> file;
    const CancelToken& cancel;
    const Progress& progress;
    std::vector<std::string>& warnings;
    std::uint64_t end; ///< the graphs end here or before

    [[nodiscard]] std::span<const std::byte> bytes() const { return file->bytes().first(end); }
    /// A pointer into the file that keeps it mapped.
    [[nodiscard]] std::shared_ptr<const std::byte> pointer(std::uint64_t offset) const {
        return {file, file->bytes().data() + offset};
    }
};

/// The graph that starts at `offset`, from a v1 or a v2 container. `StoredGraph::size` says where it ends.
/// Errors: corrupt with offset, unsupported, cancelled.
[[nodiscard]] Expected<StoredGraph> read_graph_v1(const ReadContext& context, std::uint64_t offset);
[[nodiscard]] Expected<StoredGraph> read_graph_v2(const ReadContext& context, std::uint64_t offset);

/// Puts operators that were read from either container into a graph: finds their class, checks them against the catalogue,
/// numbers their outputs.
class GraphAssembler {
public:
    GraphAssembler(const ReadContext& context, std::size_t opr_count) : context_(context) { builder_.reserve(opr_count); }

    /// Sets kind and type from the class; an unknown operator keeps the text of the file.
    static void identify(Opr& opr, const OprDef* def);
    /// `stored_outputs` is the number of outputs that the file lists; without it (v1) the class decides, and for an unknown
    /// class `names` does.
    [[nodiscard]] Expected<OprId> add(Opr opr, std::optional<std::size_t> stored_outputs, std::size_t names, std::uint64_t file_offset);

    [[nodiscard]] GraphBuilder& builder() { return builder_; }
    /// Adds what was noticed on the way to the warnings and gives the graph away.
    [[nodiscard]] std::shared_ptr<const Graph> finish();

private:
    const ReadContext& context_;
    GraphBuilder builder_;
    std::map<std::string, std::size_t> unknown_; ///< unknown types and how many there are
    std::map<std::string, std::size_t> newer_;   ///< known types that carry unknown params
};

/// "Operator 17 (Convolution "conv1")".
[[nodiscard]] std::string opr_text(std::size_t index, const Opr& opr);

/// Sizes of a stored shape. Violations go to the reader. An absent vector is an unknown shape.
[[nodiscard]] std::optional<Shape> read_shape(const FlatTable& table, std::uint16_t vt);
/// A comp node table: nothing when it is absent.
[[nodiscard]] std::optional<CompNode> read_comp_node(const FlatTable& table, std::uint16_t locator_vt);
/// Number of VALUE_SHARED tensors, kept names and priorities, as far as the file shows them.
void describe_kept_names(StoredGraph& graph);
/// Does an operator of this class hold parameters that are stored as VALUE_SHARED?
[[nodiscard]] bool holds_shared_tensors(const Opr& opr);

} // namespace megascope
