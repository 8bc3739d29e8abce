#pragma once

#include <QFrame>

#include <memory>
#include <string>
#include <vector>

#include "views/common/graph_facts.h"
#include "views/common/selection.h"

class QAction;
class QLineEdit;
class QListWidget;

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
    static constexpr int limit = 60;

    explicit FindAnything(QWidget* window);

    void setFacts(std::shared_ptr<const GraphFacts> facts);
    void setCommands(const QList<QAction*>& commands) { commands_ = commands; }
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

    std::shared_ptr<const GraphFacts> facts_;
    std::vector<std::string> oprKeys_; ///< lower-case "name type" of each operator
    std::vector<std::string> varKeys_;
    QList<QAction*> commands_;
    QStringList files_;
    QLineEdit* edit_;
    QListWidget* list_;
    std::vector<Hit> hits_;
};

/// How well lower-case `words` fit a lower-case text: 0 = not all of them are in it. Whole and leading matches count most.
[[nodiscard]] int matchScore(const std::vector<std::string>& words, std::string_view text);

} // namespace megascope
