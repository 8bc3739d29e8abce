#include "format/raw_param.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "format/param_writer.h"

namespace megascope {

namespace {

constexpr std::size_t alignment = 8; // the largest that a flatbuffer of MegEngine uses

/// Something outside of the kept bytes that a word in them may point at.
struct Outside {
    std::uint32_t at = 0;      ///< the word, from the start of the kept bytes
    bool is_vtable = false;    ///< otherwise a text with its length
    std::vector<std::byte> bytes;
};

/// The content of RawParam::table.
struct Kept {
    std::uint32_t index = 0; ///< among all params of the operator
    std::uint32_t inline_size = 0;
    std::uint32_t from_end = 0; ///< distance between the end of `bytes` and the end of the buffer, modulo `alignment`
    std::vector<std::byte> bytes;
    std::vector<Outside> outside;
    std::vector<std::uint32_t> vtables; ///< in `bytes`: vtables that other tables share
};

template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

void put(std::vector<std::byte>& out, std::size_t number) {
    const auto value = static_cast<std::uint32_t>(number);
    const auto raw = std::as_bytes(std::span(&value, 1));
    out.insert(out.end(), raw.begin(), raw.end());
}

// The trailer: the outside objects, the vtables, then numbers of fixed size at the very end.
constexpr std::uint32_t complete = 0x5041524b; // tells a completed param from the inline part alone
constexpr std::size_t end_numbers = 7;
constexpr std::size_t end_size = end_numbers * sizeof(std::uint32_t);

std::vector<std::byte> join(const Kept& kept) {
    std::vector<std::byte> out = kept.bytes;
    for (const Outside& o : kept.outside) {
        put(out, o.at);
        put(out, o.is_vtable ? 1 : 0);
        put(out, o.bytes.size());
        out.insert(out.end(), o.bytes.begin(), o.bytes.end());
    }
    for (const std::uint32_t vtable : kept.vtables) put(out, vtable);
    for (const std::size_t number : {std::size_t{kept.index}, kept.outside.size(), kept.vtables.size(), std::size_t{kept.from_end},
                                     std::size_t{kept.inline_size}, kept.bytes.size(), std::size_t{complete}})
        put(out, number);
    return out;
}

std::optional<Kept> split(std::span<const std::byte> table) {
    if (table.size() < end_size) return std::nullopt;
    const auto number = [&](std::size_t i) { return load<std::uint32_t>(table, table.size() - end_size + i * sizeof(std::uint32_t)); };
    if (number(6) != complete || number(5) > table.size() - end_size || number(4) > number(5)) return std::nullopt;
    Kept kept;
    kept.index = number(0);
    kept.from_end = number(3);
    kept.inline_size = number(4);
    kept.bytes.assign(table.begin(), table.begin() + number(5));
    std::span<const std::byte> rest = table.subspan(number(5), table.size() - end_size - number(5));
    for (std::uint32_t i = 0; i < number(1); ++i) {
        constexpr std::size_t head = 3 * sizeof(std::uint32_t);
        if (rest.size() < head || load<std::uint32_t>(rest, 8) > rest.size() - head) return std::nullopt;
        Outside o{load<std::uint32_t>(rest, 0), load<std::uint32_t>(rest, 4) != 0, {}};
        const auto bytes = rest.subspan(head, load<std::uint32_t>(rest, 8));
        o.bytes.assign(bytes.begin(), bytes.end());
        if (kept.bytes.size() < sizeof(std::uint32_t) || o.at > kept.bytes.size() - sizeof(std::uint32_t)) return std::nullopt;
        kept.outside.push_back(std::move(o));
        rest = rest.subspan(head + bytes.size());
    }
    if (rest.size() != number(2) * sizeof(std::uint32_t)) return std::nullopt;
    for (std::size_t at = 0; at < rest.size(); at += sizeof(std::uint32_t)) kept.vtables.push_back(load<std::uint32_t>(rest, at));
    return kept;
}

/// Goes through everything that the bytes of one table may mean and lists what may lie outside of them.
class Explorer {
public:
    Explorer(const FlatReader& reader, const std::map<std::size_t, std::size_t>& regions, std::size_t begin, std::size_t inline_end,
             std::size_t end)
        : reader_(reader), objects_(reader.objects()), regions_(regions), begin_(begin), inline_end_(inline_end), end_(end),
          steps_left_(4 * (end - begin) + 1024) {}

    /// Nothing when the bytes have too many meanings to go through.
    std::optional<std::vector<Outside>> explore() {
        const std::int64_t vtable = static_cast<std::int64_t>(begin_) - reader_.load<std::int32_t>(begin_);
        table(begin_, static_cast<std::size_t>(vtable));
        while (!open_.empty() && steps_left_ > 0) {
            const std::size_t at = open_.back();
            open_.pop_back();
            object(at);
        }
        if (steps_left_ == 0) return std::nullopt;
        return std::move(found_);
    }

private:
    bool aligned(std::size_t position, std::size_t to) const { return (reader_.bytes().size() - position) % to == 0; }
    bool inside(std::size_t position) const { return position >= inline_end_ && position + sizeof(std::uint32_t) <= end_; }

    void table(std::size_t position, std::size_t vtable) {
        const auto size = reader_.load<std::uint16_t>(vtable);
        const auto table_size = reader_.load<std::uint16_t>(vtable + 2);
        for (std::size_t slot = 4; slot < size; slot += 2) {
            const auto at = reader_.load<std::uint16_t>(vtable + slot);
            if (at >= 4 && at + sizeof(std::uint32_t) <= table_size && aligned(position + at, 4)) word(position + at);
        }
    }

    /// A word that may be an offset.
    void word(std::size_t at) {
        if (steps_left_ > 0) --steps_left_;
        const auto offset = reader_.load<std::uint32_t>(at);
        const std::size_t target = at + offset;
        if (offset < 4 || !reader_.holds(target, sizeof(std::uint32_t)) || !aligned(target, 4)) return;
        if (inside(target)) {
            if (seen_.insert(target).second) open_.push_back(target);
        } else if (target >= end_ && is_text(target)) {
            const auto text = reader_.bytes().subspan(target, sizeof(std::uint32_t) + reader_.load<std::uint32_t>(target) + 1);
            found_.push_back({static_cast<std::uint32_t>(at - begin_), false, {text.begin(), text.end()}});
        }
    }

    /// A text that the reader met, or something like one in the bytes of another unknown param.
    bool is_text(std::size_t at) const {
        const std::size_t size = reader_.load<std::uint32_t>(at);
        if (!reader_.holds(at + sizeof(std::uint32_t), size + 1) || reader_.bytes()[at + sizeof(std::uint32_t) + size] != std::byte{0}) return false;
        if (std::binary_search(objects_.texts.begin(), objects_.texts.end(), at)) return true;
        const auto region = regions_.upper_bound(at);
        return region != regions_.begin() && at + size < std::prev(region)->second;
    }

    bool is_vtable(std::int64_t at) const {
        if (at < 0 || !reader_.holds(static_cast<std::size_t>(at), 4) || !aligned(static_cast<std::size_t>(at), 2)) return false;
        const auto vtable = static_cast<std::size_t>(at);
        const auto size = reader_.load<std::uint16_t>(vtable);
        const auto table_size = reader_.load<std::uint16_t>(vtable + 2);
        if (size < 4 || size % 2 != 0 || table_size < 4 || !reader_.holds(vtable, size)) return false;
        for (std::size_t slot = 4; slot < size; slot += 2)
            if (reader_.load<std::uint16_t>(vtable + slot) >= table_size) return false;
        return true;
    }

    /// Something inside that may be a table, or a list of offsets; any other list and every text lead nowhere.
    void object(std::size_t at) {
        const auto first = reader_.load<std::int32_t>(at);
        const std::int64_t vtable = static_cast<std::int64_t>(at) - first;
        if (is_vtable(vtable) && reader_.holds(at, reader_.load<std::uint16_t>(static_cast<std::size_t>(vtable) + 2))) {
            const auto position = static_cast<std::size_t>(vtable);
            if (position >= end_) {
                const auto bytes = reader_.bytes().subspan(position, reader_.load<std::uint16_t>(position));
                found_.push_back({static_cast<std::uint32_t>(at - begin_), true, {bytes.begin(), bytes.end()}});
            }
            if (position >= inline_end_) table(at, position);
        }
        const auto count = static_cast<std::uint32_t>(first);
        if (count > (end_ - at) / sizeof(std::uint32_t) - 1) return;
        for (std::size_t i = 1; i <= count && steps_left_ > 0; ++i) word(at + i * sizeof(std::uint32_t));
    }

    const FlatReader& reader_;
    const FlatReader::Objects& objects_;
    const std::map<std::size_t, std::size_t>& regions_;
    std::size_t begin_, inline_end_, end_;
    std::size_t steps_left_;
    std::set<std::size_t> seen_;
    std::vector<std::size_t> open_;
    std::vector<Outside> found_;
};

} // namespace

RawParam read_raw_param(std::uint8_t number, const FlatTable& table) {
    RawParam raw;
    raw.number = number;
    const auto bytes = table.inline_bytes();
    raw.table.assign(bytes.begin(), bytes.end());
    for (std::size_t slot = 0; slot < table.slot_count(); ++slot) raw.slot_offsets.push_back(table.slot_offset(slot));
    return raw;
}

void complete_raw_params(FlatReader& reader, std::span<const RawParamPlace> places, GraphBuilder& builder) {
    const FlatReader::Objects& objects = reader.objects();
    std::map<std::size_t, std::size_t> regions; // begin and end of each param's bytes
    for (const auto& [position, index] : places) {
        const auto next = std::upper_bound(objects.starts.begin(), objects.starts.end(), position);
        regions.emplace(position, next == objects.starts.end() ? reader.bytes().size() : *next);
    }
    auto place = places.begin();
    for (std::size_t i = 0; i < builder.opr_count() && place != places.end(); ++i)
        for (RawParam& raw : builder.opr(OprId(i)).raw_params) {
            const auto [begin, index] = *place++;
            const std::size_t end = regions.at(begin);
            if (begin + raw.table.size() > end || (reader.bytes().size() - begin) % 4 != 0) continue; // overlaps something known
            if (!reader.spend(end - begin, begin)) return;
            Kept kept;
            kept.index = index;
            kept.inline_size = static_cast<std::uint32_t>(raw.table.size());
            kept.from_end = static_cast<std::uint32_t>((reader.bytes().size() - end) % alignment);
            const auto bytes = reader.bytes().subspan(begin, end - begin);
            kept.bytes.assign(bytes.begin(), bytes.end());
            auto outside = Explorer(reader, regions, begin, begin + raw.table.size(), end).explore();
            if (!outside) continue;
            kept.outside = std::move(*outside);
            const auto shared = std::lower_bound(objects.vtables.begin(), objects.vtables.end(), begin + raw.table.size());
            for (auto vtable = shared; vtable != objects.vtables.end() && *vtable < end; ++vtable)
                kept.vtables.push_back(static_cast<std::uint32_t>(*vtable - begin));
            raw.table = join(kept);
        }
}

std::size_t raw_param_size(const RawParam& param) {
    const auto kept = split(param.table);
    return kept ? kept->bytes.size() : param.table.size();
}

std::size_t raw_param_index(const RawParam& param) {
    const auto kept = split(param.table);
    return kept ? kept->index : 0;
}

Expected<flatbuffers::Offset<void>> write_raw_param(GraphBuffer& fbb, const RawParam& param) {
    const std::string name = "The operator's param of the unknown kind " + std::to_string(param.number);
    auto kept = split(param.table);
    if (!kept) return fail(ErrorCode::unsupported, name + " is stored in a way that cannot be written again.");
    std::vector<std::byte>& bytes = kept->bytes;

    // Positions count from the end of the buffer, as the builder counts them.
    std::size_t end = 0;
    const auto align = [&] {
        while (fbb.GetSize() % alignment != kept->from_end) fbb.Pad(1);
        end = fbb.GetSize();
    };
    const auto position = [&](const Outside& o) { return end + bytes.size() - o.at; };
    const auto there = [&](const Outside& o) {
        const std::int64_t distance = o.is_vtable ? -std::int64_t{load<std::int32_t>(bytes, o.at)} : std::int64_t{load<std::uint32_t>(bytes, o.at)};
        const std::int64_t target = static_cast<std::int64_t>(position(o)) - distance;
        if (target < static_cast<std::int64_t>(o.bytes.size()) || target > static_cast<std::int64_t>(fbb.GetSize())) return false;
        return std::memcmp(fbb.GetCurrentBufferPointer() + (static_cast<std::int64_t>(fbb.GetSize()) - target), o.bytes.data(), o.bytes.size()) == 0;
    };
    align();
    std::vector<std::pair<Outside*, std::size_t>> moved; // tables whose vtable has to be written again, and where it is then
    for (Outside& o : kept->outside)
        if (o.is_vtable && !there(o)) moved.emplace_back(&o, 0);
    for (auto& [o, vtable] : moved) {
        fbb.Pad(fbb.GetSize() % 2);
        fbb.PushBytes(reinterpret_cast<const std::uint8_t*>(o->bytes.data()), o->bytes.size());
        vtable = fbb.GetSize();
    }
    align();
    for (const auto& [o, vtable] : moved) {
        const auto offset = static_cast<std::int32_t>(static_cast<std::int64_t>(vtable) - static_cast<std::int64_t>(position(*o)));
        std::memcpy(bytes.data() + o->at, &offset, sizeof offset);
    }
    for (const Outside& o : kept->outside)
        if (!o.is_vtable && !there(o))
            return fail(ErrorCode::unsupported, name + " may refer to a text outside of it; it can only be written in the same container, "
                                                       "with the same names kept.");

    const auto* raw = reinterpret_cast<const std::uint8_t*>(bytes.data());
    fbb.PushBytes(raw + kept->inline_size, bytes.size() - kept->inline_size);
    for (const std::uint32_t vtable : kept->vtables) fbb.add_vtable(static_cast<flatbuffers::uoffset_t>(end + bytes.size() - vtable));
    const auto start = fbb.StartTable();
    constexpr std::size_t word = sizeof(flatbuffers::soffset_t); // the builder writes the offset of the vtable
    fbb.PushBytes(raw + word, kept->inline_size - word);
    const std::size_t content = fbb.GetSize();
    for (std::size_t slot = 0; slot < param.slot_offsets.size(); ++slot)
        if (const std::size_t at = param.slot_offsets[slot]; at >= word)
            fbb.TrackField(static_cast<flatbuffers::voffset_t>(4 + 2 * slot), static_cast<flatbuffers::uoffset_t>(content - (at - word)));
    return flatbuffers::Offset<void>(fbb.EndTable(start));
}

} // namespace megascope
