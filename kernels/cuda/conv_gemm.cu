// Any convolution as a tiled matrix product whose operands are read through their indices: nothing
// is unrolled in memory. It serves where cuDNN is missing or cannot.
#include "kernels/cuda/conv.h"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/product_math.cuh"
#include "kernels/cuda/product_tile.cuh"

namespace dt::cuda {
namespace {

// An index over three dimensions, taken apart.
struct Triple {
  int64_t a, b, c;
};
struct Triples {
  int64_t b_size, c_size;
  FastDivide by_b, by_c;
  bool wide;

  Triples(int64_t a, int64_t b, int64_t c) : b_size(b), c_size(c), wide(a * b * c > kMaxIndex32) {
    if (wide) return;
    // An empty dimension has no index to take apart.
    by_b = FastDivide(static_cast<uint32_t>(std::max<int64_t>(b, 1)));
    by_c = FastDivide(static_cast<uint32_t>(std::max<int64_t>(c, 1)));
  }
  __device__ __forceinline__ Triple operator()(int64_t index) const {
    if (wide) return {index / c_size / b_size, index / c_size % b_size, index % c_size};
    const auto i = static_cast<uint32_t>(index);
    const uint32_t bc = by_c.divide(i), a = by_b.divide(bc);
    return {a, bc - a * static_cast<uint32_t>(b_size), i - bc * static_cast<uint32_t>(c_size)};
  }
};

// One axis of the convolution: output position p and tap r meet at input position
// p * stride - padding + r * dilation.
struct ConvAxis {
  int64_t in, out, stride, padding, dilation;

  __device__ __forceinline__ int64_t input(int64_t p, int64_t r) const {
    return p * stride - padding + r * dilation;
  }
  // The output position at which tap r reads input h; negative if there is none.
  __device__ __forceinline__ int64_t output(int64_t h, int64_t r) const {
    const int64_t reached = h + padding - r * dilation;
    if (stride == 1) return reached < out ? reached : -1;
    const int64_t p = reached / stride;
    return reached >= 0 && p * stride == reached && p < out ? p : -1;
  }
};

template <class T>
struct ImageTensor {
  T* data;
  int64_t n, c, h, w;  // strides
  int64_t group;       // from the channels of one group to those of the next

  explicit ImageTensor(const Images& x, int64_t group_step)
      : data(static_cast<T*>(x.data)),
        n(x.strides[0]),
        c(x.strides[1]),
        h(x.strides[2]),
        w(x.strides[3]),
        group(group_step) {}
  __device__ __forceinline__ T& at(int64_t i, int64_t j, int64_t k, int64_t l) const {
    return data[i * n + j * c + k * h + l * w];
  }
};

// What all operands need to know. Operands select a group: the channels of x and y, and the rows of
// w, that belong together.
template <class T>
struct Geometry {
  ImageTensor<T> x, w, y;
  ConvAxis rows, cols;
  Triples taps, pixels, points;  // (channel, r, s) of w; (n, p, q) of y; (n, h, w) of x
  int64_t in_channels, out_channels, count;
  bool along_k;

  explicit Geometry(const Convolution& c)
      : x(c.x, c.w.sizes[1] * c.x.strides[1]),
        w(c.w, c.w.sizes[0] / c.groups * c.w.strides[0]),
        y(c.y, c.w.sizes[0] / c.groups * c.y.strides[1]),
        rows{c.x.sizes[2], c.y.sizes[2], c.stride[0], c.padding[0], c.dilation[0]},
        cols{c.x.sizes[3], c.y.sizes[3], c.stride[1], c.padding[1], c.dilation[1]},
        taps(std::max(c.w.sizes[0], c.w.sizes[1]), c.w.sizes[2], c.w.sizes[3]),
        pixels(c.y.sizes[0], c.y.sizes[2], c.y.sizes[3]),
        points(c.x.sizes[0], c.x.sizes[2], c.x.sizes[3]),
        in_channels(c.w.sizes[1]),
        out_channels(c.w.sizes[0] / c.groups),
        count(c.x.sizes[0]),
        along_k(c.pass == Pass::kBackwardWeight) {}

  __device__ __forceinline__ void select(int64_t g) {
    x.data += g * x.group;
    w.data += g * w.group;
    y.data += g * y.group;
  }
  // x where pixel (n, p, q) and tap (c, r, s) meet; zero outside.
  __device__ __forceinline__ T met(const Triple& pixel, const Triple& tap) const {
    const int64_t h = rows.input(pixel.b, tap.b), v = cols.input(pixel.c, tap.c);
    const bool inside = h >= 0 && h < rows.in && v >= 0 && v < cols.in;
    return inside ? x.at(pixel.a, tap.a, h, v) : T(0);
  }
};

// ---- forward: pixels x taps times taps x output channels

template <class T>
struct UnrolledInput : Geometry<T> {
  using Geometry<T>::Geometry;
  __device__ __forceinline__ T operator()(int64_t pixel, int64_t tap) const {
    return this->met(this->pixels(pixel), this->taps(tap));
  }
};
template <class T>
struct Filters : Geometry<T> {
  using Geometry<T>::Geometry;
  __device__ __forceinline__ T operator()(int64_t o, int64_t tap) const {
    const Triple t = this->taps(tap);
    return this->w.at(o, t.a, t.b, t.c);
  }
};
template <class T>
struct OutputSink : Geometry<T> {
  const T* bias;
  int64_t bias_stride;
  explicit OutputSink(const Convolution& c)
      : Geometry<T>(c), bias(static_cast<const T*>(c.bias)), bias_stride(c.bias_stride) {}
  __device__ __forceinline__ void operator()(int, int64_t g, int64_t pixel, int64_t o,
                                             T sum) const {
    const Triple at = this->pixels(pixel);
    const int64_t channel = g * this->out_channels + o;
    this->y.at(at.a, channel, at.b, at.c) =
        bias == nullptr ? sum : sum + bias[channel * bias_stride];
  }
};

// ---- backward input: points x (output channel, r, s) times that x input channels

template <class T>
struct UnrolledGradient : Geometry<T> {
  using Geometry<T>::Geometry;
  __device__ __forceinline__ T operator()(int64_t point, int64_t tap) const {
    const Triple at = this->points(point), t = this->taps(tap);
    const int64_t p = this->rows.output(at.b, t.b), q = this->cols.output(at.c, t.c);
    return p >= 0 && q >= 0 ? this->y.at(at.a, t.a, p, q) : T(0);
  }
};
template <class T>
struct FiltersOfInput : Geometry<T> {
  using Geometry<T>::Geometry;
  __device__ __forceinline__ T operator()(int64_t c, int64_t tap) const {
    const Triple t = this->taps(tap);
    return this->w.at(t.a, c, t.b, t.c);
  }
};
template <class T>
struct InputSink : Geometry<T> {
  using Geometry<T>::Geometry;
  __device__ __forceinline__ void operator()(int, int64_t g, int64_t point, int64_t c,
                                             T sum) const {
    const Triple at = this->points(point);
    this->x.at(at.a, g * this->in_channels + c, at.b, at.c) = sum;
  }
};

// ---- backward weight: output channels x pixels times pixels x taps

template <class T>
struct OutputGradient : Geometry<T> {
  using Geometry<T>::Geometry;
  __device__ __forceinline__ T operator()(int64_t o, int64_t pixel) const {
    const Triple at = this->pixels(pixel);
    return this->y.at(at.a, o, at.b, at.c);
  }
};
template <class T>
struct UnrolledTaps : Geometry<T> {
  using Geometry<T>::Geometry;
  __device__ __forceinline__ T operator()(int64_t tap, int64_t pixel) const {
    return this->met(this->pixels(pixel), this->taps(tap));
  }
};
template <class T>
struct WeightSink : Geometry<T> {
  using Geometry<T>::Geometry;
  __device__ __forceinline__ void operator()(int, int64_t g, int64_t o, int64_t tap, T sum) const {
    const Triple t = this->taps(tap);
    this->w.at(g * this->out_channels + o, t.a, t.b, t.c) = sum;
  }
};

// ---- running

TileGrid grid_of(const dt_stream* stream, const Convolution& c, bool may_split) {
  const int64_t in_channels = c.w.sizes[1], out_channels = c.w.sizes[0] / c.groups;
  const int64_t window = c.w.sizes[2] * c.w.sizes[3];
  const int64_t pixels = c.y.sizes[0] * c.y.sizes[2] * c.y.sizes[3];
  const int64_t points = c.x.sizes[0] * c.x.sizes[2] * c.x.sizes[3];
  const auto cut = [&](int64_t m, int64_t n, int64_t k) {
    return tile_grid<SmallTile>(stream->device, c.groups, m, n, k, may_split);
  };
  switch (c.pass) {
    case Pass::kForward:
      return cut(pixels, out_channels, in_channels * window);
    case Pass::kBackwardInput:
      return cut(points, in_channels, out_channels * window);
    default:
      return cut(out_channels, in_channels * window, pixels);
  }
}

template <class T>
int32_t run(const dt_stream* stream, const Convolution& c, void* workspace) {
  using Math = FloatMath<T>;
  const TileGrid grid = grid_of(stream, c, workspace != nullptr);
  switch (c.pass) {
    case Pass::kForward:
      return run_tiles<Math, SmallTile>(stream, UnrolledInput<T>(c), Filters<T>(c),
                                        OutputSink<T>(c), grid, workspace);
    case Pass::kBackwardInput:
      return run_tiles<Math, SmallTile>(stream, UnrolledGradient<T>(c), FiltersOfInput<T>(c),
                                        InputSink<T>(c), grid, workspace);
    default:
      return run_tiles<Math, SmallTile>(stream, OutputGradient<T>(c), UnrolledTaps<T>(c),
                                        WeightSink<T>(c), grid, workspace);
  }
}

}  // namespace

int64_t gemm_workspace(const dt_stream* stream, const Convolution& c) {
  const TileGrid grid = grid_of(stream, c, true);
  int64_t bytes = 0;
  visit_floating(c.dtype,
                 [&](auto type) { bytes = tile_workspace<typename decltype(type)::type>(grid); });
  return bytes;
}

int32_t gemm_convolve(const dt_stream* stream, const Convolution& c, void* workspace) {
  return visit_floating(
      c.dtype, [&](auto type) { return run<typename decltype(type)::type>(stream, c, workspace); });
}

}  // namespace dt::cuda
