// How long a dump takes from the start of the process to a window at rest, and what kept the GUI thread from answering on the way.
// Run it without a display with QT_QPA_PLATFORM=offscreen.
// Usage: bench_open_window FILE [--size WxH] [--again] [--order] [--find]
//        --again opens the file a second time in the same window; --order then scrolls through the execution order; --find searches.

#include <QApplication>
#include <QElapsedTimer>
#include <QMetaEnum>
#include <QScrollBar>
#include <QSettings>
#include <QTemporaryDir>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

#include "app/gui/graph_controller.h"
#include "app/gui/main_window.h"
#include "app/gui/settling.h"
#include "session/runner.h"
#include "views/common/job_runner.h"
#include "views/common/opr_fields.h"
#include "views/graph/execution_order_view.h"
#include "views/graph/graph_view.h"
#include "views/graph/order_plan.h"

using namespace megascope;

namespace {

/// Seconds since this process was started, by the kernel's clock (ticks of 10 ms).
double sinceStart() {
    std::ifstream file("/proc/self/stat");
    std::string line;
    std::getline(file, line);
    std::istringstream fields(line.substr(line.rfind(')') + 2));
    std::string field;
    for (int i = 3; i <= 22; ++i) fields >> field; // field 22: ticks after boot
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Processor time of this thread or of all of this process' threads, in milliseconds: what other programs do does not count.
double cpu(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// Notes what the event loop spends its time on.
class Watched : public QApplication {
public:
    using QApplication::QApplication;

    void begin() {
        started_ = sinceStart();
        clock_.start();
    }
    [[nodiscard]] double now() const { return started_ + static_cast<double>(clock_.nsecsElapsed()) * 1e-9; }

    bool notify(QObject* receiver, QEvent* event) override {
        const QEvent::Type type = event->type();
        const qint64 begin = clock_.nsecsElapsed();
        const double begin_cpu = cpu(CLOCK_THREAD_CPUTIME_ID);
        ++depth_;
        // Kept by name: the receiver may be gone afterwards.
        const char* name = receiver->metaObject()->className();
        const bool picture = view && receiver == view && type == QEvent::Paint && view->picture() && view->picture() != before && firstPicture == 0;
        const bool handled = QApplication::notify(receiver, event);
        --depth_;
        const double spent = static_cast<double>(clock_.nsecsElapsed() - begin) * 1e-6, spent_cpu = cpu(CLOCK_THREAD_CPUTIME_ID) - begin_cpu;
        if (picture) firstPicture = now();
        if (depth_ == 0) longest_ = std::max(longest_, spent_cpu);
        if (depth_ == 0 && spent_cpu > 5)
            slow_.push_back(QStringLiteral("%1 ms (%2 ms of the processor) at %3 s: %4 to %5").arg(spent, 0, 'f', 1).arg(spent_cpu, 0, 'f', 1).arg(started_ + static_cast<double>(begin) * 1e-9, 0, 'f', 3)
                                .arg(QString::fromLatin1(QMetaEnum::fromType<QEvent::Type>().valueToKey(type)), QString::fromLatin1(name)));
        return handled;
    }
    void report(const char* what, double from) {
        std::printf("%-34s %7.3f s   %7.0f ms of the processor, %5.0f in the GUI thread\n", what, now() - from, cpu(CLOCK_PROCESS_CPUTIME_ID), cpu(CLOCK_THREAD_CPUTIME_ID));
    }
    void reportBlocks() {
        std::printf("longest event: %.1f ms of the processor\n", longest_);
        for (const QString& line : slow_) std::printf("    %s\n", qPrintable(line));
        slow_.clear();
        longest_ = 0;
    }

    GraphView* view = nullptr;
    std::shared_ptr<const GraphPicture> before; ///< the picture of the file that was open until now
    double firstPicture = 0;

private:
    double started_ = 0;
    QElapsedTimer clock_;
    double longest_ = 0;
    int depth_ = 0;
    QStringList slow_;
};

/// What a frame of the execution order costs, on the way from its start to its end.
void scrollOrder(MainWindow& window) {
    window.showView(MainWindow::View::order);
    ExecutionOrderView* order = window.graphTools()->order();
    QImage image(order->viewport()->size(), QImage::Format_RGB32);
    std::vector<double> frames;
    constexpr int steps = 200;
    for (int i = 0; i <= steps; ++i) {
        const double begin = cpu(CLOCK_THREAD_CPUTIME_ID);
        order->verticalScrollBar()->setValue(order->verticalScrollBar()->maximum() * i / steps);
        order->viewport()->render(&image);
        frames.push_back(cpu(CLOCK_THREAD_CPUTIME_ID) - begin);
    }
    std::sort(frames.begin(), frames.end());
    std::printf("execution order: %zu rows, %zu lanes; a frame takes %.1f ms of the processor, the slowest %.1f ms\n", order->plan()->rows.size(), order->plan()->lanes.size(),
                frames[frames.size() / 2], frames.back());
}

/// What typing into the search of the graph costs.
void search(MainWindow& window) {
    const OprFields fields(window.documents()->model()->facts, nullptr);
    for (const char* words : {"conv", "type:elemwise", "nothing_is_called_so", "/^layer.*bn/", "1x64x*x*", "stride_h=2", "type:conv -> type:elemwise"}) {
        const double begin = cpu(CLOCK_THREAD_CPUTIME_ID);
        const std::size_t found = fields.find(FilterQuery::parse(QLatin1String(words))).size();
        std::printf("%-30s %6zu hits in %.1f ms of the processor\n", words, found, cpu(CLOCK_THREAD_CPUTIME_ID) - begin);
    }
}

} // namespace

int main(int argc, char** argv) {
    Watched app(argc, argv);
    app.begin();
    QCoreApplication::setOrganizationName(QStringLiteral("MegascopeBench"));
    QTemporaryDir fresh;
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, fresh.path());
    const QStringList arguments = QApplication::arguments();
    if (arguments.size() < 2) {
        std::fprintf(stderr, "usage: bench_open_window FILE [--size WxH] [--again]\n");
        return 2;
    }
    const qsizetype at = arguments.indexOf(QStringLiteral("--size"));
    const QStringList size = at > 0 && at + 1 < arguments.size() ? arguments[at + 1].split(QLatin1Char('x')) : QStringList{QStringLiteral("1600"), QStringLiteral("1000")};
    app.report("process and Qt started", 0);
    MainWindow window(make_worker_runner());
    window.resize(size.value(0).toInt(), size.value(1).toInt());
    app.report("window made", 0);
    window.show();
    app.report("window shown", 0);
    app.view = window.graphView();
    double begin = 0;
    int left = arguments.contains(QStringLiteral("--again")) ? 2 : 1;
    Settling settling(&window);
    QObject::connect(window.documents(), &DocumentController::modelOpened, &app, [&] { app.report("file read, shapes inferred, shown", begin); });
    QObject::connect(window.documents(), &DocumentController::failed, &app, [](const QString&, const Error& error) {
        std::fprintf(stderr, "%s\n", error.text().c_str());
        QCoreApplication::exit(1);
    });
    bool opened = false;
    QObject::connect(&settling, &Settling::settled, &app, [&] {
        if (!opened) {
            app.report("window painted, at rest", 0);
            app.reportBlocks();
            opened = true;
            window.open(arguments[1]);
            return settling.watch();
        }
        std::printf("%-34s %7.3f s\n", "first picture painted", app.firstPicture - begin);
        app.report("everything at rest", begin);
        app.reportBlocks();
        if (--left == 0) {
            if (arguments.contains(QStringLiteral("--order"))) scrollOrder(window);
            if (arguments.contains(QStringLiteral("--find"))) search(window);
            return QCoreApplication::exit(0);
        }
        std::printf("once more:\n");
        begin = app.now();
        app.firstPicture = 0;
        app.before = window.graphView()->picture();
        window.open(arguments[1]);
        settling.watch();
    });
    settling.watch();
    return QApplication::exec();
}
