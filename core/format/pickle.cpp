#include "format/pickle.h"

#include "base/units.h"
#include "format/pickle_machine.h"

namespace megascope {

namespace {

constexpr int deepest = 20;

/// Prints values like Python's repr, within a limit: shared values could otherwise be printed exponentially often.
class Printer {
public:
    Printer(const PickleTree& tree, std::size_t limit) : tree_(tree), limit_(limit) {}

    void print(std::uint32_t index, int depth) {
        if (full()) return;
        if (depth > deepest) {
            out_ += "…";
            return;
        }
        const PickleValue& value = tree_.values[index];
        switch (value.kind) {
        case PickleValue::Kind::none: out_ += "None"; break;
        case PickleValue::Kind::boolean: out_ += value.boolean ? "True" : "False"; break;
        case PickleValue::Kind::integer: out_ += std::to_string(value.integer); break;
        case PickleValue::Kind::real: out_ += format_number(value.real, 17); break;
        case PickleValue::Kind::big_integer:
        case PickleValue::Kind::global: out_ += value.text; break;
        case PickleValue::Kind::text: quoted(value.text, true); break;
        case PickleValue::Kind::bytes:
            out_ += 'b';
            quoted(value.text, false);
            break;
        case PickleValue::Kind::list: list("[", "]", value, 0, depth); break;
        case PickleValue::Kind::tuple: list("(", value.items.size() == 1 ? ",)" : ")", value, 0, depth); break;
        case PickleValue::Kind::set: list(value.items.empty() ? "set(" : "{", value.items.empty() ? ")" : "}", value, 0, depth); break;
        case PickleValue::Kind::dict: dict(value, depth); break;
        case PickleValue::Kind::object: object(value, depth); break;
        }
    }

    std::string take() {
        if (full()) {
            // Not in the middle of a UTF-8 character.
            std::size_t end = limit_;
            while (end > 0 && (static_cast<unsigned char>(out_[end]) & 0xc0U) == 0x80U) --end;
            out_.resize(end);
            out_ += "…";
        }
        return std::move(out_);
    }

private:
    [[nodiscard]] bool full() const { return out_.size() > limit_; }

    void list(std::string_view open, std::string_view close, const PickleValue& value, std::size_t first, int depth) {
        out_ += open;
        for (std::size_t i = first; i < value.items.size() && !full(); ++i) {
            if (i > first) out_ += ", ";
            print(value.items[i], depth + 1);
        }
        out_ += close;
    }

    void dict(const PickleValue& value, int depth) {
        out_ += "{";
        for (std::size_t i = 0; i + 1 < value.items.size() && !full(); i += 2) {
            if (i) out_ += ", ";
            print(value.items[i], depth + 1);
            out_ += ": ";
            print(value.items[i + 1], depth + 1);
        }
        out_ += "}";
    }

    /// "collections.OrderedDict()" with what was added behind it.
    void object(const PickleValue& value, int depth) {
        if (value.items.empty()) return;
        print(value.items[0], depth + 1);
        if (value.items.size() > 1 && tree_.values[value.items[1]].kind == PickleValue::Kind::tuple)
            list("(", ")", tree_.values[value.items[1]], 0, depth);
        for (std::size_t i = 2; i < value.items.size() && !full(); ++i) {
            out_ += " ";
            print(value.items[i], depth + 1);
        }
    }

    void quoted(std::string_view text, bool utf8) {
        static constexpr char hex[] = "0123456789abcdef";
        out_ += '\'';
        for (const char c : text) {
            if (full()) return;
            const auto b = static_cast<unsigned char>(c);
            if (c == '\'' || c == '\\') (out_ += '\\') += c;
            else if (c == '\n') out_ += "\\n";
            else if (b < 0x20 || b == 0x7f || (b >= 0x80 && !utf8)) (out_ += "\\x") += {hex[b >> 4U], hex[b & 15U]};
            else out_ += c;
        }
        out_ += '\'';
    }

    const PickleTree& tree_;
    std::size_t limit_;
    std::string out_;
};

} // namespace

std::string PickleTree::text_of(std::uint32_t value, std::size_t limit) const {
    Printer printer(*this, limit);
    printer.print(value, 0);
    return printer.take();
}

Expected<PickleTree> read_pickle(std::span<const std::byte> bytes) { return PickleMachine(bytes).run(); }

} // namespace megascope
