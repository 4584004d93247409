// The gradient of embedding_bag's table: entries are sorted by their rows, and each row adds up the
// gradients of its entries' bags where they are. Nothing is made for each entry but its key.
#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/pool_window.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/sorted_sums.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

// An entry's slice is its bag's; one that counts in no bag, or has a bad row, goes nowhere.
__global__ void __launch_bounds__(kThreads)
    make_pairs(uint32_t* keys, uint32_t* order, const int64_t* rows, const int64_t* bag,
               int64_t entries, uint32_t nowhere) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= entries) return;
  const int64_t b = bag[i];
  const auto row = static_cast<uint64_t>(rows[i]);
  keys[i] = b < 0 || row >= nowhere ? nowhere : static_cast<uint32_t>(row);
  order[i] = b < 0 ? 0 : static_cast<uint32_t>(b);
}

// Rows are the destinations of entries. The order of these says bags.
SplitPlan split_of(const calls::EmbeddingBagBackward& call) {
  const int64_t size = call.g.sizes[1];
  SplitPlan split;
  split.positions.ndim = split.slice.ndim = 1;
  split.positions.sizes[0] = call.rows.sizes[0];
  split.positions.plain[0] = split.slice.count = split.slice.sizes[0] = split.unit = size;
  split.positions.indexed[0] = 0;
  split.slice.plain[0] = split.slice.indexed[0] = 1;
  split.extent = call.gtable.sizes[0];
  return split;
}

// Factors of entries, few of which have any, are left to the sums of other ops.
bool can_sum(const calls::EmbeddingBagBackward& call, const SplitPlan& split) {
  return !call.factors && numel(call.g) > 0 && numel(call.rows) > 0 && split.extent > 0 &&
         split.is_small() && call.g.sizes[0] <= kMaxIndex32;
}

int32_t sort_entries(const dt_stream* stream, const calls::EmbeddingBagBackward& call,
                     const SplitPlan& split, Scratch* memory, SortedPositions<uint32_t>* sorted) {
  SortBuffers<uint32_t> buffers(memory, split);
  const int64_t entries = split.positions.count();
  const int32_t code = launch(
      stream, make_pairs, static_cast<unsigned>(divide_up(entries, kThreads)), kThreads, 0,
      buffers.keys.Current(), buffers.order.Current(), static_cast<const int64_t*>(call.rows.data),
      static_cast<const int64_t*>(call.bag.data), entries, static_cast<uint32_t>(split.nowhere()));
  return code != DT_KERNEL_OK ? code : buffers.sort(stream, split, sorted);
}

template <class T>
int32_t sum_bags(const dt_stream* stream, const calls::EmbeddingBagBackward& call,
                 const SplitPlan& split) {
  constexpr int kWidth = kPacketWidth<T>;
  Scratch memory(call.workspace);
  SortedPositions<uint32_t> sorted;
  if (const int32_t code = sort_entries(stream, call, split, &memory, &sorted)) return code;
  T* const gtable = static_cast<T*>(call.gtable.data);
  const Values<T> g = {static_cast<const T*>(call.g.data), T()};
  const auto sum = [&](auto width) {
    return add_sorted<T, decltype(width)::value>(stream, split, gtable, g, Sum<T>{T(1)}, sorted,
                                                 split.extent, &memory);
  };
  return rows_are_aligned<T>(split.unit, call.g, call.gtable) ? sum(Count<kWidth>())
                                                              : sum(Count<1>());
}

}  // namespace

int32_t kernels::embedding_bag_backward(const dt_stream* stream,
                                        const calls::EmbeddingBagBackward& call) {
  const SplitPlan split = split_of(call);
  if (!can_sum(call, split)) return DT_KERNEL_UNSUPPORTED;
  return visit_floating(call.gtable.dtype, [&](auto type) {
    return sum_bags<typename decltype(type)::type>(stream, call, split);
  });
}

int64_t kernels::embedding_bag_backward_workspace(const dt_stream* stream,
                                                  const calls::EmbeddingBagBackward& call) {
  const SplitPlan split = split_of(call);
  // CUB asks about the current device. If there is none, the kernel says so.
  if (!can_sum(call, split) || set_device(stream->device) != cudaSuccess) return 0;
  Scratch memory(nullptr);
  SortBuffers<uint32_t>(&memory, split);
  take_rests(&memory, split, bytes_of(call.gtable.dtype));
  return memory.used();
}

}  // namespace dt::cuda
