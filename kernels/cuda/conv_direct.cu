// Convolution and its gradient with respect to the input, for few channels. Libraries arrange such
// images for matrix products, which costs more than the arithmetic; here a block stages a piece of
// the images in shared memory and each thread computes a quad of neighbouring pixels for kOut
// output channels in registers.
//
// With stride 1 the gradient with respect to the input is itself such a correlation: of the
// gradient, with the filters turned around and their channels exchanged.
#include <algorithm>

#include "kernels/cuda/conv_tile.cuh"
#include "kernels/cuda/offsets.cuh"

namespace dt::cuda {
namespace {

struct Filters {
  const float* data;
  int64_t o, c, r, s;  // strides, of output and input channels and of taps
};

// How a thread may store its sums.
enum class Vector { kNone, kRow2, kRow4, kChannels4 };

struct Correlation {
  Plane x, y;
  Filters w;
  const float* bias;
  int64_t bias_stride;
  int pad_h, pad_w;
  Vector vector;
};

// How the work is cut. A block computes a tile of `rows` x `quads` quads of each of `images`
// images, for all output channels; its threads are (group of kOut channels, image, row, quad),
// quads fastest. Input channels go through shared memory `chunk` at a time.
struct Cut {
  int quads, rows, images, groups;
  int tiles_across, tiles_down, image_blocks;
  int chunk;
  int row_pitch, plane_pitch, image_pitch;

  int items() const { return quads * rows * images; }
  int64_t blocks() const { return int64_t{tiles_across} * tiles_down * image_blocks; }
};

// ---- the kernel

// Filters of a chunk, as [c][r][s][output channel], padded with zeros to whole groups.
template <int kTaps>
__device__ __forceinline__ void stage_filters(const Correlation& k, int c0, int channels,
                                              int outputs, float* to) {
  for (int i = threadIdx.x; i < channels * kTaps * kTaps * outputs; i += blockDim.x) {
    const int o = i % outputs, tap = i / outputs % (kTaps * kTaps),
              c = i / outputs / (kTaps * kTaps);
    const int r = tap / kTaps, s = tap % kTaps;
    const bool inside = o < k.y.channels && c0 + c < k.x.channels;
    to[i] = inside ? __ldg(k.w.data + o * k.w.o + (c0 + c) * k.w.c + r * k.w.r + s * k.w.s) : 0.0f;
  }
}

// Adds what one input channel contributes. `tile` is at the thread's quad, `filters` at its group.
template <int kTaps, int kOut>
__device__ __forceinline__ void accumulate(const float* tile, int row_pitch, const float* filters,
                                           int outputs, float (&sums)[kOut][kQuad]) {
#pragma unroll
  for (int r = 0; r < kTaps; ++r) {
    float input[kQuad + kTaps - 1];
    read_row<kTaps>(tile + r * row_pitch, input);
#pragma unroll
    for (int s = 0; s < kTaps; ++s) {
      float weights[kOut];
#pragma unroll
      for (int o = 0; o < kOut; o += 4) {
        const float4 four =
            *reinterpret_cast<const float4*>(filters + (r * kTaps + s) * outputs + o);
        weights[o] = four.x, weights[o + 1] = four.y, weights[o + 2] = four.z,
        weights[o + 3] = four.w;
      }
#pragma unroll
      for (int o = 0; o < kOut; ++o) {
#pragma unroll
        for (int i = 0; i < kQuad; ++i) sums[o][i] = fma(weights[o], input[i + s], sums[o][i]);
      }
    }
  }
}

template <int kOut>
__device__ __forceinline__ void store(const Correlation& k, int n, int o0, int p, int q0,
                                      const float (&sums)[kOut][kQuad]) {
  const Plane& y = k.y;
  float* to = y.data + n * y.n + o0 * y.c + p * y.h + q0 * y.w;
  if (k.vector == Vector::kChannels4) {
#pragma unroll
    for (int i = 0; i < kQuad; ++i) {
#pragma unroll
      for (int o = 0; o < kOut; o += 4) {
        if (q0 + i < y.width && o0 + o < y.channels)
          *reinterpret_cast<float4*>(to + i * y.w + o) =
              make_float4(sums[o][i], sums[o + 1][i], sums[o + 2][i], sums[o + 3][i]);
      }
    }
    return;
  }
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    if (o0 + o >= y.channels) return;
    float* row = to + o * y.c;
    if (k.vector == Vector::kRow4) {
      *reinterpret_cast<float4*>(row) = make_float4(sums[o][0], sums[o][1], sums[o][2], sums[o][3]);
    } else if (k.vector == Vector::kRow2) {
      *reinterpret_cast<float2*>(row) = make_float2(sums[o][0], sums[o][1]);
      if (q0 + 2 < y.width)
        *reinterpret_cast<float2*>(row + 2) = make_float2(sums[o][2], sums[o][3]);
    } else {
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        if (q0 + i < y.width) row[i * y.w] = sums[o][i];
      }
    }
  }
}

template <int kTaps, int kOut>
__global__ __launch_bounds__(256, 2) void correlate(Correlation k, Cut cut) {
  begin_kernel();
  extern __shared__ __align__(16) float memory[];
  const int outputs = cut.groups * kOut;
  float* const tile = memory;
  float* const filters = tile + cut.images * cut.image_pitch;

  const int column = blockIdx.x % cut.tiles_across * cut.quads * kQuad;
  const int top = blockIdx.x / cut.tiles_across % cut.tiles_down * cut.rows;
  const int n0 = blockIdx.x / cut.tiles_across / cut.tiles_down * cut.images;
  const int quad = threadIdx.x % cut.quads, row = threadIdx.x / cut.quads % cut.rows;
  const int image = threadIdx.x / cut.quads / cut.rows % cut.images;
  const int group = threadIdx.x / cut.quads / cut.rows / cut.images;
  const int n = n0 + image, p = top + row, q0 = column + quad * kQuad;
  const bool works = group < cut.groups && n < k.y.count && p < k.y.height && q0 < k.y.width;

  float sums[kOut][kQuad];
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    const int channel = group * kOut + o;
    const bool has_bias = k.bias != nullptr && channel < k.y.channels;
    const float start = has_bias ? k.bias[channel * k.bias_stride] : 0.0f;
#pragma unroll
    for (int i = 0; i < kQuad; ++i) sums[o][i] = start;
  }

  Box box = {0,
             top - k.pad_h,
             column - k.pad_w,
             0,
             cut.rows + kTaps - 1,
             cut.quads * kQuad + kTaps - 1,
             cut.row_pitch,
             cut.plane_pitch};
  for (int c0 = 0; c0 < k.x.channels; c0 += cut.chunk) {
    box.c0 = c0;
    box.channels = min(cut.chunk, k.x.channels - c0);
    if (c0 > 0) __syncthreads();
    for (int i = 0; i < cut.images && n0 + i < k.x.count; ++i)
      stage(k.x, n0 + i, box, tile + i * cut.image_pitch);
    stage_filters<kTaps>(k, c0, box.channels, outputs, filters);
    __syncthreads();
    if (!works) continue;
    const float* from = tile + image * cut.image_pitch + row * cut.row_pitch + quad * kQuad;
    for (int c = 0; c < box.channels; ++c)
      accumulate<kTaps, kOut>(from + c * cut.plane_pitch, cut.row_pitch,
                              filters + c * kTaps * kTaps * outputs + group * kOut, outputs, sums);
  }
  if (works) store<kOut>(k, n, group * kOut, p, q0, sums);
}

// ---- the cut

int at_least_one(int64_t value) {
  return static_cast<int>(std::max<int64_t>(value, 1));
}

template <int kTaps, int kOut>
Cut cut_for(const Correlation& k, int threads) {
  constexpr int kWidest = 16;  // quads
  const Plane& y = k.y;
  Cut cut = {};
  cut.groups = static_cast<int>(divide_up(y.channels, kOut));
  const int quads = static_cast<int>(divide_up(y.width, kQuad));
  cut.tiles_across = static_cast<int>(divide_up(quads, kWidest));
  cut.quads = static_cast<int>(divide_up(quads, cut.tiles_across));
  const int rows = std::min(at_least_one(threads / (cut.quads * cut.groups)), y.height);
  cut.tiles_down = static_cast<int>(divide_up(y.height, rows));
  cut.rows = static_cast<int>(divide_up(y.height, cut.tiles_down));
  const bool whole = cut.tiles_across == 1 && cut.tiles_down == 1;
  cut.images = whole ? at_least_one(threads / (cut.quads * cut.rows * cut.groups)) : 1;
  cut.image_blocks = static_cast<int>(divide_up(y.count, cut.images));
  cut.row_pitch = row_pitch<kTaps>(cut.quads);
  cut.plane_pitch = (cut.rows + kTaps - 1) * cut.row_pitch;
  const int filters = kTaps * kTaps * cut.groups * kOut;
  const int room = static_cast<int>(kSharedBytes / sizeof(float));
  cut.chunk = std::min(room / (cut.images * cut.plane_pitch + filters), k.x.channels);
  cut.image_pitch = cut.chunk * cut.plane_pitch;
  return cut;
}

// Blocks of 256 threads stage least, but a small batch must be cut finer to reach every
// multiprocessor.
template <int kTaps, int kOut>
int32_t run_as(const dt_stream* stream, const Correlation& k) {
  int threads = 256;
  Cut cut = cut_for<kTaps, kOut>(k, threads);
  while (threads > 64 && cut.blocks() < multiprocessors(stream->device))
    cut = cut_for<kTaps, kOut>(k, threads /= 2);
  const int block = round_up(cut.items() * cut.groups, kWarp);
  const size_t floats =
      cut.images * cut.image_pitch + cut.chunk * kTaps * kTaps * cut.groups * kOut;
  return launch(stream, correlate<kTaps, kOut>, static_cast<unsigned>(cut.blocks()), block,
                floats * sizeof(float), k, cut);
}

// More sums per thread reuse more of what it reads, if enough threads remain.
template <int kTaps>
int32_t run_taps(const dt_stream* stream, const Correlation& k) {
  const int64_t quads = int64_t{k.y.count} * k.y.height * divide_up(k.y.width, kQuad);
  const int64_t threads = quads * divide_up(k.y.channels, 8);
  if (k.y.channels > 4 && threads >= int64_t{512} * multiprocessors(stream->device))
    return run_as<kTaps, 8>(stream, k);
  return run_as<kTaps, 4>(stream, k);
}

// ---- the calls

Vector vector_for(const Plane& y) {
  const auto aligned = [&](int64_t floats) {
    return reinterpret_cast<uintptr_t>(y.data) % (floats * sizeof(float)) == 0 &&
           y.n % floats == 0 && y.h % floats == 0;
  };
  if (y.w == 1 && aligned(4) && y.c % 4 == 0 && y.width % 4 == 0) return Vector::kRow4;
  if (y.w == 1 && aligned(2) && y.c % 2 == 0 && y.width % 2 == 0) return Vector::kRow2;
  if (y.c == 1 && aligned(4) && y.w % 4 == 0 && y.channels % 4 == 0) return Vector::kChannels4;
  return Vector::kNone;
}

Correlation forward(const Convolution& c) {
  const auto* s = c.w.strides;
  const Plane y(c.y);
  return {Plane(c.x),
          y,
          {static_cast<const float*>(c.w.data), s[0], s[1], s[2], s[3]},
          static_cast<const float*>(c.bias),
          c.bias_stride,
          static_cast<int>(c.padding[0]),
          static_cast<int>(c.padding[1]),
          vector_for(y)};
}

Correlation backward_input(const Convolution& c) {
  const auto* s = c.w.strides;
  const int64_t last = c.w.sizes[2] - 1;
  const float* corner = static_cast<const float*>(c.w.data) + last * (s[2] + s[3]);
  const Plane gx(c.x);
  return {Plane(c.y),
          gx,
          {corner, s[1], s[0], -s[2], -s[3]},
          nullptr,
          0,
          static_cast<int>(last - c.padding[0]),
          static_cast<int>(last - c.padding[1]),
          vector_for(gx)};
}

}  // namespace

bool direct_can(const Convolution& c) {
  const auto* w = c.w.sizes;
  const bool plain = c.stride[0] == 1 && c.stride[1] == 1 && c.dilation[0] == 1 &&
                     c.dilation[1] == 1 && c.groups == 1;
  const bool window = w[2] == w[3] && (w[2] == 3 || w[2] == 5);
  if (c.dtype != DT_FLOAT32 || !plain || !window) return false;
  const auto elements = [](const Images& x) {
    return static_cast<double>(x.sizes[0]) * x.sizes[1] * x.sizes[2] * x.sizes[3];
  };
  if (elements(c.x) > kMaxIndex32 || elements(c.y) > kMaxIndex32) return false;
  // More pairs of channels than that leave the weight gradient's threads nothing to share.
  constexpr int64_t kMostChannels = 32, kMostPairs3 = 256, kMostPairs5 = 192;
  return w[0] <= kMostChannels && w[1] <= kMostChannels &&
         w[0] * w[1] <= (w[2] == 3 ? kMostPairs3 : kMostPairs5);
}

int64_t direct_workspace(const dt_stream* stream, const Convolution& c) {
  return c.pass == Pass::kBackwardWeight ? direct_weight_workspace(stream, c) : 0;
}

int32_t direct_convolve(const dt_stream* stream, const Convolution& c, void* workspace) {
  if (c.pass == Pass::kBackwardWeight) return direct_weight(stream, c, workspace);
  const Correlation k = c.pass == Pass::kForward ? forward(c) : backward_input(c);
  return c.w.sizes[2] == 3 ? run_taps<3>(stream, k) : run_taps<5>(stream, k);
}

}  // namespace dt::cuda
