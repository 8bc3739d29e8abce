#pragma once

#include <QWidget>

#include <memory>

#include "app/gui/document_controller.h"
#include "views/common/selection.h"

class QComboBox;
class QTreeView;

namespace megascope {

class PropertyModel;

/// What the open file says about itself: format, versions, metadata, hash, graphs, inputs, outputs, testcases.
class FilePage : public QWidget {
    Q_OBJECT
public:
    explicit FilePage(Selection* selection, QWidget* parent = nullptr);

    void setModel(const std::shared_ptr<const OpenedModel>& model);

signals:
    void graphRequested(std::uint32_t graph);

private:
    Selection* selection_;
    QComboBox* graphs_;
    PropertyModel* properties_;
    QTreeView* tree_;
};

} // namespace megascope
