// Planes of some channels in shared memory. What a grid asks for lies anywhere: from memory a warp
// gets it in as many steps as it lies in lines of 128 bytes, up to 32, from shared memory in as
// many as it lies in one bank, of which there are seldom more than 4.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/shared.cuh"

namespace dt::cuda {

// At most; as many as have registers twice on a multiprocessor, mostly.
template <class T>
constexpr unsigned kStagedThreads = sizeof(T) == 4 ? 1024 : 512;
// Other planes stay where they are: they would need as many kernels again.
template <class T, int kDims, int kReach>
constexpr bool kMayBeStaged = kDims == 2 && kReach < 2 && sizeof(T) == 4;
constexpr int kMostTogether = 4;                          // channels
constexpr int64_t kStagingBlocks = 2;                     // for which a multiprocessor has memory
constexpr int64_t kSharedDeclared = 5 * kSharedPerBlock;  // by kernels, besides planes: at most

// A block has `together` channels of an image, the last of a group perhaps fewer, and a part of
// what is to be done for an image.
struct Staging {
  int64_t items;      // to be done for each image, `part_items` of them by a block
  int64_t bytes = 0;  // of shared memory; 0: nothing is staged
  int32_t together = kMostTogether, groups = 1, parts = 1, part_items = 0;
  unsigned threads = kWarp;  // follows from the shapes alone, as orders of sums do

  // `plane` elements are read about `reads` times; 0: they may not be staged.
  Staging(int32_t device, int64_t images, int64_t channels, int64_t plane, int64_t items,
          int64_t reads, int64_t element_bytes, unsigned most_threads)
      : items(items) {
    const int64_t most = shared_memory(device) / kStagingBlocks - kSharedDeclared - kSharedPerBlock;
    const auto needed = [&] { return plane * together * element_bytes; };
    while (together > 1 && (needed() > most || together / 2 >= channels)) together /= 2;
    if (needed() <= most && reads >= plane) {
      bytes = needed();
    } else {
      while (together < kMostTogether && together < channels) together *= 2;
    }
    groups = static_cast<int32_t>(divide_up(channels, together));
    while (threads < most_threads && threads < items) threads *= 2;
    // Staging a plane is worth as many items, unless multiprocessors have nothing to do meanwhile;
    // without, a block has some for each thread.
    const int64_t least = std::max<int64_t>(bytes ? plane : 0, int64_t{4} * threads);
    const int64_t wanted = divide_up(multiprocessors(device) * kWaves, images * groups);
    const int64_t idle = multiprocessors(device) * kStagingBlocks / (images * groups);
    const int64_t fewest = divide_up(items, int64_t{1} << 30);
    parts = static_cast<int32_t>(std::max(
        {std::min(wanted, items / least), std::min(idle, items / threads), fewest, int64_t{1}}));
    part_items = static_cast<int32_t>(divide_up(divide_up(items, parts), threads) * threads);
    parts = static_cast<int32_t>(divide_up(items, part_items));
  }
  dim3 blocks(int64_t images) const { return dim3(static_cast<unsigned>(images * groups * parts)); }

 private:
  static constexpr int64_t kWaves = 8;  // blocks of all multiprocessors
};

#ifdef __CUDACC__

// What a block of a Staging has.
struct StagedBlock {
  int32_t image, first_channel, begin, end;

  __device__ __forceinline__ explicit StagedBlock(const Staging& staging) {
    const auto parts = static_cast<uint32_t>(staging.parts);
    const auto groups = static_cast<uint32_t>(staging.groups);
    const uint32_t of_parts = blockIdx.x / parts, part = blockIdx.x - of_parts * parts;
    const uint32_t of_groups = of_parts / groups, group = of_parts - of_groups * groups;
    image = static_cast<int32_t>(of_groups);
    first_channel = static_cast<int32_t>(group) * staging.together;
    begin = static_cast<int32_t>(part) * staging.part_items;
    end = static_cast<int32_t>(min(int64_t{begin} + staging.part_items, staging.items));
  }
};

// The part of a block whose planes stay where they are: blocks whose channels come to kMostTogether
// have these in common, and share the items out.
__device__ __forceinline__ StagedBlock shared_out(const StagedBlock& block,
                                                  const Staging& staging) {
  const int32_t most = kMostTogether / staging.together;
  const int32_t group = block.first_channel / staging.together, first = group / most * most;
  const int32_t blocks = min(most, staging.groups - first);
  const int32_t step = blocks * kWarp, each = (block.end - block.begin + step - 1) / step * kWarp;
  StagedBlock own = block;
  own.first_channel = first * staging.together;
  own.begin = min(block.begin + (group - first) * each, block.end);
  own.end = min(own.begin + each, block.end);
  return own;
}

// Elements of kTogether planes that lie behind each other, or of fewer, then 0: where they are, or
// from shared memory.
template <class T, int kTogether, bool kIsStaged>
struct ChannelPlanes {
  using Elements = Packet<T, kTogether>;

  const T* planes;
  int32_t plane, count;

  __device__ __forceinline__ Elements load(int32_t i) const {
    Elements elements;
#pragma unroll
    for (int c = 0; c < kTogether; ++c)
      elements.value[c] = c < count ? planes[c * plane + i] : T(0);
    return elements;
  }
  // All threads of a block must call it, before any at().
  __device__ __forceinline__ void stage() const {
    if constexpr (kIsStaged) {
      const auto threads = static_cast<int32_t>(blockDim.x);
#pragma unroll 4
      for (auto i = static_cast<int32_t>(threadIdx.x); i < plane; i += threads)
        store_packet(staged() + int64_t{i} * kTogether, load(i));
      __syncthreads();
    }
  }
  __device__ __forceinline__ Elements at(int32_t i) const {
    if constexpr (kIsStaged) {
      return load_packet<kTogether>(staged() + int64_t{i} * kTogether);
    } else {
      return load(i);
    }
  }

 private:
  static __device__ __forceinline__ T* staged() {
    extern __shared__ uint4 staged_planes[];
    return reinterpret_cast<T*>(staged_planes);
  }
};

#endif

}  // namespace dt::cuda
