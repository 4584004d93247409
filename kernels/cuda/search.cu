// searchsorted: how many elements of a sorted row come before each of the values. A thread for
// each.
#include "kernels/calls/sorting.gen.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
struct Search {
  void* y;
  int32_t y_dtype;
  const T *values, *sorted;
  const int64_t* sorter;
  Offsets<3, uint64_t> offsets;  // of values, and of the rows of sorted and sorter
  int64_t count, n, stride, sorter_stride;
  bool right;
  Complaint complaint;

  __device__ __forceinline__ T at(const T* row, const int64_t* order, int64_t i) const {
    if (!sorter) return row[i * stride];
    const int64_t position = order[i * sorter_stride];
    return row[(complaint.accepts(position, n) ? position : 0) * stride];
  }
};

// Nothing comes behind NaN, as on the CPU.
template <class T>
__global__ void __launch_bounds__(kThreads) search(const __grid_constant__ Search<T> call) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= call.count) return;
  int64_t offset[3];
  call.offsets.at(static_cast<uint64_t>(i), offset);
  const T value = call.values[offset[0]];
  const T* row = call.sorted + offset[1];
  const int64_t* order = call.sorter ? call.sorter + offset[2] : nullptr;
  int64_t begin = 0, end = call.n;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    const T element = call.at(row, order, middle);
    if (call.right ? !(element > value) : !(element >= value))
      begin = middle + 1;
    else
      end = middle;
  }
  store_as(call.y, call.y_dtype, i, begin);
}

template <class T>
int32_t run_search(const dt_stream* stream, const calls::Searchsorted& call) {
  const dt_view &values = call.values, &sorted = call.sorted;
  const int last = values.ndim - 1;
  Axes<3> axes;
  for (int d = 0; d <= last; ++d) {
    const bool is_row = d == last;
    axes.insert(d, values.sizes[d],
                {values.strides[d], is_row ? 0 : sorted.strides[d],
                 is_row || !call.sorter ? 0 : call.sorter->strides[d]});
  }
  const Search<T> kernel = {call.y.data,
                            call.y.dtype,
                            static_cast<const T*>(values.data),
                            static_cast<const T*>(sorted.data),
                            call.sorter ? static_cast<const int64_t*>(call.sorter->data) : nullptr,
                            Offsets<3, uint64_t>(axes),
                            numel(values),
                            sorted.sizes[last],
                            sorted.strides[last],
                            call.sorter ? call.sorter->strides[last] : 0,
                            call.right,
                            Complaint(stream, call)};
  return launch(stream, search<T>, dim3(static_cast<unsigned>(divide_up(kernel.count, kThreads))),
                dim3(kThreads), 0, kernel);
}

}  // namespace

int32_t kernels::searchsorted(const dt_stream* stream, const calls::Searchsorted& call) {
  if (numel(call.values) == 0) return DT_KERNEL_OK;
  return visit_value(call.values.dtype, [&](auto type) {
    return run_search<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cuda
