#include "app/gui/screenshot.h"

#include <QCoreApplication>
#include <QPixmap>
#include <QPushButton>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "app/gui/dump_controller.h"
#include "app/gui/main_window.h"
#include "app/gui/settling.h"
#include "base/mapped_file.h"
#include "format/reader.h"
#include "app/gui/profile_compare_controller.h"
#include "views/common/error_bar.h"
#include "views/testcase/testcase_document.h"
#include "views/profile/roofline_panel.h"

namespace megascope {

namespace {

/// Steps, each started when the window is settled after the one before.
struct Script {
    std::vector<std::function<void()>> steps;
    std::size_t next = 0;
    bool failed = false; ///< something that the command line asked for could not be done
};

/// The files to open: at most one that is a model, and every profile. A second model is compared with the first one; a window shows
/// no more, the other ones go to `others`.
QStringList oneModel(const QStringList& files, QString& second, QStringList& others) {
    QStringList opened;
    bool model = false;
    for (const QString& path : files) {
        const auto file = MappedFile::open(std::filesystem::path(path.toStdU16String()));
        const FileKind kind = file ? sniff((*file)->bytes()).kind : FileKind::unknown;
        const bool profile = kind == FileKind::profile_json || kind == FileKind::json || kind == FileKind::gzip;
        if (!profile && model && second.isEmpty()) second = path;
        else if (!profile && model) others << path;
        else opened << path;
        model |= !profile;
    }
    return opened;
}

} // namespace

void playOptions(MainWindow* window, const Options& options) {
    auto script = std::make_shared<Script>();
    QString second;
    QStringList others;
    for (const QString& file : oneModel(options.files, second, others)) script->steps.push_back([window, file] { window->open(file); });
    if (!second.isEmpty()) script->steps.push_back([window, second] { window->compareWith(second); });
    if (!others.isEmpty()) script->steps.push_back([window, others] { window->sayNotOpened(others); });
    if (!options.profile.isEmpty()) script->steps.push_back([window, file = options.profile] { window->open(file); });
    if (!options.compareProfile.isEmpty())
        script->steps.push_back([window, file = options.compareProfile] { window->profileComparison()->compareWith(file); });
    if (!options.addTestcase.isEmpty()) script->steps.push_back([window, item = options.addTestcase] { window->testcaseEdits()->addSpecs({item}); });
    if (options.run) script->steps.push_back([window] { window->runSelected(); });
    if (options.measure) script->steps.push_back([window] { window->findChild<RooflinePanel*>()->measureButton()->click(); });
    script->steps.push_back([window, options, script = script.get()] {
        static const QStringList views = {QStringLiteral("graph"), QStringLiteral("timeline"), QStringLiteral("flame"), QStringLiteral("roofline"), QStringLiteral("memory"), QStringLiteral("value"), QStringLiteral("file"), QStringLiteral("compare"), QStringLiteral("analysis"), QStringLiteral("changes"), QStringLiteral("order")};
        if (const qsizetype view = views.indexOf(options.view); view >= 0) window->showView(static_cast<MainWindow::View>(view));
        if (!options.table.isEmpty()) window->showTable(options.table);
        if (!options.filter.isEmpty()) window->setTableFilter(options.filter);
        if (options.select.isEmpty() || window->selectByName(options.select)) return;
        std::fprintf(stderr, "megascope: nothing is called '%s' in this model.\n", qPrintable(options.select));
        script->failed = true;
    });
    if (options.dump)
        script->steps.push_back([window, size = options.size] {
            window->dumps()->showDialog();
            if (window->dumps()->dialog()) window->dumps()->dialog()->resize(size);
        });
    if (!options.screenshot.isEmpty()) {
        script->steps.push_back([window, file = options.screenshot, dump = options.dump, script = script.get()] {
            if (window->errorBar()->isVisible()) {
                std::fprintf(stderr, "megascope: %s\n", qPrintable(window->errorBar()->sentence()));
                script->failed |= window->errorBar()->severity() == ErrorBar::Severity::error;
            }
            QWidget* shown = dump && window->dumps()->dialog() ? static_cast<QWidget*>(window->dumps()->dialog()) : window;
            const bool written = shown->grab().save(file, "PNG");
            if (!written) std::fprintf(stderr, "megascope: cannot write '%s'.\n", qPrintable(file));
            QCoreApplication::exit(written && !script->failed ? 0 : 1);
        });
    }
    auto* settling = new Settling(window);
    QObject::connect(settling, &Settling::settled, window, [script, settling] {
        script->steps[script->next++]();
        if (script->next < script->steps.size()) settling->watch();
        else settling->deleteLater();
    });
    settling->watch();
}

} // namespace megascope
