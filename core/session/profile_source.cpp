#include "session/profile_source.h"

#include <algorithm>
#include <string_view>

#include "format/reader.h"
#include "profile/graph_profile_reader.h"
#include "profile/gunzip.h"
#include "session/profile_export.h"

namespace megascope {

namespace {

tl::unexpected<Error> in_file(Error error, const std::filesystem::path& path) {
    if (error.where.empty()) error.where = path.string();
    return forward(std::move(error));
}

/// The sniffed sentence speaks of graphs ("…, not a graph"); here a profile was wanted.
std::string what_it_is(std::span<const std::byte> bytes) {
    std::string sentence = sniff(bytes).sentence;
    if (const auto at = sentence.find(", not a graph"); at != std::string::npos) sentence.erase(at);
    return sentence;
}

Expected<void> open_file(const std::filesystem::path& path, ProfileSource& source, const TraceReadOptions& options, const CancelToken& cancel,
                         const Progress& progress) {
    auto opened = MappedFile::open(path);
    if (!opened) return forward(opened.error());
    std::shared_ptr<const MappedFile> file = *opened;
    if (is_gzip(file->bytes())) {
        auto plain = gunzip(*file, cancel);
        if (!plain) return in_file(plain.error(), path);
        file = *plain;
    }
    if (looks_like_graph_profile(file->bytes())) {
        auto profile = read_graph_profile(file->bytes(), cancel, progress);
        if (!profile) return in_file(profile.error(), path);
        source.profiles.push_back(*profile);
        return {};
    }
    if (!looks_like_trace(file->bytes()))
        return fail_in(ErrorCode::foreign, "This is " + what_it_is(file->bytes()) + "; a profile of MegEngine's GraphProfiler or a list of Chrome trace events was expected.",
                       path.string());
    auto trace = read_trace(file, options, cancel, progress);
    if (!trace) return in_file(trace.error(), path);
    auto timeline = timeline_of(std::shared_ptr<const TraceEvents>(*trace), cancel);
    if (!timeline) return in_file(timeline.error(), path);
    source.trace = *timeline;
    return {};
}

/// run2 before run10.
bool naturally_before(const std::filesystem::path& a, const std::filesystem::path& b) {
    const std::string x = a.filename().string();
    const std::string y = b.filename().string();
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    std::size_t i = 0, j = 0;
    while (i < x.size() && j < y.size()) {
        if (is_digit(x[i]) && is_digit(y[j])) {
            std::size_t end_x = i, end_y = j;
            while (i + 1 < x.size() && x[i] == '0' && is_digit(x[i + 1])) ++i;
            while (j + 1 < y.size() && y[j] == '0' && is_digit(y[j + 1])) ++j;
            for (end_x = i; end_x < x.size() && is_digit(x[end_x]); ++end_x) {}
            for (end_y = j; end_y < y.size() && is_digit(y[end_y]); ++end_y) {}
            if (end_x - i != end_y - j) return end_x - i < end_y - j;
            if (const int order = x.compare(i, end_x - i, y, j, end_y - j); order != 0) return order < 0;
            i = end_x;
            j = end_y;
        } else {
            if (x[i] != y[j]) return x[i] < y[j];
            ++i;
            ++j;
        }
    }
    return x.size() - i < y.size() - j;
}

} // namespace

Expected<ProfileSource> open_profile_source(const std::filesystem::path& path, const TraceReadOptions& options, const CancelToken& cancel,
                                            const Progress& progress) {
    ProfileSource source;
    source.title = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
        MGS_TRY(open_file(path, source, options, cancel, progress));
        return source;
    }
    std::vector<std::filesystem::path> files;
    for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
        if (at->path().extension() == ".json") files.push_back(at->path());
    if (error) return fail_in(ErrorCode::io, "The folder cannot be read: " + error.message() + ".", path.string());
    if (files.empty()) return fail_in(ErrorCode::foreign, "The folder holds no profiles (*.json).", path.string());
    std::ranges::sort(files, naturally_before);
    for (const auto& file : files) {
        ProfileSource one;
        MGS_TRY(open_file(file, one, options, cancel, progress));
        if (one.profiles.empty())
            return fail_in(ErrorCode::invalid_argument, "This is a trace of events; the profiles in a folder are iterations of one graph.", file.string());
        source.profiles.push_back(one.profiles.front());
    }
    return source;
}

Expected<CompareSide> compare_side_of(const ProfileSource& source, const CancelToken& cancel) {
    if (source.trace) return compare_side(source.title, source.trace, cancel);
    return compare_side(source.title, source.profiles);
}

std::vector<std::shared_ptr<const GraphProfile>> profiles_of_run(const Graph& graph, const GraphInfo& info, const TestcaseRun& run, const Plan* plan) {
    std::vector<std::shared_ptr<const GraphProfile>> profiles;
    profiles.reserve(run.steps.size());
    for (const auto& steps : run.steps) profiles.push_back(profile_of_run(graph, info, steps, plan));
    return profiles;
}

} // namespace megascope
