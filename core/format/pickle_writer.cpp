#include "format/pickle_writer.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include <nlohmann/json.hpp>

namespace megascope {

namespace {

using Json = nlohmann::ordered_json;

// Opcodes of the protocol (pickletools in Python's library names them).
enum class Op : unsigned char {
    mark = '(', stop = '.', none = 'N', new_true = 0x88, new_false = 0x89, bin_int = 'J', bin_int1 = 'K', bin_int2 = 'M', long1 = 0x8a,
    bin_float = 'G', short_text = 0x8c, text = 'X', empty_list = ']', append = 'a', appends = 'e', empty_dict = '}', set_item = 's',
    set_items = 'u', memoize = 0x94, get = 'h', long_get = 'j', proto = 0x80, frame = 0x95,
};

constexpr std::size_t batch = 1000;               ///< items per `appends` / `set_items`
constexpr std::size_t frame_least = 4;            ///< shorter content stands without a frame
constexpr std::size_t frame_target = 64U * 1024U; ///< a frame ends at the first value that makes it this long

class Pickler {
public:
    Pickler() {
        put(out_, Op::proto);
        out_ += '\x04';
    }

    void save(const Json& value) {
        switch (value.type()) {
        case Json::value_t::boolean: put(frame_, value.get<bool>() ? Op::new_true : Op::new_false); break;
        case Json::value_t::number_integer: integer(value.get<std::int64_t>()); break;
        case Json::value_t::number_unsigned: unsigned_integer(value.get<std::uint64_t>()); break;
        case Json::value_t::number_float: real(value.get<double>()); break;
        case Json::value_t::string: text(value.get_ref<const std::string&>()); break;
        case Json::value_t::array: list(value); break;
        case Json::value_t::object: dict(value); break;
        default: put(frame_, Op::none); break;
        }
        if (frame_.size() >= frame_target) end_frame();
    }

    void text(const std::string& value) {
        if (const auto known = memo_.find(value); known != memo_.end()) {
            if (known->second < 256) {
                put(frame_, Op::get);
                little_endian(known->second, 1);
            } else {
                put(frame_, Op::long_get);
                little_endian(known->second, 4);
            }
            return;
        }
        const bool is_short = value.size() < 256;
        put(frame_, is_short ? Op::short_text : Op::text);
        little_endian(value.size(), is_short ? 1 : 4);
        if (value.size() >= frame_target) { // long content stands between frames
            end_frame();
            out_ += value;
        } else {
            frame_ += value;
        }
        memo_.emplace(value, memoized_);
        memoize();
    }

    std::string take() {
        put(frame_, Op::stop);
        end_frame();
        return std::move(out_);
    }

private:
    static void put(std::string& to, Op op) { to += static_cast<char>(op); }
    void little_endian(std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) frame_ += static_cast<char>(value >> (8 * i) & 0xffU);
    }
    void memoize() {
        put(frame_, Op::memoize);
        ++memoized_;
    }
    void end_frame() {
        if (frame_.size() >= frame_least) {
            put(out_, Op::frame);
            for (int i = 0; i < 8; ++i) out_ += static_cast<char>(std::uint64_t{frame_.size()} >> (8 * i) & 0xffU);
        }
        out_ += frame_;
        frame_.clear();
    }

    void integer(std::int64_t value) {
        if (value >= 0 && value < 256) {
            put(frame_, Op::bin_int1);
            little_endian(static_cast<std::uint64_t>(value), 1);
        } else if (value >= 0 && value < 65536) {
            put(frame_, Op::bin_int2);
            little_endian(static_cast<std::uint64_t>(value), 2);
        } else if (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max()) {
            put(frame_, Op::bin_int);
            little_endian(static_cast<std::uint64_t>(value), 4);
        } else {
            // As few bytes of two's complement as hold the value.
            int bytes = 8;
            while (bytes > 1 && value >> (8 * (bytes - 1) - 1) == (value < 0 ? -1 : 0)) --bytes;
            put(frame_, Op::long1);
            little_endian(static_cast<std::uint64_t>(bytes), 1);
            little_endian(static_cast<std::uint64_t>(value), bytes);
        }
    }
    void unsigned_integer(std::uint64_t value) {
        if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return integer(static_cast<std::int64_t>(value));
        put(frame_, Op::long1);
        little_endian(9, 1);
        little_endian(value, 8);
        frame_ += '\0';
    }
    void real(double value) {
        put(frame_, Op::bin_float);
        const auto bits = std::bit_cast<std::uint64_t>(value);
        for (int i = 7; i >= 0; --i) frame_ += static_cast<char>(bits >> (8 * i) & 0xffU);
    }

    /// `save_item(i)` for all items, in batches; a batch of one has an opcode of its own.
    template <class SaveItem>
    void items(std::size_t count, Op one, Op many, SaveItem save_item) {
        for (std::size_t first = 0; first < count; first += batch) {
            const std::size_t last = std::min(count, first + batch);
            const bool single = last - first == 1;
            if (!single) put(frame_, Op::mark);
            for (std::size_t i = first; i < last; ++i) save_item();
            put(frame_, single ? one : many);
        }
    }
    void list(const Json& value) {
        put(frame_, Op::empty_list);
        memoize();
        auto item = value.begin();
        items(value.size(), Op::append, Op::appends, [&] { save(*item++); });
    }
    void dict(const Json& value) {
        put(frame_, Op::empty_dict);
        memoize();
        auto item = value.begin();
        items(value.size(), Op::set_item, Op::set_items, [&] {
            text(item.key());
            save(item.value());
            ++item;
        });
    }

    std::string out_;
    std::string frame_;
    std::unordered_map<std::string, std::uint32_t> memo_;
    std::uint32_t memoized_ = 0;
};

} // namespace

Expected<std::string> pickle_json(std::string_view json) {
    Json value;
    try {
        value = Json::parse(json);
    } catch (const nlohmann::json::parse_error& error) {
        return fail(ErrorCode::invalid_argument, "The user info is no JSON: it breaks off at character " + std::to_string(error.byte) + ".");
    }
    Pickler pickler;
    pickler.save(value);
    return pickler.take();
}

std::string pickle_text(std::string_view text) {
    Pickler pickler;
    pickler.text(std::string(text));
    return pickler.take();
}

} // namespace megascope
