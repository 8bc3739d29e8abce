#include "app/gui/run_record.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/mapped_file.h"
#include "format/io_dump.h"
#include "format/packed_model.h"
#include "tensor/statistics.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

enum class Kind { none, binary, text, cache };

struct Texts {
    Q_DECLARE_TR_FUNCTIONS(megascope::RunRecord)
};

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t at) {
    std::uint32_t number = 0;
    if (bytes.size() >= at + sizeof number) std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

std::string_view as_text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Kind kindOf(std::span<const std::byte> bytes) {
    constexpr std::size_t lookedAt = 64 << 10;
    const std::string_view head = as_text(bytes.first(std::min(bytes.size(), lookedAt)));
    if (number_at(bytes, 8) == 7 && head.size() > 45 && head.substr(40, 5) == "var={") return Kind::binary;
    // A cache: the number of categories, then the first one's name with its length before it.
    if (head.size() > 16 && head.substr(8, 8) == "profile:" && number_at(bytes, 4) <= 255 && number_at(bytes, 0) < bytes.size()) return Kind::cache;
    const auto produced = head.find(" produced: name=");
    if (produced != std::string_view::npos && head.find(" layout=", produced) != std::string_view::npos && head.find('\0') == std::string_view::npos) return Kind::text;
    return Kind::none;
}

Expected<std::shared_ptr<const MappedFile>> mapped(const QString& path) { return MappedFile::open(std::filesystem::path(path.toStdU16String())); }

ReportCell numberCell(std::optional<double> value) { return value ? ReportCell(*value, format_number(*value)) : ReportCell(); }

std::vector<ReportColumn> varColumns() {
    return {{"var", "Var", true},   {"name", "Name"},       {"shape", "Shape"},      {"dtype", "DType"}, {"min", "Min", true}, {"max", "Max", true},
            {"mean", "Mean", true}, {"sd", "SD", true}, {"operator", "Operator"}, {"type", "Type"}};
}

QString printed(const IoDumpValue& value) {
    QString line = text(value.text);
    const auto add = [&](const char* name, std::optional<double> number) {
        if (number) line += QStringLiteral("  %1=%2").arg(QLatin1String(name), numberText(*number));
    };
    add("min", value.min);
    add("max", value.max);
    add("mean", value.mean);
    add("l2", value.l2);
    add("sd", value.sd);
    return line;
}

Expected<std::shared_ptr<const RunRecord>> readText(const QString& path, const MappedFile& file) {
    MGS_ASSIGN(const TextIoDump dump, read_text_io_dump(as_text(file.bytes())));
    auto record = std::make_shared<RunRecord>();
    record->path = path;
    record->table.columns = varColumns();
    record->table.title = "Text IO dump";
    record->table.note = Texts::tr("%n values, in the order of execution. The file has the first elements and statistics of each, not the values themselves.", nullptr, static_cast<int>(dump.records.size())).toStdString();
    for (const TextIoDump::Record& var : dump.records) {
        const IoDumpValue& value = var.value;
        record->table.rows.push_back({ReportCell(var.var, std::to_string(var.var)), var.name, var.shape ? var.shape->text() : var.layout, var.dtype, numberCell(value.min), numberCell(value.max),
                                      numberCell(value.mean), numberCell(value.sd), var.owner, var.owner_type});
        QStringList lines{text(var.name), Texts::tr("layout %1").arg(text(var.layout)), {}, Texts::tr("value  %1").arg(printed(value))};
        if (var.is_static) lines << Texts::tr("known without running");
        for (const auto& dependency : var.dependencies) {
            const QString which = dependency.input ? Texts::tr("input %1").arg(*dependency.input) : Texts::tr("dependency");
            lines << QStringLiteral("%1: var%2  %3").arg(which).arg(dependency.var).arg(printed(dependency.value));
        }
        record->details.push_back(lines.join(QLatin1Char('\n')));
        record->vars.push_back(text(var.name));
        record->values.emplace_back();
        record->printed.emplace_back(value);
        record->shapes.push_back(var.shape);
    }
    return record;
}

Expected<std::shared_ptr<const RunRecord>> readBinary(const QString& path, const CancelToken& cancel, const Progress& progress) {
    const QFileInfo opened(path);
    const QDir folder(opened.isDir() ? path : opened.absolutePath());
    std::vector<BinaryIoDump> dumps;
    std::size_t first = 0;
    const QFileInfoList files = folder.entryInfoList(QDir::Files | QDir::Readable, QDir::Name);
    for (const QFileInfo& info : files) {
        if (cancel.cancelled()) return CancelToken::error();
        progress.report("looking for IO dumps", static_cast<std::uint64_t>(&info - files.data()), static_cast<std::uint64_t>(files.size()));
        const bool wanted = info == opened;
        const auto file = mapped(info.filePath());
        if (!file || kindOf((*file)->bytes()) != Kind::binary) continue;
        auto dump = read_binary_io_dump(*file);
        if (!dump && wanted) return forward(std::move(dump).error());
        if (!dump) continue; // a neighbour that is cut off does not hide the others
        if (wanted) first = dumps.size();
        dumps.push_back(std::move(*dump));
    }
    if (dumps.empty()) return fail(ErrorCode::foreign, "This folder holds no binary IO dumps of load_and_run.");
    auto record = std::make_shared<RunRecord>();
    record->path = path;
    record->first = static_cast<int>(first);
    record->table.columns = varColumns();
    record->table.title = "Binary IO dump";
    record->table.note = Texts::tr("%n values of %1.", nullptr, static_cast<int>(dumps.size())).arg(folder.dirName()).toStdString();
    for (const BinaryIoDump& dump : dumps) {
        progress.report("reading values", record->values.size(), dumps.size());
        std::optional<TensorStatistics> statistics;
        const std::optional<Tensor> value = dump.value();
        if (value) {
            MGS_ASSIGN(statistics, tensor_statistics(*value, 0, cancel));
            if (statistics->finite() == 0) statistics.reset();
        }
        const auto cell = [&](double TensorStatistics::*member) { return statistics ? numberCell((*statistics).*member) : ReportCell(); };
        const std::string dtype = dump.dtype ? std::string(dump.dtype->name()) : "number " + std::to_string(dump.dtype_number);
        record->table.rows.push_back({ReportCell(dump.var, std::to_string(dump.var)), dump.name, dump.shape.text(), dtype, cell(&TensorStatistics::min), cell(&TensorStatistics::max),
                                      cell(&TensorStatistics::mean), cell(&TensorStatistics::sd), dump.owner, dump.owner_type});
        record->values.push_back(value.value_or(Tensor()));
        record->vars.push_back(text(dump.name));
        record->printed.emplace_back();
        record->shapes.emplace_back(dump.shape);
        record->details.push_back(value ? QString() : Texts::tr("The file has %n bytes for this value, which do not make up %1 of %2.", nullptr, static_cast<int>(dump.data.size())).arg(text(dump.shape.text()), text(dtype)));
    }
    return record;
}

Expected<std::shared_ptr<const RunRecord>> readCache(const QString& path, const MappedFile& file) {
    MGS_ASSIGN(const FastRunCache cache, read_fast_run_cache(file.bytes()));
    auto record = std::make_shared<RunRecord>();
    record->path = path;
    record->table.title = "Fast-run cache";
    record->table.columns = {{"category", "Category"}, {"layouts", "Layouts"}, {"rank", "Rank", true}, {"algorithm", "Algorithm"}, {"seconds", "Time", true}, {"workspace_bytes", "Workspace", true}, {"reproducible", "Reproducible"}};
    int entries = 0;
    for (const auto& category : cache.categories) {
        for (const auto& entry : category.entries) {
            ++entries;
            MGS_ASSIGN(const auto results, read_fast_run_results(entry.value));
            const std::string layouts = fast_run_layouts(entry.key);
            for (std::size_t rank = 0; rank < results.size(); ++rank) {
                const FastRunResult& result = results[rank];
                record->table.rows.push_back({category.name, layouts, ReportCell(static_cast<double>(rank + 1), std::to_string(rank + 1)), result.algorithm,
                                              ReportCell(result.seconds, result.seconds > 0 ? format_seconds(result.seconds) : "0"),
                                              ReportCell(static_cast<double>(result.workspace), format_bytes(static_cast<double>(result.workspace))), (result.attribute & 1) != 0 ? "yes" : "no"});
                record->values.emplace_back();
                record->printed.emplace_back();
                record->shapes.emplace_back();
                record->details.push_back(QStringLiteral("%1\n%2\n%3").arg(text(category.name), text(layouts), text(result.algorithm)));
            }
        }
    }
    record->table.note = Texts::tr("Algorithms that a fast run measured for %n operations, fastest first.", nullptr, entries).toStdString();
    return record;
}

} // namespace

bool looksLikeRunRecord(const QString& path) {
    const QFileInfo info(path);
    if (info.isDir()) return true;
    const auto file = mapped(path);
    return file && kindOf((*file)->bytes()) != Kind::none;
}

Expected<std::shared_ptr<const RunRecord>> readRunRecord(const QString& path, const CancelToken& cancel, const Progress& progress) {
    if (QFileInfo(path).isDir()) return readBinary(path, cancel, progress);
    MGS_ASSIGN(const auto file, mapped(path));
    switch (kindOf(file->bytes())) {
    case Kind::binary: return readBinary(path, cancel, progress);
    case Kind::text: return readText(path, *file);
    case Kind::cache: return readCache(path, *file);
    case Kind::none: break;
    }
    return fail(ErrorCode::foreign, "This is not an IO dump or a fast-run cache.");
}

} // namespace megascope
