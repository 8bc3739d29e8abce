#include "tensor/npy_header.h"

#include <charconv>
#include <cstring>
#include <string_view>

namespace megascope {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// Reads the few literals that NumPy writes: strings, booleans, integers, tuples, and lists of tuples (records).
class Literal {
public:
    Literal(std::string_view text, std::size_t offset) : text_(text), offset_(offset) {}

    [[nodiscard]] std::size_t position() const { return offset_ + at_; }
    [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

    void skip_space() {
        while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) && text_[at_] != 0) ++at_;
    }
    bool take(char c) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    bool take_word(std::string_view word) {
        skip_space();
        if (!rest().starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    bool string(std::string& out) {
        skip_space();
        if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
        const std::size_t end = text_.find(text_[at_], at_ + 1);
        if (end == std::string_view::npos) return false;
        out = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return true;
    }
    bool integer(std::int64_t& out) {
        skip_space();
        const auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
        if (status != std::errc()) return false;
        at_ = static_cast<std::size_t>(end - text_.data());
        if (at_ < text_.size() && text_[at_] == 'L') ++at_; // Python 2 wrote long integers
        return true;
    }
    /// A bracketed expression as written, for record dtypes that are only named in an error.
    bool brackets(std::string& out) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != '[') return false;
        int depth = 0;
        for (std::size_t i = at_; i < text_.size(); ++i) {
            depth += text_[i] == '[' || text_[i] == '(';
            depth -= text_[i] == ']' || text_[i] == ')';
            if (depth == 0) {
                out = text_.substr(at_, i + 1 - at_);
                at_ = i + 1;
                return true;
            }
        }
        return false;
    }

private:
    std::string_view text_;
    std::size_t offset_;
    std::size_t at_ = 0;
};

} // namespace

Expected<NpyHeader> parse_npy_header(std::span<const std::byte> bytes, const std::string& name) {
    const auto error = [&](ErrorCode code, std::string message, std::uint64_t at) {
        return forward(Error{code, std::move(message), at, name});
    };
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!all.starts_with(magic)) return forward(Error{ErrorCode::foreign, "This is not a .npy file.", std::nullopt, name});
    if (all.size() < 10) return error(ErrorCode::corrupt, "The .npy file ends inside its header.", all.size());
    const auto byte_at = [&](std::size_t i) { return static_cast<std::size_t>(std::to_integer<std::uint8_t>(bytes[i])); };
    const std::size_t version = byte_at(6);
    if (version < 1 || version > 3)
        return error(ErrorCode::unsupported, "The .npy file has format version " + std::to_string(version) + "; versions 1 to 3 are known.", 6);
    std::size_t start = 10;
    std::size_t length = byte_at(8) | byte_at(9) << 8;
    if (version > 1) {
        if (all.size() < 12) return error(ErrorCode::corrupt, "The .npy file ends inside its header.", all.size());
        start = 12;
        length |= byte_at(10) << 16 | byte_at(11) << 24;
    }
    if (length > all.size() - start)
        return error(ErrorCode::corrupt, "The .npy header claims " + std::to_string(length) + " bytes, but the file ends before.", 8);

    NpyHeader header;
    header.data_offset = start + length;
    Literal text(all.substr(start, length), start);
    const auto bad = [&](const std::string& what) {
        const std::string_view rest = text.rest().substr(0, 24);
        return error(ErrorCode::corrupt, "The .npy header is malformed: " + what + " expected before '" + std::string(rest) + "'.",
                     text.position());
    };
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    if (!text.take('{')) return bad("'{'");
    while (!text.take('}')) {
        std::string key;
        if (!text.string(key)) return bad("a key");
        if (!text.take(':')) return bad("':'");
        if (key == "descr") {
            if (!text.string(header.descr) && !text.brackets(header.descr)) return bad("a dtype");
            has_descr = true;
        } else if (key == "fortran_order") {
            if (text.take_word("True")) header.fortran_order = true;
            else if (!text.take_word("False")) return bad("True or False");
            has_order = true;
        } else if (key == "shape") {
            if (!text.take('(')) return bad("'('");
            while (!text.take(')')) {
                std::int64_t size = 0;
                if (!text.integer(size) || size < 0) return bad("a size");
                header.shape.push_back(size);
                if (!text.take(',') && !text.rest().starts_with(')')) return bad("','");
                if (header.shape.size() > 32) return bad("at most 32 sizes"); // NumPy's own limit
            }
            has_shape = true;
        } else {
            return bad("one of the keys descr, fortran_order, shape (found '" + key + "')");
        }
        if (!text.take(',') && !text.rest().starts_with('}')) return bad("','");
    }
    if (!has_descr || !has_order || !has_shape)
        return error(ErrorCode::corrupt, "The .npy header lacks " + std::string(!has_descr ? "descr" : !has_order ? "fortran_order" : "shape") + ".",
                     start);
    return header;
}

} // namespace megascope
