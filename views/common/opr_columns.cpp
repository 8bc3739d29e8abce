#include "views/common/opr_columns.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "session/assertions.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

/// What MegEngine itself gives inputs and parameters: nobody's choice, and far from all others.
constexpr auto inputs_priority = std::numeric_limits<std::int32_t>::min();

const QString paramPrefix = QStringLiteral("param:");

std::optional<double> asNumber(const ParamField& field, const ParamValue& value) {
    switch (field.kind) {
    case ParamFieldKind::int32:
    case ParamFieldKind::uint32:
    case ParamFieldKind::uint8: return static_cast<double>(std::get<std::int64_t>(value));
    case ParamFieldKind::uint64: return static_cast<double>(std::get<std::uint64_t>(value));
    case ParamFieldKind::float32: return std::get<float>(value);
    case ParamFieldKind::float64: return std::get<double>(value);
    default: return std::nullopt;
    }
}

bool isNumber(ParamFieldKind kind) {
    return kind == ParamFieldKind::int32 || kind == ParamFieldKind::uint32 || kind == ParamFieldKind::uint8 || kind == ParamFieldKind::uint64 ||
           kind == ParamFieldKind::float32 || kind == ParamFieldKind::float64;
}

} // namespace

void OprColumnSum::add(double value, double divisor) {
    switch (rule_) {
    case OprColumn::Together::ratio: divisor_ += divisor; [[fallthrough]];
    case OprColumn::Together::sum: value_ = value_.value_or(0) + value; break;
    case OprColumn::Together::largest:
        if (!value_ || std::isnan(value) || value > *value_) value_ = value;
        break;
    case OprColumn::Together::smallest:
        if (!value_ || std::isnan(value) || value < *value_) value_ = value;
        break;
    }
}

std::optional<double> OprColumnSum::value() const {
    if (!value_ || rule_ != OprColumn::Together::ratio) return value_;
    return divisor_ > 0 ? std::optional(*value_ / divisor_) : std::nullopt;
}

void OprNumbers::add(OprColumnSum& sum, OprId opr) const {
    if (opr.index() >= values.size() || !values[opr.index()]) return;
    if (divisors.empty()) sum.add(*values[opr.index()]);
    else if (divisors[opr.index()]) sum.add(*values[opr.index()], *divisors[opr.index()]);
}

std::optional<double> OprNumbers::of(std::span<const OprId> oprs) const {
    OprColumnSum sum(column.together);
    for (const OprId opr : oprs) add(sum, opr);
    return sum.value();
}

std::vector<OprColumn> OprColumns::common() {
    const auto tr = [](const char* s) { return QCoreApplication::translate("OprColumns", s); };
    using Together = OprColumn::Together;
    const auto column = [&](const char* id, const char* title, const char* unit, Together together) {
        return OprColumn{QString::fromLatin1(id), tr(title), QString::fromLatin1(unit), together};
    };
    return {
        column("time", QT_TRANSLATE_NOOP("OprColumns", "Time"), "s", Together::sum),
        column("host", QT_TRANSLATE_NOOP("OprColumns", "Host time"), "s", Together::sum),
        column("share", QT_TRANSLATE_NOOP("OprColumns", "Share of the time"), "%", Together::sum),
        column("throughput", QT_TRANSLATE_NOOP("OprColumns", "Achieved FLOP/s"), "FLOP/s", Together::ratio),
        column("bandwidth", QT_TRANSLATE_NOOP("OprColumns", "Achieved bandwidth"), "B/s", Together::ratio),
        column("flops", QT_TRANSLATE_NOOP("OprColumns", "Computation"), "FLOP", Together::sum),
        column("bytes", QT_TRANSLATE_NOOP("OprColumns", "Memory (inputs and outputs)"), "B", Together::sum),
        column("output", QT_TRANSLATE_NOOP("OprColumns", "Output size"), "B", Together::sum),
        column("weights", QT_TRANSLATE_NOOP("OprColumns", "Weights read"), "B", Together::sum),
        column("intensity", QT_TRANSLATE_NOOP("OprColumns", "Intensity"), "FLOP/B", Together::ratio),
        column("error", QT_TRANSLATE_NOOP("OprColumns", "Error"), "", Together::largest),
        column("order", QT_TRANSLATE_NOOP("OprColumns", "Execution index"), "", Together::smallest),
        column("priority", QT_TRANSLATE_NOOP("OprColumns", "Priority"), "", Together::largest),
        column("version", QT_TRANSLATE_NOOP("OprColumns", "Operator version"), "", Together::largest),
    };
}

std::vector<OprColumn> OprColumns::params() const {
    std::map<const ParamType*, bool> seen;
    std::map<QString, bool> names;
    for (const Opr& opr : facts_->graph->oprs())
        for (const Param& param : opr.params) {
            if (!seen.try_emplace(&param.type(), true).second) continue;
            for (const ParamField& field : param.type().fields)
                if (isNumber(field.kind)) names.try_emplace(text(field.name), true);
        }
    std::vector<OprColumn> columns;
    for (const auto& [name, yes] : names) columns.push_back({paramPrefix + name, name, {}, OprColumn::Together::largest});
    return columns;
}

std::optional<OprNumbers> OprColumns::numbers(const QString& id) const {
    OprNumbers numbers;
    const Graph& graph = *facts_->graph;
    const std::size_t count = graph.oprs().size();
    numbers.values.resize(count);
    if (id.startsWith(paramPrefix)) {
        const std::string name = id.mid(paramPrefix.size()).toStdString();
        numbers.column = {id, text(name), {}, OprColumn::Together::largest};
        std::map<const ParamType*, std::optional<std::size_t>> fields;
        bool any = false;
        for (const Opr& opr : graph.oprs())
            for (const Param& param : opr.params) {
                const auto [it, fresh] = fields.try_emplace(&param.type());
                if (fresh) it->second = param.type().find(name);
                if (!it->second) continue;
                const auto value = asNumber(param.type().fields[*it->second], param.value(*it->second));
                if (!value) continue;
                numbers.values[opr.id.index()] = value;
                any = true;
                break;
            }
        return any ? std::optional(std::move(numbers)) : std::nullopt;
    }
    const std::vector<OprColumn> all = common();
    const auto column = std::find_if(all.begin(), all.end(), [&](const OprColumn& c) { return c.id == id; });
    if (column == all.end()) return std::nullopt;
    numbers.column = *column;
    if (column->together == OprColumn::Together::ratio) numbers.divisors.resize(count);
    const auto measured = [](double seconds) { return std::isnan(seconds) ? std::nullopt : std::optional(seconds); };
    // Of a ratio only operators count whose dividend and divisor are both known.
    const auto ratio = [&](std::size_t i, const std::optional<double>& dividend, const std::optional<double>& divisor) {
        if (!dividend || !divisor || *divisor <= 0) return;
        numbers.values[i] = dividend;
        numbers.divisors[i] = divisor;
    };
    // What an operator's number is; found once, not for each of 100,000 operators.
    using Set = std::function<void(std::size_t, const Opr&)>;
    auto& values = numbers.values;
    const auto seconds = [this, measured](const Opr& opr) { return times_ ? measured(times_->of(opr.id)) : std::nullopt; };
    const auto cost = [this](std::size_t i) -> const Cost& { return facts_->costs[i]; };
    const std::map<QString, Set> known = {
        {QStringLiteral("time"), [&](std::size_t i, const Opr& opr) { values[i] = seconds(opr); }},
        {QStringLiteral("host"), [&](std::size_t i, const Opr& opr) { values[i] = times_ ? measured(times_->host_of(opr.id)) : std::nullopt; }},
        {QStringLiteral("share"),
         [&](std::size_t i, const Opr& opr) {
             if (const auto s = seconds(opr); s && times_->total > 0) values[i] = *s / times_->total;
         }},
        {QStringLiteral("throughput"), [&](std::size_t i, const Opr& opr) { ratio(i, cost(i).flops, seconds(opr)); }},
        {QStringLiteral("bandwidth"), [&](std::size_t i, const Opr& opr) { ratio(i, cost(i).memory, seconds(opr)); }},
        {QStringLiteral("intensity"), [&](std::size_t i, const Opr&) { ratio(i, cost(i).flops, cost(i).memory); }},
        {QStringLiteral("flops"), [&](std::size_t i, const Opr&) { values[i] = cost(i).flops; }},
        {QStringLiteral("bytes"), [&](std::size_t i, const Opr&) { values[i] = cost(i).memory; }},
        {QStringLiteral("version"), [&](std::size_t i, const Opr& opr) { values[i] = opr.version; }},
        {QStringLiteral("priority"),
         [&](std::size_t i, const Opr& opr) {
             if (opr.priority != inputs_priority) values[i] = opr.priority;
         }},
        {QStringLiteral("error"),
         [&](std::size_t i, const Opr&) {
             if (errors_ && i < errors_->size()) values[i] = (*errors_)[i];
         }},
        {QStringLiteral("order"),
         [&](std::size_t i, const Opr&) {
             if (facts_->steps[i]) values[i] = *facts_->steps[i];
         }},
        {QStringLiteral("output"),
         [&](std::size_t i, const Opr& opr) {
             double bytes = 0;
             for (const VarId v : opr.outputs) {
                 const auto size = facts_->var_bytes(v);
                 if (!size) return;
                 bytes += *size;
             }
             if (!opr.outputs.empty()) values[i] = bytes;
         }},
        {QStringLiteral("weights"),
         [&](std::size_t i, const Opr& opr) {
             for (const VarId v : opr.inputs) {
                 const Opr& producer = graph.producer(v);
                 const std::uint32_t output = graph.var(v).output_index;
                 if (facts_->is_constant(producer.id) && output < producer.tensors.size()) values[i] = values[i].value_or(0) + static_cast<double>(producer.tensors[output].data_size);
             }
         }},
    };
    const Set& set = known.at(id);
    for (std::size_t i = 0; i < count; ++i) set(i, graph.oprs()[i]);
    return numbers;
}

std::shared_ptr<const std::vector<std::optional<double>>> errorsOfRun(const Graph& graph, const RunReport& report) {
    auto errors = std::make_shared<std::vector<std::optional<double>>>(graph.oprs().size());
    bool any = false;
    const auto add = [&](OprId opr, double error) {
        if (!opr.valid() || opr.index() >= errors->size()) return;
        auto& known = (*errors)[opr.index()];
        if (!known || std::isnan(error) || error > *known) known = error;
        any = true;
    };
    const std::vector<Assertion> assertions = find_assertions(graph);
    for (const TestcaseRun& run : report.testcases)
        for (const AssertVerdict& verdict : run.verdicts) {
            if (!verdict.mismatch.empty()) continue; // nothing was compared
            if (verdict.opr.valid()) {
                add(verdict.opr, verdict.max_error);
                for (const Assertion& assertion : assertions)
                    if (assertion.opr == verdict.opr) add(graph.producer(asserted_var(graph, assertion.got)).id, verdict.max_error);
            } else {
                for (const GraphOutput& output : graph.outputs())
                    if (graph.display_name(output.var) == verdict.name) add(graph.var(output.var).producer, verdict.max_error);
            }
        }
    return any ? errors : nullptr;
}

QString columnText(double value, const QString& unit) {
    if (!std::isfinite(value)) return numberText(value);
    if (value == 0) return QStringLiteral("0"); // in any unit
    if (unit == QLatin1String("s")) return secondsText(value);
    if (unit == QLatin1String("B")) return bytesText(value);
    if (unit == QLatin1String("%")) return numberText(value * 100, 3) + QStringLiteral(" %");
    if (unit.isEmpty() || unit == QLatin1String("FLOP/B")) {
        // A count is written out.
        const bool whole = std::abs(value) < 1e7 && value == std::floor(value);
        return numberText(value, whole ? 8 : 3) + (unit.isEmpty() ? QString() : QLatin1Char(' ') + unit);
    }
    return siText(value, unit.toLatin1().constData());
}

QString columnExact(double value, const QString& unit) {
    // Counts are exact up to 2^53; what was measured is a sum or a product of rounded numbers, whose last digits are noise.
    const int digits = value == std::floor(value) ? 15 : 12;
    if (unit == QLatin1String("%")) return QString::number(value * 100, 'g', 12) + QStringLiteral(" %");
    return QString::number(value, 'g', digits) + (unit.isEmpty() ? QString() : QLatin1Char(' ') + unit);
}

} // namespace megascope
