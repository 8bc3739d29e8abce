#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "format/packed_model.h"
#include "graph/graph.h"

namespace megascope {

/// The container a graph was stored in.
enum class Container : std::uint8_t {
    fbs_mgbc, ///< FBS v1, current header
    fbs_mgbs, ///< FBS v1, old header with unversioned operator ids
    fbs_v2,   ///< one `mgv2` flatbuffer
};
/// "FBS v1 (MGBC)", "FBS v1 (MGBS)", "FBS v2".
[[nodiscard]] std::string_view container_name(Container container);

/// "1.13.2" of `StoredGraph::mge_version`; a development version reads "1.9999.0".
[[nodiscard]] std::string mge_version_text(std::uint32_t version);

struct Metadata {
    bool stored = false; ///< the file has a metadata table at all
    bool is_valid = false;
    bool graph_modified = false;
    std::string user_info; ///< raw bytes (a pickle, usually); may contain NUL
    bool has_user_info = false;
    std::uint64_t optimize_options = 0;
};

/// Which names and numbers a graph kept; enough to write it again as it was.
struct KeptNames {
    int var_name = 0;       ///< as keep_var_name: 0, 1 or 2
    bool opr_name = false;
    bool param_name = false;
    bool opr_priority = false;
};

/// v2 only: a name for the output whose `GraphOutput::original_id` this is, as stored.
struct OutputAlias {
    std::uint32_t original_id = 0;
    std::string name;
};

/// One graph of a file.
struct StoredGraph {
    Container container = Container::fbs_v2;
    std::uint32_t mge_version = 0;     ///< (MAJOR*1000+MINOR)*100+PATCH
    std::uint32_t model_version = 0;   ///< v2 only
    std::uint64_t hash = 0;            ///< v1 only, as stored
    bool hash_matches = true;          ///< v1 only: recomputed and equal
    std::uint32_t nr_shared_tensor = 0;
    Metadata metadata;
    KeptNames kept;
    std::vector<OutputAlias> aliases;  ///< v2 only, in stored order; also in `GraphOutput::alias`
    std::uint64_t offset = 0;          ///< first byte in the file
    std::uint64_t size = 0;            ///< bytes
    std::uint64_t tensor_bytes = 0;    ///< bytes of stored tensor values
    std::shared_ptr<const Graph> graph;
};

struct TestcaseInput {
    std::string name;  ///< the H2D var it feeds, e.g. "data" or "<output>:expect"
    Tensor value;      ///< lies in the mapped file
    bool is_expectation = false; ///< feeds the `expect` side of an AssertEqual
};

/// A testcase of an `mgbtest0` file: values for every graph input, in ascending name order.
struct Testcase {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::vector<TestcaseInput> inputs; ///< empty when the values do not fit the graph's inputs (a warning says why)
    std::shared_ptr<const Graph> graph; ///< as stored: operators that only hold values
    StoredGraph stored;                 ///< how `graph` was stored
};

/// A file that holds graphs, opened. Immutable; shared between threads as `shared_ptr<const Model>`.
/// Weights and testcase values stay in the mapped file until they are asked for.
struct Model {
    std::shared_ptr<const MappedFile> file; ///< what the offsets below count in; the decrypted content of an encrypted file
    std::string description;             ///< one sentence: what this file is
    bool has_testcase_header = false;    ///< `mgbtest0`
    std::vector<StoredGraph> graphs;     ///< at least one; more when graphs were appended
    std::vector<Testcase> testcases;
    std::shared_ptr<const PackedModel> packed; ///< the packed model around the graphs, if any
    std::optional<LiteInfo> lite_info;         ///< the packed model's info, if it has a readable one
    std::string cipher;                        ///< "AES_default" …: how the graphs were encrypted; empty = they were not
    std::vector<std::string> warnings;   ///< sentences: newer version, hash mismatch, trailing bytes …

    [[nodiscard]] const StoredGraph& main() const { return graphs.front(); }
};

} // namespace megascope
