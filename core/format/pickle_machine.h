#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/pickle.h"

namespace megascope {

/// The stack machine that a pickle's opcodes drive, with inert values instead of objects. Every opcode makes at most one value
/// and moves others, so memory stays proportional to the pickle.
class PickleMachine {
public:
    explicit PickleMachine(std::span<const std::byte> bytes) : bytes_(bytes) {}

    [[nodiscard]] Expected<PickleTree> run();

private:
    using Index = std::uint32_t;
    using Kind = PickleValue::Kind;

    // The first problem stops the machine; accessors then answer zeros.
    void stop(ErrorCode code, std::string message);
    void bad(std::string message) { stop(ErrorCode::corrupt, std::move(message)); }

    template <class T>
    T number();
    std::span<const std::byte> take(std::uint64_t size);
    std::string_view take_text(std::uint64_t size);
    std::string_view line();

    Index push(PickleValue value);
    void push_text(Kind kind, std::string_view text);
    void push_integer(std::int64_t value);
    Index pop();
    Index top();
    std::vector<Index> pop_to_mark();
    void memoize(std::uint64_t key);
    void recall(std::uint64_t key);

    void step(std::uint8_t opcode);
    bool step_text_protocol(std::uint8_t opcode);
    bool step_atom(std::uint8_t opcode);
    bool step_string(std::uint8_t opcode);
    bool step_container(std::uint8_t opcode);
    bool step_object(std::uint8_t opcode);
    bool step_stack(std::uint8_t opcode);
    void push_long(std::uint64_t size);
    void push_container(Kind kind, std::vector<Index> items);
    void extend(Kind kind, std::vector<Index> items);
    void push_object(std::string_view how, std::vector<Index> parts);

    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
    PickleTree tree_;
    std::vector<Index> stack_;
    std::vector<std::size_t> marks_; ///< stack heights
    std::unordered_map<std::uint64_t, Index> memo_;
    std::map<std::pair<Index, Kind>, Index> additions_; ///< containers behind objects that behave like containers
    std::optional<Error> error_;
    bool finished_ = false;
};

} // namespace megascope
