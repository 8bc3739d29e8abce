#pragma once

#include <optional>
#include <string>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"

namespace megascope {

/// What this machine can do at most, measured: the ceilings of a roofline. Rates per second; the best of several tries each,
/// because whatever else runs on the machine only makes a try slower.
struct MachinePeak {
    std::string cpu;       ///< model name as the system tells it; empty when it tells none
    int threads = 1;
    double bandwidth = 0;  ///< bytes read and written by a triad a[i] = b[i] + s · c[i] over arrays far larger than the caches (24 bytes an element are
                           ///< counted as 3 · 4: what a write reads first is not)
    double float32 = 0;    ///< operations (multiply and add apart) of a square matrix multiplication by oneDNN
    std::optional<double> int8; ///< the same for unsigned by signed bytes; nothing when oneDNN has no fast kernel for this processor
    double share = 1;      ///< of the processor time that its threads could have had, what they got in the tries that count; the least of the rates

    /// Other programs took so much of the processor that the ceilings are too low.
    [[nodiscard]] bool disturbed() const { return share < 0.9; }
};

/// Takes some seconds and about 0.5 GiB. 0 threads: one per core. Errors: cancelled, out_of_memory, unsupported (oneDNN refuses).
[[nodiscard]] Expected<MachinePeak> measure_machine_peak(int threads, const CancelToken& cancel = {}, const Progress& progress = {});

/// The model name of the processor; empty when the system tells none.
[[nodiscard]] std::string cpu_model();

/// float multiply-adds per second, times two, of one thread that does nothing else: what no kernel can pass.
[[nodiscard]] double multiply_add_peak();
/// Bytes read plus bytes written per second by one thread that copies far more than the caches hold.
[[nodiscard]] double copy_bandwidth();

} // namespace megascope
