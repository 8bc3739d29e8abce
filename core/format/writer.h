#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "format/model.h"
#include "opr/infer.h"

namespace megascope {

/// How one graph is stored. The defaults are those of MegEngine's `trace.dump` with a pickled None as user info.
struct WriteOptions {
    Container container = Container::fbs_v2;
    KeptNames kept{.var_name = 1};
    Metadata metadata{.stored = true, .is_valid = true, .user_info = std::string("\x80\x04N.", 4), .has_user_info = true};
    std::uint32_t mge_version = 1099900; ///< MegEngine 1.9999.0, whose layout this writer follows
    std::uint32_t model_version = 2;     ///< v2 only
    std::vector<OutputAlias> aliases;    ///< v2 only
    std::uint32_t unknown_shared_tensors = 0; ///< shared tensors of operators that have no class
    /// Operators that were read from this container keep the type id, version and type text they came with when `container`
    /// is the same; all others get what the catalogue says.
    std::optional<Container> read_from;
    /// Shapes for v2's middle tensors that the graph itself does not know. Not owned; may be null.
    const GraphInfo* info = nullptr;

    /// As the graph was stored: a genuine dump that is written with these options gives the same bytes.
    [[nodiscard]] static WriteOptions like_input(const StoredGraph& stored);
};

/// What MegEngine's own dump function returns.
struct WriteSummary {
    std::size_t opr_count = 0;
    std::uint64_t total_bytes = 0;
    std::uint64_t tensor_bytes = 0;
    std::uint64_t content_hash = 0;    ///< the v1 graph hash; 0 for v2
    std::vector<std::string> inputs;   ///< sorted
    std::vector<std::string> outputs;  ///< in order; "unnamed0" … without var names
    std::vector<std::string> params;   ///< kept param names, in order
};

/// One encoded graph. Tensor values of a v1 graph are not copied: `pieces` point into the graph's tensors, which it keeps alive.
struct EncodedGraph {
    WriteSummary summary;
    std::vector<std::span<const std::byte>> pieces; ///< the graph's bytes, in order
    std::vector<std::shared_ptr<const std::vector<std::byte>>> owned; ///< what the pieces point at beside tensor values
    std::shared_ptr<const Graph> graph;

    [[nodiscard]] std::vector<std::byte> joined() const;
};

/// Encodes a graph. Operators that no output needs are left out; the rest is written in depth-first order from the outputs, as
/// MegEngine does. Errors: unsupported, when an operator has no class (and no stored id for this container), carries a param of
/// an unknown kind that cannot be kept, or the result is too large for the container; invalid_argument, when two outputs have the same name.
[[nodiscard]] Expected<EncodedGraph> encode_graph(std::shared_ptr<const Graph> graph, const WriteOptions& options);

/// A file of graphs.
struct DumpContent {
    struct Part {
        std::shared_ptr<const Graph> graph;
        WriteOptions options;
    };
    bool testcase_header = false; ///< "mgbtest0" and the number of testcases; needed when there are testcases
    Part main;
    std::vector<Part> testcases;
    std::vector<Part> appended;

    /// Every part as it was stored.
    [[nodiscard]] static DumpContent like_input(const Model& model);
};

/// Errors: those of `encode_graph`, cancelled.
[[nodiscard]] Expected<std::vector<std::byte>> encode_dump(const DumpContent& content, const CancelToken& cancel = {});

/// Writes the file in one step: a failure leaves the old file as it was. With `append`, the graphs are added to the end of an
/// existing file. Returns the summary of the main graph. Errors: those of `encode_graph`, io, cancelled.
[[nodiscard]] Expected<WriteSummary> save_dump(const std::filesystem::path& path, const DumpContent& content, bool append = false,
                                               const CancelToken& cancel = {}, const Progress& progress = {});

/// One value for each input of `graph`, as the graph of a testcase: a SharedDeviceTensor per H2D in ascending (name, dtype)
/// order. Errors: invalid_argument, when a value is missing, belongs to no input, or has another dtype than its input.
[[nodiscard]] Expected<std::shared_ptr<const Graph>> make_testcase_graph(const Graph& graph, std::span<const TestcaseInput> values);

/// The options that MegEngine writes testcase graphs with: defaults, without metadata.
[[nodiscard]] WriteOptions testcase_options();

} // namespace megascope
