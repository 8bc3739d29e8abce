// How long a dump takes from the start of the process to a window at rest, and what kept the GUI thread from answering on the way.
// Run it without a display with QT_QPA_PLATFORM=offscreen.
// Usage: bench_open_window FILE[*N] [--size WxH] [--again] [--order] [--find] [--actions]
//        --again opens the file a second time in the same window; --order then scrolls through the execution order; --find searches;
//        --actions does what people do in a window and prints the longest event of each. FILE*N is a
//        dump of N copies of the file's graph, one after the other.

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
#include <utility>

#include "app/gui/graph_controller.h"
#include "app/gui/main_window.h"
#include "app/gui/settling.h"
#include "format/reader.h"
#include "format/writer.h"
#include "opr/catalogue.h"
#include "session/runner.h"
#include "views/common/job_runner.h"
#include "views/common/opr_fields.h"
#include "views/graph/execution_order_view.h"
#include "views/graph/graph_view.h"
#include "views/graph/order_plan.h"
#include "window_actions.h"

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
        if (depth_ == 0 && spent_cpu > longest_) {
            longest_ = spent_cpu;
            longest_what_ = QString::fromLatin1(QMetaEnum::fromType<QEvent::Type>().valueToKey(type)) + QStringLiteral(" to ") + QLatin1String(name);
        }
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
        (void)takeLongest();
    }
    LongestEvent takeLongest() {
        slow_.clear();
        return {std::exchange(longest_, 0), std::exchange(longest_what_, {})};
    }

    GraphView* view = nullptr;
    std::shared_ptr<const GraphPicture> before; ///< the picture of the file that was open until now
    double firstPicture = 0;

private:
    double started_ = 0;
    QElapsedTimer clock_;
    double longest_ = 0;
    QString longest_what_;
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

/// `times` copies of a graph one after the other: an input of each waits for an output of the one before.
Expected<std::shared_ptr<const Graph>> in_a_row(const Graph& graph, unsigned times) {
    GraphBuilder builder;
    VarId before;
    for (unsigned k = 0; k < times; ++k) {
        const std::string prefix = "copy" + std::to_string(k) + ".";
        std::vector<VarId> now(graph.vars().size());
        bool joined = k == 0;
        for (const Opr& opr : graph.oprs()) {
            Opr copy = opr;
            copy.outputs.clear();
            for (VarId& input : copy.inputs) input = now[input.index()];
            if (copy.has_name) copy.name = prefix + copy.name;
            for (StoredTensor& tensor : copy.tensors)
                if (tensor.has_name) tensor.name = prefix + tensor.name;
            const bool is_input = std::find(graph.inputs().begin(), graph.inputs().end(), opr.id) != graph.inputs().end();
            MGS_ASSIGN(const OprId id, builder.add(std::move(copy), opr.outputs.size(), is_input));
            for (std::size_t i = 0; i < opr.outputs.size(); ++i) {
                const Var& old = graph.var(opr.outputs[i]);
                now[old.id.index()] = builder.opr(id).outputs[i];
                Var& var = builder.var(now[old.id.index()]);
                var = Var{var.id, old.has_name ? prefix + old.name : std::string(), old.has_name, var.producer, var.output_index, old.shape, old.dtype, old.comp_node, old.format};
            }
            if (!is_input || joined) continue;
            joined = true;
            Opr wait;
            wait.type = "VirtualDep";
            wait.kind = Catalogue::builtin().find_type(wait.type)->kind;
            wait.inputs = {now[opr.outputs.front().index()], before};
            MGS_ASSIGN(const OprId waiting, builder.add(std::move(wait), 1));
            now[opr.outputs.front().index()] = builder.opr(waiting).outputs.front();
        }
        before = now[graph.outputs().front().var.index()];
        for (const GraphOutput& output : graph.outputs()) MGS_TRY(builder.add_output({now[output.var.index()], static_cast<std::uint32_t>(builder.var_count()), {}}));
    }
    return builder.finish();
}

/// A dump of several copies of another one.
Expected<void> write_copies(const QString& from, unsigned times, const QString& to) {
    MGS_ASSIGN(const auto file, MappedFile::open(from.toStdString()));
    MGS_ASSIGN(const auto model, read_model(file));
    DumpContent content = DumpContent::like_input(*model);
    content.testcase_header = false;
    content.testcases.clear();
    content.appended.clear();
    content.main.options.aliases.clear();
    MGS_ASSIGN(content.main.graph, in_a_row(*model->main().graph, times));
    MGS_TRY(save_dump(to.toStdString(), content));
    return {};
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
        std::fprintf(stderr, "usage: bench_open_window FILE[*N] [--size WxH] [--again] [--order] [--find] [--actions]\n");
        return 2;
    }
    QString path = arguments[1];
    if (const auto star = path.lastIndexOf(QLatin1Char('*')); star > 0) {
        const QString copies = fresh.filePath(QStringLiteral("copies.mge"));
        if (const auto written = write_copies(path.left(star), path.mid(star + 1).toUInt(), copies); !written) {
            std::fprintf(stderr, "%s\n", written.error().text().c_str());
            return 1;
        }
        path = copies;
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
            window.open(path);
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
        window.open(path);
        settling.watch();
    });
    settling.watch();
    const int code = QApplication::exec();
    if (code == 0 && arguments.contains(QStringLiteral("--actions"))) measureActions(window, [&] { return app.takeLongest(); });
    return code;
}
