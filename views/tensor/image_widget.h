#pragma once

#include <QWidget>

#include "views/tensor/tensor_image.h"

namespace megascope {

/// A tensor drawn as a picture, scaled to whole pixels where possible, with its value range below.
class ImageWidget : public QWidget {
    Q_OBJECT
public:
    explicit ImageWidget(QWidget* parent = nullptr) : QWidget(parent) { setAccessibleName(tr("Picture of the values")); }
    void setImage(const TensorImage& image);
    void clear();
    [[nodiscard]] QSize sizeHint() const override { return {320, 200}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {100, 80}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    TensorImage image_;
};

} // namespace megascope
