#include "views/common/filter.h"

#include <QStringList>

#include <algorithm>
#include <array>

namespace megascope {

namespace {

/// Words at blanks; quotes and /…/ keep blanks inside.
QStringList splitWords(const QString& text) {
    QStringList words;
    QString word;
    QChar quote;
    for (const QChar c : text) {
        if (!quote.isNull()) {
            if (c == quote) {
                if (quote == QLatin1Char('/')) word += c;
                quote = QChar();
            } else {
                word += c;
            }
        } else if (c == QLatin1Char('"')) {
            quote = c;
        } else if (c == QLatin1Char('/') && (word.isEmpty() || word == QLatin1String("-") || word.endsWith(QLatin1Char(':')))) {
            quote = c;
            word += c;
        } else if (c.isSpace()) {
            if (!word.isEmpty()) words << word;
            word.clear();
        } else {
            word += c;
        }
    }
    if (!word.isEmpty()) words << word;
    return words;
}

/// Shapes are written with ×, people type x.
QString normalised(QString s) { return s.replace(QChar(0x00D7), QLatin1Char('x')).toLower(); }

bool isFieldName(const QString& s) {
    static const QRegularExpression name(QStringLiteral("^[A-Za-z_]+$"));
    return name.match(s).hasMatch();
}

} // namespace

std::optional<double> parseQuantity(const QString& text) {
    static const QRegularExpression form(QStringLiteral("^([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\\s*([A-Za-zµμ%]*)$"));
    const auto match = form.match(text.trimmed());
    if (!match.hasMatch()) return std::nullopt;
    bool ok = false;
    const double value = match.captured(1).toDouble(&ok);
    if (!ok) return std::nullopt;
    struct Unit {
        const char* name;
        double factor;
    };
    static constexpr std::array units = {
        Unit{"", 1},          Unit{"ns", 1e-9},          Unit{"us", 1e-6},  Unit{"µs", 1e-6},  Unit{"μs", 1e-6},
        Unit{"ms", 1e-3},     Unit{"s", 1},              Unit{"k", 1e3},    Unit{"K", 1e3},    Unit{"M", 1e6},
        Unit{"G", 1e9},       Unit{"T", 1e12},           Unit{"B", 1},      Unit{"KiB", 1024}, Unit{"MiB", 1048576},
        Unit{"GiB", 1073741824.0}, Unit{"kB", 1e3},      Unit{"KB", 1e3},   Unit{"MB", 1e6},   Unit{"GB", 1e9},
        Unit{"%", 0.01},
    };
    for (const Unit& unit : units)
        if (match.captured(2) == QString::fromUtf8(unit.name)) return value * unit.factor;
    return std::nullopt;
}

FilterQuery::Term FilterQuery::parseTerm(QString word, QString& problem) {
    Term term;
    if (word.size() > 1 && word.startsWith(QLatin1Char('-'))) {
        term.negated = true;
        word.remove(0, 1);
    }
    static const QRegularExpression comparison(QStringLiteral("^([A-Za-z_]+)(>=|<=|>|<|=)(.+)$"));
    if (const auto match = comparison.match(word); match.hasMatch()) {
        term.field = match.captured(1).toLower();
        const QString op = match.captured(2);
        term.kind = op == QLatin1String(">=")   ? Kind::greaterEqual
                    : op == QLatin1String("<=") ? Kind::lessEqual
                    : op == QLatin1String(">")  ? Kind::greater
                    : op == QLatin1String("<")  ? Kind::less
                                                : Kind::equal;
        if (const auto number = parseQuantity(match.captured(3))) {
            term.number = *number;
            term.whole = term.kind == Kind::equal;
            term.needle = normalised(match.captured(3));
        } else if (term.kind == Kind::equal) {
            term.whole = true;
            term.numeric = false;
            term.needle = normalised(match.captured(3));
        } else {
            problem = FilterState::tr("“%1” is not a number; write for example 100us, 2MiB or 3G.").arg(match.captured(3));
            term.kind = Kind::never;
        }
        return term;
    }
    QString value = word;
    if (const qsizetype colon = word.indexOf(QLatin1Char(':')); colon > 0 && isFieldName(word.left(colon))) {
        term.field = word.left(colon).toLower();
        value = word.mid(colon + 1);
    }
    if (value.size() > 2 && value.startsWith(QLatin1Char('/')) && value.endsWith(QLatin1Char('/'))) {
        term.kind = Kind::pattern;
        term.pattern = QRegularExpression(value.mid(1, value.size() - 2), QRegularExpression::CaseInsensitiveOption);
        if (!term.pattern.isValid()) {
            problem = FilterState::tr("“%1” is not a regular expression: %2.").arg(value, term.pattern.errorString());
            term.kind = Kind::never;
        }
        return term;
    }
    value = normalised(value);
    if (value.contains(QLatin1Char('*')) || value.contains(QLatin1Char('?'))) {
        term.kind = Kind::pattern;
        QString pattern = QRegularExpression::escape(value);
        pattern.replace(QStringLiteral("\\*"), QStringLiteral(".*")).replace(QStringLiteral("\\?"), QStringLiteral("."));
        // All text together has a line for each field.
        const QRegularExpression::PatternOptions options = QRegularExpression::CaseInsensitiveOption | QRegularExpression::MultilineOption;
        term.pattern = term.field.isEmpty() ? QRegularExpression(QStringLiteral("^(?:%1)$").arg(pattern), options)
                                            : QRegularExpression(QRegularExpression::anchoredPattern(pattern), QRegularExpression::CaseInsensitiveOption);
    } else {
        term.needle = value;
    }
    return term;
}

FilterQuery FilterQuery::parse(const QString& text) {
    FilterQuery query;
    const QStringList words = splitWords(text);
    if (words.contains(QStringLiteral("->")) || words.contains(QStringLiteral("→"))) {
        QString link;
        const auto close = [&] {
            if (link.isEmpty()) query.problem_ = FilterState::tr("An arrow stands between two descriptions: Dimshuffle -> Reshape.");
            query.chain_.push_back(parse(link));
            if (!query.chain_.back().problem_.isEmpty()) query.problem_ = query.chain_.back().problem_;
            link.clear();
        };
        for (const QString& word : words) {
            if (word == QLatin1String("->") || word == QLatin1String("→")) close();
            else link += (link.isEmpty() ? QString() : QStringLiteral(" ")) + (word.contains(QLatin1Char(' ')) && !word.contains(QLatin1Char('/')) ? QLatin1Char('"') + word + QLatin1Char('"') : word);
        }
        close();
        return query;
    }
    for (const QString& word : words) query.terms_.push_back(parseTerm(word, query.problem_));
    return query;
}

bool FilterQuery::matches(const TextOf& textOf, const NumberOf& numberOf) const {
    if (!chain_.empty()) return std::any_of(chain_.begin(), chain_.end(), [&](const FilterQuery& link) { return !link.empty() && link.matches(textOf, numberOf); });
    for (const Term& term : terms_) {
        bool holds = false;
        switch (term.kind) {
        case Kind::never: return false;
        case Kind::contains:
        case Kind::pattern: {
            const auto value = textOf(term.field);
            if (value) {
                const QString haystack = normalised(*value);
                holds = term.kind == Kind::contains ? haystack.contains(term.needle) : term.pattern.match(haystack).hasMatch();
            }
            break;
        }
        default: {
            const auto value = term.numeric ? numberOf(term.field) : std::nullopt;
            if (!value && term.whole) {
                const auto whole = textOf(term.field);
                holds = whole && normalised(*whole) == term.needle;
            } else if (value) {
                holds = term.kind == Kind::greater        ? *value > term.number
                        : term.kind == Kind::greaterEqual ? *value >= term.number
                        : term.kind == Kind::less         ? *value < term.number
                        : term.kind == Kind::lessEqual    ? *value <= term.number
                                                          : *value == term.number;
            }
        }
        }
        if (holds == term.negated) return false;
    }
    return true;
}

void FilterState::setText(const QString& text) {
    if (text == text_) return;
    text_ = text;
    query_ = FilterQuery::parse(text);
    emit changed();
}

} // namespace megascope
