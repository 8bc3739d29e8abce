#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "tensor/tensor.h"

namespace megascope {

/// One var of a binary IO dump (load_and_run's --bin-io-dump and --bin-out-dump): one file each.
struct BinaryIoDump {
    std::string text;          ///< the description as stored
    std::uint32_t var = 0;     ///< MegEngine's var id
    std::string name;          ///< var name
    std::string owner;         ///< operator name
    std::string owner_type;    ///< class type name as profiles spell it
    std::uint32_t output = 0;  ///< position among the operator's outputs ("slot")
    std::vector<std::uint32_t> owner_inputs; ///< var ids of the operator's inputs
    Shape shape;
    std::uint32_t dtype_number = 0; ///< the library's number
    std::optional<DType> dtype;     ///< nothing when the number is not known; quantized ones come without scale
    std::span<const std::byte> data; ///< lies in the file
    std::shared_ptr<const MappedFile> file;

    /// The value, when dtype, shape and size agree. It shares the file's bytes.
    [[nodiscard]] std::optional<Tensor> value() const;
};
/// Errors: foreign, when the header is not one of a binary IO dump; corrupt.
[[nodiscard]] Expected<BinaryIoDump> read_binary_io_dump(std::shared_ptr<const MappedFile> file);

/// Five first elements and statistics, as the text dump prints them.
struct IoDumpValue {
    std::string text;           ///< as printed, without the statistics
    std::vector<double> first;  ///< the elements that were printed
    bool more = false;          ///< "..." follows them
    std::optional<double> min, max, mean, l2, sd; ///< sd is missing for one element
};

/// A text IO dump (--io-dump): one record per counted output, in execution order.
struct TextIoDump {
    struct Dependency {
        std::optional<std::uint32_t> input; ///< position among the inputs; nothing for other dependencies
        std::uint32_t var = 0;
        IoDumpValue value;
        bool is_static = false;
    };
    struct Record {
        std::uint32_t var = 0;
        std::string name;
        std::string layout;          ///< as printed: "{2(3072),3(1024),32(32),32(1) Float32}" or "<invalid>"
        std::optional<Shape> shape;  ///< from the layout
        std::string dtype;           ///< the library's name; empty when the layout is invalid
        std::string owner;
        std::string owner_type;
        std::uint32_t opr = 0;
        std::vector<Dependency> dependencies;
        IoDumpValue value;
        bool is_static = false;
    };
    std::vector<Record> records;
    std::size_t skipped_lines = 0; ///< lines that are part of no record (log lines, recorded-sequence headers)
};
/// Reads as much as it understands. Errors: foreign, when there is not a single record.
[[nodiscard]] Expected<TextIoDump> read_text_io_dump(std::string_view text);

} // namespace megascope
