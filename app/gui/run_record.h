#pragma once

#include <QString>
#include <QStringList>

#include <memory>
#include <optional>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "format/io_dump.h"
#include "profile/report_table.h"
#include "tensor/tensor.h"

namespace megascope {

/// What a run of load_and_run left in files, ready for a table: an IO dump (text or binary), or a fast-run cache.
struct RunRecord {
    QString path;
    ReportTable table;
    std::vector<Tensor> values;   ///< by row; without a value where the file has none (text dumps, caches)
    std::vector<std::optional<IoDumpValue>> printed; ///< by row: what a text dump prints of the value
    std::vector<std::optional<Shape>> shapes;        ///< by row, where the file says it
    std::vector<QString> details; ///< by row: what else the file says, in lines
    std::vector<QString> vars;    ///< by row: the var's name; empty for caches
    int first = 0;                ///< the row to show first
};

/// Looks at the content, at most the first 64 KiB of it, and never fails: is this a file that `readRunRecord` reads?
[[nodiscard]] bool looksLikeRunRecord(const QString& path);
/// Reads a text IO dump, a fast-run cache, or a binary IO dump together with the other binary dumps of its folder (each holds one
/// var); a folder stands for the dumps in it. Statistics of binary dumps are computed. Blocking; any thread.
/// Errors: foreign, corrupt, cancelled.
[[nodiscard]] Expected<std::shared_ptr<const RunRecord>> readRunRecord(const QString& path, const CancelToken& cancel = {}, const Progress& progress = {});

} // namespace megascope
