// The gradient of what a grid samples. Many places may be made of an element, so that places are
// sorted, stably, once for all channels: linear ones by the cell between elements in which they
// lie, others tap by tap by their element. Then a thread adds up what lies in the cells around an
// element, in the order of the cells and in each of the places: nothing is written twice, and the
// result is always the same. Elements around which much lies are summed by a block. Channels whose
// gradients fit lie in shared memory meanwhile.
#include "kernels/cuda/grid_sample_input.h"

#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/grid_sample.cuh"
#include "kernels/cuda/grid_sample_entries.cuh"
#include "kernels/cuda/grid_sample_staged.cuh"
#include "kernels/cuda/radix_sort.cuh"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr uint32_t kCrowded = 64;  // entries around an element
constexpr int kAtOnce = 2;         // entries of a thread that are on their way

// The sorted entries of a call, and what sorts them.
struct EntryTable {
  uint32_t *unsorted = nullptr, *numbers = nullptr;  // cells, and entries in their order
  uint32_t *keys, *order, *begin;                    // sorted; begin: of each cell's
  char* entries;
  cub::DoubleBuffer<uint32_t> by_key, by_number;
  char* scratch = nullptr;
  size_t scratch_bytes = 0;
  FewPairs few;

  EntryTable(Scratch* memory, const EntryCounts& e, int64_t entry_bytes)
      : begin(memory->take<uint32_t>(e.cells + 1)),
        entries(memory->take<char>(e.entries * entry_bytes)),
        few(are_few_pairs(e.entries) ? FewPairs(memory, e.entries, e.key_bits())
                                     : FewPairs(memory, 1, 1)) {
    keys = few.memory.keys, order = few.memory.order;
    if (are_few_pairs(e.entries)) return;
    unsorted = memory->take<uint32_t>(e.entries);
    numbers = memory->take<uint32_t>(e.entries);
    by_key = {unsorted, memory->take<uint32_t>(e.entries)};
    by_number = {numbers, memory->take<uint32_t>(e.entries)};
    cub::DeviceRadixSort::SortPairs(nullptr, scratch_bytes, by_key, by_number,
                                    static_cast<uint32_t>(e.entries), 0, e.key_bits());
    scratch = memory->take<char>(static_cast<int64_t>(scratch_bytes));
  }
};

template <class T, int kDims, int kReach>
__global__ void __launch_bounds__(kSampleThreads)
    find_cells(uint32_t* keys, uint32_t* numbers, uint32_t entries,
               const __grid_constant__ CellOf<T, kDims, kReach> cell_of) {
  begin_kernel();
  const uint32_t number = blockIdx.x * kSampleThreads + threadIdx.x;
  if (number >= entries) return;
  keys[number] = cell_of(number);
  numbers[number] = number;
}

// Where the entries of cell `cell` begin among all: the first key that is not below it.
__device__ __forceinline__ uint32_t first_of_cell(const uint32_t* keys, uint32_t entries,
                                                  uint32_t cell) {
  uint32_t low = 0, high = entries;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (keys[middle] < cell) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Puts all entries in order. `cells` stands for none.
template <class T, int kDims, int kReach>
__global__ void __launch_bounds__(kSampleThreads)
    write_entries(Entry<T, kDims, kReach>* to, uint32_t* begin, const uint32_t* keys,
                  const uint32_t* order, uint32_t entries,
                  const __grid_constant__ CellOf<T, kDims, kReach> cell_of) {
  begin_kernel();
  const uint32_t i = blockIdx.x * kSampleThreads + threadIdx.x;
  const uint32_t cells = cell_of.none();
  if (i <= cells) begin[i] = first_of_cell(keys, entries, i);
  if (i < entries && keys[i] < cells) to[i].store(cell_of.entry(order[i]));
}

// Adds every step-th entry of a run from `start` on.
template <class T, int kDims, int kReach, class Planes>
__device__ __forceinline__ void add_run(const Entry<T, kDims, kReach>* entries, const CellRun& run,
                                        uint32_t start, uint32_t step, int corner, const Planes& g,
                                        typename Planes::Elements* sums) {
  for (uint32_t i = run.begin + start; i < run.end; i += kAtOnce * step) {
    Entry<T, kDims, kReach> entry[kAtOnce];
#pragma unroll
    for (int a = 0; a < kAtOnce; ++a) entry[a].load(entries + min(i + a * step, run.end - 1));
#pragma unroll
    for (int a = 0; a < kAtOnce; ++a) {
      if (i + a * step >= run.end) break;
      const T weight = entry[a].weight(corner, i + a * step < run.middle);
      const auto gradient = g.at(static_cast<int32_t>(entry[a].place()));
#pragma unroll
      for (auto c = 0u; c < sizeof(sums->value) / sizeof(T); ++c)
        sums->value[c] += weight * gradient.value[c];
    }
  }
}

template <class T, int kDims, int kReach>
struct Gradient {
  T* gx;
  const T* g;
  const Entry<T, kDims, kReach>* entries;
  const uint32_t* begin;
  CellGrid<kDims, kReach> grid;
  int32_t channels, places;
  Staging staging;
};

// The sums over the block of what its threads have of an element, which is written.
template <class T, int kTogether>
__device__ __forceinline__ void store_block_sums(const Packet<T, kTogether>& own, int32_t count,
                                                 int32_t plane, T* to) {
  __shared__ T of_warps[kTogether][kWarp];
  const auto add = [](T a, T b) { return a + b; };
  const auto lane = static_cast<int32_t>(threadIdx.x % kWarp);
  const auto warp = static_cast<int32_t>(threadIdx.x / kWarp);
  const auto warps = static_cast<int32_t>(blockDim.x / kWarp);
#pragma unroll
  for (int c = 0; c < kTogether; ++c) {
    const T sum = lanes_reduce<kWarp>(own.value[c], add);
    if (lane == 0) of_warps[c][warp] = sum;
  }
  __syncthreads();
  for (int32_t c = warp; c < count; c += warps) {
    const T sum = lanes_reduce<kWarp>(lane < warps ? of_warps[c][lane] : T(0), add);
    if (lane == 0) to[c * plane] = sum;
  }
  __syncthreads();
}

// Sums of those of the block's elements that are crowded, by all its threads, one after another.
template <class T, int kDims, int kReach, class Planes>
__device__ __forceinline__ void sum_crowded(const Gradient<T, kDims, kReach>& call,
                                            const StagedBlock& block, const Planes& g, T* gx) {
  using Runs = CellRuns<kDims, kReach>;
  __shared__ int32_t crowded[kStagedThreads<T>];  // in any order
  __shared__ int32_t count;
  const auto threads = static_cast<int32_t>(blockDim.x);
  for (int32_t first = block.begin; first < block.end; first += threads) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const int32_t own = first + static_cast<int32_t>(threadIdx.x);
    if (own < block.end && Runs(call.grid, call.begin, block.image, own).total() > kCrowded)
      crowded[atomicAdd(&count, 1)] = own;
    __syncthreads();
    for (int32_t n = 0; n < count; ++n) {
      const Runs runs(call.grid, call.begin, block.image, crowded[n]);
      typename Planes::Elements sums = {};
#pragma unroll
      for (int r = 0; r < Runs::kCount; ++r)
        add_run(call.entries, runs.of[r], threadIdx.x, blockDim.x, r, g, &sums);
      store_block_sums(sums, g.count, call.grid.plane, gx + crowded[n]);
    }
    __syncthreads();
  }
}

template <class T, int kDims, int kReach, int kTogether, bool kIsStaged>
__global__ void __launch_bounds__(kStagedThreads<T>)
    add_entries(const __grid_constant__ Gradient<T, kDims, kReach> call) {
  begin_kernel();
  using Runs = CellRuns<kDims, kReach>;
  const StagedBlock block(call.staging);
  const int64_t channel = int64_t{block.image} * call.channels + block.first_channel;
  const ChannelPlanes<T, kTogether, kIsStaged> g = {
      call.g + channel * call.places, call.places,
      min(kTogether, call.channels - block.first_channel)};
  g.stage();
  T* const gx = call.gx + channel * call.grid.plane;
  bool are_crowded = false;
  const auto threads = static_cast<int32_t>(blockDim.x);
  for (int32_t i = block.begin + static_cast<int32_t>(threadIdx.x); i < block.end; i += threads) {
    const Runs runs(call.grid, call.begin, block.image, i);
    const bool is_crowded = runs.total() > kCrowded;
    are_crowded |= is_crowded;
    if (is_crowded) continue;
    Packet<T, kTogether> sums = {};
#pragma unroll
    for (int r = 0; r < Runs::kCount; ++r) add_run(call.entries, runs.of[r], 0, 1, r, g, &sums);
#pragma unroll
    for (int c = 0; c < kTogether; ++c) {
      if (c < g.count) gx[int64_t{c} * call.grid.plane + i] = sums.value[c];
    }
  }
  if (__syncthreads_or(are_crowded)) sum_crowded(call, block, g, gx);
}

template <class T, int kDims, int kReach, int kTogether, bool kIsStaged>
int32_t run_add(const dt_stream* stream, const Gradient<T, kDims, kReach>& call, int64_t images) {
  constexpr auto kKernel = add_entries<T, kDims, kReach, kTogether, kIsStaged>;
  const int64_t shared = call.staging.bytes + kSharedDeclared;
  if (const int32_t code = allow_shared<kKernel>(stream, shared)) return code;
  return launch(stream, kKernel, call.staging.blocks(images), dim3(call.staging.threads),
                static_cast<size_t>(call.staging.bytes), call);
}

template <class T, int kDims, int kReach>
int32_t add_all(const dt_stream* stream, const Gradient<T, kDims, kReach>& call, int64_t images) {
  const Staging& staging = call.staging;
  if constexpr (kMayBeStaged<T, kDims, kReach>) {
    if (staging.bytes && staging.together == 1)
      return run_add<T, kDims, kReach, 1, true>(stream, call, images);
    if (staging.bytes && staging.together == 2)
      return run_add<T, kDims, kReach, 2, true>(stream, call, images);
    if (staging.bytes) return run_add<T, kDims, kReach, kMostTogether, true>(stream, call, images);
  }
  return run_add<T, kDims, kReach, kMostTogether, false>(stream, call, images);
}

template <class T, int kDims, int kReach>
int32_t sort_entries(const dt_stream* stream, const EntryCounts& e, EntryTable* table,
                     const CellOf<T, kDims, kReach>& cell_of) {
  const auto entries = static_cast<uint32_t>(e.entries);
  if (are_few_pairs(e.entries)) return sort_few(stream, table->few, entries, cell_of);
  const int32_t code =
      launch(stream, find_cells<T, kDims, kReach>,
             dim3(static_cast<unsigned>(divide_up(e.entries, kSampleThreads))),
             dim3(kSampleThreads), 0, table->unsorted, table->numbers, entries, cell_of);
  if (code != DT_KERNEL_OK) return code;
  const cudaError_t error = cub::DeviceRadixSort::SortPairs(
      table->scratch, table->scratch_bytes, table->by_key, table->by_number, entries, 0,
      e.key_bits(), native_stream(stream));
  table->keys = table->by_key.Current(), table->order = table->by_number.Current();
  return check(error, "cub::DeviceRadixSort", stream->fault);
}

template <class T, int kDims, int kReach>
int32_t run_input_gradient(const dt_stream* stream, const calls::GridSampleBackward& call) {
  using Part = Entry<T, kDims, kReach>;
  const EntryCounts e(call);
  // CUB asks about the current device.
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  Scratch memory(call.workspace);
  EntryTable table(&memory, e, sizeof(Part));
  const Sampler<T, int32_t> sampler(call, call.x, call.grid);
  const CellGrid<kDims, kReach> grid(call.x);
  const CellOf<T, kDims, kReach> cell_of = {sampler, grid};
  if (const int32_t code = sort_entries(stream, e, &table, cell_of)) return code;
  Part* const entries = reinterpret_cast<Part*>(table.entries);
  const int64_t threads = std::max(e.entries, e.cells + 1);
  if (const int32_t code = launch(stream, write_entries<T, kDims, kReach>,
                                  dim3(static_cast<unsigned>(divide_up(threads, kSampleThreads))),
                                  dim3(kSampleThreads), 0, entries, table.begin, table.keys,
                                  table.order, static_cast<uint32_t>(e.entries), cell_of))
    return code;
  const int64_t reads =
      kMayBeStaged<T, kDims, kReach> ? e.entries / sampler.images * Part::kUses : 0;
  const Staging staging(stream->device, sampler.images, sampler.channels, sampler.places,
                        sampler.plane, reads, sizeof(T), kStagedThreads<T>);
  const Gradient<T, kDims, kReach> gradient = {static_cast<T*>(call.gx->data),
                                               static_cast<const T*>(call.g.data),
                                               entries,
                                               table.begin,
                                               grid,
                                               sampler.channels,
                                               sampler.places,
                                               staging};
  return add_all(stream, gradient, sampler.images);
}

}  // namespace

int32_t input_gradient(const dt_stream* stream, const calls::GridSampleBackward& call) {
  const EntryCounts e(call);
  if (!e.are_small() || !is_small_sampling(call.x, call.grid, call.g)) return DT_KERNEL_UNSUPPORTED;
  if (e.entries == 0 || numel(call.x) == 0) return DT_KERNEL_UNSUPPORTED;
  return visit_floating(call.g.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return visit_sampling(call.x.ndim - 2, call.reach, [&](auto dims, auto reach) {
      return run_input_gradient<T, decltype(dims)::value, decltype(reach)::value>(stream, call);
    });
  });
}

int64_t input_gradient_bytes(const dt_stream* stream, const calls::GridSampleBackward& call) {
  const EntryCounts e(call);
  // CUB asks about the current device. If there is none, the kernel says so.
  if (!e.are_small() || e.entries == 0 || set_device(stream->device) != cudaSuccess) return 0;
  Scratch sizes(nullptr);
  visit_floating(call.g.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return visit_sampling(call.x.ndim - 2, call.reach, [&](auto dims, auto reach) {
      EntryTable(&sizes, e, sizeof(Entry<T, decltype(dims)::value, decltype(reach)::value>));
      return DT_KERNEL_OK;
    });
  });
  return sizes.used();
}

}  // namespace dt::cuda
