// Mean and variance of each channel: kernels of batch_norm.cu.
#pragma once

#include "kernels/cuda/channels.cuh"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {

// A number of each channel, of the elements' type or of the one that they are calculated in.
template <class T>
struct ChannelNumbers {
  using V = Widened<T>;
  void* data;
  bool is_wide;

  explicit ChannelNumbers(const dt_view* v)
      : data(v ? v->data : nullptr), is_wide(v && v->dtype == dtype_of<V>) {}

  __device__ __forceinline__ explicit operator bool() const { return data != nullptr; }
  __device__ __forceinline__ V at(int64_t c, V absent) const {
    if (!data) return absent;
    return is_wide ? static_cast<const V*>(data)[c] : V(static_cast<const T*>(data)[c]);
  }
  __device__ __forceinline__ void set(int64_t c, V value) const {
    if (is_wide) {
      static_cast<V*>(data)[c] = value;
    } else {
      static_cast<T*>(data)[c] = T(value);
    }
  }
};

// What a channel is divided by without eps where its elements are equal: nothing, and so 0 is left
// of it. Statistics that are constants are divided by as they are.
template <class V>
__device__ __forceinline__ V factor_of(V rstd, bool centers_equal) {
  return centers_equal && isinf(rstd) ? V(0) : rstd;
}

// Sums of a thread's elements of one channel, or of neighbouring ones, relative to the first of
// each, so that a large mean costs no digits.
template <class V, int kChannels>
struct ShiftedSums {
  V count, base[kChannels], sum[kChannels], squares[kChannels];

  // Of one channel, or an element of each.
  template <int kWidth, class T>
  __device__ __forceinline__ void add(const Packet<T, kWidth>& x) {
    static_assert(kChannels == 1 || kChannels == kWidth, "elements are of one channel or of each");
    const bool is_first = count == V(0);
    count += V(kWidth / kChannels);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const int c = kChannels == 1 ? 0 : v;
      if (v < kChannels) base[c] = is_first ? V(x.value[v]) : base[c];
      const V deviation = V(x.value[v]) - base[c];
      sum[c] += deviation;
      squares[c] += deviation * deviation;
    }
  }

  // A channel's sums about another number. In double nothing is lost by moving them.
  __device__ __forceinline__ Pair<double> about(double center, int c) const {
    if (count == V(0)) return {0, 0};
    const double n = static_cast<double>(count), total = static_cast<double>(sum[c]);
    const double shift = static_cast<double>(base[c]) - center;
    return {total + n * shift, static_cast<double>(squares[c]) + shift * (2 * total + n * shift)};
  }
};

// What a channel's sums are relative to: its first element. That is one of those that make up the
// variance, so the sum of squares is at most n + 1 times as large about it as about the mean.
template <class T>
__device__ __forceinline__ double center_of(const Image<const T>& x, int64_t channel) {
  return static_cast<double>(static_cast<Widened<T>>(*x.at(0, channel, 0)));
}

// partial[chunk][channel] of the sums of elements and of their squares, about the center.
template <class T, bool kColumns, int kWidth>
__global__ void __launch_bounds__(kChannelThreads, kChannelBlocks)
    chunk_moments(Pair<double>* partial, Image<const T> x, ChannelShape s) {
  begin_kernel();
  const ChannelWalk<T, kColumns, kWidth> walk(s, blockIdx.x);
  constexpr int kSums = kColumns ? kWidth : 1;
  ShiftedSums<Widened<T>, kSums> sums = {};
  walk.for_each(
      s, [&](const auto& spot) { return spot.load(x); },
      [&](const auto& spot, const Packet<T, kWidth>& elements) {
        if constexpr (std::decay_t<decltype(spot)>::is_whole) {
          sums.add(elements);
        } else {
#pragma unroll
          for (int v = 0; v < kWidth; ++v) {
            if (spot.contains(v)) sums.add(Packet<T, 1>{{elements.value[v]}});
          }
        }
      },
      x);
  Pair<double> mine[kSums];
#pragma unroll
  for (int v = 0; v < kSums; ++v) mine[v] = sums.about(center_of(x, walk.channel + v), v);
  walk.store_chunk(s, partial, mine);
}

// The sums over all chunks of a channel, by a warp.
__device__ __forceinline__ Pair<double> channel_total(const Pair<double>* partial,
                                                      const ChannelShape& s, int64_t channel) {
  Pair<double> total = {0, 0};
#pragma unroll 8
  for (int64_t chunk = threadIdx.x % kWarp; chunk < s.chunks; chunk += kWarp)
    total = Pair<double>::merge(total, partial[chunk * s.channels + channel]);
  return lanes_reduce<kWarp>(total, Pair<double>::merge);
}

// A warp for each channel.
template <class T>
__global__ void batch_statistics(Widened<T>* mean, Widened<T>* rstd, const Pair<double>* partial,
                                 Image<const T> x, ChannelShape s, double eps) {
  begin_kernel();
  const int64_t channel = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (channel >= s.channels) return;
  const Pair<double> total = channel_total(partial, s, channel);
  if (threadIdx.x % kWarp != 0) return;
  const double count = s.elements(), shift = total.first / count;
  const double variance = not_negative(total.second - shift * total.first) / count;
  mean[channel] = static_cast<Widened<T>>(center_of(x, channel) + shift);
  rstd[channel] = static_cast<Widened<T>>(1.0 / math::sqrt(variance + eps));
}

template <class T>
__global__ void running_statistics(Widened<T>* mean, Widened<T>* rstd,
                                   ChannelNumbers<T> running_mean, ChannelNumbers<T> running_var,
                                   int64_t channels, double eps) {
  begin_kernel();
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  mean[c] = running_mean.at(c, 0);
  const double variance = static_cast<double>(running_var.at(c, 0));
  rstd[c] = static_cast<Widened<T>>(1.0 / math::sqrt(variance + eps));
}

}  // namespace dt::cuda
