#include "tensor/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/mapped_file.h"
#include "tensor/element.h"
#include "tensor/npy_header.h"

namespace megascope {

namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as little endian");

/// How one stored element becomes one of ours.
struct Source {
    char kind = 0;          ///< numpy's kind letter: b, i, u, f, c
    std::size_t size = 0;   ///< bytes of an element as stored
    bool swap = false;      ///< stored big endian
    DTypeId dtype{};        ///< what it becomes
    bool narrowed = false;
};

std::optional<Source> source_of(std::string_view descr) {
    if (descr.size() < 2) return std::nullopt;
    bool big = false;
    if (descr.front() == '<' || descr.front() == '>' || descr.front() == '=' || descr.front() == '|') {
        big = descr.front() == '>';
        descr.remove_prefix(1);
    }
    Source s;
    if (descr == "?") descr = "b1";
    s.kind = descr.front();
    const auto [end, status] = std::from_chars(descr.data() + 1, descr.data() + descr.size(), s.size);
    if (status != std::errc() || end != descr.data() + descr.size()) return std::nullopt;
    s.swap = big && s.size > 1;
    struct Row {
        char kind;
        std::size_t size;
        DTypeId dtype;
        bool narrowed;
    };
    static constexpr Row rows[] = {
        {'b', 1, DTypeId::bool_, false},   {'i', 1, DTypeId::int8, false},    {'u', 1, DTypeId::uint8, false},
        {'i', 2, DTypeId::int16, false},   {'u', 2, DTypeId::uint16, false},  {'i', 4, DTypeId::int32, false},
        {'u', 4, DTypeId::int32, true},    {'i', 8, DTypeId::int32, true},    {'u', 8, DTypeId::int32, true},
        {'f', 2, DTypeId::float16, false}, {'f', 4, DTypeId::float32, false}, {'f', 8, DTypeId::float32, true},
        {'c', 8, DTypeId::complex64, false}, {'c', 16, DTypeId::complex64, true},
    };
    for (const Row& row : rows)
        if (row.kind == s.kind && row.size == s.size) {
            s.dtype = row.dtype;
            s.narrowed = row.narrowed;
            return s;
        }
    return std::nullopt;
}

template <class T>
T load(const std::byte* at, bool swap) {
    std::byte raw[sizeof(T)];
    std::memcpy(raw, at, sizeof(T));
    if (swap) std::reverse(raw, raw + sizeof(T));
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return value;
}

/// Converts one element; false when an integer does not fit.
bool convert(const Source& source, const std::byte* from, std::byte* to, bool& overflowed) {
    const auto put_int = [&](auto wide) {
        if (!std::in_range<std::int32_t>(wide)) return false;
        const auto value = static_cast<std::int32_t>(wide);
        std::memcpy(to, &value, sizeof(value));
        return true;
    };
    const auto put_float = [&](const std::byte* at, std::byte* out) {
        const auto wide = load<double>(at, source.swap);
        const auto value = static_cast<float>(wide);
        overflowed |= std::isinf(value) && std::isfinite(wide);
        std::memcpy(out, &value, sizeof(value));
    };
    if (source.narrowed) {
        if (source.kind == 'u' && source.size == 4) return put_int(load<std::uint32_t>(from, source.swap));
        if (source.kind == 'u') return put_int(load<std::uint64_t>(from, source.swap));
        if (source.kind == 'i') return put_int(load<std::int64_t>(from, source.swap));
        put_float(from, to);
        if (source.kind == 'c') put_float(from + 8, to + 4);
        return true;
    }
    if (source.kind == 'b') {
        *to = from[0] != std::byte{0} ? std::byte{1} : std::byte{0};
        return true;
    }
    const std::size_t part = source.kind == 'c' ? 4 : source.size; // each half of a complex number is swapped alone
    for (std::size_t i = 0; i < source.size; ++i) {
        const std::size_t within = i % part;
        to[i] = from[i - within + (source.swap ? part - 1 - within : within)];
    }
    return true;
}

std::string number_text(const Source& source, const std::byte* at) {
    if (source.kind == 'i') return std::to_string(load<std::int64_t>(at, source.swap));
    if (source.size == 4) return std::to_string(load<std::uint32_t>(at, source.swap));
    return std::to_string(load<std::uint64_t>(at, source.swap));
}

} // namespace

Expected<NpyArray> parse_npy(std::span<const std::byte> bytes, const std::string& name) {
    const auto error = [&](ErrorCode code, std::string message, std::optional<std::uint64_t> at = std::nullopt) {
        return forward(Error{code, std::move(message), at, name});
    };
    MGS_ASSIGN(const NpyHeader header, parse_npy_header(bytes, name));
    const auto source = source_of(header.descr);
    if (!source) {
        if (header.descr.find('O') != std::string::npos)
            return error(ErrorCode::unsupported, "This .npy file holds Python objects (a pickle), not numbers.");
        return error(ErrorCode::unsupported, "The array's dtype '" + header.descr + "' is not a number that a tensor can hold.");
    }
    if (header.shape.size() > Shape::max_ndim)
        return error(ErrorCode::unsupported, "The array has " + std::to_string(header.shape.size()) + " axes; tensors have at most 7.");
    const Shape shape{std::span<const std::int64_t>(header.shape)};
    const auto count = shape.checked_elements();
    if (!count) return error(ErrorCode::corrupt, "The array's shape " + shape.text() + " is not a possible size.");
    const std::span<const std::byte> data = bytes.subspan(header.data_offset);
    if (data.size() / source->size < *count)
        return error(ErrorCode::corrupt,
                     "The array needs " + std::to_string(*count * source->size) + " bytes of data, but the file has only " +
                         std::to_string(data.size()) + " after its header.",
                     header.data_offset);

    NpyArray result;
    result.descr = header.descr;
    result.narrowed = source->narrowed;
    TensorBuffer buffer(source->dtype, shape);
    std::byte* const out = buffer.bytes().data();
    const std::size_t out_size = DType(source->dtype).bits() / 8;
    bool overflowed = false;
    const bool plain = !source->swap && !source->narrowed && source->kind != 'b';
    const bool transpose = header.fortran_order && shape.ndim() > 1;
    if (plain && !transpose) {
        if (*count > 0) std::memcpy(out, data.data(), *count * source->size);
    } else {
        // Walks the output in row-major order; `at` is the stored position of the current element.
        std::array<std::int64_t, Shape::max_ndim> step{};
        std::int64_t product = 1;
        for (std::size_t k = 0; k < shape.ndim(); ++k) {
            const std::size_t axis = header.fortran_order ? k : shape.ndim() - 1 - k;
            step[axis] = product;
            product *= shape[axis];
        }
        std::array<std::int64_t, Shape::max_ndim> index{};
        std::int64_t at = 0;
        for (std::size_t i = 0; i < *count; ++i) {
            const std::byte* from = data.data() + static_cast<std::size_t>(at) * source->size;
            if (!convert(*source, from, out + i * out_size, overflowed))
                return error(ErrorCode::unsupported,
                             "Element " + std::to_string(i) + " is " + number_text(*source, from) +
                                 ", which does not fit into int32, MegEngine's largest integer dtype.",
                             header.data_offset + static_cast<std::uint64_t>(at) * source->size);
            for (std::size_t axis = shape.ndim(); axis-- > 0;) {
                at += step[axis];
                if (++index[axis] < shape[axis]) break;
                at -= step[axis] * shape[axis];
                index[axis] = 0;
            }
        }
    }
    result.tensor = std::move(buffer).freeze();
    if (result.narrowed)
        result.notes.push_back("The array is stored as '" + header.descr + "' and was converted to " +
                               std::string(result.tensor.dtype().name()) + ".");
    if (overflowed) result.notes.emplace_back("Some values are too large for float32 and became infinite.");
    if (const std::size_t rest = data.size() - *count * source->size)
        result.notes.push_back("After the array " + std::to_string(rest) + " bytes follow that were not read.");
    return result;
}

Expected<NpyArray> read_npy(const std::filesystem::path& path) {
    MGS_ASSIGN(const auto file, MappedFile::open(path));
    return parse_npy(file->bytes(), path.string());
}

std::vector<std::byte> npy_bytes(const Tensor& tensor, NpyQuantized quantized) {
    // What the file will hold, and whether its bytes are the tensor's own.
    const DType dtype = tensor.dtype();
    const bool real = (dtype.is_quantized() && quantized == NpyQuantized::real) || dtype.id == DTypeId::bfloat16;
    std::string_view descr;
    if (real) {
        descr = "<f4";
    } else {
        switch (dtype.id) {
        case DTypeId::float32: descr = "<f4"; break;
        case DTypeId::float16: descr = "<f2"; break;
        case DTypeId::complex64: descr = "<c8"; break;
        case DTypeId::bool_: descr = "|b1"; break;
        case DTypeId::int16:
        case DTypeId::qint16: descr = "<i2"; break;
        case DTypeId::uint16: descr = "<u2"; break;
        case DTypeId::int32:
        case DTypeId::qint32: descr = "<i4"; break;
        case DTypeId::int8:
        case DTypeId::qint8:
        case DTypeId::int1:
        case DTypeId::int2:
        case DTypeId::int4:
        case DTypeId::qint4: descr = "|i1"; break;
        default: descr = "|u1"; break;
        }
    }
    std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
    for (std::size_t i = 0; i < tensor.shape().ndim(); ++i)
        header += std::to_string(tensor.shape()[i]) + (i == 0 || i + 1 < tensor.shape().ndim() ? "," : "") +
                  (i + 1 < tensor.shape().ndim() ? " " : "");
    header += "), }";
    const std::size_t preamble = 10;
    header.append(63 - (preamble + header.size()) % 64, ' '); // data starts at a multiple of 64
    header += '\n';

    Tensor values = tensor;
    if (real || dtype.is_sub_byte()) {
        TensorBuffer buffer(real ? DTypeId::float32 : descr == "|i1" ? DTypeId::int8 : DTypeId::uint8, tensor.shape());
        for (std::size_t i = 0; i < tensor.elements(); ++i) {
            if (real) store_real(buffer.ref(), i, real_at(tensor.ref(), i));
            else store_integer(buffer.ref(), i, stored_at(tensor.ref(), i));
        }
        values = std::move(buffer).freeze();
    }
    std::vector<std::byte> out;
    out.reserve(preamble + header.size() + values.nbytes());
    const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(header.size() & 0xff),
                          static_cast<char>(header.size() >> 8)};
    const auto append = [&](std::span<const std::byte> part) { out.insert(out.end(), part.begin(), part.end()); };
    append(std::as_bytes(std::span(magic)));
    append(std::as_bytes(std::span(header)));
    append(values.bytes());
    return out;
}

Expected<void> write_npy(const std::filesystem::path& path, const Tensor& tensor, NpyQuantized quantized) {
    const std::vector<std::byte> bytes = npy_bytes(tensor, quantized);
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (!file) return fail_in(ErrorCode::io, "The file cannot be created.", path.string());
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) return fail_in(ErrorCode::io, "The file could not be written completely.", path.string());
    return {};
}

} // namespace megascope
