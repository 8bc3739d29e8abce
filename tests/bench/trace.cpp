// Reads a generated Chrome trace and relates the time to simdjson's own. Not a test; nothing depends on what it prints.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <simdjson.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profile/timeline.h"
#include "profile/timeline_lanes.h"
#include "profile/trace_reader.h"

using namespace megascope;
namespace od = simdjson::ondemand;

namespace {

constexpr std::size_t piece = std::size_t{8} << 20;

/// Events as kineto writes them: slices with arguments, flows, instants, counters; one event a line. Streamed.
std::size_t generate(const std::filesystem::path& path, std::size_t bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    std::string out = "{\"schemaVersion\": 1,\n\"traceEvents\": [\n"
                      "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 100, \"tid\": 0, \"ts\": 0, \"args\": {\"name\": \"python\"}}";
    std::size_t written = 0;
    std::size_t events = 1;
    std::uint32_t random = 1;
    const auto next = [&random](std::uint32_t below) {
        random = random * 1664525U + 1013904223U;
        return (random >> 8U) % below;
    };
    char line[512];
    double time[8] = {};
    while (written + out.size() < bytes) {
        const std::uint32_t track = next(8);
        const double duration = 1 + next(200) / 8.0;
        const std::uint32_t kind = next(20);
        if (kind < 14)
            std::snprintf(line, sizeof line,
                          ",\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_%u\", \"pid\": 100, \"tid\": %u, \"ts\": %.3f, \"dur\": %.3f, \"args\": "
                          "{\"External id\": %zu, \"Input Dims\": [[1, 64, %u, %u], []], \"Record function id\": 0}}",
                          next(400), 200 + track, time[track], duration, events, next(224), next(224));
        else if (kind < 18)
            std::snprintf(line, sizeof line, ",\n{\"ph\": \"%c\", \"cat\": \"ac2g\", \"name\": \"ac2g\", \"pid\": 100, \"tid\": %u, \"ts\": %.3f, \"id\": %zu%s}", kind < 16 ? 's' : 'f',
                          200 + track, time[track], events / 8, kind < 16 ? "" : ", \"bp\": \"e\"");
        else if (kind == 18)
            std::snprintf(line, sizeof line, ",\n{\"ph\": \"i\", \"cat\": \"instant\", \"name\": \"mark\", \"s\": \"t\", \"pid\": 100, \"tid\": %u, \"ts\": %.3f}", 200 + track, time[track]);
        else
            std::snprintf(line, sizeof line, ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void gemm_kernel<float, %u>(float*, float const*)\", \"pid\": 0, \"tid\": %u, \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"stream\": %u, \"registers per thread\": 64}}",
                          next(64), track, time[track], duration, track);
        time[track] += duration + 0.5;
        out += line;
        ++events;
        if (out.size() > piece) {
            file.write(out.data(), static_cast<std::streamsize>(out.size()));
            written += out.size();
            out.clear();
        }
    }
    out += "\n]}\n";
    file.write(out.data(), static_cast<std::streamsize>(out.size()));
    return events;
}

std::size_t status_kib(const char* key) {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line))
        if (line.starts_with(key)) return std::strtoull(line.c_str() + std::string(key).size() + 1, nullptr, 10);
    return 0;
}

struct Measured {
    double seconds = 0;
    double timeline_seconds = 0;
    std::size_t count = 0;
    std::size_t peak_kib = 0;      ///< of the process, pages of the mapped file included
    std::size_t own_peak_kib = 0;  ///< memory of its own (anonymous)
};

/// Processor time of this thread: what else runs on the machine does not count.
double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Runs in a process of its own, so that its peak memory is its own.
Measured in_process(const std::function<void(Measured&)>& work) {
    int ends[2];
    if (pipe(ends) != 0) std::exit(2);
    const pid_t child = fork();
    if (child == 0) {
        std::atomic<bool> done{false};
        std::atomic<std::size_t> own{0};
        std::thread sampler([&] {
            while (!done) {
                own = std::max(own.load(), status_kib("RssAnon:"));
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        });
        Measured m;
        work(m);
        done = true;
        sampler.join();
        m.own_peak_kib = std::max(own.load(), status_kib("RssAnon:"));
        m.peak_kib = status_kib("VmHWM:");
        if (write(ends[1], &m, sizeof m) != sizeof m) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    Measured m;
    if (read(ends[0], &m, sizeof m) != sizeof m) std::exit(2);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return m;
}

/// Calls `use` with every piece of whole lines, padded; the events of a piece stand in [ ].
void pieces(const std::filesystem::path& path, const std::function<void(simdjson::padded_string_view)>& use) {
    const auto file = MappedFile::open(path);
    const std::string_view text(reinterpret_cast<const char*>((*file)->bytes().data()), (*file)->bytes().size());
    std::size_t at = text.find("[\n") + 2;
    const std::size_t end = text.rfind("\n]");
    std::string buffer;
    while (at < end) {
        std::size_t cut = at + piece < end ? text.rfind(",\n", at + piece) : end;
        buffer.reserve(piece + 4096 + simdjson::SIMDJSON_PADDING);
        buffer.assign(1, '[').append(text.substr(at, cut - at)).append(1, ']');
        use(simdjson::padded_string_view(buffer.data(), buffer.size(), buffer.capacity()));
        at = cut + (cut < end ? 2 : 0);
    }
}

void stage_one(const std::filesystem::path& path, Measured& m) {
    od::parser parser;
    const double start = now();
    pieces(path, [&](simdjson::padded_string_view text) {
        od::document document;
        if (!parser.iterate(text).get(document)) ++m.count;
    });
    m.seconds = now() - start;
}

/// Every field of every event: keys, numbers as doubles, texts as views; nested values are walked over.
void every_field(const std::filesystem::path& path, Measured& m) {
    od::parser parser;
    double sum = 0;
    const double start = now();
    pieces(path, [&](simdjson::padded_string_view text) {
        od::document document = parser.iterate(text);
        for (od::value event : document.get_array()) {
            ++m.count;
            for (auto field : event.get_object()) {
                const std::string_view key = field.unescaped_key();
                sum += static_cast<double>(key.size());
                od::value value = field.value();
                switch (value.type()) {
                case od::json_type::number: sum += value.get_double(); break;
                case od::json_type::string: {
                    const std::string_view text = value.get_string();
                    sum += static_cast<double>(text.size());
                    break;
                }
                default: sum += static_cast<double>(std::string_view(value.raw_json_token()).size()); break;
                }
            }
        }
    });
    m.seconds = now() - start;
    if (sum == 0) std::puts("nothing was read");
}

void load(const std::filesystem::path& path, bool timeline, Measured& m) {
    const double start = now();
    const auto file = MappedFile::open(path);
    const auto events = read_trace(*file);
    m.seconds = now() - start;
    if (!events) {
        std::puts(events.error().text().c_str());
        return;
    }
    m.count = (*events)->size();
    if (!timeline) return;
    const double then = now();
    const auto made = timeline_of(*events);
    if (made) (void)build_lanes(**made);
    m.timeline_seconds = now() - then;
}

void print(const char* what, const std::vector<Measured>& runs, double bytes, double reference) {
    std::vector<double> seconds;
    for (const Measured& m : runs) seconds.push_back(m.seconds);
    std::ranges::sort(seconds);
    const double median = seconds[seconds.size() / 2];
    std::printf("%-44s %7.2f s  %6.2f GB/s", what, median, bytes / median / 1e9);
    if (reference > 0) std::printf("  %5.2f of simdjson's", reference / median);
    std::printf("  peak %4zu MiB, own %4zu MiB\n", runs.back().peak_kib / 1024, runs.back().own_peak_kib / 1024);
}

double median_seconds(std::vector<Measured> runs) {
    std::ranges::sort(runs, {}, &Measured::seconds);
    return runs[runs.size() / 2].seconds;
}

} // namespace

int main(int argc, char** argv) {
    const double gigabytes = argc > 1 ? std::atof(argv[1]) : 1;
    const int repeats = argc > 2 ? std::atoi(argv[2]) : 3;
    const auto path = std::filesystem::temp_directory_path() / ("megascope_bench_trace_" + std::to_string(getpid()) + ".json");
    const std::size_t events = generate(path, static_cast<std::size_t>(gigabytes * 1e9));
    const auto bytes = static_cast<double>(std::filesystem::file_size(path));
    std::printf("%zu events, %.2f GB, %d repeats (the middle one counts), processor time\n", events, bytes / 1e9, repeats);
    std::vector<Measured> stage, fields, ours, timeline;
    for (int i = 0; i < repeats; ++i) {
        stage.push_back(in_process([&](Measured& m) { stage_one(path, m); }));
        fields.push_back(in_process([&](Measured& m) { every_field(path, m); }));
        ours.push_back(in_process([&](Measured& m) { load(path, false, m); }));
    }
    timeline.push_back(in_process([&](Measured& m) { load(path, true, m); }));
    const double reference = median_seconds(fields);
    print("simdjson, stage 1 alone", stage, bytes, 0);
    print("simdjson on-demand, every event's fields", fields, bytes, 0);
    print("read_trace", ours, bytes, reference);
    std::printf("timeline and lanes of it: %.2f s more, peak %zu MiB, own %zu MiB\n", timeline[0].timeline_seconds, timeline[0].peak_kib / 1024, timeline[0].own_peak_kib / 1024);
    if (ours.back().count != events) std::printf("read %zu events, not %zu\n", ours.back().count, events);
    std::error_code error;
    std::filesystem::remove(path, error);
    return 0;
}
