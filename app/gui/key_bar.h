#pragma once

#include <QFrame>

#include "format/reader.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace megascope {

/// Asks for the key of a file that may be encrypted. A bar above the views; hidden until it is needed.
class KeyBar : public QFrame {
    Q_OBJECT
public:
    explicit KeyBar(QWidget* parent = nullptr);

    void askFor(const QString& path);

signals:
    void entered(const QString& path, const megascope::ReadOptions& options);

private:
    void submit();

    QString path_;
    QLabel* label_;
    QComboBox* method_;
    QLineEdit* key_;
    QLineEdit* infoKey_;
    QLabel* problem_;
};

} // namespace megascope
