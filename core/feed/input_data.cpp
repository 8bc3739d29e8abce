#include "feed/input_data.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/mapped_file.h"
#include "feed/fit.h"
#include "feed/image.h"
#include "feed/random.h"
#include "feed/transform.h"
#include "tensor/npy.h"
#include "tensor/npz.h"

namespace megascope {

namespace {

std::string trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

/// Rows of axis 0, each `times` times in a row.
Expected<Tensor> repeated(const Tensor& value, std::uint32_t times) {
    if (times == 1) return value;
    if (value.shape().ndim() == 0) return fail(ErrorCode::invalid_argument, "A value without axes cannot be repeated.");
    Shape shape = value.shape();
    shape[0] *= times;
    if (!shape.checked_elements()) return fail(ErrorCode::invalid_argument, "Repeating gives the impossible shape " + shape.text() + ".");
    TensorBuffer buffer(value.dtype(), shape);
    const auto rows = static_cast<std::size_t>(value.shape()[0]);
    const std::size_t row = rows ? value.nbytes() / rows : 0;
    std::byte* out = buffer.bytes().data();
    for (std::size_t r = 0; r < rows; ++r)
        for (std::uint32_t t = 0; t < times; ++t, out += row) std::memcpy(out, value.bytes().data() + r * row, row);
    return std::move(buffer).freeze();
}

Expected<NpyArray> read_array(const std::filesystem::path& path) {
    MGS_ASSIGN(const auto file, MappedFile::open(path));
    const auto bytes = file->bytes();
    if (bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\x03\x04", 4) == 0) {
        MGS_ASSIGN(auto entries, parse_npz(bytes, path.string()));
        if (entries.size() != 1)
            return fail_in(ErrorCode::invalid_argument, "The archive holds " + std::to_string(entries.size()) + " arrays; exactly one is needed here.",
                           path.string());
        return std::move(entries.front().array);
    }
    return parse_npy(bytes, path.string());
}

bool is_array_file(std::span<const std::byte> bytes) {
    return bytes.size() >= 6 && (std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0 || std::memcmp(bytes.data(), "PK\x03\x04", 4) == 0);
}

Expected<std::vector<std::string>> lines_of(const std::filesystem::path& path) {
    MGS_ASSIGN(const auto file, MappedFile::open(path));
    const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    std::vector<std::string> lines;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (std::string line = trimmed(text.substr(at, end - at)); !line.empty()) lines.push_back(std::move(line));
        at = end + 1;
    }
    if (lines.empty()) return fail_in(ErrorCode::invalid_argument, "The file names no testcase.", path.string());
    return lines;
}

struct Assignment {
    std::string name;
    std::string source;
};

std::string names_of(std::span<const FeedTarget> targets) {
    std::string list;
    for (const FeedTarget& t : targets) list += (list.empty() ? "'" : ", '") + t.name + "'";
    return list;
}

Expected<std::vector<Assignment>> split_item(const std::string& item, std::span<const FeedTarget> targets) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= item.size();) {
        const std::size_t end = std::min(item.find(';', at), item.size());
        if (std::string part = trimmed(std::string_view(item).substr(at, end - at)); !part.empty()) parts.push_back(std::move(part));
        at = end + 1;
    }
    std::vector<Assignment> assignments;
    if (parts.size() == 1 && parts[0].starts_with('#')) {
        for (const FeedTarget& t : targets) assignments.push_back({t.name, parts[0]});
        return assignments;
    }
    if (parts.size() != targets.size())
        return fail(ErrorCode::invalid_argument, "'" + item + "' gives " + std::to_string(parts.size()) + " values, but the graph has " +
                                                     std::to_string(targets.size()) + (targets.size() == 1 ? " input: " : " inputs: ") + names_of(targets) + ".");
    for (const std::string& part : parts) {
        // An input's name may hold colons, a path, too: the longest name that fits wins.
        const FeedTarget* found = nullptr;
        for (const FeedTarget& t : targets)
            if (part.size() > t.name.size() && part.starts_with(t.name) && part[t.name.size()] == ':' && (!found || t.name.size() > found->name.size()))
                found = &t;
        if (found) {
            assignments.push_back({found->name, trimmed(std::string_view(part).substr(found->name.size() + 1))});
        } else if (targets.size() == 1 && (part.find(':') == std::string::npos)) {
            assignments.push_back({targets.front().name, part});
        } else {
            const std::string name = part.substr(0, part.find(':'));
            return fail(ErrorCode::invalid_argument, "'" + part + "' names no input ('" + name + "'); the graph's inputs are " + names_of(targets) + ".");
        }
    }
    return assignments;
}

} // namespace

Expected<FedInput> read_source(const std::string& source, const FeedTarget& target, const FeedOptions& options, RandomStream& stream,
                               const CancelToken& cancel) {
    FedInput fed;
    fed.name = target.name;
    fed.source = source;
    const auto in_context = [&](Error error) {
        if (error.where.empty()) error.where = "input '" + target.name + "'";
        return forward(std::move(error));
    };
    if (is_random_spec(source)) {
        if (options.resize_input) return in_context({ErrorCode::invalid_argument, "Random values cannot be resized.", std::nullopt, {}});
        if (!options.input_transform.empty())
            return in_context({ErrorCode::invalid_argument, "Random values cannot be transformed.", std::nullopt, {}});
        const auto spec = parse_random_spec(source);
        if (!spec) return in_context(spec.error());
        const auto shape = random_shape(*spec, target.shape);
        if (!shape) return in_context(shape.error());
        fed.value = random_tensor(target.dtype, *shape, spec->low, spec->high, stream);
        return fed;
    }
    std::filesystem::path path(source);
    if (path.is_relative() && !options.base.empty()) path = options.base / path;
    MGS_ASSIGN(const auto file, MappedFile::open(path));
    Tensor value;
    if (is_array_file(file->bytes())) {
        if (options.resize_input)
            return fail_in(ErrorCode::invalid_argument, "Only images can be resized; this is an array.", path.string());
        MGS_ASSIGN(NpyArray array, read_array(path));
        // A narrowed array that ends up in another dtype anyway is not worth a note.
        if (array.tensor.dtype().id == target.dtype.id) fed.notes = std::move(array.notes);
        value = std::move(array.tensor);
        // NumPy's scalars have no axis; vars have at least one.
        if (value.shape().ndim() == 0) value = value.viewed_as(value.dtype(), Shape{1});
    } else {
        auto image = read_image(path, target.shape, options.resize_input);
        if (!image) {
            if (image.error().code == ErrorCode::foreign)
                return fail_in(ErrorCode::foreign, "This is neither an image that can be decoded nor a .npy file.", path.string());
            Error error = std::move(image.error());
            if (error.where.empty()) error.where = path.string();
            return forward(std::move(error));
        }
        value = std::move(*image);
    }
    auto rows = repeated(value, options.repeat);
    if (!rows) return in_context(std::move(rows.error()));
    if (target.shape) {
        const Shape& have = rows->shape();
        if (have.ndim() != target.shape->ndim())
            return in_context({ErrorCode::invalid_argument, "The value of shape " + have.text() + " has another number of axes than the input's " +
                                                                target.shape->text() + ".", std::nullopt, {}});
        for (std::size_t axis = 1; axis < have.ndim(); ++axis)
            if (have[axis] != (*target.shape)[axis]) {
                fed.notes.push_back("The value has shape " + have.text() + ", the input " + target.shape->text() + ".");
                break;
            }
    }
    if (!options.input_transform.empty()) {
        rows = transform_array(*rows, options.input_transform, options.python, cancel);
        if (!rows) return in_context(std::move(rows.error()));
    }
    auto fitted = fit_dtype(*rows, target.dtype);
    if (!fitted) return in_context(std::move(fitted.error()));
    fed.value = std::move(*fitted);
    return fed;
}

Expected<std::vector<FedCase>> parse_input_data(std::span<const std::string> items, std::span<const FeedTarget> targets, const FeedOptions& options,
                                                const CancelToken& cancel) {
    if (options.repeat == 0) return fail(ErrorCode::invalid_argument, "Values cannot be repeated zero times.");
    std::vector<std::string> specs;
    for (const std::string& item : items) {
        if (!item.starts_with('@')) {
            specs.push_back(trimmed(item));
            continue;
        }
        std::filesystem::path list(item.substr(1));
        if (list.is_relative() && !options.base.empty()) list = options.base / list;
        MGS_ASSIGN(auto lines, lines_of(list));
        std::ranges::move(lines, std::back_inserter(specs));
    }
    RandomStream stream(options.seed);
    std::vector<FedCase> cases;
    for (std::string& spec : specs) {
        MGS_ASSIGN(const auto assignments, split_item(spec, targets));
        FedCase fed;
        for (const FeedTarget& target : targets) {
            if (cancel.cancelled()) return CancelToken::error();
            const auto source = std::ranges::find(assignments, target.name, &Assignment::name);
            if (source == assignments.end() || std::ranges::count(assignments, target.name, &Assignment::name) != 1)
                return fail(ErrorCode::invalid_argument, "'" + spec + "' does not give input '" + target.name + "' exactly once.");
            MGS_ASSIGN(FedInput input, read_source(source->source, target, options, stream, cancel));
            fed.inputs.push_back(std::move(input));
        }
        fed.spec = std::move(spec);
        cases.push_back(std::move(fed));
    }
    return cases;
}

} // namespace megascope
