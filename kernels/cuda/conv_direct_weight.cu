// The gradient of a convolution with respect to its filters and bias, for few channels.
//
// gw[o, c, r, s] is a sum over all pixels of g[o] times the input that tap (r, s) meets there. A
// block goes through tiles of the images. While it computes on a tile of g and of x in shared
// memory, the next ones are on their way. Each thread adds up, in registers, all taps of kO x kC
// pairs of channels, over its share of the tile's pixels. In the end the shares are added in a
// fixed order within the block, and a second kernel adds the blocks, also in order.
#include <algorithm>

#include "kernels/cuda/conv_tile.cuh"
#include "kernels/cuda/shared.cuh"

namespace dt::cuda {
namespace {

constexpr int kQuad = 4;  // neighbouring pixels of a row, which a thread takes together
constexpr int kMostShared = 64 * 1024;  // of a block, so that several run side by side

struct WeightGradient {
  Plane g, x;
  int pad_h, pad_w;
};

// How the work is cut. A thread's pairs are output channels o, o + o_groups, ... and input channels
// c, c + c_groups, ...: neighbouring threads then read neighbouring planes. Its share are strips of
// a tile: a quad wide, `strip_rows` high.
struct Cut {
  int o_groups, c_groups, shares;
  int quads, rows, strip_rows, strips;  // of a tile
  int tiles_across, tiles_down;
  int g_floats, x_floats;    // of a copy
  int x_offset, tile_pitch;  // in shared memory, where there are two tiles: each of g, then of x
  int blocks;
  int slices, slice_length;  // in which shares are added
  BoxCopy g_copy, x_copy;
  FastDivide by_pairs, by_o_groups, by_quads, by_cells, by_across, by_down;

  int pairs() const { return o_groups * c_groups; }
  int tiles(int images) const { return images * tiles_across * tiles_down; }
};

// What a thread computes, and how many threads and blocks a multiprocessor is to hold. The bias is
// one more sum for each of a thread's output channels.
template <int taps, int o, int c, int threads, int blocks>
struct Shape {
  static constexpr int kTaps = taps, kO = o, kC = c, kThreads = threads, kBlocks = blocks;
  static constexpr int kSpan = kQuad + taps - 1;  // the inputs in a row that a quad meets
  static constexpr int kSums = o * c * taps * taps + o;
};

// The inputs in one row that a quad meets. `from` is kLead columns behind a multiple of 16 bytes.
template <class S>
__device__ __forceinline__ void read_row(const float* from, float (&to)[S::kSpan]) {
  constexpr int kHead = S::kTaps / 2;
#pragma unroll
  for (int i = 0; i < kHead; ++i) to[i] = from[i], to[i + kHead + kQuad] = from[i + kHead + kQuad];
  const float4 four = *reinterpret_cast<const float4*>(from + kHead);
  to[kHead] = four.x, to[kHead + 1] = four.y, to[kHead + 2] = four.z, to[kHead + 3] = four.w;
}

// Adds what a quad contributes. `g` is at the quad, in the thread's first plane; `rows` are the
// rows of x that it meets, the first of them at `first`.
template <class S>
__device__ __forceinline__ void accumulate(const float* g, int g_step,
                                           const float (&rows)[S::kC][S::kTaps][S::kSpan],
                                           int first, float (&sums)[S::kSums]) {
  constexpr int kTaps = S::kTaps;
#pragma unroll
  for (int o = 0; o < S::kO; ++o) {
    const float4 four = *reinterpret_cast<const float4*>(g + o * g_step);
    const float gradient[kQuad] = {four.x, four.y, four.z, four.w};
    sums[S::kSums - S::kO + o] += (four.x + four.y) + (four.z + four.w);
#pragma unroll
    for (int i = 0; i < S::kC * kTaps * kTaps; ++i) {
      const int c = i / (kTaps * kTaps), r = i / kTaps % kTaps, s = i % kTaps;
      float& sum = sums[o * S::kC * kTaps * kTaps + i];
#pragma unroll
      for (int q = 0; q < kQuad; ++q)
        sum = fma(gradient[q], rows[c][(first + r) % kTaps][q + s], sum);
    }
  }
}

// Adds what a strip of `count` rows contributes. `g` and `x` are at its top, in the thread's first
// planes. Every row of x is read once: kTaps of them are kept, in a ring.
template <class S>
__device__ __forceinline__ void add_strip(const Cut& cut, const float* g, const float* x, int count,
                                          float (&sums)[S::kSums]) {
  constexpr int kTaps = S::kTaps;
  const int g_step = cut.o_groups * cut.g_copy.box.plane_pitch,
            x_step = cut.c_groups * cut.x_copy.box.plane_pitch;
  float rows[S::kC][kTaps][S::kSpan];
#pragma unroll
  for (int r = 0; r < kTaps - 1; ++r) {
#pragma unroll
    for (int c = 0; c < S::kC; ++c) read_row<S>(x + c * x_step, rows[c][r]);
    x += cut.x_copy.box.row_pitch;
  }
  for (; count > 0; count -= kTaps) {
#pragma unroll
    for (int first = 0; first < kTaps; ++first) {
      if (first >= count) break;
#pragma unroll
      for (int c = 0; c < S::kC; ++c)
        read_row<S>(x + c * x_step, rows[c][(first + kTaps - 1) % kTaps]);
      accumulate<S>(g, g_step, rows, first, sums);
      x += cut.x_copy.box.row_pitch, g += cut.g_copy.box.row_pitch;
    }
  }
}

// The sum of so many numbers, `step` apart, in order.
__device__ __forceinline__ float add_shares(const float* from, int step, int count) {
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < count; ++i) sum += from[i * step];
  return sum;
}

// Adds the shares of each pair and stores the block's sums as [o][c][r][s] and, behind them, the
// bias. Few pairs have many shares: then several threads each add a slice of a sum's shares first.
// In shared memory a sum's shares lie together, and rows of sums so that no two are in one bank.
template <class S>
__device__ __forceinline__ void combine(const float (&sums)[S::kSums], const WeightGradient& k,
                                        const Cut& cut, float* memory, float* to) {
  constexpr int kWindow = S::kTaps * S::kTaps;
  const int pairs = cut.o_groups * cut.c_groups, pitch = S::kThreads + pairs;
#pragma unroll
  for (int i = 0; i < S::kSums; ++i) memory[i * pitch + threadIdx.x] = sums[i];
  __syncthreads();
  int step = 1;
  if (cut.slices > 1) {
    const int slice = cut.by_cells.divide(threadIdx.x),
              cell = threadIdx.x - slice * S::kSums * pairs;
    const int which = cut.by_pairs.divide(cell), pair = cell - which * pairs;
    float* const first = memory + which * pitch + slice * cut.slice_length * pairs + pair;
    step = cut.slice_length;
    if (slice < cut.slices) *first = add_shares(first, pairs, min(step, cut.shares - slice * step));
    __syncthreads();
  }
  for (int e = threadIdx.x; e < S::kSums * pairs; e += S::kThreads) {
    const int which = cut.by_pairs.divide(e), pair = e - which * pairs;
    const int c_group = cut.by_o_groups.divide(pair), o_group = pair - c_group * cut.o_groups;
    const bool is_bias = which >= S::kSums - S::kO;
    const int o_local = is_bias ? which - (S::kSums - S::kO) : which / (S::kC * kWindow);
    const int c_local = is_bias ? 0 : which / kWindow % S::kC;
    const int o = o_group + o_local * cut.o_groups, c = c_group + c_local * cut.c_groups;
    if (o >= k.g.channels || c >= k.x.channels || (is_bias && c > 0)) continue;
    const int weights = k.g.channels * k.x.channels * kWindow;
    to[is_bias ? weights + o : (o * k.x.channels + c) * kWindow + which % kWindow] =
        add_shares(memory + which * pitch + pair, step * pairs, ceil_divide(cut.shares, step));
  }
}

// What a thread copies of every tile.
struct Shares {
  Share g, x;
};

// Starts to copy a tile to shared memory. The last tiles reach beyond the image: there g is zero
// and adds nothing.
template <class S>
__device__ __forceinline__ void stage_tile(const WeightGradient& k, const Cut& cut,
                                           const Shares& shares, int tile, float* to) {
  const int rest = cut.by_across.divide(tile), n = cut.by_down.divide(rest);
  const int q = (tile - rest * cut.tiles_across) * cut.quads * kQuad,
            p = (rest - n * cut.tiles_down) * cut.rows;
  const int h = p - k.pad_h, w = q - k.pad_w - kLead<S::kTaps>;
  stage(k.g, k.g.data + n * k.g.n + p * k.g.h + q * k.g.w, p, q, k.g.channels, cut.g_copy, shares.g,
        cut.g_floats, to);
  stage(k.x, k.x.data + n * k.x.n + h * k.x.h + w * k.x.w, h, w, k.x.channels, cut.x_copy, shares.x,
        cut.x_floats, to + cut.x_offset);
}

__device__ __forceinline__ void clear(float* from, const float* end) {
  for (float* at = from + threadIdx.x; at < end; at += blockDim.x) *at = 0;
}

template <class S>
__global__ __launch_bounds__(S::kThreads, S::kBlocks) void weight_partials(
    const __grid_constant__ WeightGradient k, const __grid_constant__ Cut cut, float* partials) {
  begin_kernel();
  extern __shared__ __align__(16) float memory[];
  // Threads need not ask whether their channels exist: the planes of others are zero.
  for (int half = 0; half < 2; ++half) {
    float* const g = memory + half * cut.tile_pitch;
    clear(g + k.g.channels * cut.g_copy.box.plane_pitch, g + cut.x_offset);
    clear(g + cut.x_offset + k.x.channels * cut.x_copy.box.plane_pitch, g + cut.tile_pitch);
  }
  const int share = cut.by_pairs.divide(threadIdx.x),
            pair = threadIdx.x - share * cut.o_groups * cut.c_groups;
  const int c_group = cut.by_o_groups.divide(pair), o_group = pair - c_group * cut.o_groups;
  const int strips = share < cut.shares ? cut.strips : 0;
  const float* const g = memory + o_group * cut.g_copy.box.plane_pitch;
  const float* const x =
      memory + cut.x_offset + c_group * cut.x_copy.box.plane_pitch + kLead<S::kTaps>;

  const Shares shares = {Share(k.g, cut.g_copy, cut.g_floats),
                         Share(k.x, cut.x_copy, cut.x_floats)};
  float sums[S::kSums] = {};
  const int tiles = k.g.count * cut.tiles_across * cut.tiles_down;
  int here = cut.tile_pitch, there = 0;
  for (int next = blockIdx.x; next < tiles + static_cast<int>(gridDim.x); next += gridDim.x) {
    if (next < tiles) stage_tile<S>(k, cut, shares, next, memory + there);
    close_copies();
    if (next >= static_cast<int>(gridDim.x)) {
      wait_copies<1>();
      __syncthreads();
      for (int strip = share; strip < strips; strip += cut.shares) {
        const int at = cut.by_quads.divide(strip), q = (strip - at * cut.quads) * kQuad;
        const int row = at * cut.strip_rows;
        add_strip<S>(cut, g + here + row * cut.g_copy.box.row_pitch + q,
                     x + here + row * cut.x_copy.box.row_pitch + q,
                     min(cut.strip_rows, cut.rows - row), sums);
      }
      __syncthreads();
    }
    here = there, there = cut.tile_pitch - there;
  }
  const int outputs = k.g.channels * k.x.channels * S::kTaps * S::kTaps + k.g.channels;
  combine<S>(sums, k, cut, memory, partials + int64_t{blockIdx.x} * outputs);
}

// Adds the blocks of each output in order: kSlices threads add a part each.
constexpr int kOutputs = 8, kSlices = 32;

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
void set_tile(Cut* cut, const WeightGradient& k, int rows) {
  constexpr int kHalo = S::kTaps - 1;
  cut->tiles_down = ceil_divide(k.g.height, rows);
  cut->rows = ceil_divide(k.g.height, cut->tiles_down);
  const int cols = cut->quads * kQuad, tile = cut->tiles_across == 1 ? 0 : cols;
  const int x_cols = round_up(kLead<S::kTaps> + cols + kHalo, 4);
  const int x_rows = cut->rows + kHalo;
  const Box g = {cut->rows, cols, spread(cut->rows * cols)},
            x = {x_rows, x_cols, spread(x_rows * x_cols)};
  cut->g_floats = floats_of_copies(k.g, 0, tile);
  cut->x_floats = floats_of_copies(k.x, k.pad_w + kLead<S::kTaps>, tile);
  cut->g_copy = BoxCopy(k.g, g, cols / cut->g_floats, S::kThreads);
  cut->x_copy = BoxCopy(k.x, x, x_cols / cut->x_floats, S::kThreads);
  cut->x_offset = cut->o_groups * S::kO * g.plane_pitch;
  cut->tile_pitch = cut->x_offset + cut->c_groups * S::kC * x.plane_pitch;
}

// As many strips as there are shares, if the tile is high enough.
void set_strips(Cut* cut) {
  const int down = std::min(std::max(cut->shares / cut->quads, 1), cut->rows);
  cut->strip_rows = ceil_divide(cut->rows, down);
  cut->strips = ceil_divide(cut->rows, cut->strip_rows) * cut->quads;
}

// As many slices as there are threads for them.
template <class S>
void set_slices(Cut* cut) {
  const int cells = S::kSums * cut->pairs();
  cut->slices = std::min(std::max(S::kThreads / cells, 1), cut->shares);
  cut->slice_length = ceil_divide(cut->shares, cut->slices);
  cut->slices = ceil_divide(cut->shares, cut->slice_length);
  cut->by_cells = FastDivide(cells);
}

template <class S>
int shared_bytes(const Cut& cut) {
  const int to_combine = S::kSums * (S::kThreads + cut.pairs());
  return std::max(2 * cut.tile_pitch, to_combine) * static_cast<int>(sizeof(float));
}

// The tallest tile that fits, unless the device needs more of them to be busy. Every block leaves
// a partial result, so there are no more than run at once.
template <class S>
Cut cut_for(const dt_stream* stream, const WeightGradient& k) {
  constexpr int kWidest = 16, kLowest = 4;
  const int device = multiprocessors(stream->device);
  Cut cut = {};
  cut.o_groups = ceil_divide(k.g.channels, S::kO);
  cut.c_groups = ceil_divide(k.x.channels, S::kC);
  cut.shares = S::kThreads / cut.pairs();
  const int quads = ceil_divide(k.g.width, kQuad);
  cut.tiles_across = ceil_divide(quads, kWidest);
  cut.quads = ceil_divide(quads, cut.tiles_across);
  for (int rows = k.g.height;; rows = rows > 2 * kLowest ? (rows + 1) / 2 : rows - 1) {
    set_tile<S>(&cut, k, rows);
    const bool fits = shared_bytes<S>(cut) <= kMostShared;
    const bool enough = 10 * int64_t{cut.tiles(k.g.count)} >= 9 * device || rows <= kLowest;
    if ((fits && enough) || rows == 1) break;
  }
  set_strips(&cut);
  set_slices<S>(&cut);
  cut.blocks = std::min(cut.tiles(k.g.count), S::kBlocks * device);
  cut.by_pairs = FastDivide(cut.pairs());
  cut.by_o_groups = FastDivide(cut.o_groups);
  cut.by_quads = FastDivide(cut.quads);
  cut.by_across = FastDivide(cut.tiles_across);
  cut.by_down = FastDivide(cut.tiles_down);
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
  if (c.w.sizes[2] == 5) return f(Shape<5, 2, 1, 128, 4>());
  if (c.w.sizes[1] == 1) return f(Shape<3, 4, 1, 256, 2>());
  return f(Shape<3, 2, 2, 256, 2>());
}

template <class S>
int32_t run(const dt_stream* stream, const Convolution& c, float* partials) {
  const WeightGradient k = gradient_of(c);
  const Cut cut = cut_for<S>(stream, k);
  const int bytes = shared_bytes<S>(cut);
  if (const int32_t code = allow_shared<weight_partials<S>>(stream, bytes)) return code;
  const int32_t result =
      launch(stream, weight_partials<S>, cut.blocks, S::kThreads, bytes, k, cut, partials);
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
