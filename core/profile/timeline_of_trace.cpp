#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "profile/timeline.h"
#include "profile/timeline_rows.h"

namespace megascope {

namespace {

/// Frees a list's memory; assigning {} would keep it.
template <class T>
void give_back(std::vector<T>& list) { std::vector<T>().swap(list); }

/// Pairs the events of a trace into slices, counters and flows.
class TraceTimeline {
public:
    TraceTimeline(std::shared_ptr<const TraceEvents> trace, const CancelToken& cancel) : e_(*trace), cancel_(cancel) {
        timeline_->trace = std::move(trace);
    }

    Expected<std::shared_ptr<const Timeline>> build() {
        sort_events();
        find_range();
        make_room();
        open_.resize(e_.tracks.size());
        waiting_.resize(e_.tracks.size());
        std::size_t done = 0;
        for (const std::uint32_t i : order_) {
            if (++done % 65536 == 0 && cancel_.cancelled()) return CancelToken::error();
            event(i);
        }
        close_what_is_open();
        give_back(order_);
        rows();
        flows();
        warnings();
        return std::shared_ptr<const Timeline>(std::move(timeline_));
    }

private:
    struct Open {
        double start;
        std::uint32_t event;
    };

    void sort_events() {
        order_.reserve(e_.size());
        for (std::uint32_t i = 0; i < e_.size(); ++i)
            if (std::isfinite(e_.time[i]) && e_.phase[i] != 'M') order_.push_back(i);
        const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return e_.time[a] < e_.time[b]; };
        for (std::size_t i = 1; i < order_.size(); ++i) out_of_order_ += (e_.phase[order_[i]] == 'B' || e_.phase[order_[i]] == 'E') && earlier(order_[i], order_[i - 1]);
        if (!std::is_sorted(order_.begin(), order_.end(), earlier)) std::stable_sort(order_.begin(), order_.end(), earlier);
    }

    void find_range() {
        if (order_.empty()) return;
        timeline_->begin = e_.time[order_.front()];
        timeline_->end = timeline_->begin;
        for (const std::uint32_t i : order_) {
            const double end = std::isfinite(e_.duration[i]) ? e_.time[i] + e_.duration[i] : e_.time[i];
            timeline_->end = std::max(timeline_->end, end);
        }
    }

    /// A list that grows by doubling holds its content twice for a while.
    void make_room() {
        std::vector<std::size_t> counts(e_.tracks.size());
        for (const std::uint32_t i : order_) counts[e_.track[i].index()] += std::string_view("XBiIRnT").find(e_.phase[i]) != std::string_view::npos;
        slices_.resize(counts.size());
        for (std::size_t track = 0; track < counts.size(); ++track) slices_[track].reserve(counts[track]);
    }

    StringId name_of(std::uint32_t i) { return timeline_->strings.intern(e_.strings[e_.name[i]]); }

    void event(std::uint32_t i) {
        const std::size_t track = e_.track[i].index();
        if (!waiting_[track].empty() && e_.time[i] > e_.time[waiting_[track].front()]) close_waiting(track);
        switch (e_.phase[i]) {
        case 'X': {
            const double duration = e_.duration[i];
            if (std::isnan(duration)) ++without_duration_;
            else if (duration < 0) ++negative_;
            const double end = duration > 0 ? e_.time[i] + duration : e_.time[i];
            slices_[track].push_back({e_.time[i], end, name_of(i), i, false});
            break;
        }
        case 'B': begin_event(track, i); break;
        case 'E': end_event(track, i); break;
        case 'i':
        case 'I':
        case 'R':
        case 'n':
        case 'T':
            if (e_.strings[e_.name[i]] == "[memory]") allocation(i);
            slices_[track].push_back({e_.time[i], e_.time[i], name_of(i), i, true}); break;
        case 'C': counter(i); break;
        case 'b':
        case 'S': async_open_[async_key(i)].push_back({e_.time[i], i}); break;
        case 'e':
        case 'F': async_end(i); break;
        default: break;
        }
    }

    void begin_event(std::size_t track, std::uint32_t i) {
        // Its end may stand in front of it when both have the same time.
        auto& waiting = waiting_[track];
        const auto end = std::ranges::find_if(waiting, [&](std::uint32_t w) { return e_.name[w] == e_.name[i]; });
        if (end == waiting.end()) {
            open_[track].push_back({e_.time[i], i});
            return;
        }
        waiting.erase(end);
        slices_[track].push_back({e_.time[i], e_.time[i], name_of(i), i, false});
    }

    /// An end whose name no open slice has may belong to a begin of the same time that is still to come.
    void end_event(std::size_t track, std::uint32_t i) {
        const StringId name = e_.name[i];
        const bool named = name.valid() && !e_.strings[name].empty();
        if (named && std::ranges::none_of(open_[track], [&](const Open& open) { return e_.name[open.event] == name; })) waiting_[track].push_back(i);
        else close(track, i);
    }

    void close_waiting(std::size_t track) {
        for (const std::uint32_t i : waiting_[track]) close(track, i);
        waiting_[track].clear();
    }

    void close(std::size_t track, std::uint32_t i) {
        auto& stack = open_[track];
        if (stack.empty()) {
            ++end_without_begin_;
            slices_[track].push_back({e_.time[i], e_.time[i], name_of(i), i, true});
            return;
        }
        // An end names what it ends, if it has a name. With equal time stamps the order in the file may be mixed up: the innermost
        // slice of that name is meant.
        auto match = stack.end() - 1;
        const StringId name = e_.name[i];
        if (name.valid() && !e_.strings[name].empty() && e_.name[match->event] != name) {
            auto same = stack.end();
            for (auto s = stack.begin(); s != stack.end(); ++s)
                if (e_.name[s->event] == name) same = s;
            if (same != stack.end() && e_.time[(stack.end() - 1)->event] == e_.time[same->event]) match = same;
            else ++names_differ_;
        }
        slices_[track].push_back({match->start, e_.time[i], name_of(match->event), match->event, false});
        stack.erase(match);
    }

    /// Async events belong together by category, id and process.
    std::string async_key(std::uint32_t i) {
        std::string key(e_.strings[e_.category[i]]);
        key += '\0';
        key += e_.ids[id_of(i)];
        key += '\0';
        key += e_.strings[e_.tracks[e_.track[i].index()].pid];
        return key;
    }

    TraceLinkId id_of(std::uint32_t i) const {
        const auto at = std::lower_bound(e_.with_id.begin(), e_.with_id.end(), TraceEventId(i));
        return at != e_.with_id.end() && at->value() == i ? e_.id_of[static_cast<std::size_t>(at - e_.with_id.begin())] : TraceLinkId();
    }

    void async_end(std::uint32_t i) {
        auto& stack = async_open_[async_key(i)];
        if (stack.empty()) {
            ++end_without_begin_;
            return;
        }
        async_[e_.tracks[e_.track[i].index()].pid].push_back({stack.back().start, e_.time[i], name_of(stack.back().event), stack.back().event, false});
        stack.pop_back();
    }

    void counter(std::uint32_t i) {
        const auto json = nlohmann::json::parse(e_.event_text(TraceEventId(i)), nullptr, false);
        const auto args = json.is_object() ? json.find("args") : json.end();
        if (!json.is_object() || args == json.end() || !args->is_object()) {
            ++counters_without_value_;
            return;
        }
        for (const auto& [series, value] : args->items()) {
            if (!value.is_number()) continue;
            std::string title(e_.strings[e_.name[i]]);
            if (series != "value" && series != title) title += " " + series;
            title = std::string(e_.strings[e_.tracks[e_.track[i].index()].pid]) + ": " + title;
            const auto [at, is_new] = counter_at_.try_emplace(title, timeline_->counters.size());
            if (is_new) timeline_->counters.push_back({title, {}, {}});
            TimelineCounter& counter = timeline_->counters[at->second];
            counter.time.push_back(e_.time[i]);
            counter.value.push_back(value.get<double>());
        }
    }

    /// PyTorch's allocator tells each (de)allocation by an instant: "Total Allocated" is what a device holds from then on.
    void allocation(std::uint32_t i) {
        const auto json = nlohmann::json::parse(e_.event_text(TraceEventId(i)), nullptr, false);
        if (!json.is_object() || !json.contains("args") || !json["args"].is_object()) return;
        const auto& args = json["args"];
        const auto number = [&](const char* key) { return args.contains(key) && args[key].is_number() ? std::optional(args[key].get<double>()) : std::nullopt; };
        const auto total = number("Total Allocated");
        if (!total) return;
        const std::int64_t device = static_cast<std::int64_t>(number("Device Id").value_or(-1));
        const std::string title = "allocated (bytes), device " + std::string(device < 0 ? "none" : std::to_string(device));
        const auto [at, is_new] = counter_at_.try_emplace(title, timeline_->counters.size());
        if (is_new) timeline_->counters.push_back({title, {}, {}});
        timeline_->counters[at->second].time.push_back(e_.time[i]);
        timeline_->counters[at->second].value.push_back(*total);
    }

    void close_what_is_open() {
        for (std::size_t track = 0; track < waiting_.size(); ++track) close_waiting(track);
        for (std::size_t track = 0; track < open_.size(); ++track)
            for (const Open& open : open_[track]) {
                ++begin_without_end_;
                slices_[track].push_back({open.start, timeline_->end, name_of(open.event), open.event, false});
            }
        for (const auto& [key, stack] : async_open_)
            for (const Open& open : stack) {
                ++begin_without_end_;
                async_[e_.tracks[e_.track[open.event].index()].pid].push_back({open.start, timeline_->end, name_of(open.event), open.event, false});
            }
    }

    void rows() {
        std::vector<std::uint32_t> tracks(e_.tracks.size());
        for (std::uint32_t i = 0; i < tracks.size(); ++i) tracks[i] = i;
        std::stable_sort(tracks.begin(), tracks.end(), [&](std::uint32_t a, std::uint32_t b) {
            const TraceTrack& x = e_.tracks[a];
            const TraceTrack& y = e_.tracks[b];
            return std::tuple(x.process_sort_index, e_.strings[x.pid], x.sort_index) < std::tuple(y.process_sort_index, e_.strings[y.pid], y.sort_index);
        });
        row_of_track_.assign(e_.tracks.size(), invalid_row);
        for (const std::uint32_t t : tracks) {
            if (slices_[t].empty()) continue;
            TimelineRow row;
            const std::string title = e_.track_title(TraceTrackId(t));
            const auto slash = title.find(" / ");
            row.group = title.substr(0, slash);
            row.title = title.substr(slash + 3);
            crossing_ += fill_row(row, slices_[t]);
            give_back(slices_[t]); // large traces: a row is held once
            row_of_track_[t] = static_cast<std::uint32_t>(timeline_->rows.size());
            timeline_->rows.push_back(std::move(row));
        }
        for (auto& [pid, slices] : async_) {
            TimelineRow row;
            row.kind = TimelineRowKind::async;
            row.group = "process " + std::string(e_.strings[pid]);
            row.title = "async";
            fill_row(row, slices); // async slices may overlap freely
            timeline_->rows.push_back(std::move(row));
        }
    }

    /// The flow events of an id and category stand one after the other in time; each but a start is tied to the one before it.
    void flows() {
        struct Event {
            std::uint32_t event;
            TraceLinkId id;
        };
        std::vector<Event> events;
        for (std::size_t k = 0; k < e_.with_id.size(); ++k) {
            const std::uint32_t i = e_.with_id[k].value();
            if (is_flow(i)) events.push_back({i, e_.id_of[k]});
        }
        const auto key = [&](const Event& e) { return std::pair(e.id, e_.category[e.event]); };
        std::sort(events.begin(), events.end(), [&](const Event& a, const Event& b) {
            return std::tuple(a.id, e_.category[a.event], e_.time[a.event], a.event) < std::tuple(b.id, e_.category[b.event], e_.time[b.event], b.event);
        });
        std::vector<std::pair<std::uint32_t, std::uint32_t>> ties; // (from, to)
        for (std::size_t k = 0; k < events.size(); ++k) {
            const std::uint32_t to = events[k].event;
            if (e_.phase[to] == 's') continue;
            if (k == 0 || key(events[k - 1]) != key(events[k])) ++flow_without_start_;
            else if (row_of(events[k - 1].event) != invalid_row && row_of(to) != invalid_row) ties.emplace_back(events[k - 1].event, to);
        }
        give_back(events);
        std::sort(ties.begin(), ties.end(), [&](const auto& a, const auto& b) { return std::pair(e_.time[a.second], a.second) < std::pair(e_.time[b.second], b.second); });
        timeline_->flows.reserve(ties.size());
        for (const auto& [from, to] : ties) timeline_->flows.push_back({e_.time[from], e_.time[to], row_of(from), row_of(to), name_of(to)});
    }

    bool is_flow(std::uint32_t i) const {
        const char phase = e_.phase[i];
        return (phase == 's' || phase == 't' || phase == 'f') && std::isfinite(e_.time[i]);
    }
    std::uint32_t row_of(std::uint32_t i) const { return row_of_track_[e_.track[i].index()]; }

    void warnings() {
        timeline_->warnings = e_.warnings;
        const auto warn = [&](std::size_t count, const char* what) {
            if (count) timeline_->warnings.push_back(std::to_string(count) + " " + what);
        };
        warn(begin_without_end_, "slices begin and never end; they are drawn to the end of the trace.");
        warn(end_without_begin_, "end events have no begin; they are shown as instants.");
        warn(names_differ_, "end events carry another name than the slice they close.");
        warn(out_of_order_, "begin or end events stand out of time order; they were sorted.");
        warn(crossing_, "slices overlap their neighbour without nesting.");
        warn(without_duration_, "complete events have no duration.");
        warn(negative_, "complete events have a negative duration.");
        warn(counters_without_value_, "counter events have no value.");
        warn(flow_without_start_, "flow events have no start.");
    }

    static constexpr std::uint32_t invalid_row = 0xffffffffU;

    const TraceEvents& e_;
    const CancelToken& cancel_;
    std::shared_ptr<Timeline> timeline_ = std::make_shared<Timeline>();
    std::vector<std::uint32_t> order_;
    std::vector<std::vector<TimelineSlice>> slices_;
    std::vector<std::vector<Open>> open_;
    std::vector<std::vector<std::uint32_t>> waiting_; ///< by track: ends that may belong to a begin of the same time
    std::map<std::string, std::vector<Open>> async_open_;
    std::map<StringId, std::vector<TimelineSlice>> async_;
    std::unordered_map<std::string, std::size_t> counter_at_;
    std::vector<std::uint32_t> row_of_track_;
    std::size_t begin_without_end_ = 0, end_without_begin_ = 0, names_differ_ = 0, out_of_order_ = 0, crossing_ = 0, without_duration_ = 0,
                negative_ = 0, counters_without_value_ = 0, flow_without_start_ = 0;
};

} // namespace

Expected<std::shared_ptr<const Timeline>> timeline_of(std::shared_ptr<const TraceEvents> trace, const CancelToken& cancel) {
    return TraceTimeline(std::move(trace), cancel).build();
}

} // namespace megascope
