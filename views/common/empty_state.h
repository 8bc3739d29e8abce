#pragma once

#include <QWidget>

class QLabel;
class QPushButton;

namespace megascope {

/// What an empty view shows: what goes here, and a button for it.
class EmptyState : public QWidget {
    Q_OBJECT
public:
    /// `button` may be empty: then there is none.
    EmptyState(const QString& icon, const QString& sentence, const QString& button, QWidget* parent = nullptr);

    void setSentence(const QString& sentence);
    void setButtonEnabled(bool enabled);

signals:
    void requested();

protected:
    void changeEvent(QEvent* event) override;

private:
    void refreshIcon();

    QString iconName_;
    QLabel* icon_;
    QLabel* sentence_;
    QPushButton* button_ = nullptr;
};

} // namespace megascope
