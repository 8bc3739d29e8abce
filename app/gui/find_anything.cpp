#include "app/gui/find_anything.h"

#include <QAction>
#include <QApplication>
#include <QFileInfo>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QRegularExpression>
#include <QVBoxLayout>

#include <algorithm>
#include <cctype>

#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/common/opr_fields.h"
#include "views/table/opr_table_model.h"

namespace megascope {

namespace {

std::string lowered(std::string s) {
    for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return s;
}

QString keysOf(const QAction& action) {
    const QString named = action.text().section(QLatin1Char('\t'), 1);
    return named.isEmpty() ? action.shortcut().toString(QKeySequence::NativeText) : named;
}

} // namespace

int matchScore(const std::vector<std::string>& words, std::string_view text) {
    int score = 0;
    for (const std::string& word : words) {
        const std::size_t at = text.find(word);
        if (at == std::string_view::npos) return 0;
        int best = 10;
        if (at == 0) best = 40;
        else if (!std::isalnum(static_cast<unsigned char>(text[at - 1]))) best = 25; // the start of a word inside
        const std::size_t end = at + word.size();
        if (at == 0 && (end == text.size() || text[end] == '\n')) best = 80; // the whole first part
        score += best;
    }
    // Of equally good fits the shorter text is meant.
    return score * 100 - static_cast<int>(std::min<std::size_t>(text.size(), 99));
}

FindAnything::FindAnything(QWidget* window) : QFrame(window) {
    setObjectName(QStringLiteral("findAnything"));
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    edit_ = new QLineEdit(this);
    edit_->setObjectName(QStringLiteral("findEdit"));
    edit_->setPlaceholderText(tr("Operators, vars, commands, recent files"));
    edit_->addAction(themedIcon(QStringLiteral("search")), QLineEdit::LeadingPosition);
    list_ = new QListWidget(this);
    list_->setObjectName(QStringLiteral("findList"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setUniformItemSizes(true);
    list_->setTextElideMode(Qt::ElideMiddle);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->setSpacing(4);
    layout->addWidget(edit_);
    layout->addWidget(list_, 1);
    edit_->installEventFilter(this);
    connect(edit_, &QLineEdit::textChanged, this, &FindAnything::refresh);
    connect(list_, &QListWidget::itemClicked, this, &FindAnything::accept);
    hide();
}

void FindAnything::setFacts(std::shared_ptr<const GraphFacts> facts) {
    facts_ = std::move(facts);
    oprKeys_.clear();
    varKeys_.clear();
}

QList<FindAnything::Command> FindAnything::commandsOf(QMenu& menu, const QMenu* without, const QString& prefix) {
    emit menu.aboutToShow(); // some actions are enabled only then
    QList<Command> commands;
    for (QAction* action : menu.actions()) {
        if (action->isSeparator() || !action->isVisible() || (without && action->menu() == without)) continue;
        // Behind a tab stands a key that the menu only names.
        const QString title = prefix + action->text().section(QLatin1Char('\t'), 0, 0).remove(QLatin1Char('&')).remove(QStringLiteral("…"));
        if (action->menu()) commands += commandsOf(*action->menu(), without, title + QStringLiteral(" ▸ "));
        else commands.append({title, action});
    }
    return commands;
}

void FindAnything::popUp() {
    if (facts_ && oprKeys_.empty()) { // on first use, not on opening
        const Graph& graph = *facts_->graph;
        oprKeys_.reserve(graph.oprs().size());
        for (const Opr& opr : graph.oprs()) oprKeys_.push_back(lowered(graph.display_name(opr.id) + '\n' + graph.type_text(opr.id)));
        varKeys_.reserve(graph.vars().size());
        for (const Var& var : graph.vars()) varKeys_.push_back(lowered(graph.display_name(var.id) + '\n' + shapeText(facts_->info.var(var.id).shape).replace(QChar(0xD7), QLatin1Char('x')).toStdString()));
    }
    const QWidget* window = parentWidget();
    const int width = std::min(window->width() - 40, fontMetrics().averageCharWidth() * 90);
    setGeometry((window->width() - width) / 2, 48, width, std::min(window->height() - 80, fontMetrics().height() * 22));
    if (!isVisible()) before_ = QApplication::focusWidget();
    edit_->clear();
    refresh();
    show();
    raise();
    edit_->setFocus(Qt::PopupFocusReason);
}

std::vector<FindAnything::Hit> FindAnything::search(const QString& typed) const {
    std::vector<std::string> words;
    for (const QString& word : typed.toLower().replace(QChar(0xD7), QLatin1Char('x')).split(QLatin1Char(' '), Qt::SkipEmptyParts)) words.push_back(word.toStdString());
    std::vector<Hit> hits;
    const auto best = [&hits](std::size_t room) {
        const auto better = [](const Hit& a, const Hit& b) { return a.score > b.score; };
        if (hits.size() > room) {
            std::nth_element(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(room), hits.end(), better);
            hits.resize(room);
        }
        std::stable_sort(hits.begin(), hits.end(), better);
    };
    if (words.empty()) { // what one most probably wants next
        for (const QString& file : files_) hits.push_back({Hit::Kind::file, 0, QFileInfo(file).fileName(), QFileInfo(file).absolutePath(), {}, nullptr, file});
        for (const auto& [title, action] : commands_)
            if (action->isEnabled()) hits.push_back({Hit::Kind::command, 0, title, keysOf(*action), {}, action, {}});
        if (hits.size() > limit) hits.resize(limit);
        return hits;
    }
    // Words with a field, a comparison or an arrow are the filter's language.
    static const QRegularExpression structured(QStringLiteral("[A-Za-z_]+(:|>=|<=|>|<|=)\\S|\\s->\\s|^/.+/$"));
    if (facts_ && structured.match(typed).hasMatch()) {
        const std::vector<OprId> found = OprFields(facts_, nullptr).find(FilterQuery::parse(typed));
        for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), limit); ++i)
            hits.push_back({Hit::Kind::opr, 100, text(facts_->graph->display_name(found[i])), text(facts_->graph->type_text(found[i])), Pick::of(found[i]), nullptr, {}});
        return hits;
    }
    if (facts_) {
        const Graph& graph = *facts_->graph;
        struct Scored {
            int score;
            std::uint32_t id;
            bool var;
        };
        std::vector<Scored> scored;
        for (std::uint32_t i = 0; i < oprKeys_.size(); ++i)
            if (const int score = matchScore(words, oprKeys_[i]); score > 0) scored.push_back({score + 50, i, false});
        for (std::uint32_t i = 0; i < varKeys_.size(); ++i)
            if (const int score = matchScore(words, varKeys_[i]); score > 0) scored.push_back({score, i, true});
        const std::size_t room = std::min<std::size_t>(scored.size(), limit);
        std::partial_sort(scored.begin(), scored.begin() + static_cast<std::ptrdiff_t>(room), scored.end(),
                          [](const Scored& a, const Scored& b) { return a.score != b.score ? a.score > b.score : a.id < b.id; });
        scored.resize(room);
        for (const Scored& s : scored) {
            if (s.var) {
                const VarId var(s.id);
                hits.push_back({Hit::Kind::var, s.score, text(graph.display_name(var)), tr("var  %1 %2").arg(shapeText(facts_->info.var(var).shape), dtypeName(facts_->info.var(var).dtype)), Pick::of(var), nullptr, {}});
            } else {
                const OprId opr(s.id);
                hits.push_back({Hit::Kind::opr, s.score, text(graph.display_name(opr)), text(graph.type_text(opr)), Pick::of(opr), nullptr, {}});
            }
        }
    }
    for (const auto& [title, action] : commands_) {
        if (!action->isEnabled()) continue;
        if (const int score = matchScore(words, title.toLower().toStdString()); score > 0)
            hits.push_back({Hit::Kind::command, score + 60, title, keysOf(*action), {}, action, {}});
    }
    for (const QString& file : files_) {
        if (const int score = matchScore(words, QFileInfo(file).fileName().toLower().toStdString()); score > 0)
            hits.push_back({Hit::Kind::file, score, QFileInfo(file).fileName(), QFileInfo(file).absolutePath(), {}, nullptr, file});
    }
    best(limit);
    return hits;
}

void FindAnything::refresh() {
    hits_ = search(edit_->text());
    list_->clear();
    for (const Hit& hit : hits_) {
        const QString line = hit.detail.isEmpty() ? hit.title : QStringLiteral("%1      %2").arg(hit.title, hit.detail);
        auto* item = new QListWidgetItem(line, list_);
        switch (hit.kind) {
        case Hit::Kind::opr: item->setIcon(QIcon(categorySwatch(facts_->category(hit.pick.opr)))); break;
        case Hit::Kind::var: item->setIcon(themedIcon(QStringLiteral("tensor"))); break;
        case Hit::Kind::command: item->setIcon(hit.action->icon().isNull() ? themedIcon(QStringLiteral("forward")) : hit.action->icon()); break;
        case Hit::Kind::file: item->setIcon(themedIcon(QStringLiteral("file"))); break;
        }
    }
    if (hits_.empty()) {
        auto* item = new QListWidgetItem(tr("Nothing matches."), list_);
        item->setFlags(Qt::NoItemFlags);
        return;
    }
    list_->setCurrentRow(0);
}

void FindAnything::accept() {
    const int row = list_->currentRow();
    if (row < 0 || row >= static_cast<int>(hits_.size())) return;
    const Hit hit = hits_[static_cast<std::size_t>(row)];
    leave();
    switch (hit.kind) {
    case Hit::Kind::opr:
    case Hit::Kind::var: emit picked(hit.pick); break;
    case Hit::Kind::command: hit.action->trigger(); break;
    case Hit::Kind::file: emit fileRequested(hit.path); break;
    }
}

void FindAnything::leave() {
    QWidget* back = before_ && before_->isVisible() && before_->isEnabled() ? before_.data() : parentWidget();
    hide();
    if (back) back->setFocus(Qt::PopupFocusReason);
}

bool FindAnything::eventFilter(QObject* object, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Escape) {
            leave();
            return true;
        }
        if (key == Qt::Key_Return || key == Qt::Key_Enter) {
            accept();
            return true;
        }
        if (key == Qt::Key_Down || key == Qt::Key_Up) {
            const int step = key == Qt::Key_Down ? 1 : -1;
            list_->setCurrentRow(std::clamp(list_->currentRow() + step, 0, std::max(0, list_->count() - 1)));
            return true;
        }
    }
    if (event->type() == QEvent::FocusOut && isVisible() && !list_->hasFocus() && !list_->underMouse()) hide();
    return QFrame::eventFilter(object, event);
}

} // namespace megascope
