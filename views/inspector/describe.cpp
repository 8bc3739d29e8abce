#include "views/inspector/describe.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "format/raw_param.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

QString tr(const char* s, int n = -1) { return QCoreApplication::translate("megascope::Inspector", s, nullptr, n); }

QString inputName(const OprDef* def, std::size_t i) {
    if (def) {
        if (i < def->inputs.fixed.size()) return text(def->inputs.fixed[i]);
        if (!def->inputs.repeated.empty()) return QStringLiteral("%1[%2]").arg(text(def->inputs.repeated)).arg(i - def->inputs.fixed.size());
    }
    return tr("input %1").arg(i);
}

QString outputName(const OprDef* def, std::size_t i) {
    if (def && !def->outputs.empty()) {
        if (i + 1 < def->outputs.size() || (i < def->outputs.size() && def->outputs.size() == 1)) return text(def->outputs[i]);
        return i < def->outputs.size() ? text(def->outputs[i]) : QStringLiteral("%1[%2]").arg(text(def->outputs.back())).arg(i + 1 - def->outputs.size());
    }
    return tr("output %1").arg(i);
}

PropertyGroup paramGroup(const Opr& opr) {
    PropertyGroup group{tr("Params"), {}};
    for (std::size_t p = 0; p < opr.params.size(); ++p) {
        const Param& param = opr.params[p];
        const auto& fields = param.type().fields;
        for (std::size_t i = 0; i < fields.size(); ++i) {
            Property property;
            property.name = text(fields[i].name);
            property.value = text(param.text(i));
            property.dimmed = param.is_default(i);
            property.changed = !property.dimmed;
            property.help = QStringLiteral("%1.%2").arg(text(param.type().name), text(fields[i].name));
            if (property.dimmed) property.help += QLatin1Char('\n') + tr("at its default");
            group.properties.push_back(std::move(property));
        }
    }
    for (const RawParam& raw : opr.raw_params)
        group.properties.push_back({tr("unknown param"), tr("number %1, %2 bytes").arg(raw.number).arg(raw_param_size(raw)), {}, {}, false, false, {}});
    return group;
}

} // namespace

QString layoutText(const VarDesc& desc) { return shapeText(desc.shape) + QStringLiteral("  ") + dtypeText(desc.dtype); }

std::vector<PropertyGroup> describeOpr(const GraphFacts& facts, OprId id, const OprTimes* times) {
    const Graph& graph = *facts.graph;
    const Opr& opr = graph.opr(id);
    const OprDef* def = facts.def(id);
    std::vector<PropertyGroup> groups;

    PropertyGroup inputs{tr("Inputs"), {}};
    for (std::size_t i = 0; i < opr.inputs.size(); ++i) {
        const VarId var = opr.inputs[i];
        const QString name = text(graph.display_name(var));
        inputs.properties.push_back({inputName(def, i), layoutText(facts.info.var(var)), name + QLatin1Char('\n') + layoutText(facts.info.var(var)), Pick::of(var), false, false, name});
    }
    PropertyGroup outputs{tr("Outputs"), {}};
    for (std::size_t i = 0; i < opr.outputs.size(); ++i) {
        const VarId var = opr.outputs[i];
        const QString name = text(graph.display_name(var));
        outputs.properties.push_back({outputName(def, i), layoutText(facts.info.var(var)), name + QLatin1Char('\n') + layoutText(facts.info.var(var)), Pick::of(var), false, false, name});
    }
    PropertyGroup measured{tr("Measured"), {}};
    if (times) {
        const double seconds = times->of(id);
        if (!std::isnan(seconds)) {
            measured.properties.push_back({tr("time"), secondsText(seconds), QString::number(seconds, 'g', 9) + QStringLiteral(" s"), {}, false, false, tr("from %1").arg(text(times->source))});
            if (times->total > 0) measured.properties.push_back({tr("share"), QStringLiteral("%1 %").arg(seconds / times->total * 100, 0, 'f', 2), {}, {}, false, false, {}});
            const Cost& cost = facts.costs[id.index()];
            if (const double host = times->host_of(id); !std::isnan(host)) measured.properties.push_back({tr("host time"), secondsText(host), {}, {}, false, false, {}});
            if (seconds > 0 && cost.flops) measured.properties.push_back({tr("throughput"), siText(*cost.flops / seconds, "FLOP/s"), {}, {}, false, false, {}});
            if (seconds > 0 && cost.memory) measured.properties.push_back({tr("bandwidth"), siText(*cost.memory / seconds, "B/s"), {}, {}, false, false, {}});
        }
    }
    PropertyGroup cost{tr("Cost"), {}};
    const Cost& c = facts.costs[id.index()];
    if (c.flops) cost.properties.push_back({tr("computation"), siText(*c.flops, "FLOP"), QString::number(*c.flops, 'f', 0), {}, false, false, tr("A multiplication and an addition count as two.")});
    if (c.memory) cost.properties.push_back({tr("memory"), bytesText(*c.memory), QString::number(*c.memory, 'f', 0), {}, false, false, tr("Bytes of all inputs and outputs.")});
    if (c.flops && c.memory && *c.memory > 0) cost.properties.push_back({tr("intensity"), QStringLiteral("%1 FLOP/B").arg(numberText(*c.flops / *c.memory, 3)), {}, {}, false, false, {}});

    PropertyGroup identity{tr("Identity"), {}};
    const auto& step = facts.steps[id.index()];
    identity.properties.push_back({tr("execution index"), step ? QString::number(*step) : tr("not executed"), {}, {}, !step, false, {}});
    identity.properties.push_back({tr("priority"), QString::number(opr.priority), {}, {}, opr.priority == 0, false, {}});
    QString nodes;
    for (const CompNode& node : opr.comp_nodes) nodes += (nodes.isEmpty() ? QString() : QStringLiteral(", ")) + text(node.locator);
    if (nodes.isEmpty() && !opr.outputs.empty() && graph.var(opr.outputs.front()).comp_node) nodes = text(graph.var(opr.outputs.front()).comp_node->locator);
    if (!nodes.isEmpty()) identity.properties.push_back({tr("comp node"), nodes, {}, {}, false, false, {}});
    if (opr.output_dtype) identity.properties.push_back({tr("output dtype"), text(opr.output_dtype->text()), {}, {}, false, false, tr("configured in the file")});
    if (!opr.registered_type.empty()) identity.properties.push_back({tr("registered as"), text(opr.registered_type), {}, {}, false, false, {}});
    identity.properties.push_back({tr("type id"), QString::number(opr.type_id), {}, {}, false, false, {}});
    if (opr.version) identity.properties.push_back({tr("version"), QString::number(opr.version), {}, {}, false, false, {}});
    if (def) identity.properties.push_back({tr("category"), text(category_name(def->category)), {}, {}, false, false, {}});

    for (PropertyGroup* group : {&measured, &inputs, &outputs}) if (!group->properties.empty()) groups.push_back(std::move(*group));
    if (PropertyGroup params = paramGroup(opr); !params.properties.empty()) groups.push_back(std::move(params));
    for (PropertyGroup* group : {&cost, &identity}) if (!group->properties.empty()) groups.push_back(std::move(*group));
    return groups;
}

std::vector<PropertyGroup> describeOprs(const GraphFacts& facts, const std::vector<OprId>& oprs, const OprTimes* times) {
    struct Sum {
        double value = 0;
        std::size_t known = 0;
        void add(std::optional<double> v) {
            if (!v) return;
            value += *v;
            ++known;
        }
    };
    struct Kind {
        std::size_t count = 0;
        Sum seconds, flops;
    };
    Sum seconds, flops, memory;
    std::map<std::string, Kind> kinds;
    for (const OprId id : oprs) {
        const Cost& cost = facts.costs[id.index()];
        const double time = times ? times->of(id) : OprTimes::none;
        const auto measured = std::isnan(time) ? std::nullopt : std::optional(time);
        Kind& kind = kinds[facts.graph->type_text(id)];
        ++kind.count;
        for (Sum* sum : {&seconds, &kind.seconds}) sum->add(measured);
        for (Sum* sum : {&flops, &kind.flops}) sum->add(cost.flops);
        memory.add(cost.memory);
    }
    PropertyGroup together{tr("Together"), {}};
    const auto add = [&](const QString& name, const Sum& sum, const QString& value, const QString& exact, const QString& help) {
        if (sum.known == 0) return;
        const QString of = sum.known == oprs.size() ? QString() : tr("  (of %1 of them)").arg(sum.known);
        together.properties.push_back({name, value + of, exact, {}, false, false, help});
    };
    together.properties.push_back({tr("operators"), countText(oprs.size()), {}, {}, false, false, {}});
    if (times) {
        add(tr("time"), seconds, secondsText(seconds.value), QString::number(seconds.value, 'g', 9) + QStringLiteral(" s"), tr("from %1").arg(text(times->source)));
        if (seconds.known > 0 && times->total > 0)
            together.properties.push_back({tr("share"), QStringLiteral("%1 %").arg(seconds.value / times->total * 100, 0, 'f', 2), {}, {}, false, false, {}});
    }
    add(tr("computation"), flops, siText(flops.value, "FLOP"), QString::number(flops.value, 'f', 0), tr("A multiplication and an addition count as two."));
    add(tr("memory"), memory, bytesText(memory.value), QString::number(memory.value, 'f', 0), tr("Bytes of all inputs and outputs; what two of them share counts twice."));

    std::vector<std::pair<std::string, Kind>> order(kinds.begin(), kinds.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
        return std::tuple(b.second.seconds.value, b.second.count) < std::tuple(a.second.seconds.value, a.second.count);
    });
    PropertyGroup types{tr("By type"), {}};
    for (const auto& [type, kind] : order) {
        QString value = QStringLiteral("×%1").arg(kind.count);
        if (kind.seconds.known > 0) value += QStringLiteral("   ") + secondsText(kind.seconds.value);
        if (kind.flops.value > 0) value += QStringLiteral("   ") + siText(kind.flops.value, "FLOP");
        types.properties.push_back({text(type), value, {}, {}, false, false, {}});
    }
    PropertyGroup list{tr("Operators"), {}};
    constexpr std::size_t limit = 200;
    for (std::size_t i = 0; i < oprs.size() && i < limit; ++i)
        list.properties.push_back({text(facts.graph->type_text(oprs[i])), text(facts.graph->display_name(oprs[i])), {}, Pick::of(oprs[i]), false, false, {}});
    if (oprs.size() > limit) list.properties.push_back({tr("and more"), countText(oprs.size() - limit), {}, {}, true, false, {}});
    return {std::move(together), std::move(types), std::move(list)};
}

std::vector<PropertyGroup> describeVar(const GraphFacts& facts, VarId id) {
    const Graph& graph = *facts.graph;
    const Var& var = graph.var(id);
    const VarDesc& desc = facts.info.var(id);
    std::vector<PropertyGroup> groups;
    PropertyGroup layout{tr("Layout"), {}};
    layout.properties.push_back({tr("shape"), shapeText(desc.shape), {}, {}, false, false, {}});
    layout.properties.push_back({tr("dtype"), dtypeText(desc.dtype), {}, {}, false, false, {}});
    if (desc.shape && desc.shape->checked_elements()) layout.properties.push_back({tr("elements"), countText(desc.shape->elements()), QString::number(desc.shape->elements()), {}, false, false, {}});
    if (const auto bytes = facts.var_bytes(id)) layout.properties.push_back({tr("size"), bytesText(*bytes), QString::number(*bytes, 'f', 0), {}, false, false, {}});
    if (var.comp_node) layout.properties.push_back({tr("comp node"), text(var.comp_node->locator), {}, {}, false, false, {}});
    layout.properties.push_back({tr("id"), QString::number(id.value()), {}, {}, false, false, {}});
    groups.push_back(std::move(layout));

    PropertyGroup producer{tr("Producer"), {}};
    const Opr& opr = graph.producer(id);
    producer.properties.push_back({text(graph.type_text(opr.id)), text(graph.display_name(opr.id)), {}, Pick::of(opr.id), false, false, {}});
    groups.push_back(std::move(producer));

    PropertyGroup consumers{tr("Consumers"), {}};
    constexpr std::size_t limit = 200;
    const auto readers = graph.consumers(id);
    for (std::size_t i = 0; i < readers.size() && i < limit; ++i)
        consumers.properties.push_back({text(graph.type_text(readers[i])), text(graph.display_name(readers[i])), {}, Pick::of(readers[i]), false, false, {}});
    if (readers.size() > limit) consumers.properties.push_back({tr("and more"), countText(readers.size() - limit), {}, {}, true, false, {}});
    if (!consumers.properties.empty()) groups.push_back(std::move(consumers));
    for (const GraphOutput& output : graph.outputs()) {
        if (output.var != id) continue;
        groups.push_back({tr("Graph output"), {{tr("original id"), QString::number(output.original_id), {}, {}, false, false, {}}}});
        if (!output.alias.empty()) groups.back().properties.push_back({tr("alias"), text(output.alias), {}, {}, false, false, {}});
    }
    return groups;
}

} // namespace megascope
