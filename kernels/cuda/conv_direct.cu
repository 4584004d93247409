// Convolution and its gradient with respect to the input, for few channels. Libraries arrange such
// images for matrix products, which costs more than the arithmetic; here a block takes a piece of
// the images to shared memory and each thread computes a patch of pixels of four output channels in
// registers. While it works on some input channels, the next ones are on their way.
//
// With stride 1 the gradient with respect to the input is itself such a correlation: of the
// gradient, with the filters turned around and their channels exchanged.
#include <algorithm>

#include "kernels/cuda/conv_tile.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;  // of a block, at most
constexpr int kCols = 2;       // of a patch
constexpr int kOut = 4;        // output channels of a thread

struct Filters {
  const float* data;
  int o, c, r, s;  // strides, of output and input channels and of taps
};

// How a thread may store its sums.
enum class Vector { kNone, kRow2, kChannels4 };

struct Correlation {
  Plane x, y;
  Filters w;
  const float* bias;
  int64_t bias_stride;
  int pad_h, pad_w;
  Vector vector;
};

// How the work is cut. A block computes a tile of `rows` x `cols` patches, of each of `images`
// images, for all output channels. Its threads are (split, group of output channels, image, row,
// column), columns fastest; those that differ in nothing but their split share the input channels,
// and add what they have in the end. Input channels go through shared memory `chunk` at a time: the
// tiles of all images, then the filters.
struct Cut {
  int patch_rows;
  int cols, rows, images, groups, splits;
  int tiles_across, tiles_down, image_blocks;
  int chunk, floats;  // channels of a chunk, floats of a copy
  int image_pitch, filter_pitch, chunk_pitch;
  FastDivide by_cols, by_rows, by_images, by_groups, by_across, by_down, by_filter;
  BoxCopy copy;

  int workers() const { return cols * rows * images * groups; }
  int threads() const { return workers() * splits; }
  int64_t blocks() const { return int64_t{tiles_across} * tiles_down * image_blocks; }
};

// A thread's sums.
template <int kRows>
using Patch = float[kOut][kRows][kCols];

// ---- the kernel

// What a block computes: its first pixel and its images.
struct BlockPixels {
  int p, q, n, images;

  __device__ BlockPixels(const Cut& cut, int patch_rows, int count) {
    const int rest = cut.by_across.divide(blockIdx.x), block = cut.by_down.divide(rest);
    q = (blockIdx.x - rest * cut.tiles_across) * cut.cols * kCols;
    p = (rest - block * cut.tiles_down) * cut.rows * patch_rows;
    n = block * cut.images;
    images = min(cut.images, count - n);
  }
};

// What a thread computes: a patch of an image, for a group of channels.
struct Task {
  int col, row, image, group, split;

  __device__ explicit Task(const Cut& cut) {
    int rest = threadIdx.x;
    col = digit(cut.by_cols, &rest);
    row = digit(cut.by_rows, &rest);
    image = digit(cut.by_images, &rest);
    group = digit(cut.by_groups, &rest);
    split = rest;
  }

 private:
  static __device__ __forceinline__ int digit(const FastDivide& by, int* rest) {
    const int value = *rest;
    *rest = by.divide(value);
    return value - *rest * by.divisor;
  }
};

// Starts to copy the filters of `channels` channels from c0 on, as [c][r][s][output channel]. A
// thread keeps its tap.
template <int kTaps>
__device__ __forceinline__ void stage_filters(const Correlation& k, const Cut& cut, int c0,
                                              int channels, float* to) {
  constexpr int kWindow = kTaps * kTaps;
  const int length = cut.chunk * kWindow, first = cut.by_filter.divide(threadIdx.x);
  const int step = cut.by_filter.divide(blockDim.x), at = threadIdx.x - first * length;
  const int c = at / kWindow, r = at % kWindow / kTaps, s = at % kTaps;
  if (first >= step || c >= channels) return;
  const float* from = k.w.data + first * k.w.o + (c0 + c) * k.w.c + r * k.w.r + s * k.w.s;
  to += at * cut.filter_pitch;
  for (int o = first; o < k.y.channels; o += step) {
    copy_async<sizeof(float)>(to + o, from, true);
    from += step * k.w.o;
  }
}

// Starts to copy a block's part of `chunk` channels from c0 on.
template <int kTaps>
__device__ __forceinline__ void stage_chunk(const Correlation& k, const Cut& cut,
                                            const BlockPixels& own, int c0, float* to) {
  const Share share(k.x, cut.copy, cut.floats);
  const int channels = min(cut.chunk, k.x.channels - c0);
  const int h = own.p - k.pad_h, w = own.q - k.pad_w - kLead<kTaps>;
  stage_filters<kTaps>(k, cut, c0, channels, to + cut.images * cut.image_pitch);
  const float* origin = k.x.data + own.n * k.x.n + c0 * k.x.c + h * k.x.h + w * k.x.w;
  for (int i = 0; i < own.images; ++i) {
    stage(k.x, origin, h, w, channels, cut.copy, share, cut.floats, to);
    origin += k.x.n, to += cut.image_pitch;
  }
}

// The inputs in one row that a patch reads. `from` is kLead columns behind a multiple of 8 bytes.
template <int kTaps>
__device__ __forceinline__ void read_row(const float* from, float (&to)[kTaps + 1]) {
  constexpr int kOdd = kLead<kTaps> % 2;
  if (kOdd) to[0] = from[0], to[kTaps] = from[kTaps];
#pragma unroll
  for (int i = kOdd; i < kTaps; i += 2) {
    const float2 two = *reinterpret_cast<const float2*>(from + i);
    to[i] = two.x, to[i + 1] = two.y;
  }
}

// Adds what one input channel contributes. `tile` is at the thread's patch, `filters` at its group.
template <int kTaps, int kRows>
__device__ __forceinline__ void accumulate(const float* tile, int row_pitch, const float* filters,
                                           int filter_pitch, Patch<kRows>& sums) {
  float input[kRows + kTaps - 1][kTaps + 1];
#pragma unroll
  for (int row = 0; row < kRows + kTaps - 1; ++row)
    read_row<kTaps>(tile + row * row_pitch, input[row]);
#pragma unroll
  for (int r = 0; r < kTaps; ++r) {
#pragma unroll
    for (int s = 0; s < kTaps; ++s) {
      const float4 four =
          *reinterpret_cast<const float4*>(filters + (r * kTaps + s) * filter_pitch);
      const float weights[kOut] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int o = 0; o < kOut; ++o) {
#pragma unroll
        for (int i = 0; i < kRows * kCols; ++i) {
          float& sum = sums[o][i / kCols][i % kCols];
          sum = fma(weights[o], input[r + i / kCols][s + i % kCols], sum);
        }
      }
    }
  }
}

// Adds to the sums of the first split those of the others, in order, by way of shared memory. The
// others are then done.
template <int kRows>
__device__ __forceinline__ void add_splits(const Task& task, const Cut& cut, float* memory,
                                           Patch<kRows>& sums) {
  constexpr int kSums = kOut * kRows * kCols;
  const int workers = cut.cols * cut.rows * cut.images * cut.groups,
            worker = threadIdx.x - task.split * workers;
  if (task.split > 0 && task.split < cut.splits) {
    float* const to = memory + (task.split - 1) * kSums * workers + worker;
#pragma unroll
    for (int i = 0; i < kSums; ++i)
      to[i * workers] = sums[i / (kRows * kCols)][i / kCols % kRows][i % kCols];
  }
  __syncthreads();
  if (task.split > 0) return;
  for (int split = 1; split < cut.splits; ++split) {
    const float* const from = memory + (split - 1) * kSums * workers + worker;
#pragma unroll
    for (int i = 0; i < kSums; ++i)
      sums[i / (kRows * kCols)][i / kCols % kRows][i % kCols] += from[i * workers];
  }
}

// Stores the `height` x `width` pixels of a patch that exist, for `channels` channels.
template <int kRows>
__device__ __forceinline__ void store(const Plane& y, Vector vector, int height, int width,
                                      int channels, const Patch<kRows>& sums, float* to) {
  if (vector == Vector::kChannels4) {
#pragma unroll
    for (int i = 0; i < kRows * kCols; ++i) {
      const int row = i / kCols, col = i % kCols;
      if (row < height && col < width)
        *reinterpret_cast<float4*>(to + row * y.h + col * y.w) =
            make_float4(sums[0][row][col], sums[1][row][col], sums[2][row][col], sums[3][row][col]);
    }
    return;
  }
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    if (o >= channels) return;
    float* at = to + o * y.c;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const float(&two)[kCols] = sums[o][row];
      if (row < height) {
        if (vector == Vector::kRow2) {
          *reinterpret_cast<float2*>(at) = make_float2(two[0], two[1]);
        } else {
          at[0] = two[0];
          if (width > 1) at[y.w] = two[1];
        }
      }
      at += y.h;
    }
  }
}

// Blocks that a multiprocessor is to hold, which bounds the registers.
template <int kRows>
constexpr int kResident = kRows > 4   ? 2
                          : kRows > 2 ? 3
                                      : 4;

template <int kTaps, int kRows>
__global__ __launch_bounds__(kThreads,
                             kResident<kRows>) void correlate(const __grid_constant__ Correlation k,
                                                              const __grid_constant__ Cut cut) {
  begin_kernel();
  extern __shared__ __align__(16) float memory[];
  const BlockPixels own(cut, kRows, k.x.count);
  const Task task(cut);
  const int o0 = task.group * kOut;

  Patch<kRows> sums;
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    const bool has_bias = k.bias != nullptr && task.split == 0 && o0 + o < k.y.channels;
    const float first = has_bias ? __ldg(k.bias + (o0 + o) * k.bias_stride) : 0.0f;
#pragma unroll
    for (int i = 0; i < kRows * kCols; ++i) sums[o][i / kCols][i % kCols] = first;
  }

  // Step by step, the block computes on one half of the memory while the next channels come to the
  // other half. A thread too many has no split and no channels.
  const Box& box = cut.copy.box;
  const int filter_size = kTaps * kTaps * cut.filter_pitch;
  const float* const inputs = memory + task.image * cut.image_pitch + kLead<kTaps> +
                              task.row * kRows * box.row_pitch + task.col * kCols +
                              task.split * box.plane_pitch;
  const float* const filters =
      memory + cut.images * cut.image_pitch + o0 + task.split * filter_size;
  int here = cut.chunk_pitch, there = 0;
  for (int next = 0; next < k.x.channels + cut.chunk; next += cut.chunk) {
    if (next < k.x.channels) stage_chunk<kTaps>(k, cut, own, next, memory + there);
    close_copies();
    if (next > 0) {
      wait_copies<1>();
      __syncthreads();
      const int channels = min(cut.chunk, k.x.channels - next + cut.chunk);
      const float *from = inputs + here, *with = filters + here;
      for (int c = task.split; c < channels && task.split < cut.splits; c += cut.splits) {
        accumulate<kTaps, kRows>(from, box.row_pitch, with, cut.filter_pitch, sums);
        from += cut.splits * box.plane_pitch, with += cut.splits * filter_size;
      }
      __syncthreads();
    }
    here = there, there = cut.chunk_pitch - there;
  }
  if (cut.splits > 1) add_splits<kRows>(task, cut, memory, sums);

  const int p = own.p + task.row * kRows, q = own.q + task.col * kCols;
  if (task.split > 0 || task.image >= own.images || q >= k.y.width) return;
  store<kRows>(k.y, k.vector, k.y.height - p, k.y.width - q, k.y.channels - o0, sums,
               k.y.data + (own.n + task.image) * k.y.n + o0 * k.y.c + p * k.y.h + q * k.y.w);
}

// ---- the cut

constexpr int kHalf = kSharedBytes / sizeof(float) / 2;  // floats of a chunk, at most
constexpr int kRoom = kHalf - 900;                       // without the filters of a channel

// What a tile takes of shared memory, at most: rows are padded.
int floats_of_tile(const Cut& cut, int taps) {
  constexpr int kPadding = 12;
  return (cut.rows * cut.patch_rows + taps - 1) * (cut.cols * kCols + taps - 1 + kPadding);
}

// Blocks of about `threads` threads, each of which computes `patch_rows` rows.
Cut shape_of(const Plane& y, int taps, int patch_rows, int threads) {
  constexpr int kWidest = 32, kTallest = 128;  // columns of patches, pixels
  Cut cut = {};
  cut.patch_rows = patch_rows;
  cut.splits = 1;
  cut.groups = ceil_divide(y.channels, kOut);
  const int cols = ceil_divide(y.width, kCols), rows = ceil_divide(y.height, patch_rows);
  cut.tiles_across = ceil_divide(cols, kWidest);
  cut.cols = ceil_divide(cols, cut.tiles_across);
  const int fitting = threads / (cut.cols * cut.groups);
  cut.tiles_down = ceil_divide(rows, std::min(std::max(fitting, 1), kTallest / patch_rows));
  cut.rows = ceil_divide(rows, cut.tiles_down);
  const bool whole = cut.tiles_across == 1 && cut.tiles_down == 1;
  const int most = std::min({fitting / cut.rows, kRoom / floats_of_tile(cut, taps), y.count});
  cut.images = whole ? std::max(most, 1) : 1;
  cut.image_blocks = ceil_divide(y.count, cut.images);
  return cut;
}

// About how many instructions the busiest multiprocessor needs, in warps'.
int64_t cost_of(const Cut& cut, int taps, int channels, int multiprocessors) {
  constexpr int kBusy = 8;  // warps that keep a multiprocessor busy
  constexpr int kPerThread = 400, kPerLoad = 2, kPerCopy = 18;
  const int window = taps * taps, pixels = cut.patch_rows * kCols;
  const int staged_rows = cut.rows * cut.patch_rows + taps - 1,
            staged_cols = cut.cols * kCols + taps - 1;
  const int64_t blocks = divide_up(cut.blocks(), multiprocessors);
  const int64_t warps = blocks * ceil_divide(cut.threads(), kWarp);
  const int per_channel =
      window * kOut * pixels + (window + (cut.patch_rows + taps) * 3) * kPerLoad;
  const int per_thread =
      ceil_divide(channels, cut.splits) * per_channel + kPerThread + pixels * kOut * cut.splits;
  const int copies = cut.images * staged_rows * staged_cols / (2 * kWarp);
  return std::max<int64_t>(warps, kBusy) * per_thread + blocks * channels * copies * kPerCopy;
}

// The most threads of a half warp that read from one pair of banks, which the others wait for.
int conflicts(const Cut& cut, int pitch) {
  int hits[kWarp / 2] = {}, worst = 0;
  for (int lane = 0; lane < kWarp / 2; ++lane) {
    const int pair = lane % cut.cols + lane / cut.cols * cut.patch_rows * pitch / 2;
    worst = std::max(worst, ++hits[pair % (kWarp / 2)]);
  }
  return worst;
}

// The pitch of rows of `staged` columns.
int best_pitch(const Cut& cut, int staged) {
  const int step = std::max(cut.floats, 2), least = round_up(staged, step);
  int best = least;
  for (int pitch = least; pitch < least + 8; pitch += step) {
    if (conflicts(cut, pitch) < conflicts(cut, best)) best = pitch;
  }
  return best;
}

// Lays out the shared memory, for blocks of so many threads, and prepares the divisions.
template <int kTaps>
void finish(Cut* cut, const Correlation& k, int threads) {
  constexpr int kMostChannels = 4;  // of a chunk; the fewer, the sooner the arithmetic starts
  constexpr int kWindow = kTaps * kTaps;
  const int tile = cut->tiles_across == 1 ? 0 : cut->cols * kCols;
  cut->floats = floats_of_copies(k.x, k.pad_w + kLead<kTaps>, tile);
  const int rows = cut->rows * cut->patch_rows + kTaps - 1;
  const int cols = round_up(kLead<kTaps> + cut->cols * kCols + kTaps - 1, cut->floats);
  const int pitch = best_pitch(*cut, cols), plane = round_up(rows * pitch, 4);
  cut->filter_pitch = cut->groups * kOut | 4;  // spreads neighbouring taps over the banks
  const int channel = cut->images * plane + kWindow * cut->filter_pitch;
  cut->chunk = std::min({kHalf / channel, threads / kWindow, kMostChannels, k.x.channels});
  cut->image_pitch = cut->chunk * plane;
  cut->chunk_pitch = cut->chunk * channel;
  cut->by_cols = FastDivide(cut->cols);
  cut->by_rows = FastDivide(cut->rows);
  cut->by_images = FastDivide(cut->images);
  cut->by_groups = FastDivide(cut->groups);
  cut->by_across = FastDivide(cut->tiles_across);
  cut->by_down = FastDivide(cut->tiles_down);
  cut->by_filter = FastDivide(cut->chunk * kWindow);
  cut->copy = BoxCopy(k.x, {rows, pitch, plane}, cols / cut->floats, threads);
}

template <int kTaps, int kRows>
int32_t run(const dt_stream* stream, const Correlation& k, Cut cut) {
  // Threads enough to copy the widest row.
  const int threads = round_up(std::max(cut.threads(), cut.cols * kCols + 2 * kTaps), kWarp);
  finish<kTaps>(&cut, k, threads);
  const int halves = cut.chunk < k.x.channels ? 2 : 1;
  const int to_add = (cut.splits - 1) * cut.workers() * kOut * kRows * kCols;
  return launch(stream, correlate<kTaps, kRows>, static_cast<unsigned>(cut.blocks()), threads,
                std::max(halves * cut.chunk_pitch, to_add) * sizeof(float), k, cut);
}

// Larger patches reuse more of what their threads read, larger blocks share more of what they
// stage; but all multiprocessors should have the same to do, and enough of it.
Cut best_cut(const Correlation& k, int taps, int tallest, int multiprocessors) {
  int64_t least = INT64_MAX;
  Cut best = {};
  for (int patch_rows : {7, 4, 2}) {
    if (patch_rows > tallest) continue;
    for (int threads = kThreads; threads >= 2 * kWarp; threads -= 2 * kWarp) {
      Cut cut = shape_of(k.y, taps, patch_rows, threads);
      for (; cut.threads() <= kThreads && cut.splits <= std::min(k.x.channels, 4);
           cut.splits *= 2) {
        const int64_t cost = cost_of(cut, taps, k.x.channels, multiprocessors);
        if (cost < least) least = cost, best = cut;
      }
    }
  }
  return best;
}

template <int kTaps>
int32_t run_taps(const dt_stream* stream, const Correlation& k) {
  constexpr int kTallest = kTaps == 3 ? 7 : 4;  // for which there are registers enough
  const Cut cut = best_cut(k, kTaps, kTallest, multiprocessors(stream->device));
  if constexpr (kTallest == 7) {
    if (cut.patch_rows == 7) return run<kTaps, 7>(stream, k, cut);
  }
  return cut.patch_rows == 4 ? run<kTaps, 4>(stream, k, cut) : run<kTaps, 2>(stream, k, cut);
}

// ---- the calls

Vector vector_for(const Plane& y) {
  const auto aligned = [&](int64_t floats) {
    return reinterpret_cast<uintptr_t>(y.data) % (floats * sizeof(float)) == 0 &&
           y.n % floats == 0 && y.h % floats == 0;
  };
  if (has_vectors(y, 2)) return Vector::kRow2;
  if (y.c == 1 && aligned(4) && y.w % 4 == 0 && y.channels % 4 == 0) return Vector::kChannels4;
  return Vector::kNone;
}

Correlation forward(const Convolution& c) {
  const Plane w(c.w), y(c.y);
  return {Plane(c.x),
          y,
          {w.data, static_cast<int>(w.n), w.c, w.h, w.w},
          static_cast<const float*>(c.bias),
          c.bias_stride,
          static_cast<int>(c.padding[0]),
          static_cast<int>(c.padding[1]),
          vector_for(y)};
}

Correlation backward_input(const Convolution& c) {
  const Plane w(c.w), gx(c.x);
  const int last = w.height - 1;
  return {Plane(c.y),
          gx,
          {w.data + last * (w.h + w.w), w.c, static_cast<int>(w.n), -w.h, -w.w},
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
  if (c.dtype != dtype_of<float> || !plain || !window) return false;
  if (!is_small(c.x) || !is_small(c.w) || !is_small(c.y)) return false;
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
