// The gradient of what a grid samples. Many places may be made of an element, so that every tap of
// every place is sorted by its element, stably, once for all channels. Then an element's thread
// adds up its taps in the order of the places: nothing is written twice, and the result is always
// the same. Elements of many taps are summed by a block.
#include "kernels/cuda/grid_sample_input.h"

#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/grid_sample.cuh"
#include "kernels/cuda/radix_sort.cuh"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr uint32_t kCrowded = 64;  // taps

// How many taps there are, and elements that they may be of.
struct TapCounts {
  int64_t images, plane, taps;

  explicit TapCounts(const calls::GridSampleBackward& call)
      : images(call.x.sizes[0]), plane(1), taps(call.x.sizes[0]) {
    const int64_t each = call.reach == 0 ? 1 : 2 * call.reach;
    for (int d = 2; d < call.x.ndim; ++d) {
      plane *= call.x.sizes[d];
      taps *= call.grid.sizes[d - 1] * each;
    }
  }
  int64_t elements() const { return images * plane; }
  // The threads of the last block that have no element are counted, too.
  bool is_small() const { return taps < kMaxIndex32 && elements() < kMaxIndex32 - kSampleThreads; }
  // Of keys up to elements(), which stands for none.
  int key_bits() const {
    int bits = 1;
    while (elements() >> bits != 0) ++bits;
    return bits;
  }
};

// All taps, in the order of places, and sorted by their elements.
template <class T>
struct TapTable {
  uint32_t *unsorted, *numbers;    // elements, and numbers in order
  T* weight;                       // by number
  uint32_t *keys, *order, *begin;  // sorted; begin: of each element's
  cub::DoubleBuffer<uint32_t> by_key, by_number;
  char* scratch = nullptr;
  size_t scratch_bytes = 0;
  FewPairs few;

  TapTable(Scratch* memory, const TapCounts& e)
      : weight(memory->take<T>(e.taps)),
        begin(memory->take<uint32_t>(e.elements() + 1)),
        few(are_few_pairs(e.taps) ? FewPairs(memory, e.taps, e.key_bits())
                                  : FewPairs(memory, 1, 1)) {
    unsorted = memory->take<uint32_t>(e.taps);
    numbers = memory->take<uint32_t>(e.taps);
    keys = few.memory.keys, order = few.memory.order;
    if (are_few_pairs(e.taps)) return;
    by_key = {unsorted, memory->take<uint32_t>(e.taps)};
    by_number = {numbers, memory->take<uint32_t>(e.taps)};
    cub::DeviceRadixSort::SortPairs(nullptr, scratch_bytes, by_key, by_number,
                                    static_cast<uint32_t>(e.taps), 0, e.key_bits());
    scratch = memory->take<char>(static_cast<int64_t>(scratch_bytes));
  }
};

template <class T, int kDims, int kReach>
__global__ void __launch_bounds__(kSampleThreads)
    find_taps(uint32_t* keys, uint32_t* numbers, T* weight,
              const __grid_constant__ Sampler<T, int32_t> sampler) {
  begin_kernel();
  using Here = Place<T, kDims, kReach, int32_t>;
  const auto place = static_cast<int32_t>(blockIdx.x * kSampleThreads + threadIdx.x);
  if (place >= sampler.images * sampler.places) return;
  const Here here(sampler, place);
  const int32_t n = sampler.by_places(place);
#pragma unroll
  for (int k = 0; k < Here::kCount; ++k) {
    const int32_t at = here.offset(sampler, k), number = place * Here::kCount + k;
    keys[number] =
        static_cast<uint32_t>(at < 0 ? sampler.images * sampler.plane : n * sampler.plane + at);
    numbers[number] = static_cast<uint32_t>(number);
    weight[number] = here.weight(k);
  }
}

struct KeyOfNumber {
  const uint32_t* keys;
  __device__ __forceinline__ uint32_t operator()(uint32_t number) const { return keys[number]; }
};

// Where the taps of each element begin among all: the first key that is not below it.
__global__ void __launch_bounds__(kSampleThreads)
    find_begins(uint32_t* begin, const uint32_t* keys, uint32_t taps, uint32_t elements) {
  begin_kernel();
  const uint32_t element = blockIdx.x * kSampleThreads + threadIdx.x;
  if (element > elements) return;
  uint32_t low = 0, high = taps;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (keys[middle] < element) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  begin[element] = low;
}

template <class T, int kCount>
struct Gradient {
  T* gx;
  const T *g, *weight;
  const uint32_t *order, *begin;
  int32_t elements, channels, plane, places;
  Divider<int32_t> by_plane;

  // A tap's part of the gradient of channel `channel` of all, of image n.
  __device__ __forceinline__ T part(uint32_t i, int64_t channel, int32_t n) const {
    const uint32_t number = order[i];
    const int64_t place = number / kCount - static_cast<uint32_t>(n * places);
    return weight[number] * g[channel * places + place];
  }
};

// The taps of an element.
struct Run {
  uint32_t begin = 0, end = 0;
  __device__ __forceinline__ bool is_crowded() const { return end - begin > kCrowded; }
};

// Sums of those of a block's elements that are crowded, by all its threads, one after another.
template <class T, int kCount>
__device__ __forceinline__ void sum_crowded(const Gradient<T, kCount>& call, const Run& own,
                                            int32_t first_channel) {
  __shared__ Run runs[kSampleThreads];
  __syncthreads();
  runs[threadIdx.x] = own;
  __syncthreads();
  for (int t = 0; t < kSampleThreads; ++t) {
    const Run run = runs[t];
    if (!run.is_crowded()) continue;
    const auto element = static_cast<int32_t>(blockIdx.x * kSampleThreads + t);
    const int32_t n = call.by_plane(element), at = element - n * call.plane;
    for (int c = first_channel; c < first_channel + kSampleChannels && c < call.channels; ++c) {
      const int64_t channel = int64_t{n} * call.channels + c;
      T sum = 0;
#pragma unroll 4
      for (uint32_t i = run.begin + threadIdx.x; i < run.end; i += kSampleThreads)
        sum += call.part(i, channel, n);
      sum = team_sum<kSampleThreads>(sum);
      if (threadIdx.x == 0) call.gx[channel * call.plane + at] = sum;
      __syncthreads();
    }
  }
}

template <class T, int kCount>
__global__ void __launch_bounds__(kSampleThreads)
    add_taps(const __grid_constant__ Gradient<T, kCount> call) {
  begin_kernel();
  const auto element = static_cast<int32_t>(blockIdx.x * kSampleThreads + threadIdx.x);
  const bool exists = element < call.elements;
  Run run;
  if (exists) run = {call.begin[element], call.begin[element + 1]};
  const int32_t n = exists ? call.by_plane(element) : 0, at = element - n * call.plane;
  for (int32_t first = blockIdx.y * kSampleChannels; first < call.channels;
       first += gridDim.y * kSampleChannels) {
    if (exists && !run.is_crowded()) {
      const int64_t channel = int64_t{n} * call.channels + first;
      T sum[kSampleChannels] = {};
      for (uint32_t i = run.begin; i < run.end; ++i) {
#pragma unroll
        for (int c = 0; c < kSampleChannels; ++c) {
          if (first + c < call.channels) sum[c] += call.part(i, channel + c, n);
        }
      }
#pragma unroll
      for (int c = 0; c < kSampleChannels; ++c) {
        if (first + c < call.channels) call.gx[(channel + c) * call.plane + at] = sum[c];
      }
    }
    if (__syncthreads_or(run.is_crowded())) sum_crowded(call, run, first);
  }
}

template <class T>
int32_t sort_taps(const dt_stream* stream, const TapCounts& e, TapTable<T>* table) {
  if (are_few_pairs(e.taps))
    return sort_few(stream, table->few, static_cast<uint32_t>(e.taps),
                    KeyOfNumber{table->unsorted});
  const cudaError_t error = cub::DeviceRadixSort::SortPairs(
      table->scratch, table->scratch_bytes, table->by_key, table->by_number,
      static_cast<uint32_t>(e.taps), 0, e.key_bits(), native_stream(stream));
  table->keys = table->by_key.Current(), table->order = table->by_number.Current();
  return check(error, "cub::DeviceRadixSort", stream->fault);
}

template <class T, int kDims, int kReach>
int32_t run_input_gradient(const dt_stream* stream, const calls::GridSampleBackward& call) {
  constexpr int kCount = Place<T, kDims, kReach, int32_t>::kCount;
  const TapCounts e(call);
  // CUB asks about the current device.
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  Scratch memory(call.workspace);
  TapTable<T> table(&memory, e);
  const Sampler<T, int32_t> sampler(call, call.x, call.grid);
  int32_t code =
      launch(stream, find_taps<T, kDims, kReach>, sampler.blocks(e.taps / kCount, false),
             dim3(kSampleThreads), 0, table.unsorted, table.numbers, table.weight, sampler);
  if (code == DT_KERNEL_OK) code = sort_taps(stream, e, &table);
  if (code == DT_KERNEL_OK)
    code = launch(stream, find_begins, sampler.blocks(e.elements() + 1, false),
                  dim3(kSampleThreads), 0, table.begin, table.keys, static_cast<uint32_t>(e.taps),
                  static_cast<uint32_t>(e.elements()));
  if (code != DT_KERNEL_OK) return code;
  const Gradient<T, kCount> gradient = {static_cast<T*>(call.gx->data),
                                        static_cast<const T*>(call.g.data),
                                        table.weight,
                                        table.order,
                                        table.begin,
                                        static_cast<int32_t>(e.elements()),
                                        sampler.channels,
                                        sampler.plane,
                                        sampler.places,
                                        Divider<int32_t>(e.plane)};
  return launch(stream, add_taps<T, kCount>, sampler.blocks(e.elements(), true),
                dim3(kSampleThreads), 0, gradient);
}

}  // namespace

int32_t input_gradient(const dt_stream* stream, const calls::GridSampleBackward& call) {
  const TapCounts e(call);
  if (!e.is_small() || !is_small_sampling(call.x, call.grid, call.g)) return DT_KERNEL_UNSUPPORTED;
  if (e.taps == 0 || numel(call.x) == 0) return DT_KERNEL_UNSUPPORTED;
  return visit_floating(call.g.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return visit_sampling(call.x.ndim - 2, call.reach, [&](auto dims, auto reach) {
      return run_input_gradient<T, decltype(dims)::value, decltype(reach)::value>(stream, call);
    });
  });
}

int64_t input_gradient_bytes(const dt_stream* stream, const calls::GridSampleBackward& call) {
  const TapCounts e(call);
  // CUB asks about the current device. If there is none, the kernel says so.
  if (!e.is_small() || e.taps == 0 || set_device(stream->device) != cudaSuccess) return 0;
  Scratch sizes(nullptr);
  visit_floating(call.g.dtype, [&](auto type) {
    TapTable<typename decltype(type)::type>(&sizes, e);
    return DT_KERNEL_OK;
  });
  return sizes.used();
}

}  // namespace dt::cuda
