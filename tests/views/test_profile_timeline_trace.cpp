#include <QHelpEvent>
#include <QToolTip>
#include <QtTest>

#include <algorithm>
#include <cmath>

#include "profile/trace_reader.h"
#include "views/common/theme.h"
#include "views/profile/timeline_metrics.h"
#include "views/profile/timeline_view.h"

using namespace megascope;
using namespace megascope::timeline_metrics;

namespace {

/// Two threads. "send" (10–60 µs) starts "kernel" (80–200 µs) of the other one by an arrow from 20 to 90 µs; the kernel's arguments
/// stand in its end event, as MegEngine's Profiler writes them. A counter steps from 4 over 8 to 2.
constexpr std::string_view small = R"({"traceEvents": [
 {"ph": "X", "pid": 1, "tid": 1, "name": "send", "cat": "host", "ts": 10, "dur": 50, "args": {"shape": [1, 3], "strategy": "HEURISTIC", "workspace_limit": 18446744073709551615}},
 {"ph": "s", "pid": 1, "tid": 1, "name": "1", "cat": "KernelLaunch", "id": 7, "ts": 20},
 {"ph": "B", "pid": 1, "tid": 2, "name": "kernel", "cat": "Kernel", "ts": 80},
 {"ph": "f", "bp": "e", "pid": 1, "tid": 2, "name": "1", "cat": "KernelLaunch", "id": 7, "ts": 90},
 {"ph": "E", "pid": 1, "tid": 2, "name": "kernel", "cat": "Kernel", "ts": 200, "args": {"__name__": "c1.conv", "__id__": 5}},
 {"ph": "C", "pid": 1, "tid": 1, "name": "memory", "ts": 0, "args": {"value": 4}},
 {"ph": "C", "pid": 1, "tid": 1, "name": "memory", "ts": 100, "args": {"value": 8}},
 {"ph": "C", "pid": 1, "tid": 1, "name": "memory", "ts": 150, "args": {"value": 2}}]})";

std::shared_ptr<const TimelineScene> sceneOf(const std::shared_ptr<const MappedFile>& file) {
    const auto trace = read_trace(file);
    if (!trace) qFatal("%s", trace.error().text().c_str());
    const auto timeline = timeline_of(std::shared_ptr<const TraceEvents>(*trace));
    if (!timeline) qFatal("%s", timeline.error().text().c_str());
    return makeTimelineScene(*timeline);
}

std::shared_ptr<const TimelineScene> sceneOf(std::string_view json) { return sceneOf(MappedFile::from_bytes("trace.json", std::as_bytes(std::span(json)))); }

/// Pixels in which two pictures differ, in widget coordinates.
std::vector<QPoint> differences(const QImage& a, const QImage& b) {
    std::vector<QPoint> found;
    const double ratio = a.devicePixelRatio();
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x)
            if (a.pixel(x, y) != b.pixel(x, y)) found.emplace_back(static_cast<int>(x / ratio), static_cast<int>(y / ratio));
    return found;
}

} // namespace

/// What the timeline shows of a trace beside its slices: arrows, counters, arguments.
class ProfileTimelineTraceTest : public QObject {
    Q_OBJECT
private slots:
    void init() {
        view_ = std::make_unique<TimelineView>();
        view_->resize(1000, 300);
        view_->setScene(sceneOf(small));
        view_->show();
        QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
    }
    void cleanup() { view_.reset(); }

    void anArrowGoesFromSliceToSlice() {
        QCOMPARE(view_->scene()->timeline->flows.size(), 1U);
        const TimelineFlow& flow = view_->scene()->timeline->flows[0];
        QCOMPARE(flow.from_time, 20.0);
        QCOMPARE(flow.to_time, 90.0);
        view_->setFlowsShown(false);
        const QImage without = view_->grab().toImage();
        view_->setFlowsShown(true);
        const QImage with = view_->grab().toImage();
        const std::vector<QPoint> arrow = differences(without, with);
        QVERIFY(!arrow.empty());
        // It stays between both ends, and comes to both.
        const double left = headerWidth + view_->axis().toPixel(20);
        const double right = headerWidth + view_->axis().toPixel(90);
        const QPoint from = middleOf("send"), to = middleOf("kernel");
        bool starts = false, ends = false;
        for (const QPoint& p : arrow) {
            QVERIFY2(p.x() >= left - 2 && p.x() <= right + 2 && p.y() >= std::min(from.y(), to.y()) - 4 && p.y() <= std::max(from.y(), to.y()) + 4,
                     qPrintable(QStringLiteral("%1 %2").arg(p.x()).arg(p.y())));
            starts = starts || std::hypot(p.x() - left, p.y() - from.y()) < 4;
            ends = ends || std::hypot(p.x() - right, p.y() - to.y()) < 4;
        }
        QVERIFY(starts);
        QVERIFY(ends);
        // Out of sight it is not drawn.
        view_->setAxis(210, 250);
        const QImage away = view_->grab().toImage();
        view_->setFlowsShown(false);
        QVERIFY(differences(away, view_->grab().toImage()).empty());
    }

    // More arrows than one can tell apart: only those of the chosen slice.
    void tooManyArrowsAreThoseOfTheSelection() {
        std::string json = "[";
        for (int i = 0; i < 400; ++i) {
            const std::string t = std::to_string(10 * i);
            json += R"({"ph":"X","pid":1,"tid":1,"name":"a","ts":)" + t + R"(,"dur":6},{"ph":"X","pid":1,"tid":2,"name":"b","ts":)" + t + R"(,"dur":8},)";
            json += R"({"ph":"s","pid":1,"tid":1,"name":"f","cat":"x","id":)" + std::to_string(i) + R"(,"ts":)" + std::to_string(10 * i + 1) + "},";
            json += R"({"ph":"f","pid":1,"tid":2,"name":"f","cat":"x","id":)" + std::to_string(i) + R"(,"ts":)" + std::to_string(10 * i + 7) + "},";
        }
        json.back() = ']';
        view_->setScene(sceneOf(json));
        const TimelineRow& row = view_->scene()->timeline->rows[0];
        const auto arrows = [&] {
            view_->setFlowsShown(false);
            const QImage without = view_->grab().toImage();
            view_->setFlowsShown(true);
            return differences(without, view_->grab().toImage());
        };
        QVERIFY(arrows().empty());
        view_->setHighlighted(row.source[200]); // 2000 µs
        const std::vector<QPoint> one = arrows();
        QVERIFY(!one.empty());
        const double at = headerWidth + view_->axis().toPixel(2004);
        for (const QPoint& p : one) QVERIFY(std::abs(p.x() - at) < 140); // a cubic of at most 120 pixels to each side
        // A part of them is few enough again.
        view_->setHighlighted(std::nullopt);
        view_->setAxis(0, 1000);
        QVERIFY(!arrows().empty());
    }

    void aCounterIsAsHighAsItsValue() {
        const TimelineCounter& counter = view_->scene()->timeline->counters[0];
        QCOMPARE(counter.title, std::string("1: memory"));
        // Find the counter's band by what it says.
        int top = -1, bottom = -1;
        const int x = headerWidth + static_cast<int>(view_->axis().toPixel(50));
        for (int y = rulerHeight; y < view_->height(); ++y)
            if (!view_->describeCounterAt({x, y}).isEmpty()) {
                if (top < 0) top = y;
                bottom = y;
            }
        QVERIFY(top > 0 && bottom > top);
        const QImage picture = view_->grab().toImage();
        const auto height = [&](double time) {
            const int at = headerWidth + static_cast<int>(view_->axis().toPixel(time));
            const QColor base = view_->palette().base().color();
            int filled = 0;
            for (int y = top; y <= bottom; ++y) filled += picture.pixelColor(at, y) != base;
            return filled;
        };
        const int h = counterHeight - 8;
        QVERIFY2(std::abs(height(50) - h / 2) <= 1, qPrintable(QString::number(height(50))));
        QVERIFY2(std::abs(height(120) - h) <= 1, qPrintable(QString::number(height(120))));
        QVERIFY2(std::abs(height(180) - h / 4) <= 1, qPrintable(QString::number(height(180))));
        // Exactly at a step the new value holds.
        const auto says = [&](double time) { return view_->describeCounterAt({headerWidth + static_cast<int>(std::ceil(view_->axis().toPixel(time))), top + 2}); };
        QVERIFY2(says(50).startsWith("1: memory: 4, from "), qPrintable(says(50)));
        QVERIFY2(says(101).contains(": 8, from "), qPrintable(says(101)));
        QVERIFY2(says(160).contains(": 2, from "), qPrintable(says(160)));
        QVERIFY(view_->describeCounterAt(middleOf("send")).isEmpty());
    }

    void theTooltipHasAllArguments() {
        const QPoint place = middleOf("send");
        QHelpEvent help(QEvent::ToolTip, place, view_->mapToGlobal(place));
        QApplication::sendEvent(view_.get(), &help);
        const QString text = QToolTip::text();
        for (const char* line : {"send", "50.0 µs", "cat: host", "shape: [1,3]", "strategy: HEURISTIC"}) QVERIFY2(text.contains(QString::fromUtf8(line)), qPrintable(text));
        // A begin event with its arguments in the end event.
        const auto row = rowOf("kernel");
        const QString kernel = view_->describe({row, 0});
        for (const char* line : {"kernel", "120 µs", "__name__: c1.conv", "__id__: 5"}) QVERIFY2(kernel.contains(QString::fromUtf8(line)), qPrintable(kernel));
        QCOMPARE(kernel.count("cat: Kernel"), 1);
    }

    // Numbers beyond a double's 53 bits are shown as they stand in the file.
    void largeIntegersAreExact() {
        const QString text = view_->describe({rowOf("send"), 0});
        QVERIFY2(text.contains("workspace_limit: 18446744073709551615"), qPrintable(text));
    }

    // MegEngine's own timeline: every kernel's tooltip says which operator it is.
    void megEnginesKernelsSayTheirParams() {
        const QString path = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/ref/profiler/lenet/train_chrome_timeline/23825.chrome_timeline.json");
        if (!QFile::exists(path)) QSKIP("The reference material is not here.");
        view_->setScene(sceneOf(*MappedFile::open(path.toStdString())));
        const Timeline& timeline = *view_->scene()->timeline;
        QVERIFY(!timeline.counters.empty());
        QVERIFY(!timeline.flows.empty());
        std::size_t kernels = 0;
        for (std::size_t r = 0; r < timeline.rows.size(); ++r) {
            const TimelineRow& row = timeline.rows[r];
            for (std::uint32_t i = 0; i < row.size(); ++i) {
                const TraceEventId event(row.source[i]);
                if (timeline.trace->strings[timeline.trace->category[event.index()]] != "Kernel") continue;
                ++kernels;
                const QString text = view_->describe({r, i});
                QVERIFY2(text.contains("__device__: ") && text.contains("__name__: "), qPrintable(text));
            }
        }
        QVERIFY(kernels > 20);
        // Both ends of every arrow are on a row, and in the order of time.
        for (const TimelineFlow& flow : timeline.flows) QVERIFY(flow.from_row < timeline.rows.size() && flow.to_row < timeline.rows.size());
    }

    // PyTorch's trace: arguments of complete events, arrows from launches to kernels.
    void pyTorchsKernelsSayTheirArguments() {
        const QString path = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/traces/gpu_event_sync.json.gz");
        if (!QFile::exists(path)) QSKIP("The reference material is not here.");
        view_->setScene(sceneOf(*MappedFile::open(path.toStdString())));
        const Timeline& timeline = *view_->scene()->timeline;
        QCOMPARE(timeline.slices(), 35U); // 33 complete events and 2 instants
        QVERIFY(!timeline.flows.empty());
        std::size_t with_arguments = 0;
        for (std::size_t r = 0; r < timeline.rows.size(); ++r)
            for (std::uint32_t i = 0; i < timeline.rows[r].size(); ++i) with_arguments += view_->describe({r, i}).contains("stream: ");
        QVERIFY(with_arguments > 5);
        for (const TimelineFlow& flow : timeline.flows) QVERIFY(flow.to_time >= flow.from_time);
    }

private:
    std::size_t rowOf(const char* name) const {
        const Timeline& timeline = *view_->scene()->timeline;
        for (std::size_t r = 0; r < timeline.rows.size(); ++r)
            for (const StringId id : timeline.rows[r].name)
                if (timeline.strings[id] == name) return r;
        qFatal("no slice of that name");
    }
    QPoint middleOf(const char* name) const {
        const std::size_t wanted = rowOf(name);
        const TimelineRow& row = view_->scene()->timeline->rows[wanted];
        const int x = headerWidth + static_cast<int>(view_->axis().toPixel((row.start[0] + row.end[0]) / 2));
        int first = -1, last = -1;
        for (int y = rulerHeight; y < view_->height(); ++y)
            if (const auto place = view_->placeAt({x, y}); place && place->row == wanted) {
                if (first < 0) first = y;
                last = y;
            }
        return {x, (first + last) / 2};
    }

    std::unique_ptr<TimelineView> view_;
};

QTEST_MAIN(ProfileTimelineTraceTest)
#include "test_profile_timeline_trace.moc"
