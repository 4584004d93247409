// gather and scatter along one dimension. All index values are checked before scatter writes.
#include "kernels/cpu/gather_once.h"
#include "kernels/cpu/index.h"
#include "kernels/cpu/index_plan.h"

namespace dt::cpu {
namespace {

bool is_in_range(const dt_stream* stream, const dt_view& index, const dt_view& indexed,
                 int64_t dim) {
  return check_index(stream, index, 0, indexed.ndim == 0 ? 1 : indexed.sizes[dim]);
}

// Whether the index is an expanded one, of which each value selects a slice of the last dimension.
bool selects_slices(const dt_view& index, int64_t dim) {
  const int last = index.ndim - 1;
  return last > 0 && dim != last && index.strides[last] == 0 && index.sizes[last] > 1;
}

template <class Call>
int32_t scatter_with(ScatterStep fold, const dt_stream* stream, const Call& call) {
  if (!is_in_range(stream, call.index, call.y, call.dim)) return DT_KERNEL_INDEX;
  if (count(call.index) == 0) return DT_KERNEL_OK;
  return dt_scatter_elements(stream, fold, Scattered{call.y, call.source, call.index, call.dim});
}

}  // namespace

int32_t kernels::gather(const dt_stream* stream, const calls::Gather& call) {
  const dt_view& index = call.index;
  if (count(index) == 0) return DT_KERNEL_OK;
  if (selects_slices(index, call.dim)) {
    if (!is_in_range(stream, index, call.x, call.dim)) return DT_KERNEL_INDEX;
    return gather_slices(stream, call);
  }
  // An index value is checked when it is used; which one was wrong is found out afterwards.
  const bool is_right = dt_gather_elements(stream, call);
  return is_right || is_in_range(stream, index, call.x, call.dim) ? DT_KERNEL_OK : DT_KERNEL_INDEX;
}

int32_t kernels::scatter(const dt_stream* stream, const calls::Scatter& call) {
  return scatter_with(call.accumulate ? ScatterStep::kAdd : ScatterStep::kAssign, stream, call);
}

int32_t kernels::scatter_prod(const dt_stream* stream, const calls::ScatterFold& call) {
  return scatter_with(ScatterStep::kMultiply, stream, call);
}

int32_t kernels::scatter_amax(const dt_stream* stream, const calls::ScatterFold& call) {
  return scatter_with(ScatterStep::kLarger, stream, call);
}

int32_t kernels::scatter_amin(const dt_stream* stream, const calls::ScatterFold& call) {
  return scatter_with(ScatterStep::kSmaller, stream, call);
}

}  // namespace dt::cpu
