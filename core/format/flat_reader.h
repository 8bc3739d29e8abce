#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace megascope {

class FlatTable;

/// Reads one flatbuffer that may be hostile and need not be aligned. Every position, vtable, field, vector and string is
/// checked against the buffer before it is touched. The first violation is kept and from then on every accessor answers
/// "absent", so callers read a piece (an operator, a tensor) and ask `ok()` once.
///
/// Genuine buffers hold every table and vector once, only strings are shared. Work is therefore limited to a small multiple
/// of the buffer's size: a crafted file cannot make a reader visit one big table a million times.
///
/// Field offsets are the VT_… constants of the generated headers. Not thread-safe; keeps pointing at `bytes`.
class FlatReader {
public:
    /// `bytes` starts at the root offset (behind a size prefix, if any); `file_offset` is where that is in the file.
    FlatReader(std::span<const std::byte> bytes, std::uint64_t file_offset);
    FlatReader(const FlatReader&) = delete;
    FlatReader& operator=(const FlatReader&) = delete;

    [[nodiscard]] bool ok() const { return !error_.has_value(); }
    /// Precondition: !ok().
    [[nodiscard]] tl::unexpected<Error> error() const { return tl::make_unexpected(*error_); }
    void violation(std::string_view what, std::size_t position);

    /// The four identifier bytes behind the root offset; empty when the buffer is shorter.
    [[nodiscard]] std::string_view identifier() const;
    [[nodiscard]] FlatTable root();

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t file_offset(std::size_t position) const { return file_offset_ + position; }

    template <class T>
    [[nodiscard]] T load(std::size_t position) const {
        T value;
        std::memcpy(&value, bytes_.data() + position, sizeof value);
        return value;
    }
    [[nodiscard]] bool holds(std::size_t position, std::size_t size) const {
        return position <= bytes_.size() && size <= bytes_.size() - position;
    }
    /// Follows the offset stored at `position` (whose four bytes are inside). Nothing on a violation.
    [[nodiscard]] std::optional<std::size_t> follow(std::size_t position);
    [[nodiscard]] FlatTable table_at(std::size_t position);
    [[nodiscard]] std::string_view string_at(std::size_t position);
    /// False (and a violation) when the reader has worked through far more than the buffer holds.
    bool spend(std::size_t work, std::size_t position);

    /// Where the objects lie that were met. A vtable right before its table counts as the table's start.
    struct Objects {
        std::vector<std::size_t> starts; ///< of tables, lists and texts
        std::vector<std::size_t> texts;
        std::vector<std::size_t> vtables;
    };
    /// From now on positions are remembered; see `objects`.
    void remember_objects() { remembered_.emplace(); }
    /// What was remembered so far, ascending, each once. Precondition: `remember_objects` was called.
    [[nodiscard]] const Objects& objects() const;

private:
    friend class FlatTable;
    void remember(std::size_t start) {
        if (remembered_) remembered_->starts.push_back(start);
    }
    bool spend_text(std::size_t size, std::size_t position);

    std::span<const std::byte> bytes_;
    std::uint64_t file_offset_;
    std::uint64_t work_left_;
    std::uint64_t text_left_;
    std::optional<Error> error_;
    mutable std::optional<Objects> remembered_;
};

/// Elements of a vector of scalars or structs: `element_size` bytes each, at `position` in the buffer.
struct FlatVector {
    std::size_t position = 0;
    std::size_t size = 0;
    bool present = false;
};

/// A table inside a FlatReader, or "absent". Accessors of an absent table answer like those of absent fields.
class FlatTable {
public:
    FlatTable() = default;

    [[nodiscard]] bool present() const { return reader_ != nullptr; }
    [[nodiscard]] std::size_t position() const { return position_; }
    [[nodiscard]] std::uint64_t file_offset() const { return reader_ ? reader_->file_offset(position_) : 0; }

    /// Offset of a field inside the table, 0 = absent; `size` bytes of it are inside the table.
    [[nodiscard]] std::size_t field(std::uint16_t vt, std::size_t size) const;

    template <class T>
    [[nodiscard]] T scalar(std::uint16_t vt, T absent = {}) const {
        static_assert(std::is_arithmetic_v<T>);
        const std::size_t at = field(vt, sizeof(T));
        return at ? reader_->load<T>(position_ + at) : absent;
    }
    [[nodiscard]] bool boolean(std::uint16_t vt) const { return scalar<std::uint8_t>(vt) != 0; }
    [[nodiscard]] FlatTable table(std::uint16_t vt) const;
    /// Nothing = absent. The view lies in the buffer; it may contain NUL.
    [[nodiscard]] std::optional<std::string_view> text(std::uint16_t vt) const;
    /// Absent vectors have size 0.
    [[nodiscard]] FlatVector vector(std::uint16_t vt, std::size_t element_size) const;
    /// Bytes of a vector of ubyte; not counted as work, they are only pointed at.
    [[nodiscard]] std::optional<std::span<const std::byte>> blob(std::uint16_t vt) const;

    // Elements. Precondition: index < vector.size.
    template <class T>
    [[nodiscard]] T element(const FlatVector& vector, std::size_t index) const {
        return reader_->load<T>(vector.position + index * sizeof(T));
    }
    [[nodiscard]] FlatTable table_element(const FlatVector& vector, std::size_t index) const;
    [[nodiscard]] std::string_view text_element(const FlatVector& vector, std::size_t index) const;

    /// The inline part and its vtable, for tables whose layout is not known.
    [[nodiscard]] std::span<const std::byte> inline_bytes() const;
    [[nodiscard]] std::size_t slot_count() const { return reader_ ? (vtable_size_ - 4U) / 2U : 0; }
    [[nodiscard]] std::uint16_t slot_offset(std::size_t slot) const;

    void violation(std::string_view what) const { reader_->violation(what, position_); }

private:
    friend class FlatReader;
    FlatReader* reader_ = nullptr;
    std::size_t position_ = 0;
    std::size_t vtable_ = 0;
    std::uint16_t vtable_size_ = 0;
    std::uint16_t table_size_ = 0;
};

} // namespace megascope
