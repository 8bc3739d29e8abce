#pragma once

#include <QList>
#include <QWidget>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/id.h"
#include "profile/profile_analysis.h"

class QCheckBox;
class QComboBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace megascope {

class ReportTableView;

/// profile_analyze as a table: all its filters, aggregates and orders, with the same numbers.
class AnalysisPage : public QWidget {
    Q_OBJECT
public:
    explicit AnalysisPage(QWidget* parent = nullptr);

    /// `oprOf`: by ProfileOprId, the operator of the shown graph (invalid: none); may be empty. `dtype` as in AnalysisQuery. A null
    /// profile shows what goes here.
    void setProfile(std::shared_ptr<const GraphProfile> profile, const QString& title, std::vector<OprId> oprOf,
                    std::function<std::string(ProfileOprId, int)> dtype = {});
    [[nodiscard]] const std::shared_ptr<const GraphProfile>& profile() const { return profile_; }
    [[nodiscard]] AnalysisQuery query() const;
    [[nodiscard]] ReportTableView* table() const { return table_; }
    void setSelected(OprId opr);

signals:
    void oprPicked(megascope::OprId opr);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange(int columns);
    void refresh();
    [[nodiscard]] QString summary() const;

    std::shared_ptr<const GraphProfile> profile_;
    QString title_;
    std::vector<OprId> oprOf_;
    std::function<std::string(ProfileOprId, int)> dtype_;
    QComboBox* side_;
    QComboBox* endKey_;
    QLineEdit* types_;
    QLineEdit* name_;
    QLineEdit* inputDType_;
    QLineEdit* minTime_;
    QLineEdit* maxTime_;
    QComboBox* aggregate_;
    QComboBox* groupBy_;
    QComboBox* orderBy_;
    QCheckBox* ascending_;
    QSpinBox* top_;
    QLabel* summary_;
    QLabel* problem_;
    ReportTableView* table_;
    QGridLayout* form_ = nullptr;
    QList<QWidget*> blocks_; ///< groups of fields
    int columns_ = 0;
};

} // namespace megascope
