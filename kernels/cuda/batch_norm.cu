// batch_norm of [N,C,L] per channel, and its gradients.
//
// Two passes over the memory: sums per channel, in chunks that a small kernel merges in order, then
// the result of every element. The second pass walks backwards, to meet what the L2 cache still
// holds.
#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/channels.cuh"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// ---- statistics

// Sums of a thread's elements relative to the first of them, so that a large mean costs no digits.
template <class T>
struct ShiftedSums {
  T count, base, sum, squares;

  __device__ __forceinline__ void add(T x) { add_all<1>({{x}}); }

  template <int kWidth>
  __device__ __forceinline__ void add_all(const Packet<T, kWidth>& x) {
    base = count == T(0) ? x.value[0] : base;
    count += T(kWidth);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const T deviation = x.value[v] - base;
      sum += deviation;
      squares += deviation * deviation;
    }
  }

  __device__ __forceinline__ Moments<double> moments() const {
    if (count == T(0)) return Moments<double>::none();
    const double n = static_cast<double>(count), shift = static_cast<double>(sum) / n;
    const double off = static_cast<double>(squares) - shift * static_cast<double>(sum);
    return {n, static_cast<double>(base) + shift, not_negative(off)};
  }
};

// partial[chunk][channel] of the moments.
template <class T, bool kColumns, int kWidth>
__global__ void __launch_bounds__(kChannelThreads)
    chunk_moments(Moments<double>* partial, Image<const T> x, ChannelShape s) {
  begin_kernel();
  const ChannelWalk<T, kColumns, kWidth> walk(s, blockIdx.x);
  constexpr int kSums = kColumns ? kWidth : 1;
  ShiftedSums<T> sums[kSums] = {};
  walk.for_each(
      s, [&](const auto& spot) { return spot.load(x); },
      [&](const auto& spot, const Packet<T, kWidth>& elements) {
        if constexpr (!kColumns && std::decay_t<decltype(spot)>::is_whole) {
          sums[0].add_all(elements);
        } else {
#pragma unroll
          for (int v = 0; v < kWidth; ++v) {
            if (spot.contains(v)) sums[kColumns ? v : 0].add(elements.value[v]);
          }
        }
      },
      x);
#pragma unroll
  for (int v = 0; v < kSums; ++v) {
    const Moments<double> all = merge_lines<kColumns>(s, sums[v].moments(), Moments<double>::merge);
    if (walk.exists && threadIdx.x < (kColumns ? s.lanes : 1))
      partial[walk.chunk * s.channels + walk.channel + v] = all;
  }
}

// A warp for each channel.
template <class T>
__global__ void batch_statistics(T* mean, T* rstd, const Moments<double>* partial, ChannelShape s,
                                 double eps) {
  begin_kernel();
  const int64_t channel = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (channel >= s.channels) return;
  Moments<double> total = Moments<double>::none();
  for (int64_t chunk = threadIdx.x % kWarp; chunk < s.chunks; chunk += kWarp)
    total = Moments<double>::merge(total, partial[chunk * s.channels + channel]);
  total = lanes_reduce<kWarp>(total, Moments<double>::merge);
  if (threadIdx.x % kWarp != 0) return;
  mean[channel] = static_cast<T>(total.mean);
  rstd[channel] = static_cast<T>(1.0 / math::sqrt(total.squares / total.count + eps));
}

template <class T>
__global__ void running_statistics(T* mean, T* rstd, const T* running_mean, const T* running_var,
                                   int64_t channels, double eps) {
  begin_kernel();
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  mean[c] = running_mean[c];
  rstd[c] = static_cast<T>(1.0 / math::sqrt(static_cast<double>(running_var[c]) + eps));
}

// ---- forward: y = (x - mean) * scale + bias

template <class T>
struct Parameters {
  const T *mean, *rstd, *weight, *bias;  // weight and bias may be null

  __device__ __forceinline__ T scale(int64_t c) const {
    return weight ? weight[c] * rstd[c] : rstd[c];
  }
  __device__ __forceinline__ T shift(int64_t c) const { return bias ? bias[c] : T(0); }
};

template <class T, bool kColumns, int kWidth>
__global__ void __launch_bounds__(kChannelThreads)
    normalize(Image<T> y, Image<const T> x, Parameters<T> p, ChannelShape s) {
  begin_kernel();
  const ChannelWalk<T, kColumns, kWidth> walk(s, gridDim.x - 1 - blockIdx.x);
  constexpr int kChannels = kColumns ? kWidth : 1;
  T mean[kChannels], scale[kChannels], shift[kChannels];
#pragma unroll
  for (int v = 0; v < kChannels; ++v) {
    mean[v] = p.mean[walk.channel + v];
    scale[v] = p.scale(walk.channel + v);
    shift[v] = p.shift(walk.channel + v);
  }
  walk.for_each(
      s, [&](const auto& spot) { return spot.load(x); },
      [&](const auto& spot, const Packet<T, kWidth>& elements) {
        Packet<T, kWidth> result;
#pragma unroll
        for (int v = 0; v < kWidth; ++v) {
          const int k = kColumns ? v : 0;
          result.value[v] = (elements.value[v] - mean[k]) * scale[k] + shift[k];
        }
        spot.store(y, result);
      },
      x, y);
}

// ---- backward: sums of g and of g * (x - mean), then gx = (g - (x - mean) * slope - level) *
// scale; gx = g * scale if the statistics are constants: x, which may be infinite, takes no part

template <class T, int kWidth>
struct Both {
  Packet<T, kWidth> g, x;
};

template <class T, bool kColumns, int kWidth>
__global__ void __launch_bounds__(kChannelThreads)
    chunk_sums(Pair<double>* partial, Image<const T> g, Image<const T> x, const T* mean,
               ChannelShape s) {
  begin_kernel();
  const ChannelWalk<T, kColumns, kWidth> walk(s, blockIdx.x);
  constexpr int kSums = kColumns ? kWidth : 1;
  Pair<T> sums[kSums] = {};
  T center[kSums];
#pragma unroll
  for (int v = 0; v < kSums; ++v) center[v] = mean[walk.channel + v];
  walk.for_each(
      s,
      [&](const auto& spot) {
        return Both<T, kWidth>{spot.load(g), spot.load(x)};
      },
      [&](const auto&, const Both<T, kWidth>& at) {
#pragma unroll
        for (int v = 0; v < kWidth; ++v) {  // outside of a line the gradient reads as 0
          const int k = kColumns ? v : 0;
          sums[k].first += at.g.value[v];
          sums[k].second += at.g.value[v] * (at.x.value[v] - center[k]);
        }
      },
      g, x);
#pragma unroll
  for (int v = 0; v < kSums; ++v) {
    const Pair<double> mine = {static_cast<double>(sums[v].first),
                               static_cast<double>(sums[v].second)};
    const Pair<double> all = merge_lines<kColumns>(s, mine, Pair<double>::merge);
    if (walk.exists && threadIdx.x < (kColumns ? s.lanes : 1))
      partial[walk.chunk * s.channels + walk.channel + v] = all;
  }
}

// The sums of all chunks, and the gradients of weight and bias (each may be null). A warp for each
// channel.
template <class T>
__global__ void parameter_gradients(T* gweight, T* gbias, Pair<double>* totals,
                                    const Pair<double>* partial, const T* rstd, ChannelShape s) {
  begin_kernel();
  const int64_t channel = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (channel >= s.channels) return;
  Pair<double> total = {0, 0};
  for (int64_t chunk = threadIdx.x % kWarp; chunk < s.chunks; chunk += kWarp)
    total = Pair<double>::merge(total, partial[chunk * s.channels + channel]);
  total = lanes_reduce<kWarp>(total, Pair<double>::merge);
  if (threadIdx.x % kWarp != 0) return;
  totals[channel] = total;
  if (gweight) gweight[channel] = static_cast<T>(total.second * static_cast<double>(rstd[channel]));
  if (gbias) gbias[channel] = static_cast<T>(total.first);
}

// The per-channel numbers of the input gradient. `totals` is null if the statistics are constants.
template <class T>
struct Coefficients {
  T mean, scale, slope, level;

  Coefficients() = default;
  __device__ Coefficients(const Parameters<T>& p, const Pair<double>* totals, int64_t c,
                          double count)
      : mean(p.mean[c]), scale(p.scale(c)), slope(0), level(0) {
    if (!totals) return;
    const double r = static_cast<double>(p.rstd[c]);
    slope = static_cast<T>(totals[c].second * r * r / count);
    level = static_cast<T>(totals[c].first / count);
  }
};

template <class T, bool kColumns, int kWidth>
__global__ void __launch_bounds__(kChannelThreads)
    input_gradient(Image<T> gx, Image<const T> g, Image<const T> x, Parameters<T> p,
                   const Pair<double>* totals, ChannelShape s) {
  begin_kernel();
  const ChannelWalk<T, kColumns, kWidth> walk(s, gridDim.x - 1 - blockIdx.x);
  constexpr int kChannels = kColumns ? kWidth : 1;
  const double count = static_cast<double>(s.batch) * static_cast<double>(s.length);
  Coefficients<T> of[kChannels];
#pragma unroll
  for (int v = 0; v < kChannels; ++v) of[v] = Coefficients<T>(p, totals, walk.channel + v, count);
  walk.for_each(
      s,
      [&](const auto& spot) {
        return Both<T, kWidth>{spot.load(g), spot.load(x)};
      },
      [&](const auto& spot, Both<T, kWidth> at) {
#pragma unroll
        for (int v = 0; v < kWidth; ++v) {
          const Coefficients<T>& k = of[kColumns ? v : 0];
          const T less = totals ? (at.x.value[v] - k.mean) * k.slope + k.level : T(0);
          at.g.value[v] = (at.g.value[v] - less) * k.scale;
        }
        spot.store(gx, at.g);
      },
      g, x, gx);
}

// ---- launches

template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

// f(shape, columns, width), the last two as types, for the way in which `views` can be walked: x is
// the last.
template <class T, class F>
int32_t visit_walk(const dt_stream* stream, const dt_view* const* views, int count, const F& f) {
  constexpr int kWidth = kPacketWidth<T>;
  const dt_view& x = *views[count - 1];
  if (!is_columns(x)) return f(make_channel_shape(stream, x, 1), Constant<0>(), Constant<kWidth>());
  bool packets = true;
  for (int i = 0; i < count; ++i) packets &= has_channel_packets<T>(*views[i]);
  const ChannelShape s = make_channel_shape(stream, x, packets ? kWidth : 1);
  if (packets) return f(s, Constant<1>(), Constant<kWidth>());
  return f(s, Constant<1>(), Constant<1>());
}

unsigned warps_for(int64_t channels) {
  return static_cast<unsigned>(divide_up(channels * kWarp, kChannelThreads));
}

template <class T>
int32_t statistics(const dt_stream* stream, const calls::BatchNorm& call, T* mean, T* rstd) {
  const dt_view& x = call.x;
  const double eps = call.eps;
  if (!call.training) {
    const int64_t channels = x.sizes[1];
    return launch(stream, running_statistics<T>,
                  static_cast<unsigned>(divide_up(channels, kChannelThreads)), kChannelThreads, 0,
                  mean, rstd, optional_data<const T>(call.running_mean),
                  optional_data<const T>(call.running_var), channels, eps);
  }
  const dt_view* views[] = {&x};
  return visit_walk<T>(stream, views, 1, [&](const ChannelShape& s, auto columns, auto width) {
    auto* partial = static_cast<Moments<double>*>(call.workspace);
    const int32_t code =
        launch(stream, chunk_moments<T, decltype(columns)::value != 0, decltype(width)::value>,
               s.blocks(), kChannelThreads, 0, partial, Image<const T>(x), s);
    if (code != DT_KERNEL_OK) return code;
    return launch(stream, batch_statistics<T>, warps_for(s.channels), kChannelThreads, 0, mean,
                  rstd, static_cast<const Moments<double>*>(partial), s, eps);
  });
}

template <class T>
int32_t forward(const dt_stream* stream, const calls::BatchNorm& call) {
  const dt_view& x = call.x;
  T *mean = static_cast<T*>(call.mean.data), *rstd = static_cast<T*>(call.rstd.data);
  if (const int32_t code = statistics<T>(stream, call, mean, rstd)) return code;
  if (!call.y) return DT_KERNEL_OK;
  const dt_view& y = *call.y;
  const Parameters<T> p = {mean, rstd, optional_data<const T>(call.weight),
                           optional_data<const T>(call.bias)};
  const dt_view* views[] = {&y, &x};
  return visit_walk<T>(stream, views, 2, [&](const ChannelShape& s, auto columns, auto width) {
    if (s.count() == 0) return int32_t{DT_KERNEL_OK};
    return launch(stream, normalize<T, decltype(columns)::value != 0, decltype(width)::value>,
                  s.blocks(), kChannelThreads, 0, Image<T>(y), Image<const T>(x), p, s);
  });
}

// The sums of every channel, which lie behind the chunks' in the workspace.
template <class T>
int32_t channel_sums(const dt_stream* stream, const calls::BatchNormBackward& call,
                     const Pair<double>** totals) {
  const dt_view &g = call.g, &x = call.x;
  const T *mean = static_cast<const T*>(call.mean.data),
          *rstd = static_cast<const T*>(call.rstd.data);
  const dt_view* views[] = {&g, &x};
  return visit_walk<T>(stream, views, 2, [&](const ChannelShape& s, auto columns, auto width) {
    auto* partial = static_cast<Pair<double>*>(call.workspace);
    Pair<double>* total = partial + s.chunks * s.channels;
    *totals = total;
    const int32_t code = launch(
        stream, chunk_sums<T, decltype(columns)::value != 0, decltype(width)::value>, s.blocks(),
        kChannelThreads, 0, partial, Image<const T>(g), Image<const T>(x), mean, s);
    if (code != DT_KERNEL_OK) return code;
    return launch(stream, parameter_gradients<T>, warps_for(s.channels), kChannelThreads, 0,
                  optional_data<T>(call.gweight), optional_data<T>(call.gbias), total,
                  static_cast<const Pair<double>*>(partial), rstd, s);
  });
}

template <class T>
int32_t backward(const dt_stream* stream, const calls::BatchNormBackward& call) {
  const bool training = call.training;
  const Pair<double>* totals = nullptr;
  if (training || call.gweight || call.gbias) {
    if (const int32_t code = channel_sums<T>(stream, call, &totals)) return code;
  }
  if (!call.gx) return DT_KERNEL_OK;
  const dt_view &gx = *call.gx, &g = call.g, &x = call.x;
  const Parameters<T> p = {static_cast<const T*>(call.mean.data),
                           static_cast<const T*>(call.rstd.data),
                           optional_data<const T>(call.weight), nullptr};
  const dt_view* views[] = {&gx, &g, &x};
  return visit_walk<T>(stream, views, 3, [&](const ChannelShape& s, auto columns, auto width) {
    if (s.count() == 0) return int32_t{DT_KERNEL_OK};
    return launch(stream, input_gradient<T, decltype(columns)::value != 0, decltype(width)::value>,
                  s.blocks(), kChannelThreads, 0, Image<T>(gx), Image<const T>(g),
                  Image<const T>(x), p, training ? totals : nullptr, s);
  });
}

// Chunks are fewer if a thread takes several channels, so this is the most that may be needed.
int64_t most_chunks(const dt_stream* stream, const dt_view& x) {
  int64_t most = 0;
  for (int width : {1, 2, 4}) {
    const int64_t chunks = make_channel_shape(stream, x, width).chunks;
    most = chunks > most ? chunks : most;
  }
  return most;
}

}  // namespace

int32_t kernels::batch_norm(const dt_stream* stream, const calls::BatchNorm& call) {
  return visit_floating(call.x.dtype, [&](auto type) {
    return forward<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::batch_norm_workspace(const dt_stream* stream, const calls::BatchNorm& call) {
  const dt_view& x = call.x;
  return most_chunks(stream, x) * x.sizes[1] * static_cast<int64_t>(sizeof(Moments<double>));
}

int32_t kernels::batch_norm_backward(const dt_stream* stream,
                                     const calls::BatchNormBackward& call) {
  return visit_floating(call.x.dtype, [&](auto type) {
    return backward<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::batch_norm_backward_workspace(const dt_stream* stream,
                                               const calls::BatchNormBackward& call) {
  const dt_view& x = call.x;
  return (most_chunks(stream, x) + 1) * x.sizes[1] * static_cast<int64_t>(sizeof(Pair<double>));
}

// A group's channels are batch_norm's business, and the rest is elementwise.
int32_t kernels::group_norm(const dt_stream*, const calls::GroupNorm&) {
  return DT_KERNEL_UNSUPPORTED;
}

int32_t kernels::group_norm_backward(const dt_stream*, const calls::GroupNormBackward&) {
  return DT_KERNEL_UNSUPPORTED;
}

}  // namespace dt::cuda
