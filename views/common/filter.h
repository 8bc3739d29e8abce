#pragma once

#include <QObject>
#include <QRegularExpression>
#include <QString>

#include <functional>
#include <optional>
#include <vector>

namespace megascope {

/// A filter typed as words, all of which must hold:
///   conv            some text of the row contains it (case does not matter)
///   type:conv       that field contains it
///   shape:*x64x*    wildcards match the whole field (of bare words: a whole line); x and × are the same in shapes
///   name:/^b\d/     a regular expression; /^b\d/ alone looks in all text
///   stride_h=2      a number or, where the field has none, its whole text: mode=RELU
///   time>1ms        numbers compare with > >= < <= =; units ns us ms s, k M G T, KiB MiB GiB
///   -type:relu      not
///   "two words"     blanks inside quotes belong to the word
///   A -> B          where rows follow each other along the data: a row that fits A, read by one that fits B (see `chain`)
class FilterQuery {
public:
    /// Text of a field by its lower-case name; nothing when the row has no such field. The empty name asks for all searchable text.
    using TextOf = std::function<std::optional<QString>(const QString& field)>;
    /// Number of a field in base units (seconds, bytes, operations).
    using NumberOf = std::function<std::optional<double>(const QString& field)>;

    FilterQuery() = default;
    /// A word that cannot be understood (bad regular expression or number) is named in `problem` and matches nothing.
    [[nodiscard]] static FilterQuery parse(const QString& text);

    [[nodiscard]] bool empty() const { return terms_.empty() && chain_.empty(); }
    /// Not empty for "A -> B -> C": the query of each link. `matches` then holds for a row that fits any of them; who knows the
    /// rows' neighbours looks closer.
    [[nodiscard]] const std::vector<FilterQuery>& chain() const { return chain_; }
    [[nodiscard]] const QString& problem() const { return problem_; }
    [[nodiscard]] bool matches(const TextOf& textOf, const NumberOf& numberOf) const;

private:
    enum class Kind { contains, pattern, greater, greaterEqual, less, lessEqual, equal, never };
    struct Term {
        QString field;
        Kind kind = Kind::contains;
        bool negated = false;
        QString needle;
        QRegularExpression pattern;
        double number = 0;
        bool whole = false; ///< equal: compare `needle` with the whole text where there is no number
        bool numeric = true; ///< equal: the value is a number
    };
    static Term parseTerm(QString word, QString& problem);

    std::vector<Term> terms_;
    std::vector<FilterQuery> chain_;
    QString problem_;
};

/// "1.5ms" → 0.0015, "2MiB" → 2097152, "3G" → 3e9. Nothing when it is no number.
[[nodiscard]] std::optional<double> parseQuantity(const QString& text);

/// The one filter of a window: everybody listens to it. GUI thread.
class FilterState : public QObject {
    Q_OBJECT
public:
    explicit FilterState(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const QString& text() const { return text_; }
    [[nodiscard]] const FilterQuery& query() const { return query_; }

public slots:
    void setText(const QString& text);

signals:
    void changed();

private:
    QString text_;
    FilterQuery query_;
};

} // namespace megascope
