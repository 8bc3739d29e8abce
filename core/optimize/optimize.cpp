#include "optimize/optimize.h"

#include <chrono>
#include <exception>
#include <new>

#include "optimize/sequence.h"

namespace megascope {

Expected<std::shared_ptr<const Graph>> optimize_for_inference(std::shared_ptr<const Graph> graph, const OptimizeOptions& options,
                                                              const CancelToken& cancel, OptimizeReport* report) {
    if (graph->outputs().empty()) return fail(ErrorCode::invalid_argument, "The graph has no outputs, so there is nothing to optimize.");
    try {
        Workspace workspace(*graph);
        std::size_t before = workspace.order().size();
        for (const PassStep& step : pass_sequence(options)) {
            if (cancel.cancelled()) return CancelToken::error();
            const auto start = std::chrono::steady_clock::now();
            const std::size_t replaced = step.apply(workspace);
            const std::size_t after = workspace.order().size();
            if (report) {
                const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
                report->passes.push_back({std::string(step.name), before, after, replaced, time.count()});
            }
            before = after;
        }
        if (report) report->next_id = workspace.next_id();
        return workspace.finish();
    } catch (const RewriteFailure& failure) {
        return forward(failure.error);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::out_of_memory, "There is not enough memory to optimize the graph.");
    }
}

} // namespace megascope
