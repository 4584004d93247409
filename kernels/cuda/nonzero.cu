// nonzero_count, and nonzero: the coordinates of the nonzero elements in row-major order.
//
// The elements are cut into chunks that are counted at the same time; sums over the counts say
// where each chunk's coordinates go.
#include "kernels/calls/indexing.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kItems = 8;  // elements of a thread that are in flight together
constexpr int64_t kRound = kThreads * kItems;
constexpr int64_t kMaxChunks = 1024;      // few enough for one block to add up
constexpr int64_t kChunkElements = 4096;  // enough to be worth a block

template <class Index>
struct NonzeroCall {
  const void* x;
  int32_t x_dtype;
  int32_t ndim;
  int64_t n, per_chunk;
  int64_t* counts;  // of the chunks; for writing, the sums of those before
  int64_t* y;
  Index sizes[DT_MAX_DIMS];
  Offsets<1, Index> offsets;

  __device__ __forceinline__ bool is_nonzero(int64_t i) const {
    int64_t offset[1];
    offsets.at(static_cast<Index>(i), offset);
    return load_as<bool>(x, x_dtype, offset[0]);
  }

  __device__ __forceinline__ void write_coordinates(int64_t* to, int64_t i) const {
    Index rest = static_cast<Index>(i);
    for (int d = ndim - 1; d >= 0; --d) {
      to[d] = static_cast<int64_t>(rest % sizes[d]);
      rest /= sizes[d];
    }
  }
};

// The sum over the block's threads; thread 0 gets it.
__device__ __forceinline__ int64_t block_sum(int64_t value) {
  __shared__ int64_t of_warp[kWarps];
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2)
    value += __shfl_down_sync(0xffffffffu, value, step);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  int64_t sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += of_warp[w];
  return sum;
}

template <class Index>
__global__ void __launch_bounds__(kThreads)
    count_chunks(const __grid_constant__ NonzeroCall<Index> call) {
  begin_kernel();
  const int64_t begin = blockIdx.x * call.per_chunk;
  const int64_t end = min(call.n, begin + call.per_chunk);
  int64_t count = 0;
#pragma unroll kItems
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) count += call.is_nonzero(i);
  count = block_sum(count);
  if (threadIdx.x == 0) call.counts[blockIdx.x] = count;
}

__global__ void __launch_bounds__(kThreads)
    add_counts(int64_t* total, const int64_t* counts, int32_t chunks) {
  begin_kernel();
  int64_t sum = 0;
  for (int i = threadIdx.x; i < chunks; i += kThreads) sum += counts[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *total = sum;
}

// Turns counts into the sums of those before, in place.
__global__ void __launch_bounds__(kMaxChunks) sum_counts(int64_t* counts, int32_t chunks) {
  begin_kernel();
  __shared__ int64_t of_warp[kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t mine = threadIdx.x < chunks ? counts[threadIdx.x] : 0;
  int64_t sum = mine;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const int64_t before = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += before;
  }
  if (lane == kWarp - 1) of_warp[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += of_warp[w];
  if (threadIdx.x < chunks) counts[threadIdx.x] = sum - mine;
}

// Every round handles kItems elements per thread, in flight together: a warp takes kItems times
// kWarp neighbours, and ballots say how many before each are nonzero.
template <class Index>
__global__ void __launch_bounds__(kThreads)
    write_chunks(const __grid_constant__ NonzeroCall<Index> call) {
  begin_kernel();
  __shared__ int32_t of_warp[2][kWarps];  // two, so that a round need not wait for the last one
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t begin = blockIdx.x * call.per_chunk;
  const int64_t end = min(call.n, begin + call.per_chunk);
  int64_t place = call.counts[blockIdx.x];
  int buffer = 0;
  for (int64_t round = begin; round < end; round += kThreads * kItems, buffer ^= 1) {
    const int64_t first = round + warp * (kWarp * kItems) + lane;
    bool found[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int64_t i = first + k * kWarp;
      found[k] = i < end && call.is_nonzero(i);
    }
    uint32_t ballot[kItems];
    int32_t of_mine = 0;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      ballot[k] = __ballot_sync(0xffffffffu, found[k]);
      of_mine += __popc(ballot[k]);
    }
    if (lane == 0) of_warp[buffer][warp] = of_mine;
    __syncthreads();
    int32_t before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) before += of_warp[buffer][w];
      all += of_warp[buffer][w];
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int32_t here = before + __popc(ballot[k] & ((1u << lane) - 1));
      if (found[k]) call.write_coordinates(call.y + (place + here) * call.ndim, first + k * kWarp);
      before += __popc(ballot[k]);
    }
    place += all;
  }
}

// ---- the ops

struct Chunks {
  int64_t n, per_chunk, chunks;

  explicit Chunks(const dt_view& x) : n(numel(x)) {
    const int64_t least = divide_up(n, kMaxChunks);
    per_chunk = least > kChunkElements ? divide_up(least, kRound) * kRound : kChunkElements;
    chunks = divide_up(n, per_chunk);
  }
};

// `y`: where the coordinates go, or their number.
template <class Index>
NonzeroCall<Index> make_call(const dt_view& x, const dt_view& y, void* counts, const Chunks& c) {
  NonzeroCall<Index> kernel;
  kernel.x = x.data;
  kernel.x_dtype = x.dtype;
  kernel.ndim = x.ndim;
  kernel.n = c.n;
  kernel.per_chunk = c.per_chunk;
  kernel.counts = static_cast<int64_t*>(counts);
  kernel.y = static_cast<int64_t*>(y.data);
  Axes<1> axes;
  for (int d = 0; d < x.ndim; ++d) {
    kernel.sizes[d] = static_cast<Index>(x.sizes[d]);
    axes.insert(axes.n, x.sizes[d], {x.strides[d]});
  }
  axes.coalesce();
  // The sizes of an empty x cannot be divided by, and nobody will.
  if (c.n > 0) kernel.offsets = Offsets<1, Index>(axes);
  return kernel;
}

template <class Call, class Body>
int32_t with_index(const Call& call, const dt_view& y, const Chunks& c, const Body& body) {
  if (c.n <= kMaxIndex32) return body(make_call<uint32_t>(call.x, y, call.workspace, c));
  return body(make_call<uint64_t>(call.x, y, call.workspace, c));
}

template <class Index>
int32_t launch_counting(const dt_stream* stream, const NonzeroCall<Index>& kernel,
                        const Chunks& c) {
  return launch(stream, count_chunks<Index>, dim3(static_cast<unsigned>(c.chunks)), dim3(kThreads),
                0, kernel);
}

int64_t counts_bytes(const dt_view& x) {
  return Chunks(x).chunks * static_cast<int64_t>(sizeof(int64_t));
}

}  // namespace

int32_t kernels::nonzero_count(const dt_stream* stream, const calls::NonzeroCount& call) {
  const Chunks c(call.x);
  return with_index(call, call.count, c, [&](const auto& kernel) {
    if (const int32_t code = launch_counting(stream, kernel, c)) return code;
    return launch(stream, add_counts, dim3(1), dim3(kThreads), 0, kernel.y, kernel.counts,
                  static_cast<int32_t>(c.chunks));
  });
}

int64_t kernels::nonzero_count_workspace(const dt_stream*, const calls::NonzeroCount& call) {
  return counts_bytes(call.x);
}

int32_t kernels::nonzero(const dt_stream* stream, const calls::Nonzero& call) {
  const Chunks c(call.x);
  if (call.x.ndim == 0 || numel(call.y) == 0) return DT_KERNEL_OK;
  return with_index(call, call.y, c, [&](const auto& kernel) {
    using Index = std::remove_reference_t<decltype(kernel.offsets.sizes[0])>;
    if (const int32_t code = launch_counting(stream, kernel, c)) return code;
    if (const int32_t code = launch(stream, sum_counts, dim3(1), dim3(kMaxChunks), 0, kernel.counts,
                                    static_cast<int32_t>(c.chunks)))
      return code;
    return launch(stream, write_chunks<std::remove_const_t<Index>>,
                  dim3(static_cast<unsigned>(c.chunks)), dim3(kThreads), 0, kernel);
  });
}

int64_t kernels::nonzero_workspace(const dt_stream*, const calls::Nonzero& call) {
  return counts_bytes(call.x);
}

}  // namespace dt::cuda
