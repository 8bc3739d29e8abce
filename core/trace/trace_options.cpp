#include "trace/trace_options.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "base/units.h"

namespace megascope {

std::vector<std::pair<std::string, std::string>> graph_options(const TraceOptions& options) {
    std::vector<std::pair<std::string, std::string>> list{
        {"no_force_inplace", "true"},
        {"graph_opt_level", std::to_string(options.opt_level)},
        {"seq_opt.enable_seq_comp_node_opt", "false"},
    };
    if (const auto& dtr = options.dtr_config) {
        list.emplace_back("enable_dtr_memory_opt", "true");
        list.emplace_back("dtr_config.eviction_threshold", std::to_string(dtr->eviction_threshold));
        list.emplace_back("dtr_config.evictee_minimum_size", std::to_string(dtr->evictee_minimum_size));
        list.emplace_back("dtr_config.recomp_memory_factor", format_number(dtr->recomp_memory_factor));
        list.emplace_back("dtr_config.recomp_time_factor", format_number(dtr->recomp_time_factor));
    }
    if (const auto& jit = options.graph_opt_config) {
        list.emplace_back("graph_opt.jit_config.fuse_dimshuffle", std::to_string(GraphOptConfig::number(jit->jit_fuse_dimshuffle)));
        list.emplace_back("graph_opt.jit_config.fuse_reduce", std::to_string(GraphOptConfig::number(jit->jit_fuse_reduce)));
    }
    if (const auto& sublinear = options.sublinear_memory_config) {
        const int workers = sublinear->num_worker > 0 ? sublinear->num_worker : std::max(1, ThreadPool::available_cores() / 2);
        list.emplace_back("enable_sublinear_memory_opt", "true");
        list.emplace_back("sublinear_mem_config.lb_memory_mb", std::to_string(sublinear->lb_memory_mb));
        list.emplace_back("sublinear_mem_config.genetic_nr_iter", std::to_string(sublinear->genetic_nr_iter));
        list.emplace_back("sublinear_mem_config.genetic_pool_size", std::to_string(sublinear->genetic_pool_size));
        list.emplace_back("sublinear_mem_config.thresh_nr_try", std::to_string(sublinear->thresh_nr_try));
        list.emplace_back("sublinear_mem_config.num_worker", std::to_string(workers));
    }
    return list;
}

std::vector<std::string> options_without_effect(const TraceOptions& options) {
    std::vector<std::string> sentences;
    const auto jit = [&](const char* name, const std::optional<bool>& value) {
        if (value) sentences.push_back(std::string("graph_opt_config: ") + name + " = " + (*value ? "ON" : "OFF") + " has no effect, because the backends have no JIT compiler.");
    };
    if (options.graph_opt_config) {
        jit("jit_fuse_dimshuffle", options.graph_opt_config->jit_fuse_dimshuffle);
        jit("jit_fuse_reduce", options.graph_opt_config->jit_fuse_reduce);
    }
    if (options.opt_level >= 3) sentences.emplace_back("opt_level 3 does what opt_level 2 does, because the backends have no JIT compiler.");
    return sentences;
}

} // namespace megascope
