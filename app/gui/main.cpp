#include <QApplication>
#include <QIcon>
#include <QSettings>
#include <QTemporaryDir>
#include <QTranslator>

#include "app/gui/main_window.h"
#include "app/gui/options.h"
#include "app/gui/screenshot.h"
#include "base/cut_off_guard.h"
#include "session/runner.h"

using namespace megascope;

int main(int argc, char** argv) {
    const Options options = parseOptions(argc, argv);
    guard_against_cut_off_files(); // who dumps a model again while it is open here must not end this window, which says that it changed
    QApplication app(argc, argv);
    QCoreApplication::setOrganizationName(QStringLiteral("Megascope"));
    QCoreApplication::setApplicationName(QStringLiteral("Megascope"));
    QCoreApplication::setApplicationVersion(QStringLiteral(MEGASCOPE_VERSION));
    QGuiApplication::setDesktopFileName(QStringLiteral("megascope"));
    // English needs a translation, too: of counts ("1 thread", "2 threads").
    QTranslator plurals;
    if (plurals.load(QStringLiteral(":/translations/megascope_en.qm"))) QCoreApplication::installTranslator(&plurals);
    QTemporaryDir fresh; // pictures must not depend on, or change, what this user set
    if (options.freshSettings) {
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, fresh.path());
    }
    MainWindow window(make_worker_runner());
    QApplication::setWindowIcon(QIcon(QStringLiteral(":/icons/megascope.svg")));
    if (options.theme == QLatin1String("light")) window.setTheme(ThemeMode::light);
    if (options.theme == QLatin1String("dark")) window.setTheme(ThemeMode::dark);
    if (!options.screenshot.isEmpty()) {
        window.resize(options.size);
        window.setPerspective(Perspective::inspect);
    }
    window.show();
    playOptions(&window, options);
    return QApplication::exec();
}
