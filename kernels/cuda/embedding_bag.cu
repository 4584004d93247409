// Sums, means and maxima of bags of rows: a thread for each element of the result.
#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTogether = 4;  // entries of a bag that are on their way at once

template <class T>
struct Bags {
  T* y;
  int64_t *bag, *count, *chosen;
  const T *table, *factors;
  const int64_t *rows, *offsets;
  int64_t bags, size, entries, offset_count, table_rows, padding_row;
  bool mean;
  Complaint complaint;

  // The host has not looked at the offsets, for it would have to wait for them.
  __device__ __forceinline__ int64_t place(int64_t b) const {
    if (b >= offset_count) return entries;
    const int64_t at = offsets[b];
    return complaint.accepts(at, entries + 1) ? at : at < 0 ? 0 : entries;
  }
  // The row of an entry before `end`; -1 if it does not count. The table may have no rows.
  __device__ __forceinline__ int64_t row_at(int64_t i, int64_t end) const {
    if (i >= end || rows[i] == padding_row) return -1;
    return complaint.accepts(rows[i], table_rows) ? rows[i] : -1;
  }
};

__global__ void __launch_bounds__(kThreads) mark_none(int64_t* bag, int64_t entries) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < entries) bag[i] = -1;
}

template <class T>
__global__ void __launch_bounds__(kThreads) fill_bags(const __grid_constant__ Bags<T> call) {
  begin_kernel();
  const int64_t element = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (element >= call.bags * call.size) return;
  const int64_t b = element / call.size, d = element % call.size;
  const bool keeps_books = d == 0;  // one thread of each bag
  T y = 0;
  int64_t chosen = -1, counted = 0;
  const int64_t end = call.place(b + 1);
  for (int64_t first = call.place(b); first < end; first += kTogether) {
    int64_t row[kTogether];
    T x[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) row[k] = call.row_at(first + k, end);
#pragma unroll
    for (int k = 0; k < kTogether; ++k)
      x[k] = row[k] < 0 ? T(0) : call.table[row[k] * call.size + d];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (row[k] < 0) continue;
      if (keeps_books) call.bag[first + k] = b;
      if (!call.chosen) {
        y += call.factors ? call.factors[first + k] * x[k] : x[k];
      } else if (counted == 0 || x[k] > y) {
        y = x[k], chosen = row[k];
      }
      ++counted;
    }
  }
  if (keeps_books) call.count[b] = counted;
  if (call.chosen) call.chosen[element] = chosen;
  call.y[element] = call.mean && counted > 0 ? y / static_cast<T>(counted) : y;
}

}  // namespace

int32_t kernels::embedding_bag(const dt_stream* stream, const calls::EmbeddingBag& call) {
  return visit_floating(call.y.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    const int64_t entries = call.rows.sizes[0];
    int64_t* bag = static_cast<int64_t*>(call.bag.data);
    if (const int32_t code =
            launch(stream, mark_none, dim3(static_cast<unsigned>(divide_up(entries, kThreads))),
                   dim3(kThreads), 0, bag, entries))
      return code;
    const Bags<T> kernel = {static_cast<T*>(call.y.data),
                            bag,
                            static_cast<int64_t*>(call.count.data),
                            call.chosen ? static_cast<int64_t*>(call.chosen->data) : nullptr,
                            static_cast<const T*>(call.table.data),
                            call.factors ? static_cast<const T*>(call.factors->data) : nullptr,
                            static_cast<const int64_t*>(call.rows.data),
                            static_cast<const int64_t*>(call.offsets.data),
                            call.y.sizes[0],
                            call.y.sizes[1],
                            entries,
                            call.offsets.sizes[0],
                            call.table.sizes[0],
                            call.padding_row,
                            call.mean,
                            Complaint(stream, call)};
    const int64_t blocks = divide_up(numel(call.y), kThreads);
    return launch(stream, fill_bags<T>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0,
                  kernel);
  });
}

// Rows that are written from many places are what index_sum's sorted writes are for.
int32_t kernels::embedding_bag_backward(const dt_stream*, const calls::EmbeddingBagBackward&) {
  return DT_KERNEL_UNSUPPORTED;
}

}  // namespace dt::cuda
