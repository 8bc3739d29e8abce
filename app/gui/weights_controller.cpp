#include "app/gui/weights_controller.h"

#include <QAction>
#include <QFileDialog>
#include <QMenu>
#include <QTableView>

#include <filesystem>
#include <numeric>

#include "tensor/npz_writer.h"
#include "views/common/error_bar.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/table/table_page.h"
#include "views/table/var_table_model.h"

namespace megascope {

namespace {

const QString slot = QStringLiteral("weights/statistics");

/// A copy keeps the file's bytes alive, not the graph's tables.
std::vector<StoredTensor> tensorsOf(const WeightTableModel& model, const std::vector<int>& rows) {
    std::vector<StoredTensor> tensors;
    tensors.reserve(rows.size());
    for (const int row : rows) tensors.push_back(model.tensor(row));
    return tensors;
}

std::vector<int> allRows(const WeightTableModel& model) {
    std::vector<int> rows(static_cast<std::size_t>(model.sourceRows()));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

} // namespace

WeightsController::WeightsController(JobRunner* jobs, TablePage* page, WeightTableModel* model, ErrorBar* errors, QObject* parent)
    : QObject(parent), jobs_(jobs), page_(page), model_(model), errors_(errors) {
    all_ = new QAction(tr("All &weights (.npz)…"), this);
    all_->setObjectName(QStringLiteral("exportWeights"));
    chosen_ = new QAction(themedIcon(QStringLiteral("save")), tr("Save chosen weights (.npz)…"), this);
    chosen_->setObjectName(QStringLiteral("exportChosenWeights"));
    page_->addRowAction(chosen_);
    connect(all_, &QAction::triggered, this, [this] { choose(allRows(*model_)); });
    connect(chosen_, &QAction::triggered, this, [this] { choose(page_->chosenRows()); });
    connect(model_, &QAbstractItemModel::modelReset, this, &WeightsController::updateActions);
    connect(page_->view()->selectionModel(), &QItemSelectionModel::selectionChanged, this, &WeightsController::updateActions);
    updateActions();
}

void WeightsController::addActions(QMenu* menu) { menu->addAction(all_); }

void WeightsController::updateActions() {
    all_->setEnabled(model_->sourceRows() > 0);
    chosen_->setEnabled(page_->view()->selectionModel()->hasSelection());
}

void WeightsController::look() {
    if (!page_->isVisible() || model_->sourceRows() == 0 || model_->hasStatistics()) return;
    jobs_->start<WeightStatistics>(
        slot, tr("Statistics of the weights"),
        [tensors = tensorsOf(*model_, allRows(*model_))](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const WeightStatistics>> {
            auto all = std::make_shared<WeightStatistics>(tensors.size());
            for (std::size_t i = 0; i < tensors.size(); ++i) {
                progress.report("counting", i, tensors.size());
                const auto value = tensors[i].value();
                if (!value) continue;
                MGS_ASSIGN((*all)[i], tensor_statistics(value->aligned(), 0, cancel));
            }
            return all;
        },
        this,
        [this, first = model_->sourceRows() > 0 ? model_->tensor(0).data : nullptr](JobRunner::Result<WeightStatistics> made) {
            const bool same = made && static_cast<int>((*made)->size()) == model_->sourceRows() && model_->sourceRows() > 0 && model_->tensor(0).data == first;
            if (!same) return;
            model_->setStatistics(*made);
            page_->widenColumns();
        });
}

void WeightsController::choose(const std::vector<int>& rows) {
    if (rows.empty()) return;
    QString suggestion = rows.size() == 1 ? model_->nameOf(rows.front()) : QStringLiteral("weights");
    suggestion.replace(QLatin1Char('/'), QLatin1Char('_'));
    const QString path = QFileDialog::getSaveFileName(page_, tr("Save weights"), suggestion + QStringLiteral(".npz"), tr("NumPy archives (*.npz)"));
    if (!path.isEmpty()) save(rows, path);
}

void WeightsController::save(const std::vector<int>& rows, const QString& path) {
    std::vector<NpzMember> members;
    for (const int row : rows) {
        const std::string name = model_->nameOf(row).toStdString();
        members.push_back({name, [name, tensor = model_->tensor(row)]() -> Expected<Tensor> {
                               auto value = tensor.value();
                               if (!value) return fail_in(ErrorCode::corrupt, "Its bytes in the file do not fit its shape and dtype.", name);
                               return value->aligned();
                           }});
    }
    struct Written {};
    jobs_->start<Written>(
        QStringLiteral("weights/save"), tr("Saving weights"),
        [members = std::move(members), path](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const Written>> {
            // Quantized weights as the integers that are stored: the archive has no place for a scale.
            MGS_TRY(write_npz(std::filesystem::path(path.toStdU16String()), members, NpyQuantized::stored, cancel, progress));
            return std::make_shared<const Written>();
        },
        this,
        [this, path](JobRunner::Result<Written> result) {
            if (result) emit written(path);
            else if (result.error().code != ErrorCode::cancelled) errors_->showError(result.error());
        });
}

} // namespace megascope
