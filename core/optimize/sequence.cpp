#include "optimize/sequence.h"

#include "optimize/passes.h"

namespace megascope {

std::vector<PassStep> pass_sequence(const OptimizeOptions& options) {
    std::vector<PassStep> steps = {
        {"convert batch norm", convert_batch_norm},
        {"const predicate folding", fold_const_predicates},
        {"remove non-computing", remove_non_computing},
        {"delay broadcast", delay_broadcast},
        {"expand fused arithmetic", expand_fused_arith},
        {"normalize arithmetic chains", normalize_arith_chain},
        {"param redistribute", redistribute_params},
        {"param fuse", fuse_params},
        {"mul distribute", distribute_mul},
        {"reorder arithmetic chains", reorder_arith_chain},
        {"arithmetic fusion", fuse_arith},
        {"reorder arithmetic chains", reorder_arith_chain},
        {"final arithmetic", final_arith},
        {"redundant type conversions", remove_redundant_type_cvt},
        {"redundant copies", remove_redundant_copy},
        {"type conversion and reduce", combine_type_cvt_and_reduce},
        {"param fuse", fuse_params},
    };
    const std::vector<PassStep> chosen = option_passes(options);
    steps.insert(steps.end(), chosen.begin(), chosen.end());
    if (!chosen.empty()) steps.push_back({"param fuse", fuse_params});
    steps.push_back({"param merge", merge_params});
    steps.push_back({"deconvolution and type conversion", fuse_deconv_type_cvt});
    steps.push_back({"remove shape hints", remove_shape_hint});
    return steps;
}

} // namespace megascope
