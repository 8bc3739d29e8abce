#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace megascope {

/// What went wrong, coarse enough to act on. The sentence for people is `Error::message`.
enum class ErrorCode : std::uint8_t {
    io,               ///< the operating system refused (open, read, write, map)
    foreign,          ///< the bytes are something else than what was asked for; the message names it
    corrupt,          ///< it is the right kind of file, but its content contradicts itself
    unsupported,      ///< valid, but Megascope cannot do it (unknown operator, dtype, version)
    invalid_argument, ///< the caller's or the user's input does not fit (shape, name, option)
    cancelled,        ///< a CancelToken was triggered
    out_of_memory,
    run_failed,       ///< an operator failed while it ran
    worker_died,      ///< the run process ended by itself
};

/// One failure in one sentence. Errors that belong to a contract travel as values (`Expected<T>`);
/// nothing is thrown across a folder's interface.
struct Error {
    ErrorCode code = ErrorCode::corrupt;
    /// A whole sentence: what it is, what is wrong, with the offending value. No trailing newline.
    std::string message;
    /// Byte position in the file, from its first byte, where the problem was seen.
    std::optional<std::uint64_t> offset;
    /// Operator name, var name or file the error belongs to; empty if the message says all.
    std::string where;

    /// "<where>: <message> (at byte <offset>)", the form printed on stderr and in error bars.
    [[nodiscard]] std::string text() const {
        std::string s;
        if (!where.empty()) s = where + ": ";
        s += message;
        if (offset) s += " (at byte " + std::to_string(*offset) + ")";
        return s;
    }
};

template <class T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::make_unexpected(Error{code, std::move(message), std::nullopt, {}});
}
[[nodiscard]] inline tl::unexpected<Error> fail_at(ErrorCode code, std::string message, std::uint64_t offset) {
    return tl::make_unexpected(Error{code, std::move(message), offset, {}});
}
[[nodiscard]] inline tl::unexpected<Error> fail_in(ErrorCode code, std::string message, std::string where) {
    return tl::make_unexpected(Error{code, std::move(message), std::nullopt, std::move(where)});
}
[[nodiscard]] inline tl::unexpected<Error> forward(Error e) { return tl::make_unexpected(std::move(e)); }

} // namespace megascope

/// Evaluates an Expected<void>-like expression and returns its error to the caller.
#define MGS_TRY(expression)                                                              \
    do {                                                                                 \
        if (auto mgs_result_ = (expression); !mgs_result_)                               \
            return ::megascope::forward(std::move(mgs_result_).error());                 \
    } while (false)

#define MGS_CONCAT_INNER(a, b) a##b
#define MGS_CONCAT(a, b) MGS_CONCAT_INNER(a, b)
/// `MGS_ASSIGN(auto x, f());` declares x from an Expected or returns its error to the caller.
#define MGS_ASSIGN(declaration, expression)                                              \
    auto MGS_CONCAT(mgs_value_, __LINE__) = (expression);                                \
    if (!MGS_CONCAT(mgs_value_, __LINE__))                                               \
        return ::megascope::forward(std::move(MGS_CONCAT(mgs_value_, __LINE__)).error()); \
    declaration = std::move(*MGS_CONCAT(mgs_value_, __LINE__))
