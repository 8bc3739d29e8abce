#pragma once

#include <QString>

#include <algorithm>

namespace megascope {

/// A name as it is drawn: control characters, which move the pen or have no width that holds everywhere, become their symbols (␉),
/// what breaks lines or turns the direction of text becomes �. As many characters as before.
[[nodiscard]] inline QString visibleText(QString text) {
    const auto hidden = [](QChar c) {
        const char16_t u = c.unicode();
        return u < 0x20 || (u >= 0x7f && u < 0xa0) || (u >= 0x2028 && u <= 0x202e) || (u >= 0x2066 && u <= 0x2069);
    };
    if (std::none_of(text.cbegin(), text.cend(), hidden)) return text;
    for (QChar& c : text)
        if (hidden(c)) c = c.unicode() < 0x20 ? QChar(0x2400 + c.unicode()) : c.unicode() == 0x7f ? QChar(0x2421) : QChar(QChar::ReplacementCharacter);
    return text;
}

} // namespace megascope
