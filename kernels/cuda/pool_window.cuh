// The geometry of pooling windows, and how images are walked.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"

namespace dt::cuda {

#ifdef __CUDACC__
// a / b for a >= 0 and b > 0. 64-bit division is slow, and sizes hardly ever need it.
__device__ __forceinline__ int64_t quotient(int64_t a, int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  return a / b;
}
#endif

// One dimension of the image: output i reads inputs i * stride - padding + tap * dilation, where
// they exist.
struct PoolDim {
  int64_t in, out, kernel, stride, padding, dilation;

  bool halves() const {
    return kernel == 2 && stride == 2 && padding == 0 && dilation == 1 && 2 * out <= in;
  }

#ifdef __CUDACC__
  __device__ __forceinline__ int64_t start(int64_t i) const {
    return i * stride - padding;
  }
  __device__ __forceinline__ int64_t first_tap(int64_t i) const {
    const int64_t before = -start(i);
    return before <= 0 ? 0 : quotient(before + dilation - 1, dilation);
  }
  __device__ __forceinline__ int64_t end_tap(int64_t i) const {
    const int64_t room = in - start(i);
    const int64_t taps = room <= 0 ? 0 : quotient(room + dilation - 1, dilation);
    return taps < kernel ? taps : kernel;
  }
  // The outputs whose windows reach input i (with dilation: may reach) are [first, end).
  __device__ __forceinline__ int64_t first_window(int64_t i) const {
    const int64_t behind = i + padding - (kernel - 1) * dilation;
    return behind <= 0 ? 0 : quotient(behind + stride - 1, stride);
  }
  __device__ __forceinline__ int64_t end_window(int64_t i) const {
    const int64_t last = quotient(i + padding, stride);
    return last < out ? last + 1 : out;
  }
  // How many elements of output i's window count in a mean. Elements beyond the padding never do.
  __device__ __forceinline__ int64_t extent(int64_t i, bool count_padding) const {
    const int64_t begin = start(i), whole = begin + kernel;
    const int64_t end = whole < in + padding ? whole : in + padding;
    return count_padding ? end - begin : (end < in ? end : in) - (begin > 0 ? begin : 0);
  }
#endif
};

struct Pool {
  PoolDim rows, cols;
};

template <class T>
struct Images {
  T* data;
  int64_t n_step, c_step, h_step, w_step;

  explicit Images(const dt_view& v)
      : data(static_cast<T*>(v.data)),
        n_step(v.strides[0]),
        c_step(v.strides[1]),
        h_step(v.strides[2]),
        w_step(v.strides[3]) {}
#ifdef __CUDACC__
  __device__ __forceinline__ T* at(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return data + n * n_step + c * c_step + h * h_step + w * w_step;
  }
#endif
};

inline bool is_channels_last(const dt_view& v) {
  return v.strides[1] == 1 && v.sizes[1] > 1 && v.strides[3] != 1;
}

struct Pixel {
  int64_t n, c, h, w;
};

// Numbers the elements of an image, or packets of channels, in the order in which they lie in
// memory.
template <class Index>
struct PixelOrder {
  bool channels_last;
  Index channels, height, width;  // channels are counted in packets
  int packet;
  FastDivide by_channels, by_height, by_width;

  PixelOrder(const dt_view& v, int packet_width)
      : channels_last(is_channels_last(v)),
        channels(static_cast<Index>(v.sizes[1] / packet_width)),
        height(static_cast<Index>(v.sizes[2])),
        width(static_cast<Index>(v.sizes[3])),
        packet(packet_width) {
    if (sizeof(Index) > 4) return;
    by_channels = FastDivide(static_cast<uint32_t>(channels));
    by_height = FastDivide(static_cast<uint32_t>(height));
    by_width = FastDivide(static_cast<uint32_t>(width));
  }

#ifdef __CUDACC__
  __device__ __forceinline__ Pixel at(Index i) const {
    Index n, c, h, w;
    if (channels_last) {
      split(i, channels, by_channels, &i, &c);
      split(i, width, by_width, &i, &w);
      split(i, height, by_height, &n, &h);
    } else {
      split(i, width, by_width, &i, &w);
      split(i, height, by_height, &i, &h);
      split(i, channels, by_channels, &n, &c);
    }
    return {static_cast<int64_t>(n), static_cast<int64_t>(c) * packet, static_cast<int64_t>(h),
            static_cast<int64_t>(w)};
  }

 private:
  static __device__ __forceinline__ void split(Index i, Index size, const FastDivide& by,
                                               Index* outer, Index* here) {
    Index quotient;
    if constexpr (sizeof(Index) == 4)
      quotient = by.divide(i);
    else
      quotient = i / size;
    *here = i - quotient * size;
    *outer = quotient;
  }
#endif
};

template <int kValue>
struct PacketWidth {
  static constexpr int value = kValue;
};

// Whether neighbouring channels of an image can be moved in packets of `width` elements.
inline bool has_channel_packets(const dt_view& v, int64_t width, int64_t bytes) {
  const int64_t access = width * bytes < kPacketBytes ? width * bytes : kPacketBytes;
  bool packets = is_channels_last(v) && v.sizes[1] % width == 0 && is_aligned(v.data, access);
  for (int d : {0, 2, 3}) packets &= v.strides[d] % width == 0 || v.sizes[d] == 1;
  return packets;
}

// f(packet width as a type, index type) to walk `image`. With packets, all operands allow them.
template <class T, bool kPackets, class F>
int32_t visit_pixels(const dt_view& image, bool packets, const F& f) {
  const bool is_small = numel(image) <= kMaxIndex32;
  if constexpr (kPackets) {
    if (packets && is_small) return f(PacketWidth<kPacketWidth<T>>(), uint32_t());
  }
  if (is_small) return f(PacketWidth<1>(), uint32_t());
  return f(PacketWidth<1>(), uint64_t());
}

}  // namespace dt::cuda
