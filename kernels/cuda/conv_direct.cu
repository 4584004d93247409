// Convolution and its gradient with respect to the input, for few channels. Libraries arrange such
// images for matrix products, which costs more than the arithmetic; here a block takes a piece of
// the images to shared memory and each thread computes a square of pixels of kOut output channels
// in registers. While it works on some input channels, the next ones are on their way.
//
// With stride 1 the gradient with respect to the input is itself such a correlation: of the
// gradient, with the filters turned around and their channels exchanged.
#include <algorithm>

#include "kernels/cuda/conv_tile.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;  // of a block, at most
constexpr int kSide = 2;       // a thread's pixels are kSide x kSide

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

// How the work is cut. A block computes a tile of `rows` x `cols` squares, of each of `images`
// images, for all output channels; its threads are (group of kOut channels, image, row, column),
// columns fastest. Input channels go through shared memory `chunk` at a time: the tiles of all
// images, then the filters.
struct Cut {
  int cols, rows, images, groups;
  int tiles_across, tiles_down, image_blocks;
  int chunk, floats;  // channels of a chunk, floats of a copy
  int image_pitch, filter_pitch, chunk_pitch;
  FastDivide by_cols, by_rows, by_images, by_filter;
  Walk walk;

  int threads() const { return cols * rows * images * groups; }
  int64_t blocks() const { return int64_t{tiles_across} * tiles_down * image_blocks; }
};

// ---- the kernel

// What a block computes: its first pixel and its images.
struct Tile {
  int p, q, n, images;

  __device__ Tile(const Cut& cut, int count) {
    q = blockIdx.x % cut.tiles_across * cut.cols * kSide;
    p = blockIdx.x / cut.tiles_across % cut.tiles_down * cut.rows * kSide;
    n = blockIdx.x / cut.tiles_across / cut.tiles_down * cut.images;
    images = min(cut.images, count - n);
  }
};

// What a thread computes: a square of an image, for a group of channels.
struct Task {
  int col, row, image, group;

  __device__ explicit Task(const Cut& cut) {
    const int rest = cut.by_cols.divide(threadIdx.x), outer = cut.by_rows.divide(rest);
    group = cut.by_images.divide(outer);
    col = threadIdx.x - rest * cut.cols;
    row = rest - outer * cut.rows;
    image = outer - group * cut.images;
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

// Starts to copy a block's share of `chunk` channels from c0 on.
template <int kTaps>
__device__ __forceinline__ void stage_chunk(const Correlation& k, const Cut& cut, const Tile& tile,
                                            int c0, float* to) {
  const int channels = min(cut.chunk, k.x.channels - c0);
  const int h = tile.p - k.pad_h, w = tile.q - k.pad_w - kLead<kTaps>;
  for (int i = 0; i < tile.images; ++i) {
    const float* image = k.x.data + (tile.n + i) * k.x.n;
    stage(k.x, image, c0, h, w, channels, cut.walk, cut.floats, to + i * cut.image_pitch);
  }
  stage_filters<kTaps>(k, cut, c0, channels, to + cut.images * cut.image_pitch);
}

// The inputs in one row that a square reads. `from` is kLead columns behind a multiple of 8 bytes.
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

// Adds what one input channel contributes. `tile` is at the thread's square, `filters` at its
// group.
template <int kTaps, int kOut>
__device__ __forceinline__ void accumulate(const float* tile, int row_pitch, const float* filters,
                                           int filter_pitch, float (&sums)[kOut][kSide][kSide]) {
  float input[kTaps + 1][kTaps + 1];
  read_row<kTaps>(tile, input[0]);
#pragma unroll
  for (int r = 0; r < kTaps; ++r) {
    read_row<kTaps>(tile + (r + 1) * row_pitch, input[r + 1]);
#pragma unroll
    for (int s = 0; s < kTaps; ++s) {
#pragma unroll
      for (int o = 0; o < kOut; o += 4) {
        const float4 four =
            *reinterpret_cast<const float4*>(filters + (r * kTaps + s) * filter_pitch + o);
        const float weights[] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int i = 0; i < 4 * kSide * kSide; ++i) {
          const int each = i / (kSide * kSide), row = i / kSide % kSide, col = i % kSide;
          float& sum = sums[o + each][row][col];
          sum = fma(weights[each], input[r + row][s + col], sum);
        }
      }
    }
  }
}

// Stores a row of a square, of which `width` pixels exist, for channels from o0 on.
template <int kOut>
__device__ __forceinline__ void store_row(const Correlation& k, int o0, int width,
                                          const float (&sums)[kOut][kSide][kSide], int row,
                                          float* to) {
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    if (o0 + o >= k.y.channels) return;
    float* const pixels = to + o * k.y.c;
    const float(&two)[kSide] = sums[o][row];
    if (k.vector == Vector::kRow2) {
      *reinterpret_cast<float2*>(pixels) = make_float2(two[0], two[1]);
    } else if (k.vector == Vector::kNone) {
      pixels[0] = two[0];
      if (width > 1) pixels[k.y.w] = two[1];
    } else if (o % 4 == 0) {
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        if (i < width)
          *reinterpret_cast<float4*>(pixels + i * k.y.w) = make_float4(
              sums[o][row][i], sums[o + 1][row][i], sums[o + 2][row][i], sums[o + 3][row][i]);
      }
    }
  }
}

template <int kTaps, int kOut>
__global__ __launch_bounds__(kThreads, 4) void correlate(const __grid_constant__ Correlation k,
                                                         const __grid_constant__ Cut cut) {
  begin_kernel();
  extern __shared__ __align__(16) float memory[];
  const Tile tile(cut, k.x.count);
  const Task task(cut);
  const bool works = task.group < cut.groups;  // the others only copy

  float sums[kOut][kSide][kSide];
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    const int channel = task.group * kOut + o;
    const bool has_bias = k.bias != nullptr && channel < k.y.channels;
    const float first = has_bias ? __ldg(k.bias + channel * k.bias_stride) : 0.0f;
#pragma unroll
    for (int i = 0; i < kSide * kSide; ++i) sums[o][i / kSide][i % kSide] = first;
  }

  // Step by step, the block computes on one half of the memory while the next channels come to the
  // other half.
  const Box& box = cut.walk.box;
  const float* const inputs = memory + task.image * cut.image_pitch +
                              task.row * kSide * box.row_pitch + task.col * kSide + kLead<kTaps>;
  const float* const filters = memory + cut.images * cut.image_pitch + task.group * kOut;
  int here = cut.chunk_pitch, there = 0;
  for (int next = 0; next < k.x.channels + cut.chunk; next += cut.chunk) {
    if (next < k.x.channels) stage_chunk<kTaps>(k, cut, tile, next, memory + there);
    close_copies();
    if (next > 0) {
      wait_copies<1>();
      __syncthreads();
      const int channels = works ? min(cut.chunk, k.x.channels - next + cut.chunk) : 0;
      const float *from = inputs + here, *with = filters + here;
      for (int c = 0; c < channels; ++c) {
        accumulate<kTaps, kOut>(from, box.row_pitch, with, cut.filter_pitch, sums);
        from += box.plane_pitch, with += kTaps * kTaps * cut.filter_pitch;
      }
      __syncthreads();
    }
    here = there, there = cut.chunk_pitch - there;
  }

  const int p = tile.p + task.row * kSide, q = tile.q + task.col * kSide, o = task.group * kOut;
  if (!works || task.image >= tile.images || q >= k.y.width) return;
  float* to = k.y.data + (tile.n + task.image) * k.y.n + o * k.y.c + p * k.y.h + q * k.y.w;
#pragma unroll
  for (int row = 0; row < kSide; ++row) {
    if (p + row < k.y.height) store_row<kOut>(k, o, k.y.width - q, sums, row, to + row * k.y.h);
  }
}

// ---- the cut

// Blocks of about `threads` threads, each of which computes `out` channels.
Cut shape_of(const Plane& y, int out, int threads) {
  constexpr int kWidest = 32, kTallest = 64, kMostImages = 64;  // columns, rows of squares
  Cut cut = {};
  cut.groups = ceil_divide(y.channels, out);
  const int cols = ceil_divide(y.width, kSide), rows = ceil_divide(y.height, kSide);
  cut.tiles_across = ceil_divide(cols, kWidest);
  cut.cols = ceil_divide(cols, cut.tiles_across);
  const int fitting = threads / (cut.cols * cut.groups);
  cut.tiles_down = ceil_divide(rows, std::min(std::max(fitting, 1), kTallest));
  cut.rows = ceil_divide(rows, cut.tiles_down);
  const bool whole = cut.tiles_across == 1 && cut.tiles_down == 1;
  cut.images =
      whole ? std::min(std::max(fitting / cut.rows, 1), std::min(y.count, kMostImages)) : 1;
  cut.image_blocks = ceil_divide(y.count, cut.images);
  return cut;
}

// About how many instructions of a warp the busiest multiprocessor needs for an input channel.
int64_t cost_of(const Cut& cut, int taps, int out, int multiprocessors) {
  constexpr int kSchedulers = 4, kPerCopy = 14, kPerLoad = 2;
  const int window = taps * taps, reads = taps + kSide - 1;
  const int64_t blocks = divide_up(cut.blocks(), multiprocessors);
  const int64_t warps = blocks * ceil_divide(cut.threads(), kWarp);
  const int loads = window * out / 4 + reads * reads / 2;
  const int staged = cut.images * (cut.rows * kSide + taps - 1) * (cut.cols * kSide + taps - 1);
  return std::max<int64_t>(warps, kSchedulers) * (window * out * kSide * kSide + loads * kPerLoad) +
         blocks * (staged / kWarp * kPerCopy);
}

// The most threads of a half warp that read from one pair of banks, which the others wait for.
int conflicts(int cols, int pitch) {
  int hits[kWarp / 2] = {}, worst = 0;
  for (int lane = 0; lane < kWarp / 2; ++lane) {
    const int pair = lane % cols + lane / cols * pitch;  // squares are two rows apart
    worst = std::max(worst, ++hits[pair % (kWarp / 2)]);
  }
  return worst;
}

// The pitch of rows of `staged` columns that are copied by so many floats.
int best_pitch(int cols, int staged, int floats) {
  const int step = std::max(floats, kSide), least = round_up(staged, step);
  int best = least;
  for (int pitch = least; pitch < least + 8; pitch += step) {
    if (conflicts(cols, pitch) < conflicts(cols, best)) best = pitch;
  }
  return best;
}

// Lays out the shared memory, for blocks of so many threads, and prepares the divisions.
template <int kTaps, int kOut>
void finish(Cut* cut, const Correlation& k, int threads) {
  constexpr int kMostChannels = 4;  // of a chunk; the fewer, the sooner the arithmetic starts
  constexpr int kRoom = kSharedBytes / sizeof(float) / 2, kWindow = kTaps * kTaps;
  const int tile = cut->tiles_across == 1 ? 0 : cut->cols * kSide;
  cut->floats = floats_of_copies(k.x, k.pad_w + kLead<kTaps>, tile);
  const int rows = cut->rows * kSide + kTaps - 1;
  const int cols = round_up(kLead<kTaps> + cut->cols * kSide + kTaps - 1, cut->floats);
  const int pitch = best_pitch(cut->cols, cols, cut->floats);
  cut->filter_pitch = cut->groups * kOut | 4;  // spreads neighbouring taps over the banks
  const int channel = cut->images * rows * pitch + kWindow * cut->filter_pitch;
  cut->chunk = std::min({kRoom / channel, threads / kWindow, kMostChannels, k.x.channels});
  cut->image_pitch = cut->chunk * rows * pitch;
  cut->chunk_pitch = cut->chunk * channel;
  cut->by_cols = FastDivide(cut->cols);
  cut->by_rows = FastDivide(cut->rows);
  cut->by_images = FastDivide(cut->images);
  cut->by_filter = FastDivide(cut->chunk * kWindow);
  cut->walk = Walk(k.x, {rows, pitch, rows * pitch}, cols / cut->floats, threads);
}

template <int kTaps, int kOut>
int32_t run(const dt_stream* stream, const Correlation& k, Cut cut) {
  // Threads enough to copy the widest row.
  const int threads = round_up(std::max(cut.threads(), cut.cols * kSide + 2 * kTaps), kWarp);
  finish<kTaps, kOut>(&cut, k, threads);
  const int halves = cut.chunk < k.x.channels ? 2 : 1;
  return launch(stream, correlate<kTaps, kOut>, static_cast<unsigned>(cut.blocks()), threads,
                halves * cut.chunk_pitch * sizeof(float), k, cut);
}

// More channels per thread reuse more of what it reads, larger blocks share more of what they
// stage; but all multiprocessors should have the same to do.
template <int kTaps>
int32_t run_taps(const dt_stream* stream, const Correlation& k) {
  constexpr int kLeastThreads = 64;
  int best_out = 0;
  int64_t least = INT64_MAX;
  Cut best = {};
  for (int out : {8, 4}) {
    if (out == 8 && k.y.channels <= 4) continue;
    for (int threads = kThreads; threads >= kLeastThreads; threads -= kWarp) {
      const Cut cut = shape_of(k.y, out, threads);
      const int64_t cost = cost_of(cut, kTaps, out, multiprocessors(stream->device));
      if (cost < least) least = cost, best = cut, best_out = out;
    }
  }
  return best_out == 8 ? run<kTaps, 8>(stream, k, best) : run<kTaps, 4>(stream, k, best);
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

// Whether 32 bits hold the number of elements and the offsets in an image, also of what tiles have
// beyond its edges.
bool is_small(const Images& x) {
  constexpr double kBeyond = 160;
  double elements = 1, reach = 0;
  for (int d = 0; d < 4; ++d) {
    elements *= x.sizes[d];
    if (d > 0) reach += magnitude(x.strides[d]) * (x.sizes[d] + (d > 1 ? kBeyond : 0));
  }
  return elements <= kMaxIndex32 && reach <= kMaxIndex32;
}

}  // namespace

bool direct_can(const Convolution& c) {
  const auto* w = c.w.sizes;
  const bool plain = c.stride[0] == 1 && c.stride[1] == 1 && c.dilation[0] == 1 &&
                     c.dilation[1] == 1 && c.groups == 1;
  const bool window = w[2] == w[3] && (w[2] == 3 || w[2] == 5);
  if (c.dtype != DT_FLOAT32 || !plain || !window) return false;
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
