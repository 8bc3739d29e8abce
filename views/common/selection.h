#pragma once

#include <QObject>

#include <vector>

#include "base/id.h"

namespace megascope {

/// What is picked: nothing, one operator, or one var.
struct Pick {
    OprId opr;
    VarId var;

    [[nodiscard]] static Pick of(OprId id) { return {id, {}}; }
    [[nodiscard]] static Pick of(VarId id) { return {{}, id}; }
    [[nodiscard]] bool empty() const { return !opr.valid() && !var.valid(); }
    friend bool operator==(const Pick&, const Pick&) = default;
};

/// The one selection and the one hover of a window. Every view shows it and sets it. GUI thread.
/// The ids belong to the graph that the window shows; `reset` when that changes.
class Selection : public QObject {
    Q_OBJECT
public:
    static constexpr std::size_t historyLimit = 200;

    explicit Selection(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] Pick current() const { return current_; }
    [[nodiscard]] Pick hovered() const { return hovered_; }
    [[nodiscard]] bool canGoBack() const { return position_ > 0; }
    [[nodiscard]] bool canGoForward() const { return position_ + 1 < history_.size(); }

public slots:
    void select(megascope::Pick pick);
    void clear() { select({}); }
    void hover(megascope::Pick pick);
    void back();
    void forward();
    /// Forgets selection, hover and history: another graph is shown.
    void reset();

signals:
    void changed(megascope::Pick pick);
    void hoverChanged(megascope::Pick pick);
    void historyChanged();

private:
    void show(Pick pick);

    Pick current_;
    Pick hovered_;
    std::vector<Pick> history_;
    std::size_t position_ = 0; ///< of the current entry; meaningless while `history_` is empty
};

} // namespace megascope
