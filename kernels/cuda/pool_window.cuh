// The geometry of pooling windows, and how images are walked. Everything comes for two kinds of
// integers: 32 bits, in which the device is several times as fast, nearly always do.
#pragma once

#include <type_traits>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"

namespace dt::cuda {

// Divides what is not negative by a size.
template <class Int>
struct Divider {
  Int divisor;

  explicit Divider(int64_t d) : divisor(d) {}
#ifdef __CUDACC__
  __device__ __forceinline__ Int operator()(Int n) const {
    return n / divisor;
  }
#endif
};

template <>
struct Divider<int32_t> {
  FastDivide fast;

  explicit Divider(int64_t d) : fast(static_cast<uint32_t>(d)) {}
#ifdef __CUDACC__
  __device__ __forceinline__ int32_t operator()(int32_t n) const {
    return static_cast<int32_t>(fast.divide(static_cast<uint32_t>(n)));
  }
#endif
};

// One dimension of the image: output i reads inputs i * stride - padding + tap * dilation, where
// they exist. With a stride of 0 the windows cover the dimension as equally as can be: window i is
// [i * in / out, (i + 1) * in / out), rounded down and up; `kernel` is the size of the largest.
struct Extent {
  int64_t in, out, kernel, stride, padding, dilation;

  bool is_cover() const { return stride == 0; }

  bool halves() const {
    return kernel == 2 && stride == 2 && padding == 0 && dilation == 1 && 2 * out <= in;
  }
  // Of how many windows an input can be part.
  int64_t overlap() const {
    if (!is_cover()) return divide_up((kernel - 1) * dilation + 1, stride);
    return in % max(out, int64_t{1}) == 0 ? 1 : divide_up(out, in) + 1;
  }
  // Whether the coordinates that windows may have, also outside of the image, are that small.
  bool is_below(int64_t limit) const {
    return in < limit && stride < limit && padding < limit && kernel < limit / dilation &&
           (!is_cover() || in < limit / max(out, int64_t{1}));
  }
};

// first, first + step, ... before end
template <class Int>
struct Range {
  Int first, end, step;
};

template <class Int>
struct PoolDim {
  Int in, out, kernel, stride, padding, dilation, overlap;
  Divider<Int> by_stride, by_dilation, by_in;  // of a cover by_stride divides by `out`

  explicit PoolDim(const Extent& e)
      : in(static_cast<Int>(e.in)),
        out(static_cast<Int>(e.out)),
        kernel(static_cast<Int>(e.kernel)),
        stride(static_cast<Int>(e.stride)),
        padding(static_cast<Int>(e.padding)),
        dilation(static_cast<Int>(e.dilation)),
        overlap(static_cast<Int>(e.overlap())),
        by_stride(e.is_cover() ? max(e.out, int64_t{1}) : e.stride),
        by_dilation(e.dilation),
        by_in(max(e.in, int64_t{1})) {}

#ifdef __CUDACC__
  // The inputs that output i reads.
  __device__ __forceinline__ Range<Int> taps(Int i) const {
    if (stride == 0) return {by_stride(i * in), by_stride((i + 1) * in + out - 1), 1};
    const Int start = i * stride - padding;
    const Int skipped = start >= 0 ? 0 : by_dilation(dilation - 1 - start) * dilation;
    return {start + skipped, min(start + kernel * dilation, in), dilation};
  }
  // The outputs whose windows reach (with dilation: may reach) input i.
  __device__ __forceinline__ Range<Int> windows(Int i) const {
    if (stride == 0) return {by_in(i * out), by_in((i + 1) * out + in - 1), 1};
    const Int last = by_stride(i + padding), first = last - overlap + 1;
    const bool reaches = first * stride + (kernel - 1) * dilation >= i + padding;
    return {max(reaches ? first : first + 1, Int(0)), min(last + 1, out), 1};
  }
  // How many elements of output i's window count in a mean. Elements beyond the padding never do.
  __device__ __forceinline__ Int count(Int i, bool count_padding) const {
    if (stride == 0) return taps(i).end - taps(i).first;
    const Int begin = i * stride - padding, end = min(begin + kernel, in + padding);
    return count_padding ? end - begin : min(end, in) - max(begin, Int(0));
  }
#endif
};

template <class Int>
struct PoolWindow {
  PoolDim<Int> rows, cols;
};

#ifdef __CUDACC__
// use(row, col, load(row, col)) for all rows and columns, row by row. If there are at most
// kMost > 0 of each, all loads are on their way at once.
template <int kMost, class Int, class Load, class Use>
__device__ __forceinline__ void for_each_cell(const Range<Int>& rows, const Range<Int>& cols,
                                              const Load& load, const Use& use) {
  if constexpr (kMost == 0) {
    for (Int row = rows.first; row < rows.end; row += rows.step) {
      for (Int col = cols.first; col < cols.end; col += cols.step) use(row, col, load(row, col));
    }
  } else {
    decltype(load(rows.first, cols.first)) cells[kMost * kMost];
#pragma unroll
    for (int i = 0; i < kMost * kMost; ++i) {
      const Int row = rows.first + i / kMost * rows.step, col = cols.first + i % kMost * cols.step;
      if (row < rows.end && col < cols.end) cells[i] = load(row, col);
    }
#pragma unroll
    for (int i = 0; i < kMost * kMost; ++i) {
      const Int row = rows.first + i / kMost * rows.step, col = cols.first + i % kMost * cols.step;
      if (row < rows.end && col < cols.end) use(row, col, cells[i]);
    }
  }
}
#endif

template <class T, class Int>
struct Images {
  T* data;
  Int n_step, c_step, h_step, w_step;

  explicit Images(const dt_view& v)
      : data(static_cast<T*>(v.data)),
        n_step(static_cast<Int>(v.strides[0])),
        c_step(static_cast<Int>(v.strides[1])),
        h_step(static_cast<Int>(v.strides[2])),
        w_step(static_cast<Int>(v.strides[3])) {}
#ifdef __CUDACC__
  __device__ __forceinline__ T* at(Int n, Int c, Int h, Int w) const {
    return data + (n * n_step + c * c_step + h * h_step + w * w_step);
  }
#endif
};

inline bool is_channels_last(const dt_view& v) {
  return v.strides[1] == 1 && v.sizes[1] > 1 && v.strides[3] != 1;
}

template <class Int>
struct Pixel {
  Int n, c, h, w;
};

// Numbers the elements of an image, or packets of channels, in the order in which they lie in
// memory, except that `rows` neighbouring rows count as one: what a thread knows of one of their
// elements, it knows of the others.
template <class Int>
struct PixelOrder {
  using Index = std::make_unsigned_t<Int>;

  bool channels_last;
  Int packet, channels, height, width, rows;  // channels are counted in packets
  Index count;
  Divider<Int> by_channels, by_groups, by_width;

  PixelOrder(const dt_view& v, int packet_width, int64_t rows_together)
      : PixelOrder(v, packet_width, rows_together, divide_up(v.sizes[2], rows_together)) {}

#ifdef __CUDACC__
  // The first pixel of those with this number.
  __device__ __forceinline__ Pixel<Int> at(Index index) const {
    Int i = static_cast<Int>(index), n, c, group, w;
    if (channels_last) {
      split(i, by_channels, channels, &i, &c);
      split(i, by_width, width, &i, &w);
      split(i, by_groups, groups, &n, &group);
    } else {
      split(i, by_width, width, &i, &w);
      split(i, by_groups, groups, &i, &group);
      split(i, by_channels, channels, &n, &c);
    }
    return {n, c * packet, group * rows, w};
  }
#endif

 private:
  Int groups;

  PixelOrder(const dt_view& v, int packet_width, int64_t rows_together, int64_t row_groups)
      : channels_last(is_channels_last(v)),
        packet(packet_width),
        channels(static_cast<Int>(v.sizes[1] / packet_width)),
        height(static_cast<Int>(v.sizes[2])),
        width(static_cast<Int>(v.sizes[3])),
        rows(static_cast<Int>(rows_together)),
        count(static_cast<Index>(v.sizes[0] * channels * row_groups * width)),
        by_channels(channels),
        by_groups(row_groups),
        by_width(width),
        groups(static_cast<Int>(row_groups)) {}

#ifdef __CUDACC__
  static __device__ __forceinline__ void split(Int i, const Divider<Int>& by, Int size, Int* outer,
                                               Int* here) {
    const Int quotient = by(i);
    *here = i - quotient * size;
    *outer = quotient;
  }
#endif
};

template <int kValue>
struct Count {
  static constexpr int value = kValue;
};

// Whether neighbouring channels of an image can be moved in packets of `width` elements.
inline bool has_channel_packets(const dt_view& v, int64_t width, int64_t bytes) {
  const int64_t access = width * bytes < kPacketBytes ? width * bytes : kPacketBytes;
  bool packets = is_channels_last(v) && v.sizes[1] % width == 0 && is_aligned(v.data, access);
  for (int d : {0, 2, 3}) packets &= v.strides[d] % width == 0 || v.sizes[d] == 1;
  return packets;
}

// Whether rows can be moved in accesses of `width` elements.
inline bool has_row_packets(const dt_view& v, int64_t width, int64_t bytes) {
  const int64_t access = width * bytes < kPacketBytes ? width * bytes : kPacketBytes;
  bool packets = v.strides[3] == 1 && v.sizes[3] % width == 0 && is_aligned(v.data, access);
  for (int d = 0; d < 3; ++d) packets &= v.strides[d] % width == 0 || v.sizes[d] == 1;
  return packets;
}

// Whether 32 bits hold the number of elements of a view and their offsets.
inline bool is_small(const dt_view& v) {
  double reach = 0;
  for (int d = 0; d < v.ndim; ++d)
    reach += static_cast<double>(magnitude(v.strides[d])) * static_cast<double>(v.sizes[d]);
  return numel(v) <= kMaxIndex32 && reach <= kMaxIndex32;
}

}  // namespace dt::cuda
