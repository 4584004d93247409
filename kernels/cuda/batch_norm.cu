// batch_norm of [N,C,L] per channel, and its gradients.
//
// Two passes over the memory: sums per channel, in chunks that a small kernel merges in order, then
// the result of every element. The second pass walks backwards, to meet what the L2 cache still
// holds. Channels of a single image are groups of one channel (group_norm.cu). Elements of narrow
// floats are read and written as they are; statistics are wide.
#include <algorithm>
#include <initializer_list>

#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/batch_statistics.cuh"
#include "kernels/cuda/channels.cuh"
#include "kernels/cuda/group_norm.h"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// ---- forward: y = (x - mean) * scale + bias

template <class T>
struct Parameters {
  using V = Widened<T>;
  const V *mean, *rstd;
  ChannelNumbers<T> weight, bias;
  bool training;

  __device__ __forceinline__ V scale(int64_t c) const {
    return weight.at(c, 1) * factor_of(rstd[c], training);
  }
  __device__ __forceinline__ V shift(int64_t c) const { return bias.at(c, 0); }
};

template <class T, bool kColumns, int kWidth>
__global__ void __launch_bounds__(kChannelThreads, kChannelBlocks)
    normalize(Image<T> y, Image<const T> x, Parameters<T> p, ChannelShape s) {
  begin_kernel();
  const ChannelWalk<T, kColumns, kWidth> walk(s, gridDim.x - 1 - blockIdx.x);
  constexpr int kChannels = kColumns ? kWidth : 1;
  Widened<T> mean[kChannels], scale[kChannels], shift[kChannels];
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
          result.value[v] = T((Widened<T>(elements.value[v]) - mean[k]) * scale[k] + shift[k]);
        }
        spot.store(y, result);
      },
      x, y);
}

// ---- forward with what follows a norm in many networks: y = min(max(norm + addend, 0), limit)

// Which elements have a gradient: a bit for each of a packet's, a byte for a packet of channels.
template <class T, int kWidth>
struct Flags {
  static_assert(kWidth <= 8, "a packet's flags are a byte");
  uint8_t* data;  // null: nobody asks
  int64_t channels;

  explicit Flags(const dt_view* v, const ChannelShape& s)
      : data(v ? static_cast<uint8_t*>(v->data) : nullptr), channels(s.channels) {}
  template <class Spot>
  __device__ __forceinline__ uint8_t& at(const Spot& spot) const {
    return data[(spot.l * channels + spot.c) / kWidth];
  }
};

template <class T, int kWidth>
struct Both {
  Packet<T, kWidth> first, x;
};

constexpr int kFlaggedBlocks = 3;  // of a multiprocessor: flags cost registers

template <class T, int kWidth>
__global__ void __launch_bounds__(kChannelThreads, kFlaggedBlocks)
    normalize_relu(Image<T> y, Flags<T, kWidth> flags, Image<const T> x, Image<const T> addend,
                   Widened<T> limit, Parameters<T> p, ChannelShape s) {
  using V = Widened<T>;
  begin_kernel();
  const ChannelWalk<T, true, kWidth> walk(s, gridDim.x - 1 - blockIdx.x);
  V mean[kWidth], scale[kWidth], shift[kWidth];
#pragma unroll
  for (int v = 0; v < kWidth; ++v) {
    mean[v] = p.mean[walk.channel + v];
    scale[v] = p.scale(walk.channel + v);
    shift[v] = p.shift(walk.channel + v);
  }
  const bool has_limit = !isinf(limit);
  walk.for_each(
      s,
      [&](const auto& spot) {
        Both<T, kWidth> at = {{}, spot.load(x)};
        if (addend.data) at.first = spot.load(addend);
        return at;
      },
      [&](const auto& spot, Both<T, kWidth> at) {
        unsigned passes = 0;
#pragma unroll
        for (int v = 0; v < kWidth; ++v) {
          V sum = V(T((V(at.x.value[v]) - mean[v]) * scale[v] + shift[v]));
          if (addend.data) sum = V(T(sum + V(at.first.value[v])));
          const bool is_low = sum <= V(0), is_high = has_limit && sum >= limit;
          if (!is_low && !is_high) passes |= 1u << v;  // NaN too
          at.x.value[v] = T(sum < V(0) ? V(0) : is_high ? limit : sum);
        }
        spot.store(y, at.x);
        if (flags.data) flags.at(spot) = static_cast<uint8_t>(passes);
      },
      x, addend, y);
}

// ---- backward: sums of g and of g * (x - mean), then gx = (g - (x - mean) * slope - level) *
// scale; gx = g * scale if the statistics are constants: x, which may be infinite, takes no part

// The gradients of a norm's results: as they come, or where they passed what follows it.
template <class T>
struct AllPass {
  static constexpr bool is_all = true;
  template <class Spot>
  __device__ __forceinline__ Packet<T, Spot::kPacket> load(const Spot& spot,
                                                           const Image<const T>& g) const {
    return spot.load(g);
  }
};
template <class T, int kWidth>
struct FlaggedPass {
  static constexpr bool is_all = false;
  Flags<T, kWidth> flags;

  template <class Spot>
  __device__ __forceinline__ Packet<T, kWidth> load(const Spot& spot,
                                                    const Image<const T>& g) const {
    Packet<T, kWidth> all = spot.load(g);
    const unsigned passes = flags.at(spot);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      if (!(passes >> v & 1u)) all.value[v] = T(0.0f);
    }
    return all;
  }
};

template <class T, bool kColumns, int kWidth, class Pass>
__global__ void __launch_bounds__(kChannelThreads, kChannelBlocks)
    chunk_sums(Pair<double>* partial, Image<const T> g, Pass pass, Image<const T> x,
               const Widened<T>* mean, ChannelShape s) {
  using V = Widened<T>;
  begin_kernel();
  const ChannelWalk<T, kColumns, kWidth> walk(s, blockIdx.x);
  constexpr int kSums = kColumns ? kWidth : 1;
  Pair<V> sums[kSums] = {};
  V center[kSums];
#pragma unroll
  for (int v = 0; v < kSums; ++v) center[v] = mean[walk.channel + v];
  walk.for_each(
      s,
      [&](const auto& spot) {
        return Both<T, kWidth>{pass.load(spot, g), spot.load(x)};
      },
      [&](const auto&, const Both<T, kWidth>& at) {
#pragma unroll
        for (int v = 0; v < kWidth; ++v) {  // outside of a line the gradient reads as 0
          const int k = kColumns ? v : 0;
          sums[k].first += V(at.first.value[v]);
          sums[k].second += V(at.first.value[v]) * (V(at.x.value[v]) - center[k]);
        }
      },
      g, x);
  Pair<double> mine[kSums];
#pragma unroll
  for (int v = 0; v < kSums; ++v)
    mine[v] = {static_cast<double>(sums[v].first), static_cast<double>(sums[v].second)};
  walk.store_chunk(s, partial, mine);
}

// slope and level of each channel, and the gradients of weight and bias (each may be null). A warp
// for each channel.
template <class T>
__global__ void parameter_gradients(ChannelNumbers<T> gweight, ChannelNumbers<T> gbias,
                                    Pair<Widened<T>>* lines, const Pair<double>* partial,
                                    const Widened<T>* rstd, bool training, ChannelShape s) {
  using V = Widened<T>;
  begin_kernel();
  const int64_t channel = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (channel >= s.channels) return;
  const Pair<double> total = channel_total(partial, s, channel);
  if (threadIdx.x % kWarp != 0) return;
  const double r = static_cast<double>(factor_of(rstd[channel], training)), count = s.elements();
  lines[channel] = {static_cast<V>(total.second * r * r / count),
                    static_cast<V>(total.first / count)};
  if (gweight) gweight.set(channel, static_cast<V>(total.second * r));
  if (gbias) gbias.set(channel, static_cast<V>(total.first));
}

// The per-channel numbers of the input gradient. `lines` is null if the statistics are constants.
template <class T>
struct Coefficients {
  using V = Widened<T>;
  V mean, scale, slope, level;

  Coefficients() = default;
  __device__ Coefficients(const Parameters<T>& p, const Pair<V>* lines, int64_t c)
      : mean(p.mean[c]),
        scale(p.scale(c)),
        slope(lines ? lines[c].first : V(0)),
        level(lines ? lines[c].second : V(0)) {}
};

// gaddend, which may be null, is what passes of g.
template <class T, bool kColumns, int kWidth, class Pass>
__global__ void __launch_bounds__(kChannelThreads, Pass::is_all ? kChannelBlocks : kFlaggedBlocks)
    input_gradient(Image<T> gx, Image<T> gaddend, Image<const T> g, Pass pass, Image<const T> x,
                   Parameters<T> p, const Pair<Widened<T>>* lines, ChannelShape s) {
  using V = Widened<T>;
  begin_kernel();
  const ChannelWalk<T, kColumns, kWidth> walk(s, gridDim.x - 1 - blockIdx.x);
  constexpr int kChannels = kColumns ? kWidth : 1;
  Coefficients<T> of[kChannels];
#pragma unroll
  for (int v = 0; v < kChannels; ++v) of[v] = Coefficients<T>(p, lines, walk.channel + v);
  walk.for_each(
      s,
      [&](const auto& spot) {
        return Both<T, kWidth>{pass.load(spot, g), spot.load(x)};
      },
      [&](const auto& spot, Both<T, kWidth> at) {
        if constexpr (!Pass::is_all) {
          if (gaddend.data) spot.store(gaddend, at.first);
        }
#pragma unroll
        for (int v = 0; v < kWidth; ++v) {
          const Coefficients<T>& k = of[kColumns ? v : 0];
          const V less = lines ? (V(at.x.value[v]) - k.mean) * k.slope + k.level : V(0);
          at.first.value[v] = T((V(at.first.value[v]) - less) * k.scale);
        }
        spot.store(gx, at.first);
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
  if (!is_columns(x))
    return f(make_channel_shape(stream, x, 1, kWidth), Constant<0>(), Constant<kWidth>());
  bool packets = true, one_line = true;
  for (int i = 0; i < count; ++i) {
    one_line &= is_one_line(*views[i]);
    packets &= has_channel_packets<T>(*views[i]);
  }
  packets &= one_line;
  ChannelShape s = make_channel_shape(stream, x, packets ? kWidth : 1, kWidth);
  if (one_line) s.merge_batch();
  if (packets) return f(s, Constant<1>(), Constant<kWidth>());
  return f(s, Constant<1>(), Constant<1>());
}

// Whether the flags of packets of channels can be walked beside the operands, of which some may be
// absent.
template <class T>
bool has_flagged_walk(std::initializer_list<const dt_view*> views) {
  return std::all_of(views.begin(), views.end(), [](const dt_view* v) {
    return !v || (is_columns(*v) && is_one_line(*v) && has_channel_packets<T>(*v));
  });
}

// The same walk as visit_walk's for operands that have it.
template <class T>
ChannelShape flagged_shape(const dt_stream* stream, const dt_view& x) {
  ChannelShape s = make_channel_shape(stream, x, kPacketWidth<T>, kPacketWidth<T>);
  s.merge_batch();
  return s;
}

unsigned warps_for(int64_t channels) {
  return static_cast<unsigned>(divide_up(channels * kWarp, kChannelThreads));
}

template <class T, class Call>
int32_t statistics(const dt_stream* stream, const Call& call, Widened<T>* mean, Widened<T>* rstd) {
  const dt_view& x = call.x;
  const double eps = call.eps;
  if (!call.training) {
    const int64_t channels = x.sizes[1];
    return launch(stream, running_statistics<T>,
                  static_cast<unsigned>(divide_up(channels, kChannelThreads)), kChannelThreads, 0,
                  mean, rstd, ChannelNumbers<T>(call.running_mean),
                  ChannelNumbers<T>(call.running_var), channels, eps);
  }
  const dt_view* views[] = {&x};
  return visit_walk<T>(stream, views, 1, [&](const ChannelShape& s, auto columns, auto width) {
    auto* partial = static_cast<Pair<double>*>(call.workspace);
    const int32_t code =
        launch(stream, chunk_moments<T, decltype(columns)::value != 0, decltype(width)::value>,
               s.blocks(), kChannelThreads, 0, partial, Image<const T>(x), s);
    if (code != DT_KERNEL_OK) return code;
    return launch(stream, batch_statistics<T>, warps_for(s.channels), kChannelThreads, 0, mean,
                  rstd, static_cast<const Pair<double>*>(partial), Image<const T>(x), s, eps);
  });
}

// Whether a contiguous image is the only one of each operand.
bool is_one_image(std::initializer_list<const dt_view*> views) {
  return std::all_of(views.begin(), views.end(), [](const dt_view* v) {
    return v->sizes[0] == 1 && v->strides[1] == v->sizes[2] && v->strides[2] == 1;
  });
}

GroupShape channels_of(const dt_view& image) {
  return GroupShape(image, image.sizes[1]);
}

template <class T>
int32_t forward(const dt_stream* stream, const calls::BatchNorm& call) {
  using V = Widened<T>;
  if (call.training && call.y && is_one_image({call.y, &call.x})) {
    const int32_t code =
        normalise_groups(stream, {channels_of(call.x), *call.y, call.mean, call.rstd, call.x,
                                  call.weight, call.bias, call.eps, true});
    if (code != DT_KERNEL_UNSUPPORTED) return code;
  }
  const dt_view& x = call.x;
  V *mean = static_cast<V*>(call.mean.data), *rstd = static_cast<V*>(call.rstd.data);
  if (const int32_t code = statistics<T>(stream, call, mean, rstd)) return code;
  if (!call.y) return DT_KERNEL_OK;
  const dt_view& y = *call.y;
  const Parameters<T> p = {mean, rstd, ChannelNumbers<T>(call.weight), ChannelNumbers<T>(call.bias),
                           call.training};
  const dt_view* views[] = {&y, &x};
  return visit_walk<T>(stream, views, 2, [&](const ChannelShape& s, auto columns, auto width) {
    if (s.count() == 0) return int32_t{DT_KERNEL_OK};
    return launch(stream, normalize<T, decltype(columns)::value != 0, decltype(width)::value>,
                  s.blocks(), kChannelThreads, 0, Image<T>(y), Image<const T>(x), p, s);
  });
}

template <class T>
int32_t forward_relu(const dt_stream* stream, const calls::BatchNormRelu& call) {
  using V = Widened<T>;
  constexpr int kWidth = kPacketWidth<T>;
  const dt_view &x = call.x, &y = call.y;
  if (!has_flagged_walk<T>({&y, &x, call.addend})) return DT_KERNEL_UNSUPPORTED;
  V *mean = static_cast<V*>(call.mean.data), *rstd = static_cast<V*>(call.rstd.data);
  if (const int32_t code = statistics<T>(stream, call, mean, rstd)) return code;
  const Parameters<T> p = {mean, rstd, ChannelNumbers<T>(call.weight), ChannelNumbers<T>(call.bias),
                           call.training};
  const ChannelShape s = flagged_shape<T>(stream, x);
  return launch(stream, normalize_relu<T, kWidth>, s.blocks(), kChannelThreads, 0, Image<T>(y),
                Flags<T, kWidth>(call.flags, s), Image<const T>(x), Image<const T>(call.addend),
                static_cast<V>(call.limit), p, s);
}

// ---- backward: visit(views, count, f) calls f(shape, columns, width, pass)

// slope and level of every channel, which lie behind the chunks' sums in the workspace.
template <class T, class Call, class Visit>
int32_t channel_sums(const dt_stream* stream, const Call& call, const Visit& visit,
                     const Pair<Widened<T>>** lines) {
  const dt_view &g = call.g, &x = call.x;
  const auto *mean = static_cast<const Widened<T>*>(call.mean.data),
             *rstd = static_cast<const Widened<T>*>(call.rstd.data);
  const dt_view* views[] = {&g, &x};
  return visit(views, 2, [&](const ChannelShape& s, auto columns, auto width, auto pass) {
    auto* partial = static_cast<Pair<double>*>(call.workspace);
    auto* of_channels = reinterpret_cast<Pair<Widened<T>>*>(partial + s.chunks * s.channels);
    *lines = of_channels;
    const auto kernel =
        chunk_sums<T, decltype(columns)::value != 0, decltype(width)::value, decltype(pass)>;
    const int32_t code = launch(stream, kernel, s.blocks(), kChannelThreads, 0, partial,
                                Image<const T>(g), pass, Image<const T>(x), mean, s);
    if (code != DT_KERNEL_OK) return code;
    return launch(stream, parameter_gradients<T>, warps_for(s.channels), kChannelThreads, 0,
                  ChannelNumbers<T>(call.gweight), ChannelNumbers<T>(call.gbias), of_channels,
                  static_cast<const Pair<double>*>(partial), rstd, call.training, s);
  });
}

template <class T, class Call, class Visit>
int32_t backward_by(const dt_stream* stream, const Call& call, const dt_view* gaddend,
                    const Visit& visit) {
  const bool training = call.training;
  const Pair<Widened<T>>* lines = nullptr;
  if (training || call.gweight || call.gbias) {
    if (const int32_t code = channel_sums<T>(stream, call, visit, &lines)) return code;
  }
  if (!call.gx) return DT_KERNEL_OK;
  const dt_view &gx = *call.gx, &g = call.g, &x = call.x;
  const Parameters<T> p = {static_cast<const Widened<T>*>(call.mean.data),
                           static_cast<const Widened<T>*>(call.rstd.data),
                           ChannelNumbers<T>(call.weight), ChannelNumbers<T>(nullptr), training};
  const dt_view* views[] = {&gx, &g, &x};
  return visit(views, 3, [&](const ChannelShape& s, auto columns, auto width, auto pass) {
    if (s.count() == 0) return int32_t{DT_KERNEL_OK};
    const auto kernel =
        input_gradient<T, decltype(columns)::value != 0, decltype(width)::value, decltype(pass)>;
    return launch(stream, kernel, s.blocks(), kChannelThreads, 0, Image<T>(gx), Image<T>(gaddend),
                  Image<const T>(g), pass, Image<const T>(x), p, training ? lines : nullptr, s);
  });
}

template <class T>
int32_t backward(const dt_stream* stream, const calls::BatchNormBackward& call) {
  if (call.training && call.gx && is_one_image({call.gx, &call.g, &call.x})) {
    const int32_t code =
        group_gradients(stream, {channels_of(call.x), call.gx, call.gweight, call.gbias, call.g,
                                 call.x, call.mean, call.rstd, call.weight, call.workspace, true});
    if (code != DT_KERNEL_UNSUPPORTED) return code;
  }
  return backward_by<T>(stream, call, nullptr, [&](const auto& views, int count, const auto& f) {
    return visit_walk<T>(stream, views, count,
                         [&](const ChannelShape& s, auto columns, auto width) {
                           return f(s, columns, width, AllPass<T>());
                         });
  });
}

template <class T>
int32_t backward_relu(const dt_stream* stream, const calls::BatchNormReluBackward& call) {
  constexpr int kWidth = kPacketWidth<T>;
  if (!call.gx || !has_flagged_walk<T>({call.gx, call.gaddend, &call.g, &call.x}))
    return DT_KERNEL_UNSUPPORTED;
  const ChannelShape s = flagged_shape<T>(stream, call.x);
  const FlaggedPass<T, kWidth> pass = {Flags<T, kWidth>(&call.flags, s)};
  return backward_by<T>(stream, call, call.gaddend, [&](const auto&, int, const auto& f) {
    return f(s, Constant<1>(), Constant<kWidth>(), pass);
  });
}

// Chunks are fewer if a thread takes several channels, so this is the most that may be needed.
int64_t most_chunks(const dt_stream* stream, const dt_view& x) {
  int64_t most = 0;
  for (int width : {1, 2, 4, 8}) {
    const int64_t chunks = make_channel_shape(stream, x, width, width).chunks;
    most = chunks > most ? chunks : most;
  }
  return most;
}

// For the sums of all chunks, and for two numbers of each channel.
int64_t line_bytes(const dt_view& x) {
  return x.sizes[1] * static_cast<int64_t>(sizeof(Pair<double>));
}
int64_t chunk_bytes(const dt_stream* stream, const dt_view& x) {
  return most_chunks(stream, x) * line_bytes(x);
}

}  // namespace

int32_t kernels::batch_norm(const dt_stream* stream, const calls::BatchNorm& call) {
  return visit_stored_floating(call.x.dtype, [&](auto type) {
    return forward<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::batch_norm_workspace(const dt_stream* stream, const calls::BatchNorm& call) {
  return chunk_bytes(stream, call.x);
}

int32_t kernels::batch_norm_relu(const dt_stream* stream, const calls::BatchNormRelu& call) {
  return visit_stored_floating(call.x.dtype, [&](auto type) {
    return forward_relu<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::batch_norm_relu_workspace(const dt_stream* stream,
                                           const calls::BatchNormRelu& call) {
  return chunk_bytes(stream, call.x);
}

int32_t kernels::batch_norm_relu_backward(const dt_stream* stream,
                                          const calls::BatchNormReluBackward& call) {
  return visit_stored_floating(call.x.dtype, [&](auto type) {
    return backward_relu<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::batch_norm_relu_backward_workspace(const dt_stream* stream,
                                                    const calls::BatchNormReluBackward& call) {
  return chunk_bytes(stream, call.x) + line_bytes(call.x);
}

int32_t kernels::batch_norm_backward(const dt_stream* stream,
                                     const calls::BatchNormBackward& call) {
  return visit_stored_floating(call.x.dtype, [&](auto type) {
    return backward<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::batch_norm_backward_workspace(const dt_stream* stream,
                                               const calls::BatchNormBackward& call) {
  const int64_t of_chunks = chunk_bytes(stream, call.x) + line_bytes(call.x);
  if (call.x.sizes[0] != 1 || call.x.sizes[2] == 1) return of_chunks;
  return std::max(of_chunks, group_gradients_bytes(stream, channels_of(call.x), call.x.dtype));
}

}  // namespace dt::cuda
