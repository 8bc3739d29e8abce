#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "format/model.h"

namespace megascope {

/// What a file's first bytes say it is.
enum class FileKind : std::uint8_t {
    mge_v1, mge_v2, mgbtest, packed_model,          // readable as a model
    profile_json,                                    // a JSON that looks like a GraphProfiler profile
    legacy_mgb0001, legacy_mgb0000, mge2_draft,      // known, refused
    pickle, lfs_pointer, json, zip, npy, gzip, text, // something else, named
    empty, unknown,
};

struct Sniffed {
    FileKind kind = FileKind::unknown;
    std::string sentence; ///< what it is, for people: "a Git LFS pointer, not the file itself: …"
};

/// Looks at the content only, never at the name. Reads at most a few hundred bytes and never fails.
[[nodiscard]] Sniffed sniff(std::span<const std::byte> bytes);

/// How encrypted models are opened. The defaults try what MegEngine Lite has built in.
struct ReadOptions {
    /// Method of a bare encrypted model, or of a packed one whose own method is not built in: "AES_default" …
    /// Empty: a file that is no dump is tried with every built-in method and `model_key`.
    std::string cipher;
    std::vector<std::byte> model_key; ///< empty: the built-in key
    std::vector<std::byte> info_key;  ///< for the info of packed models; empty: the built-in key
    friend bool operator==(const ReadOptions&, const ReadOptions&) = default;
};

/// Opens a model file: FBS v1 (MGBC, MGBS), FBS v2, mgbtest0 files, packed models of Lite, encrypted models. Checks every position
/// and size against the file before it reads there.
/// Errors: foreign, with what the file really is; corrupt, with the byte offset; unsupported; cancelled.
[[nodiscard]] Expected<std::shared_ptr<const Model>> read_model(std::shared_ptr<const MappedFile> file, const CancelToken& cancel = {},
                                                                const Progress& progress = {});
[[nodiscard]] Expected<std::shared_ptr<const Model>> read_model(std::shared_ptr<const MappedFile> file, const ReadOptions& options,
                                                                const CancelToken& cancel = {}, const Progress& progress = {});

} // namespace megascope
