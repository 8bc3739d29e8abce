#include <charconv>
#include <cstring>
#include <string_view>

#include "format/packed_model.h"

namespace megascope {

namespace {

/// Takes numbers and byte strings off the front of a blob.
class Blob {
public:
    explicit Blob(std::span<const std::byte> bytes) : bytes_(bytes) {}

    [[nodiscard]] std::size_t position() const { return position_; }
    [[nodiscard]] std::size_t left() const { return bytes_.size() - position_; }
    [[nodiscard]] tl::unexpected<Error> cut_off() const {
        return fail_at(ErrorCode::corrupt, "The fast-run cache ends too early.", position_);
    }
    [[nodiscard]] Expected<std::uint32_t> number() {
        if (left() < 4) return cut_off();
        std::uint32_t value = 0;
        std::memcpy(&value, bytes_.data() + position_, 4);
        position_ += 4;
        return value;
    }
    [[nodiscard]] Expected<std::span<const std::byte>> string() {
        MGS_ASSIGN(const std::uint32_t size, number());
        if (left() < size) return cut_off();
        const auto view = bytes_.subspan(position_, size);
        position_ += size;
        return view;
    }

private:
    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
};

void put_number(std::vector<std::byte>& out, std::size_t number) {
    const auto value = static_cast<std::uint32_t>(number);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_string(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
    put_number(out, bytes.size());
    out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Takes a mark and the number behind it off the front of a text.
template <class Number>
bool take(std::string_view& text, char mark, Number& number) {
    if (!text.starts_with(mark)) return false;
    const auto [end, problem] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    if (problem != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

} // namespace

Expected<FastRunCache> read_fast_run_cache(std::span<const std::byte> blob) {
    constexpr std::size_t longest_name = 255;
    Blob in(blob);
    FastRunCache cache;
    MGS_ASSIGN(const std::uint32_t categories, in.number());
    for (std::uint32_t c = 0; c < categories; ++c) {
        FastRunCache::Category category;
        const std::size_t at = in.position();
        MGS_ASSIGN(const auto name, in.string());
        if (name.size() > longest_name)
            return fail_at(ErrorCode::corrupt, "The fast-run cache has a category name of " + std::to_string(name.size()) + " bytes.", at);
        category.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
        MGS_ASSIGN(const std::uint32_t entries, in.number());
        for (std::uint32_t e = 0; e < entries; ++e) {
            MGS_ASSIGN(const auto key, in.string());
            MGS_ASSIGN(const auto value, in.string());
            category.entries.push_back({key, value});
        }
        cache.categories.push_back(std::move(category));
    }
    if (in.left() != 0)
        return fail_at(ErrorCode::corrupt, "The fast-run cache has " + std::to_string(in.left()) + " bytes behind its last entry.", in.position());
    return cache;
}

std::vector<std::byte> write_fast_run_cache(const FastRunCache& cache) {
    std::vector<std::byte> out;
    put_number(out, cache.categories.size());
    for (const auto& category : cache.categories) {
        put_string(out, std::as_bytes(std::span(category.name)));
        put_number(out, category.entries.size());
        for (const auto& entry : category.entries) {
            put_string(out, entry.key);
            put_string(out, entry.value);
        }
    }
    return out;
}

Expected<std::vector<FastRunResult>> read_fast_run_results(std::span<const std::byte> value) {
    Blob in(value);
    std::vector<FastRunResult> results;
    MGS_ASSIGN(const std::uint32_t count, in.number());
    for (std::uint32_t i = 0; i < count; ++i) {
        FastRunResult result;
        // The algorithm: handle type, type, sizes of its param and of its name, then both.
        const std::size_t at = in.position();
        MGS_ASSIGN(const auto algorithm, in.string());
        Blob description(algorithm);
        MGS_TRY(description.number());
        MGS_TRY(description.number());
        MGS_ASSIGN(const std::uint32_t param_size, description.number());
        MGS_ASSIGN(const std::uint32_t name_size, description.number());
        if (description.left() != std::uint64_t{param_size} + name_size)
            return fail_at(ErrorCode::corrupt, "An algorithm of the fast-run cache has sizes that do not add up.", at);
        const auto name = algorithm.last(name_size);
        result.algorithm.assign(reinterpret_cast<const char*>(name.data()), name.size());
        // ":attribute;seconds;workspace:" and a final zero.
        const std::size_t numbers_at = in.position();
        MGS_ASSIGN(const auto numbers, in.string());
        std::string_view text(reinterpret_cast<const char*>(numbers.data()), numbers.size());
        if (!take(text, ':', result.attribute) || !take(text, ';', result.seconds) || !take(text, ';', result.workspace) || !text.starts_with(':'))
            return fail_at(ErrorCode::corrupt, "An algorithm of the fast-run cache has no time and workspace.", numbers_at);
        results.push_back(std::move(result));
    }
    if (in.left() != 0) return fail_at(ErrorCode::corrupt, "An entry of the fast-run cache goes on behind its last result.", in.position());
    return results;
}

std::string fast_run_layouts(std::span<const std::byte> key) {
    // "shape;dtype|" or "shape;strides;dtype|" for each; the raw bytes of the param follow.
    const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
    std::size_t end = 0;
    for (std::size_t i = 0, fields = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c < ' ' || c > '~') break;
        if (c == ';') ++fields;
        if (c != '|') continue;
        if (fields == 0) break;
        fields = 0;
        end = i + 1;
    }
    return std::string(text.substr(0, end));
}

} // namespace megascope
