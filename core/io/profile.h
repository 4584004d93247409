// What a profiler found, as a table and as a file for Chrome's and Perfetto's trace viewers.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "core/runtime/profiler.h"
#include "core/tensor/tensor.h"

namespace dt {

// The names, shapes and numbers of all activities: kind, thread, start, duration, time of its own
// (ns), a device's time and that of its own (ns), memory and memory of its own (bytes), bytes in
// use afterwards, parent.
std::tuple<std::vector<std::string>, std::vector<std::string>, Tensor> profiler_activities(
    const Profiler& profiler);
std::string profiler_table(const Profiler& profiler, const std::string& sort_by, int64_t row_limit,
                           bool group_by_input_shape);
// Where the most memory was in use, and what had taken it.
std::string profiler_memory_summary(const Profiler& profiler, int64_t row_limit);
void profiler_export_chrome_trace(const Profiler& profiler, const std::string& path);

}  // namespace dt
