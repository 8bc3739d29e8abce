#include "profile/graph_profile.h"

#include <algorithm>
#include <limits>

namespace megascope {

namespace {

template <class Item>
auto find_number(const std::vector<Item>& items, std::uint64_t number) {
    const auto at = std::lower_bound(items.begin(), items.end(), number, [](const Item& i, std::uint64_t n) { return i.number < n; });
    return at != items.end() && at->number == number ? std::optional<std::size_t>(at - items.begin()) : std::nullopt;
}

void keep_longest(std::vector<std::optional<ProfileSpan>>& spans, const std::vector<ProfileRecord>& records) {
    for (const auto& record : records) {
        auto& span = spans[record.opr.index()];
        if (!span || record.span.duration() > span->duration()) span = record.span;
    }
}

} // namespace

ProfileOprId GraphProfile::find_opr(std::uint64_t number) const {
    const auto at = find_number(oprs, number);
    return at ? ProfileOprId(*at) : ProfileOprId();
}

ProfileVarId GraphProfile::find_var(std::uint64_t number) const {
    const auto at = find_number(vars, number);
    return at ? ProfileVarId(*at) : ProfileVarId();
}

ProfileTimes longest_times(const GraphProfile& profile) {
    ProfileTimes times;
    times.device.resize(profile.oprs.size());
    times.host.resize(profile.oprs.size());
    keep_longest(times.device, profile.device);
    keep_longest(times.host, profile.host);
    return times;
}

ProfileSummary summarize(const GraphProfile& profile) {
    ProfileSummary sum;
    double first = std::numeric_limits<double>::infinity();
    double last = -first;
    for (const auto& record : profile.device) {
        first = std::min(first, record.span.start);
        last = std::max(last, record.span.end);
        sum.kernel_time += record.span.kernel_time();
    }
    if (last > first) sum.device_span = last - first;

    const ProfileTimes times = longest_times(profile);
    for (std::size_t i = 0; i < profile.oprs.size(); ++i) {
        if (times.device[i]) sum.device_time += times.device[i]->duration();
        else ++sum.without_device_record;
        if (times.host[i]) sum.host_time += times.host[i]->duration();
        if (const auto& footprint = profile.footprints[i]) {
            if (footprint->computation) sum.computation += *footprint->computation;
            else ++sum.without_computation;
        }
    }
    for (const auto& var : profile.vars) sum.without_mem_plan += !var.mem_plan;
    return sum;
}

} // namespace megascope
