#include "layout/side_by_side.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace megascope {

std::vector<std::vector<std::uint32_t>> side_by_side(std::vector<Surroundings> operators, std::size_t least) {
    std::vector<std::vector<std::uint32_t>> sets;
    std::vector<std::uint8_t> taken(operators.size(), 0);
    for (std::vector<std::uint32_t> Surroundings::*side : {&Surroundings::producers, &Surroundings::readers}) {
        std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::vector<std::uint32_t>> found;
        for (std::uint32_t i = 0; i < operators.size(); ++i) {
            std::vector<std::uint32_t>& list = operators[i].*side;
            if (taken[i] || list.empty()) continue;
            std::sort(list.begin(), list.end());
            found[{operators[i].type, std::move(list)}].push_back(i);
        }
        for (auto& [key, set] : found) {
            if (set.size() < least) continue;
            for (std::uint32_t i : set) taken[i] = 1;
            sets.push_back(std::move(set));
        }
    }
    std::sort(sets.begin(), sets.end());
    return sets;
}

std::size_t parts_of_row(std::size_t count, std::size_t most) {
    if (count <= most) return 1;
    const double levels = std::ceil(std::log(static_cast<double>(count)) / std::log(static_cast<double>(most)) - 1e-9);
    return static_cast<std::size_t>(std::ceil(std::pow(static_cast<double>(count), 1 / levels) - 1e-9));
}

} // namespace megascope
