// Sums, means and maxima of bags of rows: a thread for each packet of the result, or for some.
#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTogether = 8;  // entries of a bag that are on their way at once

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
    if (i >= end) return -1;
    return complaint.accepts(rows[i], table_rows) && rows[i] != padding_row ? rows[i] : -1;
  }
  // Entry i's row joins the sum or the maximum.
  template <int kWidth>
  __device__ __forceinline__ void take(const Packet<T, kWidth>& x, int64_t i, int64_t row,
                                       bool is_first, Packet<T, kWidth>* sum,
                                       Packet<int64_t, kWidth>* of_row) const {
    const T factor = factors ? factors[i] : T(1);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      if (!chosen) {
        sum->value[v] += factor * x.value[v];
      } else if (is_first || x.value[v] > sum->value[v]) {
        sum->value[v] = x.value[v], of_row->value[v] = row;
      }
    }
  }
};

__global__ void __launch_bounds__(kThreads) mark_none(int64_t* bag, int64_t entries) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < entries) bag[i] = -1;
}

// A row of the block's threads has a bag.
template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads, 3) fill_bags(const __grid_constant__ Bags<T> call) {
  begin_kernel();
  const int64_t b = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (b >= call.bags) return;
  const int64_t begin = call.place(b), end = call.place(b + 1);
  for (int64_t d = threadIdx.x * kWidth; d < call.size; d += blockDim.x * kWidth) {
    const bool keeps_books = d == 0;  // one thread of each bag
    Packet<T, kWidth> y = {};
    Packet<int64_t, kWidth> chosen = filled_packet<kWidth>(int64_t{-1});
    int64_t counted = 0;
    for (int64_t first = begin; first < end; first += kTogether) {
      int64_t row[kTogether];
      Packet<T, kWidth> x[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) row[k] = call.row_at(first + k, end);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        x[k] = {};
        if (row[k] >= 0) x[k] = load_packet<kWidth>(call.table + (row[k] * call.size + d));
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (row[k] < 0) continue;
        if (keeps_books) call.bag[first + k] = b;
        call.take(x[k], first + k, row[k], counted == 0, &y, &chosen);
        ++counted;
      }
    }
    if (keeps_books) call.count[b] = counted;
    const T by = call.mean && counted > 0 ? static_cast<T>(counted) : T(1);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) y.value[v] /= by;
    store_packet(call.y + (b * call.size + d), y);
    if (call.chosen) store_packet(call.chosen + (b * call.size + d), chosen);
  }
}

template <class T, int kWidth>
int32_t launch_bags(const dt_stream* stream, const Bags<T>& bags) {
  unsigned lanes = 1;
  while (lanes < kThreads && lanes * kWidth < bags.size) lanes *= 2;
  const dim3 block(lanes, kThreads / lanes);
  return launch(stream, fill_bags<T, kWidth>,
                dim3(static_cast<unsigned>(divide_up(bags.bags, block.y))), block, 0, bags);
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
    constexpr int kWidth = kPacketWidth<T>;
    const bool packets = rows_are_aligned<T>(kernel.size, call.y, call.table) &&
                         (!kernel.chosen || is_aligned(kernel.chosen, kPacketBytes));
    return packets ? launch_bags<T, kWidth>(stream, kernel) : launch_bags<T, 1>(stream, kernel);
  });
}

}  // namespace dt::cuda
