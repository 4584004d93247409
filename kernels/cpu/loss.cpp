// Losses that are reduced while they are computed.
#include "kernels/calls/loss.gen.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rows.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 1024;         // elements that are summed in their own type
constexpr int64_t kGroup = 16 * kTile;  // of one thread

// The squared errors of a tile lie in L1 before they are summed; tiles add up without rounding that
// matters. Fills in slope, unless it is null.
template <class T>
double squared_errors(const T* x, const T* target, T scale, T* slope, int64_t n) {
  double sum = 0;
  T squares[kTile];
  for (int64_t first = 0; first < n; first += kTile) {
    const int64_t count = min(kTile, n - first);
    for (int64_t i = 0; i < count; ++i) {
      const T error = x[first + i] - target[first + i];
      squares[i] = error * error;
    }
    for (int64_t i = first; slope && i < first + count; ++i) slope[i] = scale * (x[i] - target[i]);
    sum += static_cast<double>(reduce_span<Sum<T>>(squares, count));
  }
  return sum;
}

// The groups' sums are added in order, whoever computed them.
template <class T>
double grouped_squared_errors(const dt_stream* stream, const calls::SquaredErrorSum& call,
                              int64_t n) {
  const T *x = data<const T>(call.x), *target = data<const T>(call.target);
  const T scale = static_cast<T>(2 / call.divisor);
  T* slope = optional_data<T>(call.slope);
  if (n <= kGroup) return squared_errors(x, target, scale, slope, n);
  double* sums = static_cast<double*>(call.workspace);
  const int64_t groups = ceil_div(n, kGroup);
  parallel_for(stream, groups, n, [&](int64_t group) {
    const int64_t first = group * kGroup;
    sums[group] = squared_errors(x + first, target + first, scale, slope ? slope + first : nullptr,
                                 min(kGroup, n - first));
  });
  double sum = 0;
  for (int64_t group = 0; group < groups; ++group) sum += sums[group];
  return sum;
}

}  // namespace

int32_t kernels::squared_error_sum(const dt_stream* stream, const calls::SquaredErrorSum& call) {
  return visit_floating(call.x.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    const double sum = grouped_squared_errors<T>(stream, call, call.x.sizes[0]);
    *data<T>(call.y) = static_cast<T>(sum / call.divisor);
    return DT_KERNEL_OK;
  });
}

int64_t kernels::squared_error_sum_workspace(const dt_stream*, const calls::SquaredErrorSum& call) {
  const int64_t groups = ceil_div(call.x.sizes[0], kGroup);
  return groups > 1 ? groups * static_cast<int64_t>(sizeof(double)) : 0;
}

}  // namespace dt::cpu
