#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// A graph input to feed.
struct FeedTarget {
    std::string name;
    DType dtype;
    std::optional<Shape> shape;
};

struct FeedOptions {
    bool resize_input = false;     ///< images are scaled to the input's height and width
    std::uint32_t repeat = 1;      ///< every row of axis 0 that often in a row, like numpy.repeat
    std::uint64_t seed = 0;        ///< of all random values
    std::filesystem::path base;    ///< relative paths start here; empty = the current directory
    std::string input_transform;   ///< a Python expression over `data` and `np`; see feed/transform.h
    std::string python = "python3";
};

/// One input of a testcase.
struct FedInput {
    std::string name;
    Tensor value;                   ///< in the target's dtype
    std::string source;             ///< as written: a path or "#rand(0,1)"
    std::vector<std::string> notes; ///< conversions, other shapes: sentences
};
struct FedCase {
    std::string spec;               ///< the item as written
    std::vector<FedInput> inputs;   ///< in the targets' order
};

/// The testcases that `input_data` items describe, by the rules of MegEngine's `dump`: each item is a testcase
/// "name:source;name:source…", a source for the only input, "#rand(…)" for every input, or "@file" whose lines are testcases.
/// A source is "#rand(…)", an image, a .npy file, or a .npz file with one array.
/// Errors: invalid_argument, quoting the part that is wrong; io, foreign, corrupt from the files.
[[nodiscard]] Expected<std::vector<FedCase>> parse_input_data(std::span<const std::string> items, std::span<const FeedTarget> targets,
                                                              const FeedOptions& options, const CancelToken& cancel = {});

/// One source for one input.
class RandomStream;
[[nodiscard]] Expected<FedInput> read_source(const std::string& source, const FeedTarget& target, const FeedOptions& options, RandomStream& stream,
                                              const CancelToken& cancel = {});

} // namespace megascope
