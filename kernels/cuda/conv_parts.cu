// What is around a convolution by a library: the bias, its gradient, and copies into the memory
// format that the library wants.
#include <algorithm>

#include "kernels/cuda/axes.cuh"
#include "kernels/cuda/conv.h"
#include "kernels/cuda/copy.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 4;  // elements of a thread, so that several loads are on their way

struct ImageDims {
  int64_t n, c, h, w;
};

// ---- the bias

// Elements are numbered in the order of `order`'s memory, channels-last or not, so that
// neighbouring threads touch neighbouring elements of it.
struct ImageOrder {
  FastDivide by_last, by_middle, by_outer;
  int64_t last, middle, outer, total;
  bool channels_last, wide;

  explicit ImageOrder(const Images& order)
      : last(order.sizes[3]),
        middle(order.sizes[2]),
        outer(order.sizes[1]),
        total(order.sizes[0] * order.sizes[1] * order.sizes[2] * order.sizes[3]),
        channels_last(order.strides[1] < order.strides[3]),
        wide(total > kMaxIndex32) {
    if (channels_last) last = order.sizes[1], middle = order.sizes[3], outer = order.sizes[2];
    if (wide || total == 0) return;
    by_last = FastDivide(static_cast<uint32_t>(last));
    by_middle = FastDivide(static_cast<uint32_t>(middle));
    by_outer = FastDivide(static_cast<uint32_t>(outer));
  }

  __device__ __forceinline__ ImageDims operator()(int64_t index) const {
    int64_t rest = index, digits[3];
    if (wide) {
      digits[0] = rest % last, rest /= last;
      digits[1] = rest % middle, rest /= middle;
      digits[2] = rest % outer, rest /= outer;
    } else {
      const auto i = static_cast<uint32_t>(index);
      const uint32_t a = by_last.divide(i), b = by_middle.divide(a), c = by_outer.divide(b);
      digits[0] = i - a * static_cast<uint32_t>(last);
      digits[1] = a - b * static_cast<uint32_t>(middle);
      digits[2] = b - c * static_cast<uint32_t>(outer);
      rest = c;
    }
    return channels_last ? ImageDims{rest, digits[0], digits[2], digits[1]}
                         : ImageDims{rest, digits[2], digits[1], digits[0]};
  }
};

struct Strides {
  int64_t n, c, h, w;

  explicit Strides(const Images& x)
      : n(x.strides[0]), c(x.strides[1]), h(x.strides[2]), w(x.strides[3]) {}
  __device__ __forceinline__ int64_t operator()(const ImageDims& at) const {
    return at.n * n + at.c * c + at.h * h + at.w * w;
  }
};

// Each thread has kEach elements, a block apart: body(index).
template <class Body>
__device__ __forceinline__ void for_each_of_thread(int64_t total, const Body& body) {
  const int64_t first = int64_t{blockIdx.x} * (kThreads * kEach) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (first + i * kThreads < total) body(first + i * kThreads);
  }
}

template <class T>
__global__ __launch_bounds__(kThreads) void add_bias_kernel(T* y, Strides strides, const T* bias,
                                                            int64_t bias_stride,
                                                            ImageOrder numbered) {
  begin_kernel();
  for_each_of_thread(numbered.total, [&](int64_t index) {
    const ImageDims at = numbered(index);
    T& element = y[strides(at)];
    element = T(Widened<T>(element) + Widened<T>(bias[at.c * bias_stride]));
  });
}

unsigned blocks_for(int64_t elements) {
  return static_cast<unsigned>(divide_up(elements, kThreads * kEach));
}

// ---- the gradient of the bias: a sum over all but the channels

// The pixels of all images are cut into chunks. A block sums a chunk for kLanes channels, and the
// chunks of a channel are added in order afterwards.
struct ChannelSum {
  int64_t channels, pixels, image;  // pixels of all images, and of one
  int64_t width, chunk;
  int chunks;
  bool channels_last, wide;
  FastDivide by_image, by_width;

  __device__ __forceinline__ ImageDims operator()(int64_t pixel, int64_t channel) const {
    if (wide) return {pixel / image, channel, pixel % image / width, pixel % image % width};
    const auto at = static_cast<uint32_t>(pixel);
    const uint32_t n = by_image.divide(at), rest = at - n * static_cast<uint32_t>(image);
    const uint32_t h = by_width.divide(rest);
    return {n, channel, h, rest - h * static_cast<uint32_t>(width)};
  }
};

ChannelSum channel_sum(const dt_stream* stream, const Images& y) {
  constexpr int64_t kShortest = 4096;  // pixels that are worth a block
  ChannelSum s = {};
  s.channels = y.sizes[1], s.image = y.sizes[2] * y.sizes[3], s.width = y.sizes[3];
  s.pixels = y.sizes[0] * s.image;
  s.channels_last = y.strides[1] < y.strides[3] && s.channels >= kWarp;
  const int64_t across = s.channels_last ? divide_up(s.channels, kWarp) : s.channels;
  const int64_t wanted =
      divide_up(4 * multiprocessors(stream->device), std::max<int64_t>(across, 1));
  const int64_t shortest = s.channels_last ? kShortest / kWarp : kShortest;
  const int64_t chunks = std::max<int64_t>(1, std::min(wanted, divide_up(s.pixels, shortest)));
  s.chunk = divide_up(s.pixels, chunks);
  s.chunks = static_cast<int>(chunks);
  s.wide = s.pixels > kMaxIndex32;
  if (s.wide || s.pixels == 0) return s;
  s.by_image = FastDivide(static_cast<uint32_t>(s.image));
  s.by_width = FastDivide(static_cast<uint32_t>(s.width));
  return s;
}

template <class T, int kLanes>
__global__ __launch_bounds__(kThreads) void channel_sums(const T* y, Strides strides,
                                                         Widened<T>* sums, ChannelSum s) {
  begin_kernel();
  using V = Widened<T>;
  constexpr int kRows = kThreads / kLanes;
  __shared__ V parts[kRows][kLanes + 1];
  const int lane = threadIdx.x % kLanes, row = threadIdx.x / kLanes;
  const int64_t channel = int64_t{blockIdx.x} * kLanes + lane;
  const int64_t first = blockIdx.y * s.chunk, end = min(s.pixels, first + s.chunk);
  V sum = 0;
  if (channel < s.channels) {
#pragma unroll 4
    for (int64_t pixel = first + row; pixel < end; pixel += kRows)
      sum += V(y[strides(s(pixel, channel))]);
  }
  parts[row][lane] = sum;
  for (int half = kRows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row < half) parts[row][lane] += parts[row + half][lane];
  }
  if (row == 0 && channel < s.channels) sums[blockIdx.y * s.channels + channel] = parts[0][lane];
}

template <class T>
__global__ __launch_bounds__(kThreads) void add_chunks(const Widened<T>* sums, T* gradient,
                                                       int64_t gradient_stride, ChannelSum s) {
  begin_kernel();
  const int64_t channel = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (channel >= s.channels) return;
  Widened<T> sum = 0;
#pragma unroll 8
  for (int i = 0; i < s.chunks; ++i) sum += sums[i * s.channels + channel];
  gradient[channel * gradient_stride] = T(sum);
}

template <class T>
int32_t run_bias_gradient(const dt_stream* stream, const Convolution& c, Widened<T>* sums) {
  const ChannelSum s = channel_sum(stream, c.y);
  const T* y = static_cast<const T*>(c.y.data);
  const int64_t across = s.channels_last ? divide_up(s.channels, kWarp) : s.channels;
  const dim3 blocks(static_cast<unsigned>(across), s.chunks);
  const int32_t result =
      launch(stream, s.channels_last ? channel_sums<T, kWarp> : channel_sums<T, 1>, blocks,
             kThreads, 0, y, Strides(c.y), sums, s);
  if (result != DT_KERNEL_OK) return result;
  return launch(stream, add_chunks<T>, static_cast<unsigned>(divide_up(s.channels, kThreads)),
                kThreads, 0, static_cast<const Widened<T>*>(sums), static_cast<T*>(c.bias),
                c.bias_stride, s);
}

}  // namespace

int32_t add_bias(const dt_stream* stream, const Convolution& c) {
  return visit_stored_floating(c.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const ImageOrder numbered(c.y);
    return launch(stream, add_bias_kernel<T>, blocks_for(numbered.total), kThreads, 0,
                  static_cast<T*>(c.y.data), Strides(c.y), static_cast<const T*>(c.bias),
                  c.bias_stride, numbered);
  });
}

int64_t bias_gradient_workspace(const dt_stream* stream, const Convolution& c) {
  const ChannelSum s = channel_sum(stream, c.y);
  return s.chunks * s.channels * bytes_of(compute_of(c.dtype));
}

int32_t bias_gradient(const dt_stream* stream, const Convolution& c, void* workspace) {
  return visit_stored_floating(c.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return run_bias_gradient<T>(stream, c, static_cast<Widened<T>*>(workspace));
  });
}

int32_t copy_images(const dt_stream* stream, int32_t dtype, const Images& to, const Images& from) {
  Axes<2> axes;
  for (int d = 0; d < 4; ++d) {
    if (to.sizes[d] != 1) axes.insert_by_stride(to.sizes[d], {to.strides[d], from.strides[d]});
  }
  axes.coalesce();
  dt_view y = {}, x = {};
  y.data = to.data, x.data = from.data;
  y.dtype = x.dtype = dtype;
  y.ndim = x.ndim = axes.n;
  for (int d = 0; d < axes.n; ++d) {
    y.sizes[d] = x.sizes[d] = axes.size[d];
    y.strides[d] = axes.stride[d][0], x.strides[d] = axes.stride[d][1];
  }
  return copy_view(stream, y, x);
}

}  // namespace dt::cuda
