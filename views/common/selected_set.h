#pragma once

#include <vector>

#include "views/common/selection.h"

namespace megascope {

/// Operators of a window that are selected together: two or more, or none. One alone is the window's `Selection`, which also says
/// which of several was picked last. Selecting something that is not among them ends it. GUI thread.
class SelectedSet : public QObject {
    Q_OBJECT
public:
    /// `selection` outlives this.
    explicit SelectedSet(Selection* selection, QObject* parent = nullptr);

    /// Ascending.
    [[nodiscard]] const std::vector<OprId>& oprs() const { return oprs_; }
    [[nodiscard]] bool contains(OprId opr) const;

public slots:
    /// These and no others, in any order. A single one is selected instead; the selection is cleared when it is not among several.
    void set(std::vector<megascope::OprId> oprs);
    /// These, too.
    void add(const std::vector<megascope::OprId>& oprs);
    /// Takes them out when all are in, else adds them.
    void toggle(const std::vector<megascope::OprId>& oprs);
    void clear();

signals:
    void changed();

private:
    [[nodiscard]] std::vector<OprId> withCurrent() const;
    void show(std::vector<OprId> oprs);

    Selection* selection_;
    std::vector<OprId> oprs_;
    bool selecting_ = false; ///< the selection is changed here
};

} // namespace megascope
