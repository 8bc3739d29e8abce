#include "views/tensor/tensor_view.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QCoreApplication>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include "tensor/npy.h"
#include "views/common/error_bar.h"
#include "views/common/icon.h"
#include "views/common/job_runner.h"
#include "views/common/number_text.h"
#include "views/tensor/histogram_widget.h"
#include "views/tensor/image_widget.h"
#include "views/tensor/tensor_grid_model.h"

namespace megascope {

namespace {

constexpr std::size_t histogramBins = 64;

QToolButton* modeButton(const QString& icon, const QString& text, QWidget* parent) {
    auto* button = new QToolButton(parent);
    button->setIcon(themedIcon(icon));
    button->setToolTip(text);
    button->setAccessibleName(text);
    button->setCheckable(true);
    button->setAutoRaise(true);
    return button;
}

} // namespace

QString statisticsSentence(const TensorStatistics& s) {
    const auto tr = [](const char* t) { return QCoreApplication::translate("megascope::TensorView", t); };
    if (s.count == 0) return tr("empty");
    QString line;
    if (s.finite() > 0)
        line = tr("min %1 · max %2 · mean %3 · sd %4").arg(numberText(s.min, 4), numberText(s.max, 4), numberText(s.mean, 4), numberText(s.sd, 4));
    const auto add = [&](const QString& part) { line += (line.isEmpty() ? QString() : QStringLiteral(" · ")) + part; };
    if (s.zeros) add(tr("%1 % zeros").arg(100.0 * static_cast<double>(s.zeros) / static_cast<double>(s.count), 0, 'f', 1));
    if (s.nan) add(tr("%1 NaN").arg(countText(s.nan)));
    if (s.inf) add(tr("%1 infinite").arg(countText(s.inf)));
    return line;
}

TensorView::TensorView(JobRunner* jobs, QWidget* parent)
    : QWidget(parent), jobs_(jobs), slot_(QStringLiteral("tensor-%1/").arg(reinterpret_cast<quintptr>(this), 0, 16)) {
    grid_ = new TensorGridModel(this);
    error_ = new ErrorBar(this);
    title_ = new QLabel(this);
    title_->setTextFormat(Qt::PlainText);
    title_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    statistics_ = new QLabel(this);
    statistics_->setWordWrap(true);
    statistics_->setForegroundRole(QPalette::PlaceholderText);
    statistics_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    statistics_->setObjectName(QStringLiteral("statistics"));
    for (QLabel* label : {title_, statistics_}) label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);

    modes_ = new QButtonGroup(this);
    auto* numbersButton = modeButton(QStringLiteral("tensor"), tr("Numbers"), this);
    auto* histogramButton = modeButton(QStringLiteral("histogram"), tr("Histogram"), this);
    imageButton_ = modeButton(QStringLiteral("image"), tr("Picture"), this);
    modes_->addButton(numbersButton, static_cast<int>(Mode::numbers));
    modes_->addButton(histogramButton, static_cast<int>(Mode::histogram));
    modes_->addButton(imageButton_, static_cast<int>(Mode::image));
    stored_ = new QCheckBox(tr("stored numbers"), this);
    stored_->setToolTip(tr("Show the quantized numbers instead of the real values"));
    stored_->hide();
    auto* saveButton = new QToolButton(this);
    saveButton->setIcon(themedIcon(QStringLiteral("save")));
    saveButton->setToolTip(tr("Save as .npy…"));
    saveButton->setAccessibleName(tr("Save as .npy"));
    saveButton->setAutoRaise(true);

    sliceBar_ = new QWidget(this);
    sliceLayout_ = new QHBoxLayout(sliceBar_);
    sliceLayout_->setContentsMargins(0, 0, 0, 0);
    sliceLayout_->setSpacing(4);

    numbers_ = new QTableView(this);
    numbers_->setObjectName(QStringLiteral("numbers"));
    numbers_->setModel(grid_);
    numbers_->setFrameShape(QFrame::NoFrame);
    numbers_->setWordWrap(false);
    numbers_->setShowGrid(false);
    numbers_->setAlternatingRowColors(true);
    numbers_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    numbers_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    for (QHeaderView* header : {numbers_->horizontalHeader(), numbers_->verticalHeader()}) {
        header->setSectionResizeMode(QHeaderView::Fixed); // sizes of a million rows are not measured
        header->setHighlightSections(false);
    }
    numbers_->horizontalHeader()->setDefaultSectionSize(fontMetrics().horizontalAdvance(QStringLiteral("-0.00012345e")) + 12);
    numbers_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
    histogram_ = new HistogramWidget(this);
    image_ = new ImageWidget(this);
    pages_ = new QStackedWidget(this);
    pages_->addWidget(numbers_);
    pages_->addWidget(histogram_);
    pages_->addWidget(image_);

    auto* bar = new QHBoxLayout;
    bar->setSpacing(4);
    bar->addWidget(numbersButton);
    bar->addWidget(histogramButton);
    bar->addWidget(imageButton_);
    bar->addWidget(sliceBar_);
    bar->addWidget(stored_);
    bar->addStretch();
    bar->addWidget(saveButton);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(error_);
    layout->addWidget(title_);
    layout->addWidget(statistics_);
    layout->addLayout(bar);
    layout->addWidget(pages_, 1);

    connect(modes_, &QButtonGroup::idToggled, this, [this](int id, bool on) {
        if (!on) return;
        pages_->setCurrentIndex(id);
        rebuildSlices();
        renderPicture();
    });
    connect(stored_, &QCheckBox::toggled, grid_, &TensorGridModel::setStored);
    connect(saveButton, &QToolButton::clicked, this, &TensorView::save);
    numbersButton->setChecked(true);
}

void TensorView::setCompact(bool compact) {
    compact_ = compact;
    title_->setVisible(!compact);
}

void TensorView::setMode(Mode mode) {
    if (auto* button = modes_->button(static_cast<int>(mode)); button->isEnabled()) button->setChecked(true);
}

void TensorView::setTensor(const Tensor& tensor, const QString& name, const QString& source) {
    error_->dismiss();
    tensor_ = tensor;
    name_ = name;
    grid_->setTensor(tensor_);
    plan_ = tensor_.has_value() && tensor_.elements() > 0 ? planImage(tensor_.shape()) : std::nullopt;
    imageButton_->setEnabled(plan_.has_value());
    if (!plan_ && modes_->checkedId() == static_cast<int>(Mode::image)) setMode(Mode::numbers);
    stored_->setVisible(tensor_.dtype().is_quantized());
    title_->setText(QStringLiteral("%1   %2  %3").arg(name, text(tensor_.shape().text()), text(tensor_.dtype().text())) + (source.isEmpty() ? QString() : QStringLiteral("  ·  ") + source));
    rebuildSlices();
    computeStatistics();
    renderPicture();
}

void TensorView::clear() {
    jobs_->dropSlot(slot_ + QStringLiteral("statistics"));
    jobs_->dropSlot(slot_ + QStringLiteral("picture"));
    tensor_ = {};
    plan_.reset();
    grid_->setTensor({});
    title_->clear();
    statistics_->clear();
    histogram_->clear();
    image_->clear();
    error_->dismiss();
    rebuildSlices();
}

QString TensorView::statisticsText() const { return statistics_->text(); }

std::size_t TensorView::activeSliceAxes() const {
    if (modes_->checkedId() == static_cast<int>(Mode::image)) return plan_ ? plan_->sliceAxes : 0;
    return modes_->checkedId() == static_cast<int>(Mode::numbers) ? grid_->sliceAxes() : 0;
}

void TensorView::rebuildSlices() {
    std::vector<int> before;
    for (QSpinBox* box : sliceBoxes_) before.push_back(box->value());
    qDeleteAll(sliceBar_->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly));
    sliceBoxes_.clear();
    const Shape& shape = tensor_.shape();
    const std::size_t axes = activeSliceAxes();
    const auto label = [this](const QString& s) {
        auto* l = new QLabel(s, sliceBar_);
        l->setForegroundRole(QPalette::PlaceholderText);
        sliceLayout_->addWidget(l);
    };
    if (axes > 0) label(QStringLiteral("["));
    for (std::size_t axis = 0; axis < axes; ++axis) {
        auto* box = new QSpinBox(sliceBar_);
        box->setRange(0, static_cast<int>(std::max<std::int64_t>(shape[axis] - 1, 0)));
        box->setToolTip(tr("Index on axis %1, 0…%2").arg(axis).arg(shape[axis] - 1));
        box->setAccessibleName(tr("Axis %1").arg(axis));
        box->setEnabled(shape[axis] > 1);
        if (axis < before.size()) box->setValue(before[axis]);
        connect(box, &QSpinBox::valueChanged, this, &TensorView::sliceChanged);
        sliceLayout_->addWidget(box);
        sliceBoxes_.push_back(box);
    }
    if (axes > 0) label(QStringLiteral(", …]"));
    sliceBar_->setVisible(axes > 0);
    sliceChanged();
}

void TensorView::sliceChanged() {
    std::array<std::int64_t, Shape::max_ndim> slice{};
    for (std::size_t i = 0; i < sliceBoxes_.size() && i < slice.size(); ++i) slice[i] = sliceBoxes_[i]->value();
    if (modes_->checkedId() == static_cast<int>(Mode::numbers)) grid_->setSlice(slice);
    else renderPicture();
}

void TensorView::showElement(std::size_t element) {
    setMode(Mode::numbers);
    const auto slice = grid_->sliceOfElement(element);
    for (std::size_t i = 0; i < sliceBoxes_.size(); ++i) sliceBoxes_[i]->setValue(static_cast<int>(slice[i]));
    const QModelIndex index = grid_->indexOfElement(element);
    numbers_->setCurrentIndex(index);
    numbers_->scrollTo(index, QAbstractItemView::PositionAtCenter);
}

void TensorView::computeStatistics() {
    statistics_->setText(tr("counting…"));
    histogram_->clear();
    if (!tensor_.has_value()) return;
    jobs_->start<TensorStatistics>(
        slot_ + QStringLiteral("statistics"), tr("Statistics of %1").arg(name_),
        [tensor = tensor_](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const TensorStatistics>> {
            MGS_ASSIGN(TensorStatistics statistics, tensor_statistics(tensor, histogramBins, cancel));
            return std::make_shared<const TensorStatistics>(std::move(statistics));
        },
        this,
        [this](JobRunner::Result<TensorStatistics> result) {
            if (!result) {
                if (result.error().code != ErrorCode::cancelled) error_->showError(result.error());
                statistics_->clear();
                return;
            }
            statistics_->setText(statisticsSentence(**result));
            histogram_->setStatistics(**result);
        });
}

void TensorView::renderPicture() {
    if (!plan_ || modes_->checkedId() != static_cast<int>(Mode::image)) return;
    std::vector<std::int64_t> slice;
    for (QSpinBox* box : sliceBoxes_) slice.push_back(box->value());
    jobs_->start<TensorImage>(
        slot_ + QStringLiteral("picture"), tr("Picture of %1").arg(name_),
        [tensor = tensor_, plan = *plan_, slice](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const TensorImage>> {
            MGS_ASSIGN(TensorImage image, renderImage(tensor, plan, slice, cancel));
            return std::make_shared<const TensorImage>(std::move(image));
        },
        this,
        [this](JobRunner::Result<TensorImage> result) {
            if (result) image_->setImage(**result);
            else if (result.error().code != ErrorCode::cancelled) error_->showError(result.error());
        });
}

void TensorView::save() {
    if (!tensor_.has_value()) return;
    QString suggestion = name_;
    suggestion.replace(QLatin1Char('/'), QLatin1Char('_')).replace(QLatin1Char(':'), QLatin1Char('_'));
    const QString path = QFileDialog::getSaveFileName(this, tr("Save tensor"), suggestion + QStringLiteral(".npy"), tr("NumPy arrays (*.npy)"));
    if (path.isEmpty()) return;
    const auto quantized = stored_->isChecked() ? NpyQuantized::stored : NpyQuantized::real;
    if (const auto written = write_npy(path.toStdString(), tensor_, quantized); !written) error_->showError(written.error());
}

} // namespace megascope
