#pragma once

#include <QWidget>

#include <memory>
#include <optional>

#include "exec/memory/plan_curve.h"

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QPushButton;
class QSpinBox;
class QStackedWidget;

namespace megascope {

class BudgetCurveView;

/// Settings of the plans that compute again instead of keeping: MegEngine's SublinearMemoryConfig and DTRConfig under their own names
/// and with their own defaults, DTR's eviction_threshold in MiB or in percent of the plain peak. Below, what each budget would cost.
class MemoryWhatIf : public QWidget {
    Q_OBJECT
public:
    /// What is asked for. A threshold in percent becomes bytes once the plain peak is known.
    struct Request {
        RecomputeConfig config;
        std::optional<double> threshold_percent;

        /// The config for a graph with this plain peak.
        [[nodiscard]] RecomputeConfig forPeak(std::size_t plainPeak) const;
        /// "DTR, eviction_threshold 60 %".
        [[nodiscard]] QString title() const;
    };

    explicit MemoryWhatIf(QWidget* parent = nullptr);

    [[nodiscard]] Request request() const;
    /// Null: none was asked for yet.
    void setCurve(std::shared_ptr<const BudgetCurve> curve);
    /// While plans are made the buttons become one that stops them.
    void setPlanning(bool planning);
    /// A sentence below the settings: why nothing came of a plan.
    void setNote(const QString& note);

    [[nodiscard]] QComboBox* method() const { return method_; }
    [[nodiscard]] QDoubleSpinBox* threshold() const { return threshold_; }
    [[nodiscard]] QComboBox* thresholdUnit() const { return unit_; }
    [[nodiscard]] QSpinBox* minimumSize() const { return minimumSize_; }
    [[nodiscard]] QSpinBox* lowerBound() const { return lowerBound_; }
    [[nodiscard]] QPushButton* planButton() const { return plan_; }
    [[nodiscard]] QPushButton* curveButton() const { return curve_; }
    [[nodiscard]] BudgetCurveView* curveView() const { return curveView_; }

signals:
    void planRequested();
    void curveRequested();
    void stopRequested();

private:
    void changeUnit();
    void useBudget(std::size_t bytes);

    QComboBox* method_;
    QStackedWidget* fields_;
    QDoubleSpinBox* threshold_;
    QComboBox* unit_;
    QSpinBox* minimumSize_;
    QDoubleSpinBox* memoryFactor_;
    QDoubleSpinBox* timeFactor_;
    QSpinBox* tries_;
    QSpinBox* geneticRounds_;
    QSpinBox* geneticPool_;
    QSpinBox* lowerBound_;
    QSpinBox* workers_;
    QPushButton* plan_;
    QPushButton* curve_;
    QLabel* note_;
    BudgetCurveView* curveView_;
    bool planning_ = false;
};

} // namespace megascope
