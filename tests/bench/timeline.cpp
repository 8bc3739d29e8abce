// Frames of a large timeline on a scripted path of zooms and moves, and its text search. Not a test; no screen is needed.

#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <time.h>

#include "profile/timeline_rows.h"
#include "views/profile/timeline_view.h"

using namespace megascope;

namespace {

/// Twelve threads of nested slices: outer ones of 8 inner ones, a tenth of these with two more inside.
std::shared_ptr<const Timeline> generate(std::size_t slices) {
    auto timeline = std::make_shared<Timeline>();
    std::vector<StringId> names;
    for (int i = 0; i < 2000; ++i) names.push_back(timeline->strings.intern("operator_" + std::to_string(i)));
    std::uint32_t random = 7;
    const auto next = [&random](std::uint32_t below) {
        random = random * 1664525U + 1013904223U;
        return (random >> 8U) % below;
    };
    constexpr std::size_t threads = 12;
    std::uint32_t source = 0;
    for (std::size_t t = 0; t < threads; ++t) {
        std::vector<TimelineSlice> list;
        list.reserve(slices / threads + 32);
        double at = 0;
        while (list.size() < slices / threads) {
            const double begin = at;
            const std::size_t outer = list.size();
            list.push_back({begin, begin, names[next(50)], source++, false});
            for (int i = 0; i < 8; ++i) {
                const double length = 0.5 + next(100) / 20.0;
                list.push_back({at, at + length, names[next(2000)], source++, false});
                if (next(10) == 0) {
                    list.push_back({at, at + length / 3, names[next(2000)], source++, false});
                    list.push_back({at + length / 2, at + length, names[next(2000)], source++, false});
                }
                at += length + next(10) / 10.0;
            }
            list[outer].end = at;
            at += 1 + next(50) / 10.0;
        }
        TimelineRow row;
        row.title = "thread " + std::to_string(t);
        row.group = "process " + std::to_string(t / 4);
        (void)fill_row(row, list);
        timeline->end = std::max(timeline->end, at);
        timeline->rows.push_back(std::move(row));
    }
    return timeline;
}

} // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    const auto slices = argc > 1 ? static_cast<std::size_t>(std::atoll(argv[1])) : std::size_t{10'000'000};
    QElapsedTimer timer;
    timer.start();
    const auto timeline = generate(slices);
    std::printf("%zu slices made in %.2f s\n", timeline->slices(), static_cast<double>(timer.restart()) / 1e3);
    const auto scene = makeTimelineScene(timeline);
    std::printf("lanes: %.2f s\n", static_cast<double>(timer.restart()) / 1e3);
    TimelineView view;
    view.resize(1920, 1000);
    view.setScene(scene);
    view.show();
    QImage image(view.size(), QImage::Format_RGB32);
    // Processor time of this thread: what else runs on the machine does not count.
    const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
    };
    const auto frame = [&] {
        const double start = now();
        view.render(&image);
        return now() - start;
    };
    (void)frame(); // fonts
    std::vector<double> times;
    const auto path = [&](const char* what) {
        times.clear();
        const double begin = timeline->begin, end = timeline->end;
        // From everything down to some microseconds around a place at 37 %, moving there, and back out.
        const double place = begin + (end - begin) * 0.37;
        for (int step = 0; step < 120; ++step) {
            const double span = (end - begin) * std::pow(0.88, step);
            view.setAxis(place - span * 0.4, place + span * 0.6);
            times.push_back(frame());
        }
        for (int step = 0; step < 120; ++step) {
            const double span = (end - begin) * std::pow(0.88, 120 - step);
            const double shift = span * (step % 20) * 0.05;
            view.setAxis(place - span * 0.4 + shift, place + span * 0.6 + shift);
            times.push_back(frame());
        }
        std::ranges::sort(times);
        double sum = 0;
        for (const double t : times) sum += t;
        std::printf("%s: %zu frames of %dx%d, mean %.2f ms, median %.2f ms, 95 %% %.2f ms, longest %.2f ms\n", what, times.size(), image.width(), image.height(),
                    sum / static_cast<double>(times.size()), times[times.size() / 2], times[times.size() * 95 / 100], times.back());
    };
    path("zoom and move");
    timer.restart();
    const std::size_t found = view.setSearch("operator_17");
    std::printf("search: %zu of them in %lld ms\n", found, static_cast<long long>(timer.restart()));
    view.showNextFound();
    std::printf("next one: %lld ms\n", static_cast<long long>(timer.restart()));
    path("zoom and move while searching");
    return 0;
}
