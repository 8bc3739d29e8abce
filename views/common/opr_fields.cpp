#include "views/common/opr_fields.h"

#include <algorithm>
#include <cmath>

#include "views/common/number_text.h"

namespace megascope {

std::optional<QString> OprFields::text(OprId id, const QString& field) const {
    const Graph& graph = *facts_->graph;
    const Opr& opr = graph.opr(id);
    const auto type = [&] { return megascope::text(graph.type_text(id)); };
    const auto name = [&] { return megascope::text(graph.display_name(id)); };
    const auto of_vars = [&](auto&& one) {
        QString all;
        for (const VarId v : opr.outputs) all += (all.isEmpty() ? QString() : QStringLiteral("\n")) + one(v);
        return all;
    };
    const auto vars = [&] { return of_vars([&](VarId v) { return megascope::text(graph.display_name(v)); }); };
    const auto shapes = [&] { return of_vars([&](VarId v) { return shapeText(facts_->info.var(v).shape); }); };
    if (field.isEmpty()) return type() + QLatin1Char('\n') + name() + QLatin1Char('\n') + vars() + QLatin1Char('\n') + shapes();
    if (field == QLatin1String("type")) return type();
    if (field == QLatin1String("name")) return name();
    if (field == QLatin1String("var")) return vars();
    if (field == QLatin1String("id")) return QString::number(id.value());
    if (field == QLatin1String("shape")) return opr.outputs.empty() ? QString() : shapeText(facts_->info.var(opr.outputs.front()).shape);
    if (field == QLatin1String("dtype")) {
        // "f16" and "float16" both find it, on any output.
        return of_vars([&](VarId v) {
            const QString one = dtypeName(facts_->info.var(v).dtype);
            return one + QLatin1Char(' ') + QString(one).replace(QStringLiteral("float"), QStringLiteral("f"));
        });
    }
    if (field == QLatin1String("category")) return megascope::text(category_name(facts_->category(id)));
    if (field == QLatin1String("scope")) {
        const qsizetype cut = std::max(name().lastIndexOf(QLatin1Char('.')), name().lastIndexOf(QLatin1Char('/')));
        return opr.has_name && cut > 0 ? name().left(cut) : QString();
    }
    if (field == QLatin1String("node")) {
        QString all;
        for (const CompNode& node : opr.comp_nodes) all += (all.isEmpty() ? QString() : QStringLiteral("\n")) + megascope::text(node.locator);
        return all;
    }
    for (const Param& param : opr.params)
        for (std::size_t i = 0; i < param.type().fields.size(); ++i)
            if (field == megascope::text(param.type().fields[i].name).toLower()) return megascope::text(param.text(i));
    return std::nullopt;
}

std::optional<double> OprFields::number(OprId id, const QString& field) const {
    const Opr& opr = facts_->graph->opr(id);
    const Cost& cost = facts_->costs[id.index()];
    const auto measured = [](double seconds) { return std::isnan(seconds) ? std::nullopt : std::optional(seconds); };
    const auto seconds = times_ ? measured(times_->of(id)) : std::nullopt;
    if (field == QLatin1String("id")) return id.value();
    if (field == QLatin1String("order")) {
        const auto& step = facts_->steps[id.index()];
        return step ? std::optional<double>(*step) : std::nullopt;
    }
    if (field == QLatin1String("priority")) return opr.priority;
    if (field == QLatin1String("time")) return seconds;
    if (field == QLatin1String("host")) return times_ ? measured(times_->host_of(id)) : std::nullopt;
    if (field == QLatin1String("share")) return seconds && times_->total > 0 ? std::optional(*seconds / times_->total) : std::nullopt;
    if (field == QLatin1String("flops")) return cost.flops;
    if (field == QLatin1String("bytes")) return cost.memory;
    if (field == QLatin1String("intensity")) return cost.flops && cost.memory && *cost.memory > 0 ? std::optional(*cost.flops / *cost.memory) : std::nullopt;
    if (field == QLatin1String("throughput")) return seconds && *seconds > 0 && cost.flops ? std::optional(*cost.flops / *seconds) : std::nullopt;
    if (field == QLatin1String("bandwidth")) return seconds && *seconds > 0 && cost.memory ? std::optional(*cost.memory / *seconds) : std::nullopt;
    if (const auto param = text(id, field)) {
        bool ok = false;
        const double value = param->toDouble(&ok);
        if (ok) return value;
    }
    return std::nullopt;
}

bool OprFields::fits(OprId id, const FilterQuery& query) const {
    return query.matches([&](const QString& field) { return text(id, field); }, [&](const QString& field) { return number(id, field); });
}

std::vector<OprId> OprFields::find(const FilterQuery& query, bool constants) const { return find(query, constants, CancelToken()).value_or(std::vector<OprId>()); }

Expected<std::vector<OprId>> OprFields::search(const FilterQuery& query, const CancelToken& cancel) const {
    auto found = find(query, true, cancel);
    if (!found) return CancelToken::error();
    if (query.chain().empty()) { // of a chain, constants are links like others
        const auto constant = [this](OprId id) { return facts_->is_constant(id); };
        if (!std::all_of(found->begin(), found->end(), constant)) std::erase_if(*found, constant);
    }
    return std::move(*found);
}

std::optional<std::vector<OprId>> OprFields::find(const FilterQuery& query, bool constants, const CancelToken& cancel) const {
    // Asking costs less than looking at an operator, but not nothing.
    const auto stop = [&cancel](std::uint32_t i) { return (i & 0xff) == 0 && cancel.cancelled(); };
    const Graph& graph = *facts_->graph;
    std::vector<OprId> found;
    if (query.empty() || !query.problem().isEmpty()) return found;
    const std::size_t count = graph.oprs().size();
    if (query.chain().empty()) {
        for (std::uint32_t i = 0; i < count; ++i) {
            if (stop(i)) return std::nullopt;
            if ((constants || !facts_->is_constant(OprId(i))) && fits(OprId(i), query)) found.emplace_back(i);
        }
        return found;
    }
    // Forward: what fits link k and reads something that ends a chain of the links before it. Backward: what such a chain leads on
    // to. Operators that pass both belong to a whole chain.
    const std::size_t links = query.chain().size();
    std::vector<std::vector<std::uint8_t>> at(links, std::vector<std::uint8_t>(count, 0));
    for (std::size_t k = 0; k < links; ++k)
        for (std::uint32_t i = 0; i < count; ++i) {
            if (stop(i)) return std::nullopt;
            bool led = k == 0;
            for (const VarId in : graph.oprs()[i].inputs) led = led || at[k - 1][graph.var(in).producer.index()];
            at[k][i] = led && fits(OprId(i), query.chain()[k]);
        }
    for (std::size_t k = links - 1; k-- > 0;)
        for (std::uint32_t i = 0; i < count; ++i) {
            if (!at[k][i]) continue;
            bool leads = false;
            for (const VarId out : graph.oprs()[i].outputs)
                for (const OprId reader : graph.consumers(out)) leads = leads || at[k + 1][reader.index()];
            at[k][i] = leads;
        }
    for (std::uint32_t i = 0; i < count; ++i)
        for (std::size_t k = 0; k < links; ++k)
            if (at[k][i]) {
                found.emplace_back(i);
                break;
            }
    return found;
}

} // namespace megascope
