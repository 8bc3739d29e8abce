#include "app/gui/graph_controller.h"

#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QInputDialog>
#include <QMenu>
#include <QSettings>
#include <QStackedWidget>

#include <algorithm>
#include <cmath>

#include "graph/traversal.h"
#include "layout/graph_documents.h"
#include "views/common/empty_state.h"
#include "views/common/error_bar.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/graph/execution_order_view.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_export.h"
#include "views/graph/graph_view.h"

namespace megascope {

GraphController::GraphController(GraphView* graph, JobRunner* jobs, Selection* selection, ErrorBar* error, QWidget* window)
    : QObject(window), graph_(graph), selection_(selection), error_(error), window_(window), find_(new FindPanel(graph)), orderStack_(new QStackedWidget(window)),
      order_(new ExecutionOrderView(jobs, orderStack_)) {
    orderStack_->addWidget(order_);
    orderStack_->addWidget(new EmptyState(QStringLiteral("graph"), tr("The order in which operators run, and how long their vars live, appears here."), {}, orderStack_));
    orderStack_->setCurrentIndex(1);
    connect(order_, &ExecutionOrderView::picked, selection_, &Selection::select);
    connect(selection_, &Selection::changed, order_, &ExecutionOrderView::setSelected);
}

QWidget* GraphController::orderPage() const { return orderStack_; }

QAction* GraphController::add(QMenu* menu, const QString& title, const QKeySequence& key, std::function<void()> slot) {
    QAction* action = menu->addAction(title);
    action->setShortcut(key);
    action->setEnabled(facts_ != nullptr);
    connect(action, &QAction::triggered, this, std::move(slot));
    actions_ << action;
    return action;
}

void GraphController::addExportActions(QMenu* menu) {
    add(menu, tr("&Export graph…"), QKeySequence(Qt::CTRL | Qt::Key_E), [this] { exportGraph(); })->setIcon(themedIcon(QStringLiteral("save")));
}

void GraphController::addCopyActions(QMenu* menu) {
    add(menu, tr("Copy graph as &picture"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] { copyPicture(); })->setIcon(themedIcon(QStringLiteral("image")));
    add(menu, tr("Copy graph as &text (DOT)"), {}, [this] { copyText(); });
}

void GraphController::buildMenu(QMenu* menu) {
    menu->addSeparator();
    add(menu, tr("Find in the &graph…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_F), [this] { find_->popUp(); })->setIcon(themedIcon(QStringLiteral("search")));
    add(menu, tr("&Next hit"), QKeySequence(Qt::Key_F3), [this] { find_->next(); });
    add(menu, tr("&Previous hit"), QKeySequence(Qt::SHIFT | Qt::Key_F3), [this] { find_->previous(); });
    menu->addSeparator();
    add(menu, tr("&Upstream of the selection"), QKeySequence(Qt::CTRL | Qt::Key_Up), [this] { showCone(true); });
    add(menu, tr("&Downstream of the selection"), QKeySequence(Qt::CTRL | Qt::Key_Down), [this] { showCone(false); });
    add(menu, tr("Path: start at the selection"), QKeySequence(Qt::CTRL | Qt::Key_P), [this] { markPathStart(); });
    add(menu, tr("Path: to the selection"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P), [this] { showPath(); });
    add(menu, tr("Focus: only the neighbourhood\tSpace"), {}, [this] { graph_->setFocus(graph_->inFocusMode() ? OprId() : selectedOpr()); });
    add(menu, tr("Focus: more neighbours"), QKeySequence(Qt::CTRL | Qt::Key_BracketRight), [this] { changeNeighbours(1); });
    add(menu, tr("Focus: fewer neighbours"), QKeySequence(Qt::CTRL | Qt::Key_BracketLeft), [this] { changeNeighbours(-1); });
    menu->addSeparator();
    add(menu, tr("Toggle &bookmark"), QKeySequence(Qt::CTRL | Qt::Key_B), [this] { toggleBookmark(); });
    QMenu* bookmarks = menu->addMenu(tr("Bookmarks"));
    connect(bookmarks, &QMenu::aboutToShow, this, [this, bookmarks] { fillBookmarks(bookmarks); });
}

OprId GraphController::selectedOpr() const {
    const Pick pick = selection_->current();
    if (pick.var.valid() && facts_) return facts_->graph->var(pick.var).producer;
    return pick.opr;
}

void GraphController::setFacts(std::shared_ptr<const GraphFacts> facts, const QString& path) {
    facts_ = std::move(facts);
    path_ = path;
    pathStart_ = {};
    bookmarks_.clear();
    find_->setFacts(facts_);
    order_->setFacts(facts_);
    orderStack_->setCurrentIndex(facts_ ? 0 : 1);
    for (QAction* action : actions_) action->setEnabled(facts_ != nullptr);
    if (!facts_) return;
    // By name and, where names repeat or are not kept, by number.
    for (const QString& entry : QSettings().value(QStringLiteral("bookmarks/%1").arg(QString::fromLatin1(path_.toUtf8().toBase64(QByteArray::Base64UrlEncoding)))).toStringList()) {
        bool ok = false;
        const auto id = entry.section(QLatin1Char(' '), 0, 0).toUInt(&ok);
        if (ok && id < facts_->graph->oprs().size() && text(facts_->graph->display_name(OprId(id))) == entry.section(QLatin1Char(' '), 1)) bookmarks_.emplace_back(id);
    }
}

void GraphController::setTimes(std::shared_ptr<const OprTimes> times) { find_->setTimes(std::move(times)); }

void GraphController::exportGraph() {
    if (!facts_) return;
    QSettings settings;
    const QString folder = settings.value(QStringLiteral("lastExportFolder")).toString();
    const QString base = path_.isEmpty() ? QStringLiteral("graph") : QFileInfo(path_).completeBaseName();
    const QStringList filters = {tr("SVG, the whole drawing (*.svg)"), tr("PDF, the whole drawing (*.pdf)"), tr("PNG, the whole drawing (*.png)"),
                                 tr("PNG, what the view shows (*.png)"), tr("Graphviz DOT, all operators (*.dot)"), tr("JSON, all operators (*.json)")};
    QString chosen = filters.front();
    QString path = QFileDialog::getSaveFileName(window_, tr("Export graph"), folder + QLatin1Char('/') + base + QStringLiteral(".svg"), filters.join(QStringLiteral(";;")), &chosen);
    if (path.isEmpty()) return;
    settings.setValue(QStringLiteral("lastExportFolder"), QFileInfo(path).absolutePath());
    static const QStringList suffixes = {QStringLiteral("svg"), QStringLiteral("pdf"), QStringLiteral("png"), QStringLiteral("png"), QStringLiteral("dot"), QStringLiteral("json")};
    const qsizetype kind = std::max<qsizetype>(0, filters.indexOf(chosen));
    const bool same = QFileInfo(path).suffix().compare(suffixes[kind], Qt::CaseInsensitive) == 0;
    // A chosen kind decides unless the name says another one.
    static const QStringList known = {QStringLiteral("svg"), QStringLiteral("pdf"), QStringLiteral("png"), QStringLiteral("dot"), QStringLiteral("gv"), QStringLiteral("json")};
    if (!same && !known.contains(QFileInfo(path).suffix().toLower())) path += QLatin1Char('.') + suffixes[kind];
    if (kind == 3 && QFileInfo(path).suffix().toLower() == QLatin1String("png")) {
        if (!graph_->image().save(path, "PNG")) error_->showMessage(ErrorBar::Severity::error, tr("The picture cannot be written to %1.").arg(path));
        return;
    }
    double scale = 0;
    if (QFileInfo(path).suffix().toLower() == QLatin1String("png") && graph_->picture()) {
        const PngSize size = graph_->pngSize(1);
        if (size.scale < 1) {
            bool ok = false;
            const double percent = QInputDialog::getDouble(window_, tr("Export graph"),
                                                           tr("At full size this drawing has %1 × %2 pixels, more than a PNG can hold. SVG and PDF have no such limit.\nScale in percent:")
                                                               .arg(std::llround(size.width)).arg(std::llround(size.height)),
                                                           std::floor(size.scale * 1000) / 10, 0.1, std::floor(size.scale * 1000) / 10, 1, &ok);
            if (!ok) return;
            scale = percent / 100;
        }
    }
    if (const auto written = graph_->exportTo(path, scale); !written) error_->showError(written.error());
    else error_->dismiss();
}

void GraphController::copyPicture() {
    if (!facts_) return;
    QImage whole = graph_->wholeImage();
    QGuiApplication::clipboard()->setImage(whole.isNull() ? graph_->image() : whole);
    if (whole.isNull()) error_->showMessage(ErrorBar::Severity::warning, tr("The whole drawing is too large for a picture; what the view shows was copied. File ▸ Export graph… writes it whole."));
}

void GraphController::copyText() {
    if (graph_->picture()) QGuiApplication::clipboard()->setText(QString::fromStdString(graph_as_dot(*graph_->picture()->scene.structure)));
}

void GraphController::showCone(bool up) {
    const OprId opr = selectedOpr();
    if (!facts_ || !opr.valid()) return;
    std::vector<OprId> cone = up ? upstream(*facts_->graph, opr) : downstream(*facts_->graph, opr);
    std::erase_if(cone, [this](OprId id) { return facts_->is_constant(id); });
    const auto n = static_cast<int>(cone.size());
    const QString name = text(facts_->graph->display_name(opr));
    find_->showOprs(up ? tr("%1 depends on %n operators", nullptr, n).arg(name) : tr("%n operators depend on %1", nullptr, n).arg(name), std::move(cone));
}

void GraphController::markPathStart() {
    pathStart_ = selectedOpr();
    if (pathStart_.valid()) graph_->setFound({pathStart_});
}

void GraphController::showPath() {
    const OprId end = selectedOpr();
    if (!facts_ || !end.valid()) return;
    if (!pathStart_.valid()) return error_->showMessage(ErrorBar::Severity::warning, tr("Select where the path starts and choose “Path: start at the selection” first."));
    std::vector<OprId> ways = between(*facts_->graph, pathStart_, end);
    if (ways.empty()) ways = between(*facts_->graph, end, pathStart_);
    const auto n = static_cast<int>(ways.size());
    const QString from = text(facts_->graph->display_name(pathStart_)), to = text(facts_->graph->display_name(end));
    find_->showOprs(n == 0 ? tr("No data runs between %1 and %2.").arg(from, to) : tr("%n operators between %1 and %2", nullptr, n).arg(from, to), std::move(ways));
}

void GraphController::changeNeighbours(int step) {
    if (!graph_->focus().valid() && selectedOpr().valid()) graph_->setFocus(selectedOpr());
    else graph_->setFocusNeighbours(graph_->focusNeighbours() + step);
}

void GraphController::toggleBookmark() {
    const OprId opr = selectedOpr();
    if (!facts_ || !opr.valid()) return;
    const auto at = std::find(bookmarks_.begin(), bookmarks_.end(), opr);
    if (at == bookmarks_.end()) bookmarks_.push_back(opr);
    else bookmarks_.erase(at);
    saveBookmarks();
}

void GraphController::saveBookmarks() const {
    QStringList entries;
    for (const OprId opr : bookmarks_) entries << QStringLiteral("%1 %2").arg(opr.value()).arg(text(facts_->graph->display_name(opr)));
    // Paths hold slashes, which settings take for groups.
    QSettings().setValue(QStringLiteral("bookmarks/%1").arg(QString::fromLatin1(path_.toUtf8().toBase64(QByteArray::Base64UrlEncoding))), entries);
}

void GraphController::fillBookmarks(QMenu* menu) {
    menu->clear();
    if (bookmarks_.empty()) menu->addAction(tr("Ctrl+B puts a bookmark on the selected operator"))->setEnabled(false);
    for (const OprId opr : bookmarks_)
        menu->addAction(QStringLiteral("%1   %2").arg(text(facts_->graph->type_text(opr)), text(facts_->graph->display_name(opr))), this, [this, opr] { selection_->select(Pick::of(opr)); });
}

} // namespace megascope
