#include "views/profile/memory_what_if.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>

#include "views/profile/budget_curve_view.h"

namespace megascope {

namespace {

constexpr double mib = 1048576;
enum Method { methodDtr, methodSublinear };
enum Unit { unitPercent, unitMib };

QSpinBox* number(int value, int least, const QString& help, QWidget* parent) {
    auto* box = new QSpinBox(parent);
    box->setRange(least, std::numeric_limits<int>::max());
    box->setValue(value);
    box->setToolTip(help);
    return box;
}

QDoubleSpinBox* real(double value, const QString& help, QWidget* parent) {
    auto* box = new QDoubleSpinBox(parent);
    box->setRange(0, 1e6);
    box->setDecimals(2);
    box->setSingleStep(0.1);
    box->setValue(value);
    box->setToolTip(help);
    return box;
}

/// Labels are MegEngine's names, which are not translated.
void addRow(QFormLayout* form, const char* name, QWidget* field) {
    field->setAccessibleName(QLatin1String(name));
    form->addRow(QLatin1String(name), field);
}

} // namespace

RecomputeConfig MemoryWhatIf::Request::forPeak(std::size_t plainPeak) const {
    RecomputeConfig made = config;
    if (threshold_percent) made.dtr.eviction_threshold = std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(plainPeak) * *threshold_percent / 100));
    return made;
}

QString MemoryWhatIf::Request::title() const {
    if (config.method == RecomputeConfig::Method::sublinear) {
        if (config.sublinear.lb_memory_mb == 0) return MemoryWhatIf::tr("Sublinear memory");
        return MemoryWhatIf::tr("Sublinear memory, not below %1 MiB").arg(config.sublinear.lb_memory_mb);
    }
    const QLocale locale;
    if (threshold_percent) return MemoryWhatIf::tr("DTR above %1 % of the peak").arg(locale.toString(*threshold_percent, 'g', 4));
    return MemoryWhatIf::tr("DTR above %1 MiB").arg(locale.toString(static_cast<double>(config.dtr.eviction_threshold) / mib, 'g', 4));
}

MemoryWhatIf::MemoryWhatIf(QWidget* parent) : QWidget(parent) {
    const SublinearMemoryConfig sublinear;
    const DtrConfig dtr;
    method_ = new QComboBox(this);
    method_->addItem(tr("Dynamic rematerialization (dtr_config)"));
    method_->addItem(tr("Sublinear memory (sublinear_memory_config)"));
    method_->setAccessibleName(tr("Method"));
    fields_ = new QStackedWidget(this);

    auto* dtrPage = new QWidget(fields_);
    auto* dtrForm = new QFormLayout(dtrPage);
    dtrForm->setContentsMargins(0, 0, 0, 0);
    dtrForm->setVerticalSpacing(4);
    threshold_ = real(60, tr("Above this many bytes values are dropped and computed again"), dtrPage);
    threshold_->setAccessibleName(QStringLiteral("eviction_threshold"));
    unit_ = new QComboBox(dtrPage);
    unit_->addItem(tr("% of the peak"));
    unit_->addItem(tr("MiB"));
    unit_->setAccessibleName(tr("Unit of eviction_threshold"));
    auto* budget = new QHBoxLayout;
    budget->setSpacing(4);
    budget->addWidget(threshold_, 1);
    budget->addWidget(unit_);
    dtrForm->addRow(QStringLiteral("eviction_threshold"), budget);
    minimumSize_ = number(static_cast<int>(dtr.evictee_minimum_size), 0, tr("Bytes; smaller values are never dropped"), dtrPage);
    addRow(dtrForm, "evictee_minimum_size", minimumSize_);
    memoryFactor_ = real(dtr.recomp_memory_factor, tr("Weight of the memory that computing again takes"), dtrPage);
    addRow(dtrForm, "recomp_memory_factor", memoryFactor_);
    timeFactor_ = real(dtr.recomp_time_factor, tr("Weight of the time that computing again takes"), dtrPage);
    addRow(dtrForm, "recomp_time_factor", timeFactor_);
    fields_->addWidget(dtrPage);

    auto* sublinearPage = new QWidget(fields_);
    auto* sublinearForm = new QFormLayout(sublinearPage);
    sublinearForm->setContentsMargins(0, 0, 0, 0);
    sublinearForm->setVerticalSpacing(4);
    tries_ = number(sublinear.thresh_nr_try, 0, tr("Block sizes that the threshold search tries"), sublinearPage);
    addRow(sublinearForm, "thresh_nr_try", tries_);
    geneticRounds_ = number(sublinear.genetic_nr_iter, 0, tr("Rounds of the genetic search that follows"), sublinearPage);
    addRow(sublinearForm, "genetic_nr_iter", geneticRounds_);
    geneticPool_ = number(sublinear.genetic_pool_size, 0, tr("Plans that a round of the genetic search keeps"), sublinearPage);
    addRow(sublinearForm, "genetic_pool_size", geneticPool_);
    lowerBound_ = number(sublinear.lb_memory_mb, 0, tr("MiB that are there anyway: below it the plan with the least extra computation wins"), sublinearPage);
    addRow(sublinearForm, "lb_memory_mb", lowerBound_);
    workers_ = number(sublinear.num_worker, 0, tr("Threads that evaluate plans"), sublinearPage);
    workers_->setSpecialValueText(tr("half of the cores"));
    addRow(sublinearForm, "num_worker", workers_);
    for (QSpinBox* box : {tries_, geneticRounds_, geneticPool_, workers_}) box->setMaximum(10000);
    fields_->addWidget(sublinearPage);

    plan_ = new QPushButton(tr("Plan"), this);
    plan_->setToolTip(tr("Plans memory with these settings and shows the plan in the list"));
    curve_ = new QPushButton(tr("Curve"), this);
    curve_->setToolTip(tr("Plans for every tenth of the peak: how much is computed again for how much memory"));
    note_ = new QLabel(this);
    note_->setWordWrap(true);
    note_->setForegroundRole(QPalette::PlaceholderText);
    note_->hide();
    curveView_ = new BudgetCurveView(this);
    curveView_->hide();

    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(plan_);
    buttons->addWidget(curve_);
    buttons->addStretch(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 4, 8, 8);
    layout->setSpacing(8);
    layout->addWidget(method_);
    layout->addWidget(fields_);
    layout->addLayout(buttons);
    layout->addWidget(note_);
    layout->addWidget(curveView_);

    connect(method_, &QComboBox::currentIndexChanged, this, [this](int index) {
        fields_->setCurrentIndex(index);
        setCurve(nullptr); // it is the other method's
    });
    connect(unit_, &QComboBox::currentIndexChanged, this, &MemoryWhatIf::changeUnit);
    connect(plan_, &QPushButton::clicked, this, [this] {
        if (planning_) emit stopRequested();
        else emit planRequested();
    });
    connect(curve_, &QPushButton::clicked, this, &MemoryWhatIf::curveRequested);
    connect(curveView_, &BudgetCurveView::budgetPicked, this, &MemoryWhatIf::useBudget);
    changeUnit();
}

MemoryWhatIf::Request MemoryWhatIf::request() const {
    Request request;
    RecomputeConfig& config = request.config;
    config.method = method_->currentIndex() == methodSublinear ? RecomputeConfig::Method::sublinear : RecomputeConfig::Method::dtr;
    config.sublinear.thresh_nr_try = tries_->value();
    config.sublinear.genetic_nr_iter = geneticRounds_->value();
    config.sublinear.genetic_pool_size = geneticPool_->value();
    config.sublinear.lb_memory_mb = lowerBound_->value();
    config.sublinear.num_worker = workers_->value();
    config.dtr.evictee_minimum_size = static_cast<std::size_t>(minimumSize_->value());
    config.dtr.recomp_memory_factor = memoryFactor_->value();
    config.dtr.recomp_time_factor = timeFactor_->value();
    if (unit_->currentIndex() == unitPercent) request.threshold_percent = threshold_->value();
    else config.dtr.eviction_threshold = std::max<std::size_t>(1, static_cast<std::size_t>(threshold_->value() * mib));
    return request;
}

void MemoryWhatIf::changeUnit() {
    const bool percent = unit_->currentIndex() == unitPercent;
    threshold_->setRange(percent ? 1 : 0.01, percent ? 100 : 1e7);
    threshold_->setSingleStep(percent ? 5 : 1);
    threshold_->setDecimals(percent ? 1 : 2);
}

void MemoryWhatIf::useBudget(std::size_t bytes) {
    if (method_->currentIndex() == methodSublinear) {
        lowerBound_->setValue(static_cast<int>(bytes >> 20));
    } else {
        unit_->setCurrentIndex(unitMib);
        threshold_->setValue(static_cast<double>(bytes) / mib);
    }
    emit planRequested();
}

void MemoryWhatIf::setCurve(std::shared_ptr<const BudgetCurve> curve) { curveView_->setCurve(std::move(curve)); }

void MemoryWhatIf::setPlanning(bool planning) {
    planning_ = planning;
    plan_->setText(planning ? tr("Stop") : tr("Plan"));
    curve_->setEnabled(!planning);
}

void MemoryWhatIf::setNote(const QString& note) {
    note_->setText(note);
    note_->setVisible(!note.isEmpty());
}

} // namespace megascope
