// The gradient of a convolution with respect to an input of few channels, as a network's first
// layer has: images of three colours, windows of up to 7 x 7, strides 1 and 2.
//
//   gx[n, c, h, w] = sum over o, r, s of weight[o, c, r, s] * g[n, o, (h + pad - r) / stride, ...]
//
// over those r and s for which the divisions leave no rest. Pixels are taken in cells of stride x
// stride: h + pad = stride * u + a, and taps r = a + stride * j meet row u - j of g. So all pixels
// of a cell read the same few rows and columns of g, those up to u, and every tap belongs to one
// phase a. A thread has the sums of kCells neighbouring cells, of all channels, in registers; a
// block goes through the output channels, and while it computes on some, the next ones come.
#include <algorithm>

#include "kernels/cuda/conv_tile.cuh"
#include "kernels/cuda/shared.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kCells = 4;  // of a thread: a packet of g
constexpr int kChunk = 4;  // output channels that are in shared memory together
// Of threads side by side: a row of g, with what is before it, is one float a thread or less.
constexpr int kMostColumns = kThreads / kCells - 2;

struct InputGradient {
  Plane g, gx;
  const float* weight;
  int64_t o, c, r, s;  // strides of the weight
  int pad_h, pad_w;
};

// A block has `rows` x (`columns` * kCells) cells of an image. In shared memory lie, twice, the
// rows of g that kChunk channels need, and these channels' taps, [chunk][r][s][4 input channels].
struct Cut {
  int columns, rows, across, down;
  int floats;  // of a copy
  int g_pitch, chunk_pitch;
  FastDivide by_columns, by_across, by_down;
  BoxCopy copy;

  int64_t blocks(int images) const { return int64_t{across} * down * images; }
};

template <int taps, int stride, int channels>
struct Window {
  static constexpr int kTaps = taps, kStride = stride, kChannels = channels;
  static constexpr int kBehind = (taps - 1) / stride;  // rows of g before a cell's own
  static constexpr int kFilter = taps * taps * 4;      // floats of an output channel's taps
  static_assert(kBehind <= 2 * kCells, "two packets lie before the first cell at most");
  static constexpr int kLeadPackets = (kBehind + kCells - 1) / kCells;
};

// A thread's sums.
template <class W>
using Sums = float[W::kChannels][W::kStride][kCells * W::kStride];

// ---- the kernel

template <class W>
__device__ __forceinline__ void stage_taps(const InputGradient& k, int first, float* to) {
  constexpr int kWindow = W::kTaps * W::kTaps;
  for (int i = threadIdx.x; i < kChunk * W::kFilter; i += kThreads) {
    const int c = i % 4, tap = i / 4 % kWindow, o = first + i / W::kFilter;
    const bool exists = c < k.gx.channels && o < k.g.channels;
    to[i] = exists
                ? __ldg(k.weight + o * k.o + c * k.c + tap / W::kTaps * k.r + tap % W::kTaps * k.s)
                : 0.0f;
  }
}

// Adds what one output channel gives. `g` is the packet of the thread's own cells in the row of the
// lowest j.
template <class W>
__device__ __forceinline__ void add_channel(const float* g, int row_pitch, const float* taps,
                                            Sums<W>& sums) {
  constexpr int kLead = W::kLeadPackets * kCells;
#pragma unroll
  for (int j = 0; j <= W::kBehind; ++j) {
    float row[kLead + kCells];
#pragma unroll
    for (int p = 0; p <= W::kLeadPackets; ++p) {
      const float4 four = *reinterpret_cast<const float4*>(g - j * row_pitch - kLead + p * kCells);
      row[p * 4] = four.x, row[p * 4 + 1] = four.y, row[p * 4 + 2] = four.z,
              row[p * 4 + 3] = four.w;
    }
#pragma unroll
    for (int a = 0; a < W::kStride; ++a) {
      const int r = a + W::kStride * j;
      if (r >= W::kTaps) continue;
#pragma unroll
      for (int s = 0; s < W::kTaps; ++s) {
        const float4 tap = *reinterpret_cast<const float4*>(taps + (r * W::kTaps + s) * 4);
        const float of_channel[4] = {tap.x, tap.y, tap.z, tap.w};
#pragma unroll
        for (int cell = 0; cell < kCells; ++cell) {
          const float value = row[kLead + cell - s / W::kStride];
#pragma unroll
          for (int c = 0; c < W::kChannels; ++c) {
            float& sum = sums[c][a][cell * W::kStride + s % W::kStride];
            sum = fma(value, of_channel[c], sum);
          }
        }
      }
    }
  }
}

// Lays the sums down in shared memory and writes them out row by row. `u` and `v` are the block's
// first cell.
template <class W>
__device__ __forceinline__ void store_tile(const InputGradient& k, const Cut& cut, int n, int u,
                                           int v, int row, int column, bool exists,
                                           const Sums<W>& sums, float* memory) {
  constexpr int kS = W::kStride, kSpan = kCells * kS;
  const int width = cut.columns * kSpan, height = cut.rows * kS;
  if (exists) {
#pragma unroll
    for (int c = 0; c < W::kChannels; ++c) {
#pragma unroll
      for (int a = 0; a < kS; ++a) {
        float* const to = memory + (c * height + row * kS + a) * width + column * kSpan;
#pragma unroll
        for (int i = 0; i < kSpan; ++i) to[i] = sums[c][a][i];
      }
    }
  }
  __syncthreads();
  const int h0 = u * kS - k.pad_h, w0 = v * kS - k.pad_w;
  for (int line = threadIdx.x / kWarp; line < k.gx.channels * height; line += kThreads / kWarp) {
    const int c = line / height, h = h0 + line - c * height;
    if (h < 0 || h >= k.gx.height) continue;
    float* const to = k.gx.data + n * k.gx.n + c * k.gx.c + h * k.gx.h;
    for (int i = threadIdx.x % kWarp; i < width; i += kWarp) {
      const int w = w0 + i;
      if (w >= 0 && w < k.gx.width) to[w * k.gx.w] = memory[line * width + i];
    }
  }
}

template <class W>
__global__ void __launch_bounds__(kThreads, 4)
    input_gradient(const __grid_constant__ InputGradient k, const __grid_constant__ Cut cut) {
  begin_kernel();
  extern __shared__ __align__(16) float memory[];
  const int tile = cut.by_across.divide(blockIdx.x), n = cut.by_down.divide(tile);
  const int v = (blockIdx.x - tile * cut.across) * cut.columns * kCells;
  const int u = (tile - n * cut.down) * cut.rows;
  const int row = cut.by_columns.divide(threadIdx.x), column = threadIdx.x - row * cut.columns;
  const bool exists = row < cut.rows;

  constexpr int kLead = W::kLeadPackets * kCells;
  const Box& box = cut.copy.box;
  const Share share(k.g, cut.copy, cut.floats);
  const float* const origin = k.g.data + n * k.g.n + (u - W::kBehind) * k.g.h + (v - kLead) * k.g.w;
  const auto stage_chunk = [&](int first, float* to) {
    stage(k.g, origin + int64_t{first} * k.g.c, u - W::kBehind, v - kLead,
          min(kChunk, k.g.channels - first), cut.copy, share, cut.floats, to);
    stage_taps<W>(k, first, to + kChunk * box.plane_pitch);
  };
  Sums<W> sums = {};
  const int own = exists ? (row + W::kBehind) * box.row_pitch + kLead + column * kCells : kLead;
  int here = 0;
  stage_chunk(0, memory);
  close_copies();
  for (int first = 0; first < k.g.channels; first += kChunk) {
    const int there = cut.chunk_pitch - here;
    if (first + kChunk < k.g.channels) stage_chunk(first + kChunk, memory + there);
    close_copies();
    wait_copies<1>();
    __syncthreads();
    const int channels = min(kChunk, k.g.channels - first);
    const float *g = memory + here + own, *taps = memory + here + kChunk * box.plane_pitch;
    for (int o = 0; exists && o < channels; ++o) {
      add_channel<W>(g, box.row_pitch, taps, sums);
      g += box.plane_pitch, taps += W::kFilter;
    }
    __syncthreads();
    here = there;
  }
  store_tile<W>(k, cut, n, u, v, row, column, exists, sums, memory);
}

// ---- the cut

template <class W>
Cut cut_for(const InputGradient& k) {
  Cut cut = {};
  const int wide = ceil_divide((k.gx.width - 1 + k.pad_w) / W::kStride + 1, kCells);
  const int high = (k.gx.height - 1 + k.pad_h) / W::kStride + 1;
  cut.across = ceil_divide(wide, kMostColumns);
  cut.columns = ceil_divide(wide, cut.across);
  cut.rows = std::min(kThreads / cut.columns, high);
  cut.down = ceil_divide(high, cut.rows);
  cut.floats = floats_of_copies(k.g, 0, kCells);
  const int rows = cut.rows + W::kBehind;
  cut.g_pitch = (cut.columns + W::kLeadPackets) * kCells;
  const int plane = rows * cut.g_pitch;
  cut.chunk_pitch = kChunk * (plane + W::kFilter);
  cut.by_columns = FastDivide(cut.columns);
  cut.by_across = FastDivide(cut.across);
  cut.by_down = FastDivide(cut.down);
  cut.copy = BoxCopy(k.g, {rows, cut.g_pitch, plane}, cut.g_pitch / cut.floats, kThreads);
  return cut;
}

template <class W>
int32_t run(const dt_stream* stream, const InputGradient& k) {
  const Cut cut = cut_for<W>(k);
  const int tile = W::kChannels * cut.rows * cut.columns * kCells * W::kStride * W::kStride;
  const int bytes = std::max(2 * cut.chunk_pitch, tile) * static_cast<int>(sizeof(float));
  if (const int32_t code = allow_shared<input_gradient<W>>(stream, bytes)) return code;
  return launch(stream, input_gradient<W>, static_cast<unsigned>(cut.blocks(k.gx.count)), kThreads,
                bytes, k, cut);
}

template <int kTaps, int kStride>
int32_t run_window(const dt_stream* stream, const InputGradient& k) {
  return k.gx.channels == 3 ? run<Window<kTaps, kStride, 3>>(stream, k)
                            : run<Window<kTaps, kStride, 4>>(stream, k);
}

template <int kStride>
int32_t run_stride(const dt_stream* stream, const InputGradient& k, int taps) {
  if (taps == 3) return run_window<3, kStride>(stream, k);
  return taps == 5 ? run_window<5, kStride>(stream, k) : run_window<7, kStride>(stream, k);
}

}  // namespace

bool few_inputs_can(const Convolution& c) {
  const auto *w = c.w.sizes, *stride = c.stride;
  const bool window = w[2] == w[3] && (w[2] == 3 || w[2] == 5 || w[2] == 7);
  const bool steps = stride[0] == stride[1] && (stride[0] == 1 || stride[0] == 2) &&
                     c.dilation[0] == 1 && c.dilation[1] == 1;
  return c.pass == Pass::kBackwardInput && c.dtype == dtype_of<float> && window && steps &&
         c.groups == 1 && w[1] >= 2 && w[1] <= 4 && is_small(c.x) && is_small(c.w) && is_small(c.y);
}

int32_t few_inputs_convolve(const dt_stream* stream, const Convolution& c) {
  const auto* s = c.w.strides;
  const InputGradient k = {Plane(c.y),
                           Plane(c.x),
                           static_cast<const float*>(c.w.data),
                           s[0],
                           s[1],
                           s[2],
                           s[3],
                           static_cast<int>(c.padding[0]),
                           static_cast<int>(c.padding[1])};
  const int taps = static_cast<int>(c.w.sizes[2]);
  return c.stride[0] == 1 ? run_stride<1>(stream, k, taps) : run_stride<2>(stream, k, taps);
}

}  // namespace dt::cuda
