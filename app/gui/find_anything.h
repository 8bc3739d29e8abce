#pragma once

#include <QFrame>
#include <QPointer>

#include <memory>
#include <string>
#include <vector>

#include "views/common/graph_facts.h"
#include "views/common/selection.h"

class QAction;
class QLineEdit;
class QListWidget;
class QMenu;

namespace megascope {

/// A list over the window that finds operators, vars, commands and recent files while one types.
class FindAnything : public QFrame {
    Q_OBJECT
public:
    struct Hit {
        enum class Kind { opr, var, command, file };
        Kind kind = Kind::opr;
        int score = 0;        ///< higher is better
        QString title;
        QString detail;
        Pick pick;
        QAction* action = nullptr;
        QString path;
    };
    struct Command {
        QString title; ///< "Theme ▸ Dark"
        QAction* action = nullptr;
    };
    static constexpr int limit = 60;

    explicit FindAnything(QWidget* window);

    void setFacts(std::shared_ptr<const GraphFacts> facts);
    void setCommands(QList<Command> commands) { commands_ = std::move(commands); }
    /// What a menu and its submenus offer, `without` one of them.
    [[nodiscard]] static QList<Command> commandsOf(QMenu& menu, const QMenu* without, const QString& prefix = {});
    void setFiles(const QStringList& files) { files_ = files; }
    /// Opens the list at the top of the window.
    void popUp();
    [[nodiscard]] std::vector<Hit> search(const QString& words) const;

signals:
    void picked(megascope::Pick pick);
    void fileRequested(const QString& path);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void refresh();
    void accept();
    /// Hides, and the focus goes back to where it was.
    void leave();

    std::shared_ptr<const GraphFacts> facts_;
    std::vector<std::string> oprKeys_; ///< lower-case "name type" of each operator
    std::vector<std::string> varKeys_;
    QList<Command> commands_;
    QPointer<QWidget> before_; ///< had the focus
    QStringList files_;
    QLineEdit* edit_;
    QListWidget* list_;
    std::vector<Hit> hits_;
};

/// How well lower-case `words` fit a lower-case text: 0 = not all of them are in it. Whole and leading matches count most.
[[nodiscard]] int matchScore(const std::vector<std::string>& words, std::string_view text);

} // namespace megascope
