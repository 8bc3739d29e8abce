#pragma once

#include <QString>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "session/runner.h"
#include "views/common/graph_facts.h"

namespace megascope {

/// A number that the operators of a graph have: what a graph can be coloured by.
struct OprColumn {
    /// What several operators together have.
    enum class Together { sum, largest, smallest, ratio };
    QString id;    ///< that of the operators' table where it has such a column; "param:stride_h" for a param
    QString title;
    QString unit;  ///< base unit of the values: "s", "B", "FLOP", "FLOP/s", "B/s", "FLOP/B", "%" (of values 0 to 1); empty: a plain number
    Together together = Together::sum;
};

/// The number of operators that are shown as one.
class OprColumnSum {
public:
    explicit OprColumnSum(OprColumn::Together rule) : rule_(rule) {}
    /// `divisor`: of a ratio. NaN is larger and smaller than every number.
    void add(double value, double divisor = 1);
    [[nodiscard]] std::optional<double> value() const;

private:
    OprColumn::Together rule_;
    std::optional<double> value_;
    double divisor_ = 0;
};

/// A column with its numbers. A value type.
struct OprNumbers {
    OprColumn column;
    std::vector<std::optional<double>> values;   ///< by OprId; of a ratio the dividends
    std::vector<std::optional<double>> divisors; ///< of a ratio, parallel to `values`; else empty

    void add(OprColumnSum& sum, OprId opr) const;
    /// Of these operators together; nothing when none of them has one.
    [[nodiscard]] std::optional<double> of(std::span<const OprId> oprs) const;
};

/// Which numbers there are and what they are. Immutable; any thread.
class OprColumns {
public:
    /// `facts` must not be null. `times` may be; so may `errors` (by OprId, from `errorsOfRun`).
    OprColumns(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const OprTimes> times,
               std::shared_ptr<const std::vector<std::optional<double>>> errors)
        : facts_(std::move(facts)), times_(std::move(times)), errors_(std::move(errors)) {}

    /// Those that every graph has, measured or not.
    [[nodiscard]] static std::vector<OprColumn> common();
    /// A column for every param of this graph's operators that is a number, by name.
    [[nodiscard]] std::vector<OprColumn> params() const;
    /// Nothing for an id that is none.
    [[nodiscard]] std::optional<OprNumbers> numbers(const QString& id) const;

private:
    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const OprTimes> times_;
    std::shared_ptr<const std::vector<std::optional<double>>> errors_;
};

/// By OprId: how far what an operator computed is from what a testcase expects there, by AssertEqual's rule
/// (max |e-g| / max(min(|e|, |g|), 1), core/compare/verdict.h), the largest of all testcases of the run. It stands at the
/// operator that computed the asserted var and at the AssertEqual. NaN where a NaN took part; null when nothing was compared.
[[nodiscard]] std::shared_ptr<const std::vector<std::optional<double>>> errorsOfRun(const Graph& graph, const RunReport& report);

/// A value with its unit in three digits: "214 µs", "44.6 MiB", "38.2 GFLOP/s"; and in full: "0.000214123456 s".
[[nodiscard]] QString columnText(double value, const QString& unit);
[[nodiscard]] QString columnExact(double value, const QString& unit);

} // namespace megascope
