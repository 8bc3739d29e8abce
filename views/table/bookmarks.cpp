#include "views/table/bookmarks.h"

#include <QPixmap>
#include <QSettings>

#include <algorithm>

#include "views/common/number_text.h"
#include "views/common/selection.h"
#include "views/table/opr_table_model.h"

namespace megascope {

namespace {

/// Between an operator's name and the one that was given to its bookmark; no name holds it.
constexpr QChar separator(0x1f);

} // namespace

QString Bookmarks::settingsKey() const {
    // Paths hold slashes, which settings take for groups.
    return QStringLiteral("bookmarks/%1").arg(QString::fromLatin1(path_.toUtf8().toBase64(QByteArray::Base64UrlEncoding)));
}

void Bookmarks::setFacts(std::shared_ptr<const GraphFacts> facts, const QString& path) {
    beginResetModel();
    facts_ = std::move(facts);
    path_ = path;
    entries_.clear();
    if (facts_) {
        // By name and, where names repeat or are not kept, by number.
        for (const QString& entry : QSettings().value(settingsKey()).toStringList()) {
            bool ok = false;
            const auto id = entry.section(QLatin1Char(' '), 0, 0).toUInt(&ok);
            const QString names = entry.section(QLatin1Char(' '), 1);
            if (ok && id < facts_->graph->oprs().size() && text(facts_->graph->display_name(OprId(id))) == names.section(separator, 0, 0))
                entries_.push_back({OprId(id), names.section(separator, 1, 1)});
        }
        std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.opr < b.opr; });
    }
    endResetModel();
    emit changed();
}

std::vector<OprId> Bookmarks::oprs() const {
    std::vector<OprId> oprs;
    for (const Entry& entry : entries_) oprs.push_back(entry.opr);
    return oprs;
}

void Bookmarks::toggle(const std::vector<OprId>& oprs) {
    if (!facts_ || oprs.empty()) return;
    const auto find = [this](OprId opr) { return std::find_if(entries_.begin(), entries_.end(), [opr](const Entry& e) { return e.opr == opr; }); };
    const bool all = std::all_of(oprs.begin(), oprs.end(), [&](OprId opr) { return find(opr) != entries_.end(); });
    beginResetModel();
    for (const OprId opr : oprs) {
        const auto at = find(opr);
        if (all) entries_.erase(at);
        else if (at == entries_.end()) entries_.push_back({opr, {}});
    }
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.opr < b.opr; });
    endResetModel();
    save();
}

void Bookmarks::removeAt(int row) {
    if (row < 0 || row >= rowCount()) return;
    beginRemoveRows({}, row, row);
    entries_.erase(entries_.begin() + row);
    endRemoveRows();
    save();
}

OprId Bookmarks::nextTo(OprId from, int step) const {
    if (entries_.empty()) return {};
    const auto n = static_cast<std::ptrdiff_t>(entries_.size());
    if (!from.valid()) return (step > 0 ? entries_.front() : entries_.back()).opr;
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), from, [](const Entry& e, OprId opr) { return e.opr < opr; });
    std::ptrdiff_t i = at - entries_.begin();
    if (at == entries_.end() || at->opr != from) i -= step > 0; // between two of them
    return entries_[static_cast<std::size_t>(((i + step) % n + n) % n)].opr;
}

void Bookmarks::save() {
    QStringList stored;
    for (const Entry& entry : entries_) {
        QString line = QStringLiteral("%1 %2").arg(entry.opr.value()).arg(text(facts_->graph->display_name(entry.opr)));
        if (!entry.name.isEmpty()) line += separator + entry.name;
        stored << line;
    }
    if (stored.isEmpty()) QSettings().remove(settingsKey());
    else QSettings().setValue(settingsKey(), stored);
    emit changed();
}

QString Bookmarks::title(const Entry& entry) const {
    if (!entry.name.isEmpty()) return entry.name;
    const QString name = text(facts_->graph->display_name(entry.opr)), type = text(facts_->graph->type_text(entry.opr));
    return name.startsWith(type) ? name : QStringLiteral("%1   %2").arg(type, name);
}

int Bookmarks::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(entries_.size()); }

QVariant Bookmarks::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Entry& entry = entries_[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole: return title(entry);
    case Qt::EditRole: return entry.name;
    case Qt::ToolTipRole:
        return tr("%1\n%2\nF2 gives the bookmark a name, Del removes it.").arg(text(facts_->graph->type_text(entry.opr)), text(facts_->graph->display_name(entry.opr)));
    case Qt::DecorationRole: return categorySwatch(facts_->category(entry.opr));
    case PickRole: return QVariant::fromValue(Pick::of(entry.opr));
    default: return {};
    }
}

bool Bookmarks::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !checkIndex(index, CheckIndexOption::IndexIsValid)) return false;
    entries_[static_cast<std::size_t>(index.row())].name = value.toString().simplified().remove(separator);
    emit dataChanged(index, index);
    save();
    return true;
}

Qt::ItemFlags Bookmarks::flags(const QModelIndex& index) const { return QAbstractListModel::flags(index) | Qt::ItemIsEditable; }

QVariant Bookmarks::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Horizontal && section == 0 && role == Qt::DisplayRole) return tr("Bookmarks");
    return {};
}

} // namespace megascope
