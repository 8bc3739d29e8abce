#include "views/profile/memory_panel.h"

#include <QGraphicsOpacityEffect>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <array>

#include "views/common/category_legend.h"
#include "views/common/empty_state.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/profile/memory_view.h"
#include "views/profile/memory_what_if.h"

namespace megascope {

namespace {

enum RowColumn { rowTitle, rowPeak, rowChange, rowExtra };
enum OwnerColumn { ownerName, ownerBytes, ownerShare, ownerSteps };

double change(const std::vector<MemoryRow>& rows, int row) {
    const auto first = static_cast<double>(rows.front().map->peak);
    return first > 0 ? static_cast<double>(rows[static_cast<std::size_t>(row)].map->peak) / first - 1 : 0;
}

QTableView* makeTable(TableModel* model, const QString& name, QWidget* parent) {
    auto* table = new QTableView(parent);
    table->setModel(model);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setShowGrid(false);
    table->setWordWrap(false);
    table->setFrameShape(QFrame::NoFrame);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    table->setAccessibleName(name);
    return table;
}

} // namespace

MemoryRowModel::MemoryRowModel(QObject* parent)
    : TableModel({{"plan", tr("Plan"), {}, false, true, {}},
                  {"peak", tr("Peak"), {}, true, true, tr("Most bytes of vars that are alive together")},
                  {"change", tr("Change"), {}, true, true, tr("Of the peak, compared with the first row")},
                  {"extra", tr("Extra"), {}, true, true, tr("Operations that are computed again")}},
                 parent) {}

void MemoryRowModel::setRows(const std::vector<MemoryRow>* rows) {
    beginSourceReset();
    rows_ = rows;
    endSourceReset();
}

QString MemoryRowModel::cellText(int row, int column) const {
    const MemoryRow& r = (*rows_)[static_cast<std::size_t>(row)];
    switch (column) {
    case rowTitle: return r.title;
    case rowPeak: return bytesText(static_cast<double>(r.map->peak));
    case rowChange: return row == 0 ? QString() : QStringLiteral("%1 %").arg(100 * change(*rows_, row), 0, 'f', 1).prepend(change(*rows_, row) > 0 ? QStringLiteral("+") : QString());
    case rowExtra: return r.extraComputation ? siText(*r.extraComputation, "FLOP") : QString();
    }
    return {};
}

QString MemoryRowModel::cellExact(int row, int column) const {
    const MemoryRow& r = (*rows_)[static_cast<std::size_t>(row)];
    switch (column) {
    case rowTitle: return r.help.isEmpty() ? r.title : r.title + QLatin1Char('\n') + r.help;
    case rowPeak: return tr("%1 bytes at step %2").arg(r.map->peak).arg(r.map->peak_step);
    default: return cellText(row, column);
    }
}

TableModel::SortKey MemoryRowModel::cellKey(int row, int column) const {
    const MemoryRow& r = (*rows_)[static_cast<std::size_t>(row)];
    switch (column) {
    case rowPeak: return static_cast<double>(r.map->peak);
    case rowChange: return change(*rows_, row);
    case rowExtra:
        if (!r.extraComputation) return std::monostate();
        return *r.extraComputation;
    default: return r.title;
    }
}

MemoryOwnerModel::MemoryOwnerModel(QObject* parent)
    : TableModel({{"name", tr("Owner"), {}, false, true, {}},
                  {"bytes", tr("Bytes"), {}, true, true, {}},
                  {"share", tr("Share"), {}, true, true, tr("Of the bytes alive at this step")},
                  {"steps", tr("Steps"), {}, true, true, tr("From the step that takes the memory to the last one that uses it")}},
                 parent) {}

void MemoryOwnerModel::show(std::shared_ptr<const MemoryMap> map, std::uint32_t step) {
    beginSourceReset();
    map_ = std::move(map);
    blocks_ = map_ && step < map_->steps.size() ? map_->alive_at(step) : std::vector<std::uint32_t>();
    alive_ = map_ && step < map_->live.size() ? map_->live[step] : 0;
    endSourceReset();
}

QString MemoryOwnerModel::cellText(int row, int column) const {
    const MemoryBlock& b = map_->blocks[block(row)];
    switch (column) {
    case ownerName: return b.kind == MemoryBlock::Kind::workspace ? tr("%1 (workspace)").arg(text(b.name)) : text(b.name);
    case ownerBytes: return bytesText(static_cast<double>(b.bytes));
    case ownerShare: return alive_ > 0 ? QString::number(100.0 * static_cast<double>(b.bytes) / static_cast<double>(alive_), 'f', 1) + QStringLiteral(" %") : QString();
    case ownerSteps: return QStringLiteral("%1–%2").arg(b.first).arg(b.last);
    }
    return {};
}

QString MemoryOwnerModel::cellExact(int row, int column) const {
    if (column == ownerBytes) return tr("%1 bytes").arg(map_->blocks[block(row)].bytes);
    return cellText(row, column);
}

TableModel::SortKey MemoryOwnerModel::cellKey(int row, int column) const {
    const MemoryBlock& b = map_->blocks[block(row)];
    if (column == ownerName) return text(b.name);
    return column == ownerSteps ? static_cast<double>(b.first) : static_cast<double>(b.bytes);
}

MemoryPanel::MemoryPanel(QWidget* parent)
    : QWidget(parent), stack_(new QStackedWidget(this)), view_(new MemoryView(this)), rowModel_(new MemoryRowModel(this)), ownerModel_(new MemoryOwnerModel(this)), ownerTitle_(new QLabel(this)),
      notes_(new QLabel(this)), legend_(new CategoryLegend(this)), whatIfButton_(new QToolButton(this)), whatIf_(new MemoryWhatIf(this)) {
    rowTable_ = makeTable(rowModel_, tr("Plans and measurements"), this);
    ownerTable_ = makeTable(ownerModel_, tr("Who owns the memory at this step"), this);
    ownerTitle_->setContentsMargins(8, 6, 8, 2);
    notes_->setForegroundRole(QPalette::PlaceholderText);
    notes_->setWordWrap(true);
    notes_->setContentsMargins(8, 2, 8, 4);

    auto* left = new QWidget(this);
    auto* drawing = new QVBoxLayout(left);
    drawing->setContentsMargins(4, 4, 0, 0);
    drawing->setSpacing(2);
    drawing->addWidget(view_, 1);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(8, 2, 8, 2);
    foot->addWidget(legend_, 1);
    drawing->addLayout(foot);
    drawing->addWidget(notes_);
    auto* lower = new QWidget(this);
    auto* owners = new QVBoxLayout(lower);
    owners->setContentsMargins(0, 0, 0, 0);
    owners->setSpacing(0);
    owners->addWidget(ownerTitle_);
    owners->addWidget(ownerTable_, 1);
    auto* right = new QSplitter(Qt::Vertical, this);
    auto* upper = new QWidget(this);
    auto* plans = new QVBoxLayout(upper);
    plans->setContentsMargins(0, 0, 0, 0);
    plans->setSpacing(0);
    plans->addWidget(rowTable_, 1);
    whatIfButton_->setText(tr("What if…"));
    whatIfButton_->setToolTip(tr("Plans that compute values again instead of keeping them, with settings of your own"));
    whatIfButton_->setCheckable(true);
    whatIfButton_->setAutoRaise(true);
    whatIfButton_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    whatIfButton_->setArrowType(Qt::RightArrow);
    plans->addWidget(whatIfButton_, 0, Qt::AlignLeft);
    plans->addWidget(whatIf_);
    whatIf_->hide();
    right->addWidget(upper);
    right->addWidget(lower);
    right->setStretchFactor(0, 2);
    right->setStretchFactor(1, 3);
    right->setChildrenCollapsible(false);
    auto* whole = new QSplitter(this);
    whole->addWidget(left);
    whole->addWidget(right);
    whole->setStretchFactor(0, 3);
    whole->setStretchFactor(1, 2);
    whole->setSizes({600, 360});
    auto* empty = new EmptyState(QStringLiteral("columns"), tr("Which var takes memory when, and who owns the peak, appears here for an open model, a profile with memory chunks, or static memory info."), tr("Open…"), this);
    connect(empty, &EmptyState::requested, this, &MemoryPanel::openRequested);
    stack_->addWidget(whole);
    stack_->addWidget(empty);
    stack_->setCurrentIndex(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(stack_);

    connect(rowTable_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
        if (index.isValid()) showRow(rowModel_->sourceRow(index.row()));
    });
    connect(whatIfButton_, &QToolButton::toggled, this, [this](bool open) {
        whatIfButton_->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
        whatIf_->setVisible(open);
    });
    connect(ownerTable_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
        if (!index.isValid()) return;
        const std::uint32_t block = ownerModel_->block(ownerModel_->sourceRow(index.row()));
        view_->setHighlighted({block});
        emit picked(pickOf(block));
    });
    connect(view_, &MemoryView::stepPicked, this, &MemoryPanel::showStep);
    connect(view_, &MemoryView::blockPicked, this, [this](std::uint32_t block) { emit picked(pickOf(block)); });
    connect(view_, &MemoryView::blockHovered, this, [this](std::optional<std::uint32_t> block) { emit hovered(block ? pickOf(*block) : Pick()); });
}

Pick MemoryPanel::pickOf(std::uint32_t block) const {
    const MemoryBlock& b = view_->map()->blocks[block];
    if (b.var.valid()) return Pick::of(b.var);
    return b.opr.valid() ? Pick::of(b.opr) : Pick();
}

void MemoryPanel::setRows(std::vector<MemoryRow> rows, std::shared_ptr<const GraphFacts> facts) {
    const QString before = current_ >= 0 ? rows_[static_cast<std::size_t>(current_)].title : QString();
    rowModel_->setRows(nullptr);
    current_ = -1;
    rows_ = std::move(rows);
    facts_ = std::move(facts);
    setWaiting(false);
    rowModel_->setRows(rows_.empty() ? nullptr : &rows_);
    stack_->setCurrentIndex(rows_.empty() ? 1 : 0);
    // Colours are worked out once, not for every block of every picture.
    std::array<std::array<QColor, 2>, static_cast<std::size_t>(OprCategory::other) + 1> fills;
    for (std::size_t i = 0; i < fills.size(); ++i)
        for (const bool dark : {false, true}) fills[i][dark] = categoryFill(static_cast<OprCategory>(i), dark);
    view_->setColour([this, fills, facts = facts_](const MemoryBlock& block) {
        const OprCategory category = facts && block.opr.valid() && block.opr.index() < facts->graph->oprs().size() ? facts->category(block.opr) : OprCategory::data;
        return fills[static_cast<std::size_t>(category)][isDark(view_->palette())];
    });
    showRow(rows_.empty() ? -1 : std::max(0, rowOf(before)));
}

void MemoryPanel::showRow(int row) {
    if (row == current_ && row >= 0) return;
    current_ = row;
    const std::shared_ptr<const MemoryMap> map = row >= 0 ? rows_[static_cast<std::size_t>(row)].map : nullptr;
    view_->setMap(map);
    std::vector<OprCategory> categories;
    QStringList notes;
    if (map) {
        for (const MemoryBlock& block : map->blocks)
            if (facts_ && block.opr.valid() && block.opr.index() < facts_->graph->oprs().size()) categories.push_back(facts_->category(block.opr));
        notes << tr("Area %1; apart: weights %2, inputs %3.").arg(bytesText(static_cast<double>(map->area)), bytesText(static_cast<double>(map->weight_bytes)), bytesText(static_cast<double>(map->input_bytes)));
        for (const std::string& note : map->notes) notes << text(note);
        for (int visible = 0; visible < rowModel_->rowCount(); ++visible)
            if (rowModel_->sourceRow(visible) == row && rowTable_->currentIndex().row() != visible) rowTable_->selectRow(visible);
    }
    legend_->setCategories(categories);
    legend_->setVisible(!categories.empty());
    notes_->setText(notes.join(QLatin1Char(' ')));
    notes_->setVisible(!notes.isEmpty());
    showStep(map ? map->peak_step : 0);
}

void MemoryPanel::showStep(std::uint32_t step) {
    const std::shared_ptr<const MemoryMap> map = current_ >= 0 ? rows_[static_cast<std::size_t>(current_)].map : nullptr;
    ownerModel_->show(map, step);
    if (!map || map->steps.empty()) {
        ownerTitle_->clear();
        return;
    }
    const QString bytes = bytesText(static_cast<double>(map->live[step]));
    ownerTitle_->setText(step == map->peak_step ? tr("Alive at the peak, step %1: %2").arg(step).arg(bytes) : tr("Alive at step %1: %2").arg(step).arg(bytes));
    ownerTitle_->setToolTip(text(map->steps[step]));
}

void MemoryPanel::setHighlighted(Pick pick) {
    const MemoryMap* map = view_->map();
    if (!map) return;
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < map->blocks.size(); ++i) {
        const MemoryBlock& block = map->blocks[i];
        const bool of_var = pick.var.valid() && (block.var == pick.var || std::ranges::find(block.sharing, pick.var) != block.sharing.end());
        bool of_opr = pick.opr.valid() && block.opr == pick.opr;
        // In place and forwarded: the memory that the operator writes was taken by another one.
        if (!of_opr && pick.opr.valid() && facts_)
            for (const VarId var : block.sharing) of_opr = of_opr || facts_->graph->var(var).producer == pick.opr;
        // Measured blocks know their operator only.
        const bool of_producer = pick.var.valid() && !block.var.valid() && facts_ && block.opr == facts_->graph->var(pick.var).producer;
        if (of_var || of_opr || of_producer) found.push_back(i);
    }
    view_->setHighlighted(std::move(found));
}

int MemoryPanel::rowOf(const QString& title) const {
    for (std::size_t i = 0; i < rows_.size(); ++i)
        if (rows_[i].title == title) return static_cast<int>(i);
    return -1;
}

void MemoryPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    emit shown();
}

void MemoryPanel::setWaiting(bool waiting) {
    if (waiting == (view_->graphicsEffect() != nullptr)) return;
    if (!waiting) {
        view_->setGraphicsEffect(nullptr);
        return;
    }
    auto* dim = new QGraphicsOpacityEffect(view_);
    dim->setOpacity(0.5);
    view_->setGraphicsEffect(dim);
}

} // namespace megascope
