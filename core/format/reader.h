#pragma once

#include <memory>
#include <span>
#include <string>

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

/// Opens a model file: FBS v1 (MGBC, MGBS), FBS v2, mgbtest0 files. Verifies before it reads any field and checks every size
/// against the file. Errors: io; foreign, with what the file really is; corrupt, with the byte offset; unsupported; cancelled.
[[nodiscard]] Expected<std::shared_ptr<const Model>> read_model(std::shared_ptr<const MappedFile> file, const CancelToken& cancel = {},
                                                                const Progress& progress = {});

} // namespace megascope
