// searchsorted: how many elements of a sorted row come before each of the values. A thread for
// each.
#include <type_traits>

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

// kPlain: a dense row without a sorter, whose length fits 32 bits. What a step takes beside its
// load is most of the time where rows are in the cache.
template <class T, bool kPlain>
__device__ __forceinline__ int64_t place_of(const Search<T>& call, Widened<T> value, const T* row,
                                            const int64_t* order) {
  using Index = std::conditional_t<kPlain, uint32_t, int64_t>;
  Index begin = 0, length = static_cast<Index>(call.n);
  while (length > 0) {
    const Index half = length / 2;
    Widened<T> element;
    if constexpr (kPlain)
      element = static_cast<Widened<T>>(row[begin + half]);
    else
      element = static_cast<Widened<T>>(call.at(row, order, begin + half));
    const bool is_before = call.right ? !(element > value) : !(element >= value);
    begin = is_before ? begin + half + 1 : begin;
    length = is_before ? length - half - 1 : half;
  }
  return static_cast<int64_t>(begin);
}

// Nothing comes behind NaN, as on the CPU.
template <class T, bool kPlain>
__global__ void __launch_bounds__(kThreads) search(const __grid_constant__ Search<T> call) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= call.count) return;
  int64_t offset[3];
  call.offsets.at(static_cast<uint64_t>(i), offset);
  const auto value = static_cast<Widened<T>>(call.values[offset[0]]);
  const T* row = call.sorted + offset[1];
  const int64_t* order = call.sorter ? call.sorter + offset[2] : nullptr;
  store_as(call.y, call.y_dtype, i, place_of<T, kPlain>(call, value, row, order));
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
  const bool is_plain = !call.sorter && kernel.stride == 1 && kernel.n <= INT32_MAX;
  return launch(stream, is_plain ? search<T, true> : search<T, false>,
                dim3(static_cast<unsigned>(divide_up(kernel.count, kThreads))), dim3(kThreads), 0,
                kernel);
}

}  // namespace

int32_t kernels::searchsorted(const dt_stream* stream, const calls::Searchsorted& call) {
  if (numel(call.values) == 0) return DT_KERNEL_OK;
  return visit_any(call.values.dtype, [&](auto type) {
    return run_search<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cuda
