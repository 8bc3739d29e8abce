#pragma once

#include <QWidget>

#include <memory>
#include <vector>

#include "tensor/statistics.h"
#include "tensor/tensor.h"
#include "views/tensor/tensor_image.h"

class QButtonGroup;
class QCheckBox;
class QHBoxLayout;
class QLabel;
class QSpinBox;
class QStackedWidget;
class QTableView;
class QToolButton;

namespace megascope {

class ErrorBar;
class HistogramWidget;
class ImageWidget;
class JobRunner;
class TensorGridModel;

/// A tensor's value: statistics, numbers, histogram, picture. Statistics and pictures are computed by jobs.
class TensorView : public QWidget {
    Q_OBJECT
public:
    enum class Mode { numbers, histogram, image };

    TensorView(JobRunner* jobs, QWidget* parent = nullptr);

    /// Fewer labels, for docks.
    void setCompact(bool compact);
    /// `source` says where the value is from: "stored in the file"; may be empty.
    void setTensor(const Tensor& tensor, const QString& name, const QString& source = {});
    void clear();
    void setMode(Mode mode);
    /// Shows and selects one element in the numbers.
    void showElement(std::size_t element);
    [[nodiscard]] const Tensor& tensor() const { return tensor_; }
    [[nodiscard]] TensorGridModel* model() const { return grid_; }
    [[nodiscard]] QString statisticsText() const;

public slots:
    void save();

private:
    void computeStatistics();
    void renderPicture();
    void rebuildSlices();
    void sliceChanged();
    [[nodiscard]] std::size_t activeSliceAxes() const;

    JobRunner* jobs_;
    QString slot_; ///< this view's own prefix of job slots
    bool compact_ = false;
    Tensor tensor_;
    QString name_;
    std::optional<ImagePlan> plan_;
    TensorGridModel* grid_;
    ErrorBar* error_;
    QLabel* title_;
    QLabel* statistics_;
    QWidget* sliceBar_;
    QHBoxLayout* sliceLayout_;
    std::vector<QSpinBox*> sliceBoxes_;
    QButtonGroup* modes_;
    QToolButton* imageButton_;
    QCheckBox* stored_;
    QStackedWidget* pages_;
    QTableView* numbers_;
    HistogramWidget* histogram_;
    ImageWidget* image_;
};

/// One line about a tensor's values.
[[nodiscard]] QString statisticsSentence(const TensorStatistics& statistics);

} // namespace megascope
