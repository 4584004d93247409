// Sorting positions by key, and adding up their slices: what calls the kernels of
// sorted_writes.cuh.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

#include "kernels/cuda/scratch.h"
#include "kernels/cuda/split_plan.cuh"

namespace dt::cuda {
namespace {

// What CUB needs to sort.
template <class Word>
struct SortBuffers {
  cub::DoubleBuffer<Word> keys, order;
  char* scratch = nullptr;
  size_t scratch_bytes = 0;

  SortBuffers(Scratch* memory, const SplitPlan& split) {
    const int64_t count = split.positions.count();
    for (int i = 0; i < 2; ++i) {
      keys.d_buffers[i] = memory->take<Word>(count);
      order.d_buffers[i] = memory->take<Word>(count);
    }
    cub::DeviceRadixSort::SortPairs(nullptr, scratch_bytes, keys, order, static_cast<Word>(count),
                                    0, split.key_bits());
    scratch = memory->take<char>(static_cast<int64_t>(scratch_bytes));
  }

  // Keys and order are there, unsorted.
  int32_t sort(const dt_stream* stream, const SplitPlan& split, SortedPositions<Word>* sorted) {
    const auto count = static_cast<Word>(split.positions.count());
    const cudaError_t error = cub::DeviceRadixSort::SortPairs(
        scratch, scratch_bytes, keys, order, count, 0, split.key_bits(), native_stream(stream));
    *sorted = split.sorted(keys.Current(), order.Current());
    return check(error, "cub::DeviceRadixSort", stream->fault);
  }
};

// How sums are spread over threads.
struct AdditionShape {
  int64_t parts, chunks, groups;
  int lanes;

  AdditionShape(const SplitPlan& split, int width) : parts(split.slice.count / width), lanes(1) {
    while (lanes < kWarp && lanes < parts) lanes *= 2;
    chunks = divide_up(split.positions.count(), rows() * kRowPositions);
    groups = std::min(divide_up(parts, lanes), std::max(kMostBlocks / chunks, int64_t{1}));
  }
  int64_t rows() const { return int64_t{kWriteThreads} / lanes; }
  int64_t blocks() const { return chunks * groups; }
  int64_t joins() const { return divide_up(chunks, rows()) * groups; }

 private:
  static constexpr int64_t kMostBlocks = 1 << 30;
};

// Takes room for heads and tails, of packets or of elements: whichever has more blocks.
inline void take_rests(Scratch* memory, const SplitPlan& split, int64_t bytes) {
  for (int64_t width : {int64_t{1}, kPacketBytes / bytes}) {
    const AdditionShape shape(split, static_cast<int>(width));
    memory->take<char>(2 * shape.chunks * shape.parts * width * bytes + 512);
  }
}

// `fresh`: see Addition.
template <class T, int kWidth, class Op, class Word>
int32_t add_sorted(const dt_stream* stream, const SplitPlan& split, T* y, const Values<T>& values,
                   const Op& op, const SortedPositions<Word>& sorted, int64_t fresh,
                   Scratch* memory) {
  const AdditionShape shape(split, kWidth);
  Addition<T, kWidth, Op, Word> a{y, values, sorted, split.positions, split.slice};
  a.parts = shape.parts, a.lanes = shape.lanes;
  a.chunks = static_cast<unsigned>(shape.chunks), a.groups = static_cast<unsigned>(shape.groups);
  a.op = op, a.fresh = fresh;
  a.heads = memory->take<Packet<T, kWidth>>(shape.chunks * shape.parts);
  a.tails = memory->take<Packet<T, kWidth>>(shape.chunks * shape.parts);
  const int64_t clearing = divide_up(fresh, kClearSlices), blocks = shape.blocks() + clearing;
  a.clear_share = static_cast<uint64_t>(divide_up(clearing << 32, blocks));
  const int32_t code = launch(stream, add_chunks<T, kWidth, Op, Word>,
                              static_cast<unsigned>(blocks), kWriteThreads, 0, a);
  if (code != DT_KERNEL_OK || shape.chunks == 1) return code;
  return launch(stream, join_chunks<T, kWidth, Op, Word>, static_cast<unsigned>(shape.joins()),
                kWriteThreads, 0, a);
}

}  // namespace
}  // namespace dt::cuda
