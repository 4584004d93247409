// The gradient of a convolution with respect to its filters and bias, for few channels.
//
// gw[o, c, r, s] is a sum over all pixels of g[o] times the input that tap (r, s) meets there. A
// block goes through tiles of the images. It stages a tile of g and of x in shared memory, and each
// thread adds up, in registers, all taps of kO x kC pairs of channels, over its share of the tile's
// pixels. In the end the shares are added in a fixed order within the block, and a second kernel
// adds the blocks, also in order.
#include <algorithm>

#include "kernels/cuda/conv_tile.cuh"

namespace dt::cuda {
namespace {

struct WeightGradient {
  Plane g, x;
  int pad_h, pad_w;
};

// How the work is cut. A thread's pairs are output channels o, o + o_groups, ... and input channels
// c, c + c_groups, ...: neighbouring threads then read neighbouring planes.
struct Cut {
  int o_groups, c_groups, shares;
  int quads, rows;  // of a tile
  int tiles_across, tiles_down;
  int g_row, g_plane, x_row, x_plane;  // pitches in shared memory
  int blocks;

  int pairs() const { return o_groups * c_groups; }
  int tiles(int images) const { return images * tiles_across * tiles_down; }
};

// What a thread computes. The bias is one more sum for each of its output channels.
template <int taps, int o, int c, int threads>
struct Shape {
  static constexpr int kTaps = taps, kO = o, kC = c, kThreads = threads;
  static constexpr int kSums = o * c * taps * taps + o;
  static_assert(kSums * threads * sizeof(float) <= kSharedBytes);
};

// Adds what a quad of pixels contributes. `g` and `x` are at the quad, in the thread's first
// planes.
template <class S>
__device__ __forceinline__ void accumulate(const float* g, const float* x, const Cut& cut,
                                           float (&sums)[S::kSums]) {
  constexpr int kTaps = S::kTaps;
  float gradient[S::kO][kQuad];
#pragma unroll
  for (int o = 0; o < S::kO; ++o) {
    const float4 four = *reinterpret_cast<const float4*>(g + o * cut.o_groups * cut.g_plane);
    gradient[o][0] = four.x, gradient[o][1] = four.y, gradient[o][2] = four.z,
    gradient[o][3] = four.w;
    sums[S::kSums - S::kO + o] += (four.x + four.y) + (four.z + four.w);
  }
#pragma unroll
  for (int c = 0; c < S::kC; ++c) {
#pragma unroll
    for (int r = 0; r < kTaps; ++r) {
      float input[kQuad + kTaps - 1];
      read_row<kTaps>(x + c * cut.c_groups * cut.x_plane + r * cut.x_row, input);
#pragma unroll
      for (int o = 0; o < S::kO; ++o) {
#pragma unroll
        for (int s = 0; s < kTaps; ++s) {
          float& sum = sums[((o * S::kC + c) * kTaps + r) * kTaps + s];
#pragma unroll
          for (int i = 0; i < kQuad; ++i) sum = fma(gradient[o][i], input[i + s], sum);
        }
      }
    }
  }
}

// Adds the shares of each pair and stores the block's sums as [o][c][r][s] and, behind them, the
// bias.
template <class S>
__device__ __forceinline__ void combine(const float (&sums)[S::kSums], const WeightGradient& k,
                                        const Cut& cut, float* memory, float* to) {
  constexpr int kWindow = S::kTaps * S::kTaps;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < S::kSums; ++i) memory[i * S::kThreads + threadIdx.x] = sums[i];
  __syncthreads();
  const int pairs = cut.o_groups * cut.c_groups;
  for (int e = threadIdx.x; e < S::kSums * pairs; e += S::kThreads) {
    const int which = e / pairs, pair = e % pairs;
    const bool is_bias = which >= S::kSums - S::kO;
    const int o_local = is_bias ? which - (S::kSums - S::kO) : which / (S::kC * kWindow);
    const int c_local = is_bias ? 0 : which / kWindow % S::kC;
    const int o = pair % cut.o_groups + o_local * cut.o_groups;
    const int c = pair / cut.o_groups + c_local * cut.c_groups;
    if (o >= k.g.channels || c >= k.x.channels || (is_bias && c > 0)) continue;
    float sum = 0;
    for (int share = 0; share < cut.shares; ++share)
      sum += memory[which * S::kThreads + share * pairs + pair];
    const int weights = k.g.channels * k.x.channels * kWindow;
    to[is_bias ? weights + o : (o * k.x.channels + c) * kWindow + which % kWindow] = sum;
  }
}

template <class S>
__global__ __launch_bounds__(S::kThreads, 2) void weight_partials(WeightGradient k, Cut cut,
                                                                  float* partials) {
  begin_kernel();
  extern __shared__ __align__(16) float memory[];
  // Planes of channels that do not exist are zero, so threads need not ask.
  const int g_channels = cut.o_groups * S::kO, x_channels = cut.c_groups * S::kC;
  float* const g_tile = memory;
  float* const x_tile = memory + g_channels * cut.g_plane;
  const int pairs = cut.o_groups * cut.c_groups;
  const int pair = threadIdx.x % pairs, share = threadIdx.x / pairs;
  const float* const g_mine = g_tile + pair % cut.o_groups * cut.g_plane;
  const float* const x_mine = x_tile + pair / cut.o_groups * cut.x_plane;

  float sums[S::kSums] = {};
  const int tiles = k.g.count * cut.tiles_across * cut.tiles_down;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int column = tile % cut.tiles_across * cut.quads * kQuad;
    const int top = tile / cut.tiles_across % cut.tiles_down * cut.rows;
    const int n = tile / cut.tiles_across / cut.tiles_down;
    __syncthreads();
    // The last tiles reach beyond the image: there g is zero and adds nothing.
    stage(k.g, n, {0, top, column, g_channels, cut.rows, cut.quads * kQuad, cut.g_row, cut.g_plane},
          g_tile);
    stage(k.x, n,
          {0, top - k.pad_h, column - k.pad_w, x_channels, cut.rows + S::kTaps - 1,
           cut.quads * kQuad + S::kTaps - 1, cut.x_row, cut.x_plane},
          x_tile);
    __syncthreads();
    if (share >= cut.shares) continue;
    for (int i = share; i < cut.rows * cut.quads; i += cut.shares) {
      const int row = i / cut.quads, q = i % cut.quads * kQuad;
      accumulate<S>(g_mine + row * cut.g_row + q, x_mine + row * cut.x_row + q, cut, sums);
    }
  }
  const int outputs = k.g.channels * k.x.channels * S::kTaps * S::kTaps + k.g.channels;
  combine<S>(sums, k, cut, memory, partials + blockIdx.x * outputs);
}

// Adds the blocks of each output in order: kSlices threads add a part each.
constexpr int kOutputs = 32, kSlices = 8;

struct Target {
  float* weights;
  int64_t o, c, r, s;  // strides
  float* bias;         // may be null
  int64_t bias_stride;
  int channels, window, taps, count;  // input channels; taps * taps; weights in all
};

__global__ __launch_bounds__(kOutputs* kSlices) void add_partials(const float* partials, int blocks,
                                                                  int outputs, Target to) {
  begin_kernel();
  __shared__ float slices[kSlices][kOutputs];
  const int e = blockIdx.x * kOutputs + threadIdx.x;
  const int length = (blocks + kSlices - 1) / kSlices;
  const int first = threadIdx.y * length, end = min(blocks, first + length);
  float sum = 0;
  if (e < outputs) {
#pragma unroll 8
    for (int b = first; b < end; ++b) sum += partials[int64_t{b} * outputs + e];
  }
  slices[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || e >= outputs) return;
  for (int i = 1; i < kSlices; ++i) sum += slices[i][threadIdx.x];
  if (e >= to.count) {
    if (to.bias != nullptr) to.bias[(e - to.count) * to.bias_stride] = sum;
    return;
  }
  const int tap = e % to.window, c = e / to.window % to.channels, o = e / to.window / to.channels;
  to.weights[o * to.o + c * to.c + tap / to.taps * to.r + tap % to.taps * to.s] = sum;
}

// ---- the cut

// Pitches that spread planes over the banks: threads that differ in their plane only read 16 bytes
// each from different banks.
int spread(int floats) {
  return round_up(floats - 4, kWarp) + 4;
}

template <class S>
void set_tile(Cut* cut, int rows) {
  cut->rows = rows;
  cut->g_row = cut->quads * kQuad;
  cut->x_row = row_pitch<S::kTaps>(cut->quads);
  cut->g_plane = spread(rows * cut->g_row);
  cut->x_plane = spread((rows + S::kTaps - 1) * cut->x_row);
}

template <class S>
size_t shared_bytes(const Cut& cut) {
  const size_t tiles = cut.o_groups * S::kO * cut.g_plane + cut.c_groups * S::kC * cut.x_plane;
  return std::max(tiles, size_t{S::kSums} * S::kThreads) * sizeof(float);
}

// The tallest tile that fits, unless the device needs more of them to be busy. Every block leaves
// a partial result, so there are no more than run at once.
template <class S>
Cut cut_for(const dt_stream* stream, const WeightGradient& k) {
  constexpr int kWidest = 16, kLowest = 4;
  const int wanted = 2 * multiprocessors(stream->device);
  Cut cut = {};
  cut.o_groups = static_cast<int>(divide_up(k.g.channels, S::kO));
  cut.c_groups = static_cast<int>(divide_up(k.x.channels, S::kC));
  cut.shares = S::kThreads / cut.pairs();
  const int quads = static_cast<int>(divide_up(k.g.width, kQuad));
  cut.tiles_across = static_cast<int>(divide_up(quads, kWidest));
  cut.quads = static_cast<int>(divide_up(quads, cut.tiles_across));
  int rows = k.g.height;
  for (;;) {
    cut.tiles_down = static_cast<int>(divide_up(k.g.height, rows));
    set_tile<S>(&cut, static_cast<int>(divide_up(k.g.height, cut.tiles_down)));
    const bool fits = shared_bytes<S>(cut) <= kSharedBytes;
    const bool enough = 2 * cut.tiles(k.g.count) >= wanted || rows <= kLowest;
    if ((fits && enough) || rows == 1) break;
    rows = rows > 2 * kLowest ? (rows + 1) / 2 : rows - 1;
  }
  cut.blocks = std::min(cut.tiles(k.g.count), wanted);
  return cut;
}

WeightGradient gradient_of(const Convolution& c) {
  return {Plane(c.y), Plane(c.x), static_cast<int>(c.padding[0]), static_cast<int>(c.padding[1])};
}

int outputs_of(const Convolution& c) {
  return static_cast<int>(c.w.sizes[0] * (c.w.sizes[1] * c.w.sizes[2] * c.w.sizes[3] + 1));
}

// One input channel leaves registers for more output channels. A 5 x 5 window has more sums than
// 256 threads could lay down in shared memory. f(Shape).
template <class F>
auto visit_shape(const Convolution& c, F f) {
  if (c.w.sizes[2] == 5) return f(Shape<5, 2, 1, 128>());
  if (c.w.sizes[1] == 1) return f(Shape<3, 4, 1, 256>());
  return f(Shape<3, 2, 2, 256>());
}

template <class S>
int32_t run(const dt_stream* stream, const Convolution& c, float* partials) {
  const WeightGradient k = gradient_of(c);
  const Cut cut = cut_for<S>(stream, k);
  const int32_t result = launch(stream, weight_partials<S>, cut.blocks, S::kThreads,
                                shared_bytes<S>(cut), k, cut, partials);
  if (result != DT_KERNEL_OK) return result;
  const int outputs = outputs_of(c), window = S::kTaps * S::kTaps;
  const auto* s = c.w.strides;
  const Target target = {
      static_cast<float*>(c.w.data),       s[0],          s[1],         s[2],   s[3],
      static_cast<float*>(c.bias),         c.bias_stride, k.x.channels, window, S::kTaps,
      k.g.channels * k.x.channels * window};
  return launch(stream, add_partials, static_cast<unsigned>(divide_up(outputs, kOutputs)),
                dim3(kOutputs, kSlices), 0, static_cast<const float*>(partials), cut.blocks,
                outputs, target);
}

}  // namespace

int64_t direct_weight_workspace(const dt_stream* stream, const Convolution& c) {
  return visit_shape(c, [&](auto shape) {
    const Cut cut = cut_for<decltype(shape)>(stream, gradient_of(c));
    return int64_t{cut.blocks} * outputs_of(c) * static_cast<int64_t>(sizeof(float));
  });
}

int32_t direct_weight(const dt_stream* stream, const Convolution& c, void* workspace) {
  return visit_shape(c, [&](auto shape) {
    return run<decltype(shape)>(stream, c, static_cast<float*>(workspace));
  });
}

}  // namespace dt::cuda
