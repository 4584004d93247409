// The thread pool. The calling thread takes part; every worker begins with a share of its own and
// then helps the others, so a slow or absent worker delays nobody; workers spin briefly for the
// next job, then sleep.
#pragma once

#include <cstdint>

namespace dt {

// Calls body(context, tile, worker) once for each tile in [0, tiles), and returns when all are
// done. worker, in [0, workers), tells apart calls that may run at the same time. Runs serially
// inside another parallel call, when the pool is busy with another thread's work, and after
// num_threads was set to 1.
void parallel(int64_t tiles, int64_t workers,
              void (*body)(void* context, int64_t tile, int64_t worker), void* context);

int num_threads();
void set_num_threads(int n);  // 1 or more; the default is DT_NUM_THREADS or the number of cores

}  // namespace dt
