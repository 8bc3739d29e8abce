#pragma once

#include <QFrame>

#include "base/error.h"

class QLabel;
class QPlainTextEdit;
class QToolButton;
class QPushButton;

namespace megascope {

/// A bar at the top of a view that says in one sentence what went wrong there, with details, copying, and what can be done.
/// Hidden until something is shown.
class ErrorBar : public QFrame {
    Q_OBJECT
public:
    enum class Severity { error, warning };

    explicit ErrorBar(QWidget* parent = nullptr);

    void showError(const Error& error);
    /// `details` may be empty. `action` is what can be done ("Run again"); empty = nothing.
    void showMessage(Severity severity, const QString& sentence, const QString& details = {}, const QString& action = {});
    [[nodiscard]] QString sentence() const { return sentence_; }
    [[nodiscard]] Severity severity() const { return severity_; }

signals:
    void actionRequested();
    void dismissed();

public slots:
    void dismiss();

protected:
    void changeEvent(QEvent* event) override;

private:
    void applyColours();
    void copy();

    Severity severity_ = Severity::error;
    QString sentence_;
    QLabel* icon_;
    QLabel* label_;
    QPlainTextEdit* details_;
    QPushButton* action_;
    QPushButton* detailsButton_;
    QPushButton* copyButton_;
    QToolButton* close_;
    bool applying_ = false;
};

} // namespace megascope
