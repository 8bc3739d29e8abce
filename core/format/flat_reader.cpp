#include "format/flat_reader.h"

#include <algorithm>

namespace megascope {

namespace {
// Four passes over everything leave room for the empty tables and vectors of very small files.
constexpr std::uint64_t work_passes = 4;
constexpr std::uint64_t work_base = 4096;
// Strings are shared on purpose ("xpux:0" once per tensor), long ones are not.
constexpr std::uint64_t text_base = 64ULL << 20U;
constexpr std::uint64_t text_passes = 16;
} // namespace

FlatReader::FlatReader(std::span<const std::byte> bytes, std::uint64_t file_offset)
    : bytes_(bytes), file_offset_(file_offset), work_left_(bytes.size() * work_passes + work_base),
      text_left_(bytes.size() * text_passes + text_base) {}

void FlatReader::violation(std::string_view what, std::size_t position) {
    if (error_) return;
    error_ = Error{ErrorCode::corrupt, "The graph is damaged: " + std::string(what) + ".", file_offset_ + position, {}};
}

std::string_view FlatReader::identifier() const {
    if (!holds(4, 4)) return {};
    return {reinterpret_cast<const char*>(bytes_.data()) + 4, 4};
}

bool FlatReader::spend(std::size_t work, std::size_t position) {
    if (work > work_left_) {
        violation("its tables overlap", position);
        return false;
    }
    work_left_ -= work;
    return true;
}

bool FlatReader::spend_text(std::size_t size, std::size_t position) {
    if (size > text_left_) {
        violation("one long text is used over and over", position);
        return false;
    }
    text_left_ -= size;
    return true;
}

FlatTable FlatReader::root() {
    if (!ok()) return {};
    if (!holds(0, 4)) {
        violation("it is shorter than its root offset", 0);
        return {};
    }
    const auto at = follow(0);
    return at ? table_at(*at) : FlatTable{};
}

std::optional<std::size_t> FlatReader::follow(std::size_t position) {
    const auto offset = load<std::uint32_t>(position);
    if (offset == 0 || !holds(position, offset) || !holds(position + offset, 4)) {
        violation("an offset points out of it", position);
        return std::nullopt;
    }
    return position + offset;
}

FlatTable FlatReader::table_at(std::size_t position) {
    if (!ok()) return {};
    if (!holds(position, 4)) {
        violation("a table lies outside of it", position);
        return {};
    }
    const std::int64_t vtable = static_cast<std::int64_t>(position) - load<std::int32_t>(position);
    if (vtable < 0 || !holds(static_cast<std::size_t>(vtable), 4)) {
        violation("a table's vtable lies outside of it", position);
        return {};
    }
    FlatTable t;
    t.vtable_ = static_cast<std::size_t>(vtable);
    t.vtable_size_ = load<std::uint16_t>(t.vtable_);
    t.table_size_ = load<std::uint16_t>(t.vtable_ + 2);
    if (t.vtable_size_ < 4 || t.vtable_size_ % 2 != 0 || t.table_size_ < 4 || !holds(t.vtable_, t.vtable_size_) ||
        !holds(position, t.table_size_)) {
        violation("a table's vtable has impossible sizes", position);
        return {};
    }
    if (!spend(t.table_size_, position)) return {};
    if (remembered_) {
        remember(t.vtable_ + t.vtable_size_ == position ? t.vtable_ : position);
        remembered_->vtables.push_back(t.vtable_);
    }
    t.reader_ = this;
    t.position_ = position;
    return t;
}

std::string_view FlatReader::string_at(std::size_t position) {
    if (!ok()) return {};
    if (!holds(position, 4) || !holds(position + 4, load<std::uint32_t>(position))) {
        violation("a text reaches out of it", position);
        return {};
    }
    const auto size = load<std::uint32_t>(position);
    if (!spend_text(size, position)) return {};
    remember(position);
    if (remembered_) remembered_->texts.push_back(position);
    return {reinterpret_cast<const char*>(bytes_.data()) + position + 4, size};
}

const FlatReader::Objects& FlatReader::objects() const {
    for (auto* positions : {&remembered_->starts, &remembered_->texts, &remembered_->vtables}) {
        std::sort(positions->begin(), positions->end());
        positions->erase(std::unique(positions->begin(), positions->end()), positions->end());
    }
    return *remembered_;
}

std::size_t FlatTable::field(std::uint16_t vt, std::size_t size) const {
    if (!reader_ || !reader_->ok() || vt + 2U > vtable_size_) return 0;
    const auto at = reader_->load<std::uint16_t>(vtable_ + vt);
    if (at == 0) return 0;
    if (at < 4 || at > table_size_ || size > static_cast<std::size_t>(table_size_ - at)) {
        reader_->violation("a field lies outside of its table", position_);
        return 0;
    }
    return at;
}

FlatTable FlatTable::table(std::uint16_t vt) const {
    const std::size_t at = field(vt, 4);
    if (!at) return {};
    const auto target = reader_->follow(position_ + at);
    return target ? reader_->table_at(*target) : FlatTable{};
}

std::optional<std::string_view> FlatTable::text(std::uint16_t vt) const {
    const std::size_t at = field(vt, 4);
    if (!at) return std::nullopt;
    const auto target = reader_->follow(position_ + at);
    if (!target) return std::nullopt;
    return reader_->string_at(*target);
}

FlatVector FlatTable::vector(std::uint16_t vt, std::size_t element_size) const {
    const std::size_t at = field(vt, 4);
    if (!at) return {};
    const auto target = reader_->follow(position_ + at);
    if (!target) return {};
    const std::size_t count = reader_->load<std::uint32_t>(*target);
    if (!reader_->holds(*target + 4, count * element_size)) {
        reader_->violation("a list of " + std::to_string(count) + " items reaches out of it", *target);
        return {};
    }
    if (!reader_->spend(4 + count * element_size, *target)) return {};
    reader_->remember(*target);
    return {*target + 4, count, true};
}

std::optional<std::span<const std::byte>> FlatTable::blob(std::uint16_t vt) const {
    const std::size_t at = field(vt, 4);
    if (!at) return std::nullopt;
    const auto target = reader_->follow(position_ + at);
    if (!target) return std::nullopt;
    const std::size_t count = reader_->load<std::uint32_t>(*target);
    if (!reader_->holds(*target + 4, count)) {
        reader_->violation("a value of " + std::to_string(count) + " bytes reaches out of it", *target);
        return std::nullopt;
    }
    reader_->remember(*target);
    return reader_->bytes().subspan(*target + 4, count);
}

FlatTable FlatTable::table_element(const FlatVector& vector, std::size_t index) const {
    if (!reader_->ok()) return {};
    const auto target = reader_->follow(vector.position + index * 4);
    return target ? reader_->table_at(*target) : FlatTable{};
}

std::string_view FlatTable::text_element(const FlatVector& vector, std::size_t index) const {
    if (!reader_->ok()) return {};
    const auto target = reader_->follow(vector.position + index * 4);
    return target ? reader_->string_at(*target) : std::string_view{};
}

std::span<const std::byte> FlatTable::inline_bytes() const {
    if (!reader_) return {};
    return reader_->bytes().subspan(position_, table_size_);
}

std::uint16_t FlatTable::slot_offset(std::size_t slot) const {
    const auto at = reader_->load<std::uint16_t>(vtable_ + 4 + slot * 2);
    return at < table_size_ ? at : std::uint16_t{0};
}

} // namespace megascope
