#include "views/table/outline_model.h"

#include <QGuiApplication>
#include <QPalette>

#include <cmath>

#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/graph/node_text.h"
#include "views/table/opr_table_model.h"

namespace megascope {

namespace {

/// "backbone.layer1.0.conv1" inside "backbone.layer1.0" reads "conv1".
QString localName(const QString& name, const QString& path) {
    const QString prefix = path + QLatin1Char('.');
    return !path.isEmpty() && name.startsWith(prefix) ? name.mid(prefix.size()) : name;
}

} // namespace

void OutlineModel::setFacts(std::shared_ptr<const GraphFacts> facts) {
    beginResetModel();
    facts_ = std::move(facts);
    times_.reset();
    nodes_.assign(1, {});
    nodeOfOpr_.clear();
    if (facts_) {
        const GraphStructure& structure = *facts_->structure;
        nodeOfOpr_.assign(facts_->graph->oprs().size(), 0);
        std::vector<std::uint32_t> nodeOfGroup(structure.groups->groups().size(), 0);
        const auto add = [&](std::uint32_t parent, GroupId group, OprId opr) {
            const auto id = static_cast<std::uint32_t>(nodes_.size());
            nodes_.push_back({parent, static_cast<std::uint32_t>(nodes_[parent].children.size()), group, opr, 0, {}});
            nodes_[parent].children.push_back(id);
            return id;
        };
        // One pass in execution order: a group appears where its first operator computes. Inputs wait for it, because what feeds an
        // expectation at the end of the network stands at the beginning of the file.
        std::vector<std::vector<OprId>> waiting(nodeOfGroup.size());
        const std::function<std::uint32_t(GroupId)> nodeFor = [&](GroupId group) -> std::uint32_t {
            if (!group.valid()) return 0;
            if (nodeOfGroup[group.index()] == 0) {
                const std::uint32_t parent = nodeFor(structure.groups->group(group).parent);
                nodeOfGroup[group.index()] = add(parent, group, {});
                for (const OprId input : waiting[group.index()]) nodeOfOpr_[input.index()] = add(nodeOfGroup[group.index()], {}, input);
                waiting[group.index()].clear();
            }
            return nodeOfGroup[group.index()];
        };
        for (const Opr& opr : facts_->graph->oprs()) {
            const OprRole role = structure.roles[opr.id.index()];
            if (role == OprRole::constant || role == OprRole::shape) continue;
            const GroupId group = structure.groups->of(opr.id);
            if (role == OprRole::input && group.valid() && nodeOfGroup[group.index()] == 0) {
                waiting[group.index()].push_back(opr.id);
                continue;
            }
            nodeOfOpr_[opr.id.index()] = add(nodeFor(group), {}, opr.id);
        }
        for (std::size_t group = 0; group < waiting.size(); ++group)
            if (!waiting[group].empty()) nodeFor(GroupId(group));
        weigh();
    }
    endResetModel();
}

void OutlineModel::setTimes(std::shared_ptr<const OprTimes> times) {
    times_ = std::move(times);
    if (!facts_) return;
    weigh();
    // Every level shows shares; a layout change makes views ask again without losing what is expanded.
    emit layoutAboutToBeChanged();
    emit layoutChanged();
    emit headerDataChanged(Qt::Horizontal, ShareColumn, ShareColumn);
}

void OutlineModel::weigh() {
    for (std::size_t i = nodes_.size(); i-- > 1;) nodes_[i].weight = 0;
    nodes_[0].weight = 0;
    for (std::size_t i = nodes_.size(); i-- > 1;) { // children come after parents
        Node& node = nodes_[i];
        if (node.opr.valid()) {
            const double seconds = times_ ? times_->of(node.opr) : OprTimes::none;
            node.weight = times_ ? (std::isnan(seconds) ? 0 : seconds) : facts_->costs[node.opr.index()].flops.value_or(0);
        }
        nodes_[node.parent].weight += node.weight;
    }
}

QModelIndex OutlineModel::indexOf(OprId opr) const {
    if (!opr.valid() || opr.index() >= nodeOfOpr_.size() || nodeOfOpr_[opr.index()] == 0) return {};
    const std::uint32_t node = nodeOfOpr_[opr.index()];
    return createIndex(static_cast<int>(nodes_[node].row), 0, static_cast<quintptr>(node));
}

std::vector<OprId> OutlineModel::oprsOf(const QModelIndex& index) const {
    std::vector<OprId> oprs;
    if (!index.isValid()) return oprs;
    std::vector<std::uint32_t> pending = {static_cast<std::uint32_t>(index.internalId())};
    while (!pending.empty()) {
        const Node& node = nodes_[pending.back()];
        pending.pop_back();
        if (node.opr.valid()) oprs.push_back(node.opr);
        pending.insert(pending.end(), node.children.rbegin(), node.children.rend());
    }
    return oprs;
}

QModelIndex OutlineModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent)) return {};
    const Node& node = nodes_[parent.isValid() ? parent.internalId() : 0];
    return createIndex(row, column, static_cast<quintptr>(node.children[static_cast<std::size_t>(row)]));
}

QModelIndex OutlineModel::parent(const QModelIndex& child) const {
    if (!child.isValid()) return {};
    const std::uint32_t parent = nodes_[child.internalId()].parent;
    return parent == 0 ? QModelIndex() : createIndex(static_cast<int>(nodes_[parent].row), 0, static_cast<quintptr>(parent));
}

int OutlineModel::rowCount(const QModelIndex& parent) const {
    if (nodes_.empty() || parent.column() > 0) return 0;
    return static_cast<int>(nodes_[parent.isValid() ? parent.internalId() : 0].children.size());
}

QVariant OutlineModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Node& node = nodes_[index.internalId()];
    // The same whole as in the operator table.
    const double total = times_ ? times_->total : nodes_[0].weight;
    const double share = total > 0 ? node.weight / total : 0;
    switch (role) {
    case Qt::DisplayRole:
        if (index.column() == ShareColumn) return total > 0 && node.weight > 0 ? QStringLiteral("%1 %").arg(share * 100, 0, 'f', share >= 0.0995 ? 0 : 1) : QString();
        if (node.group.valid()) {
            const Group& group = facts_->structure->groups->group(node.group);
            return group.alike > 1 ? QStringLiteral("%1  ×%2").arg(text(group.title)).arg(group.alike) : text(group.title);
        }
        {
            const QString name = text(facts_->graph->display_name(node.opr));
            const GroupId group = nodes_[node.parent].group;
            const QString inside = group.valid() ? text(facts_->structure->groups->group(group).path) : QString();
            if (facts_->structure->roles[node.opr.index()] == OprRole::input) return localName(name, inside);
            if (const QString own = node_name(*facts_->graph, node.opr, inside); !own.isEmpty()) return own;
            // Names like "conv(data,const{4,3,7,7}[1769])[22]" say less than type and params.
            const QString what = attribute_line(*facts_->graph, &facts_->info, node.opr);
            const QString type = text(facts_->graph->type_text(node.opr));
            if (what.isEmpty()) return type;
            return type == QLatin1String("Elemwise") ? what : QStringLiteral("%1  %2").arg(type, what); // the mode says it all
        }
    case Qt::ToolTipRole:
        if (index.column() == ShareColumn)
            return times_ ? tr("%1 of %2").arg(secondsText(node.weight), secondsText(total)) : tr("%1 of %2 operations").arg(siText(node.weight, "FLOP"), siText(total, "FLOP"));
        if (node.group.valid()) {
            const Group& group = facts_->structure->groups->group(node.group);
            const QString name = group.path.empty() ? text(group.title) : text(group.path);
            return tr("%1\n%n operators", nullptr, static_cast<int>(group.total)).arg(name);
        }
        return QStringLiteral("%1\n%2").arg(text(facts_->graph->display_name(node.opr)), text(facts_->graph->type_text(node.opr)));
    case Qt::DecorationRole:
        return index.column() == NameColumn && node.opr.valid() ? QVariant(categorySwatch(facts_->category(node.opr))) : QVariant();
    case Qt::ForegroundRole:
        return index.column() == ShareColumn ? QVariant(themeColours(QGuiApplication::palette()).dimmedText) : QVariant();
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (index.column() == ShareColumn ? Qt::AlignRight : Qt::AlignLeft)));
    case PickRole: return QVariant::fromValue(node.opr.valid() ? Pick::of(node.opr) : Pick());
    case GroupRole: return node.group.valid() ? QVariant(node.group.value()) : QVariant();
    case ShareRole: return share;
    default: return {};
    }
}

QVariant OutlineModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return int(section == NameColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter;
    if (role == Qt::ToolTipRole && section == ShareColumn) return times_ ? tr("Share of the measured time") : tr("Share of the computation (floating-point operations)");
    if (role != Qt::DisplayRole) return {};
    return section == NameColumn ? tr("Module") : times_ ? tr("Time") : tr("FLOP");
}

} // namespace megascope
