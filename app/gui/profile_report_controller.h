#pragma once

#include <QObject>

#include <functional>
#include <memory>
#include <vector>

#include "app/gui/document_controller.h"
#include "profile/report.h"
#include "session/runner.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"
#include "views/profile/analysis_page.h"

class QMenu;

namespace megascope {

class ProfileCompareController;

/// The table of profile_analyze, and reports of what the window holds: File > Export report. GUI thread.
class ProfileReportController : public QObject {
    Q_OBJECT
public:
    /// The window owns all of them.
    ProfileReportController(JobRunner* jobs, DocumentController* documents, Selection* selection, ProfileCompareController* comparison, QWidget* parent);

    [[nodiscard]] AnalysisPage* analysis() const { return analysis_; }
    /// "Report of the profile…", "Report of the comparison…", "Report of the last run…".
    void addActions(QMenu* menu);

    /// `ofOpr`: by operator of `facts`, the operator of the profile. `facts` also knows dtypes that the profile does not. Null clears.
    void setProfile(std::shared_ptr<const GraphProfile> profile, const QString& title, std::shared_ptr<const GraphFacts> facts,
                    const std::vector<ProfileOprId>& ofOpr);
    /// A trace instead of a profile: it has reports, but no table.
    void setTrace(std::shared_ptr<const TimelineScene> scene, const QString& title);
    void setRun(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const RunReport> report, const QString& title);
    void clear();

    enum class What { profile, comparison, run };
    [[nodiscard]] bool has(What what) const;
    /// By the file name's end: .html, .json, or .csv (the last and largest table).
    void write(What what, const QString& path);

signals:
    void written(const QString& path);
    void failed(const QString& path, const megascope::Error& error);

private:
    void choose(What what);

    JobRunner* jobs_;
    DocumentController* documents_;
    Selection* selection_;
    ProfileCompareController* comparison_;
    AnalysisPage* analysis_;
    QString title_;
    std::shared_ptr<const TimelineScene> trace_;
    struct {
        std::shared_ptr<const GraphFacts> facts;
        std::shared_ptr<const RunReport> report;
        QString title;
    } run_;
};

} // namespace megascope
