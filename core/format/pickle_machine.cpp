#include "format/pickle_machine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace megascope {

namespace {
constexpr std::size_t longest_name = 1024; // of a module or a class
}

void PickleMachine::stop(ErrorCode code, std::string message) {
    if (!error_) error_ = Error{code, "The pickle " + std::move(message) + ".", position_, {}};
    finished_ = true;
}

template <class T>
T PickleMachine::number() {
    T value{};
    const auto bytes = take(sizeof(T));
    if (bytes.size() == sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
}

std::span<const std::byte> PickleMachine::take(std::uint64_t size) {
    if (size > bytes_.size() - position_) {
        bad("is cut off");
        return {};
    }
    const auto view = bytes_.subspan(position_, size);
    position_ += size;
    return view;
}

std::string_view PickleMachine::take_text(std::uint64_t size) {
    const auto view = take(size);
    return {reinterpret_cast<const char*>(view.data()), view.size()};
}

std::string_view PickleMachine::line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + position_, bytes_.size() - position_);
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) {
        bad("is cut off within a line");
        return {};
    }
    position_ += end + 1;
    return rest.substr(0, end);
}

PickleMachine::Index PickleMachine::push(PickleValue value) {
    const auto index = static_cast<Index>(tree_.values.size());
    tree_.values.push_back(std::move(value));
    stack_.push_back(index);
    return index;
}

void PickleMachine::push_text(Kind kind, std::string_view text) {
    PickleValue value;
    value.kind = kind;
    value.text = text;
    push(std::move(value));
}

void PickleMachine::push_integer(std::int64_t number) {
    PickleValue value;
    value.kind = Kind::integer;
    value.integer = number;
    push(std::move(value));
}

PickleMachine::Index PickleMachine::pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
        bad("takes a value that is not there");
        return 0;
    }
    const Index index = stack_.back();
    stack_.pop_back();
    return index;
}

PickleMachine::Index PickleMachine::top() {
    const Index index = pop();
    if (!error_) stack_.push_back(index);
    return index;
}

std::vector<PickleMachine::Index> PickleMachine::pop_to_mark() {
    if (marks_.empty()) {
        bad("takes values without a mark");
        return {};
    }
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Index> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
}

void PickleMachine::memoize(std::uint64_t key) {
    const Index index = top();
    if (!error_) memo_[key] = index;
}

void PickleMachine::recall(std::uint64_t key) {
    const auto it = memo_.find(key);
    if (it == memo_.end()) return bad("recalls a value that it never stored");
    stack_.push_back(it->second);
}

void PickleMachine::push_container(Kind kind, std::vector<Index> items) {
    PickleValue value;
    value.kind = kind;
    value.items = std::move(items);
    push(std::move(value));
}

void PickleMachine::extend(Kind kind, std::vector<Index> items) {
    const Index target = top();
    if (error_) return;
    PickleValue& container = tree_.values[target];
    // Objects that behave like lists or dicts (OrderedDict) get their items behind their parts, as one more container.
    if (container.kind == Kind::object) {
        const auto [known, fresh] = additions_.try_emplace(std::pair(target, kind), static_cast<Index>(tree_.values.size()));
        if (fresh) {
            container.items.push_back(known->second);
            PickleValue more;
            more.kind = kind;
            tree_.values.push_back(std::move(more)); // `container` is no longer valid
        }
        auto& added = tree_.values[known->second].items;
        added.insert(added.end(), items.begin(), items.end());
        return;
    }
    if (container.kind != kind) return bad("adds items to something that holds none");
    container.items.insert(container.items.end(), items.begin(), items.end());
}

void PickleMachine::push_object(std::string_view how, std::vector<Index> parts) {
    PickleValue value;
    value.kind = Kind::object;
    value.text = how;
    value.items = std::move(parts);
    push(std::move(value));
}

void PickleMachine::push_long(std::uint64_t size) {
    const auto digits = take(size);
    if (error_) return;
    if (digits.size() <= 8) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < digits.size(); ++i) value |= std::uint64_t{static_cast<std::uint8_t>(digits[i])} << (8 * i);
        const bool negative = !digits.empty() && (static_cast<std::uint8_t>(digits.back()) & 0x80U);
        if (negative && digits.size() < 8) value |= ~std::uint64_t{0} << (8 * digits.size());
        return push_integer(static_cast<std::int64_t>(value));
    }
    static constexpr char hex[] = "0123456789abcdef";
    std::string text = "0x";
    for (std::size_t i = digits.size(); i-- > 0;) {
        const auto b = static_cast<unsigned>(digits[i]);
        text += hex[b >> 4U];
        text += hex[b & 15U];
    }
    push_text(Kind::big_integer, text);
}

bool PickleMachine::step_atom(std::uint8_t opcode) {
    PickleValue value;
    switch (opcode) {
    case 'N': push(std::move(value)); return true;
    case 0x88:
    case 0x89:
        value.kind = Kind::boolean;
        value.boolean = opcode == 0x88;
        push(std::move(value));
        return true;
    case 'J': push_integer(number<std::int32_t>()); return true;
    case 'K': push_integer(number<std::uint8_t>()); return true;
    case 'M': push_integer(number<std::uint16_t>()); return true;
    case 0x8a: push_long(number<std::uint8_t>()); return true;
    case 0x8b: push_long(number<std::uint32_t>()); return true;
    case 'G': {
        auto big_endian = number<std::array<std::uint8_t, 8>>();
        std::reverse(big_endian.begin(), big_endian.end());
        value.kind = Kind::real;
        std::memcpy(&value.real, big_endian.data(), 8);
        push(std::move(value));
        return true;
    }
    default: return false;
    }
}

bool PickleMachine::step_text_protocol(std::uint8_t opcode) {
    const auto parse = [&](std::string_view text, auto& out) {
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
        if (problem != std::errc() || end != text.data() + text.size()) bad("has a number that is none");
    };
    switch (opcode) {
    case 'I':
    case 'L': {
        std::string_view text = line();
        if (opcode == 'L' && text.ends_with('L')) text.remove_suffix(1);
        if (opcode == 'I' && (text == "00" || text == "01")) {
            PickleValue value;
            value.kind = Kind::boolean;
            value.boolean = text == "01";
            push(std::move(value));
            return true;
        }
        std::int64_t integer = 0;
        if (text.size() > 19)
            push_text(Kind::big_integer, text);
        else
            parse(text, integer), push_integer(integer);
        return true;
    }
    case 'F': {
        PickleValue value;
        value.kind = Kind::real;
        parse(line(), value.real);
        push(std::move(value));
        return true;
    }
    case 'S': {
        std::string_view text = line();
        if (text.size() < 2 || text.front() != text.back()) bad("has a text without quotes");
        else push_text(Kind::text, text.substr(1, text.size() - 2)); // escapes stay as they are
        return true;
    }
    case 'V': push_text(Kind::text, line()); return true;
    default: return false;
    }
}

bool PickleMachine::step_string(std::uint8_t opcode) {
    switch (opcode) {
    case 'T': push_text(Kind::bytes, take_text(number<std::uint32_t>())); return true;
    case 'U': push_text(Kind::bytes, take_text(number<std::uint8_t>())); return true;
    case 'X': push_text(Kind::text, take_text(number<std::uint32_t>())); return true;
    case 0x8c: push_text(Kind::text, take_text(number<std::uint8_t>())); return true;
    case 0x8d: push_text(Kind::text, take_text(number<std::uint64_t>())); return true;
    case 'B': push_text(Kind::bytes, take_text(number<std::uint32_t>())); return true;
    case 'C': push_text(Kind::bytes, take_text(number<std::uint8_t>())); return true;
    case 0x8e:
    case 0x96: push_text(Kind::bytes, take_text(number<std::uint64_t>())); return true;
    default: return false;
    }
}

bool PickleMachine::step_container(std::uint8_t opcode) {
    const auto last = [&](std::size_t count) {
        std::vector<Index> items(count);
        for (std::size_t i = count; i-- > 0;) items[i] = pop();
        return items;
    };
    const auto even = [&](std::vector<Index> items) {
        if (items.size() % 2 != 0) bad("has a key without a value");
        return items;
    };
    switch (opcode) {
    case ']': push_container(Kind::list, {}); return true;
    case 'l': push_container(Kind::list, pop_to_mark()); return true;
    case 'a': extend(Kind::list, last(1)); return true;
    case 'e': extend(Kind::list, pop_to_mark()); return true;
    case ')': push_container(Kind::tuple, {}); return true;
    case 't': push_container(Kind::tuple, pop_to_mark()); return true;
    case 0x85: push_container(Kind::tuple, last(1)); return true;
    case 0x86: push_container(Kind::tuple, last(2)); return true;
    case 0x87: push_container(Kind::tuple, last(3)); return true;
    case '}': push_container(Kind::dict, {}); return true;
    case 'd': push_container(Kind::dict, even(pop_to_mark())); return true;
    case 's': extend(Kind::dict, last(2)); return true;
    case 'u': extend(Kind::dict, even(pop_to_mark())); return true;
    case 0x8f: push_container(Kind::set, {}); return true;
    case 0x90: extend(Kind::set, pop_to_mark()); return true;
    case 0x91: push_container(Kind::set, pop_to_mark()); return true;
    default: return false;
    }
}

bool PickleMachine::step_object(std::uint8_t opcode) {
    switch (opcode) {
    case 'c': {
        const std::string module(line());
        push_text(Kind::global, module + "." + std::string(line()));
        return true;
    }
    case 0x93: {
        const Index name = pop();
        const Index module = pop();
        if (error_) return true;
        // Texts only, and short ones: names made of names, or of one long text, would grow out of all proportion.
        const auto usable = [&](const PickleValue& v) { return v.kind == Kind::text && v.text.size() <= longest_name; };
        if (!usable(tree_.values[module]) || !usable(tree_.values[name])) bad("has a class whose name is none");
        else push_text(Kind::global, tree_.values[module].text + "." + tree_.values[name].text);
        return true;
    }
    case 'R': // callable, arguments
    case 0x81: {
        const Index arguments = pop();
        const Index callable = pop();
        push_object(opcode == 'R' ? "call" : "new", {callable, arguments});
        return true;
    }
    case 0x92: {
        const Index named = pop();
        const Index arguments = pop();
        const Index callable = pop();
        push_object("new", {callable, arguments, named});
        return true;
    }
    case 'o': push_object("new", pop_to_mark()); return true;
    case 'i': {
        std::vector<Index> arguments = pop_to_mark();
        const std::string module(line());
        PickleValue callable;
        callable.kind = Kind::global;
        callable.text = module + "." + std::string(line());
        tree_.values.push_back(std::move(callable));
        arguments.insert(arguments.begin(), static_cast<Index>(tree_.values.size() - 1));
        push_object("new", std::move(arguments));
        return true;
    }
    case 'b': { // state of an object
        const Index state = pop();
        const Index target = top();
        if (error_) return true;
        if (tree_.values[target].kind != Kind::object) bad("gives a state to something that has none");
        else tree_.values[target].items.push_back(state);
        return true;
    }
    default: return false;
    }
}

bool PickleMachine::step_stack(std::uint8_t opcode) {
    const auto text_key = [&] {
        std::uint64_t key = 0;
        const std::string_view text = line();
        if (std::from_chars(text.data(), text.data() + text.size(), key).ec != std::errc()) bad("has a memo key that is none");
        return key;
    };
    switch (opcode) {
    case 0x80: tree_.protocol = number<std::uint8_t>(); return true;
    case 0x95: (void)number<std::uint64_t>(); return true; // frames only help to read ahead
    case '(': marks_.push_back(stack_.size()); return true;
    case '0':
        if (!marks_.empty() && marks_.back() == stack_.size()) marks_.pop_back();
        else (void)pop();
        return true;
    case '1': (void)pop_to_mark(); return true;
    case '2': {
        const Index index = top();
        if (!error_) stack_.push_back(index);
        return true;
    }
    case 'p': memoize(text_key()); return true;
    case 'q': memoize(number<std::uint8_t>()); return true;
    case 'r': memoize(number<std::uint32_t>()); return true;
    case 0x94: memoize(memo_.size()); return true;
    case 'g': recall(text_key()); return true;
    case 'h': recall(number<std::uint8_t>()); return true;
    case 'j': recall(number<std::uint32_t>()); return true;
    case '.':
        tree_.root = pop();
        finished_ = true;
        return true;
    default: return false;
    }
}

void PickleMachine::step(std::uint8_t opcode) {
    if (step_stack(opcode) || step_atom(opcode) || step_string(opcode) || step_container(opcode) || step_object(opcode) ||
        step_text_protocol(opcode))
        return;
    switch (opcode) {
    case 'P': case 'Q': return stop(ErrorCode::unsupported, "refers to objects outside of it (persistent ids)");
    case 0x82: case 0x83: case 0x84: return stop(ErrorCode::unsupported, "uses extension codes, which mean nothing outside of one program");
    case 0x97: case 0x98: return stop(ErrorCode::unsupported, "keeps its buffers outside of it");
    default: return bad("has the unknown opcode " + std::to_string(opcode));
    }
}

Expected<PickleTree> PickleMachine::run() {
    while (!finished_) {
        const auto opcode = number<std::uint8_t>();
        if (!error_) step(opcode);
    }
    if (error_) return tl::make_unexpected(*error_);
    tree_.size = position_;
    return std::move(tree_);
}

} // namespace megascope
