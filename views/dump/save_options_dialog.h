#pragma once

#include <QDialog>

#include <memory>

#include "format/convert.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace megascope {

/// What the user chose for writing the open file to another one.
struct SaveChoice {
    QString path;
    Conversion conversion;
    bool append = false;
};

/// Asks where and how a dump is written. Starts with the way the open file is stored.
class SaveOptionsDialog : public QDialog {
    Q_OBJECT
public:
    /// `path` is the suggestion: the open file's own.
    SaveOptionsDialog(const Model& model, const QString& path, QWidget* parent = nullptr);

    [[nodiscard]] SaveChoice choice() const;

private:
    void browse();
    void refresh();

    QString openPath_;
    KeptNames kept_;
    Container stored_;
    QLineEdit* path_;
    QComboBox* container_;
    QComboBox* varName_;
    QCheckBox* oprName_;
    QCheckBox* paramName_;
    QCheckBox* oprPriority_;
    QCheckBox* metadata_;
    QCheckBox* testcases_;
    QCheckBox* append_;
    QLabel* note_;
    QPushButton* save_;
};

} // namespace megascope
