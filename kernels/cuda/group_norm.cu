// group_norm of contiguous [N,C,L] and its gradients. The elements of a group lie side by side; a
// cluster of blocks has one group and keeps what its threads have room for, so that memory is read
// once.
#include "kernels/cuda/group_norm.h"

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/batch_statistics.cuh"
#include "kernels/cuda/pool_window.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/together.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// A unit is what a warp has of a channel at a time: so many elements of each lane. Of the first
// units of a warp the elements stay in registers.
constexpr int kOfLane = 8, kKeptUnits = 2;
constexpr int64_t kUnit = kOfLane * kWarp;

// The threads that a multiprocessor has registers for. Several blocks share them: some load while
// others wait for their clusters.
template <class T>
constexpr int kAtOnce = sizeof(T) > sizeof(float) ? 512 : 1024;

// How a channel is cut into units. Their sizes are multiples of a warp's, but for the last: one of
// 257 elements is cut into 160 and 97, one of 9 is a unit.
struct Units {
  int32_t length, size, per_channel, count;  // of a channel, of a unit, and units of a group
  Divider<int32_t> by_channel;

  explicit Units(const GroupShape& s)
      : length(static_cast<int32_t>(s.length)),
        size(static_cast<int32_t>(
            divide_up(divide_up(s.length, divide_up(s.length, kUnit)), kWarp) * kWarp)),
        per_channel(static_cast<int32_t>(divide_up(s.length, size))),
        count(static_cast<int32_t>(s.per_group * per_channel)),
        by_channel(per_channel) {}
};

// What a warp of a group's elements has at a time.
struct Unit {
  int32_t channel, piece;  // of the group, of the channel
  int32_t first, size;     // in the group
};

// A lane's elements of a unit, in packets.
template <class T, int kWidth>
struct UnitElements {
  static constexpr int kPackets = kOfLane / kWidth;
  using V = Widened<T>;
  Packet<T, kWidth> packet[kPackets];

  static __device__ __forceinline__ int at(int i) {
    return (i * kWarp + static_cast<int>(threadIdx.x % kWarp)) * kWidth;
  }

  // What does not exist reads as 0.
  __device__ __forceinline__ void load(const T* group, const Unit& unit) {
#pragma unroll
    for (int i = 0; i < kPackets; ++i) {
      packet[i] = {};
      if (at(i) < unit.size) packet[i] = load_packet<kWidth>(group + unit.first + at(i));
    }
  }
  __device__ __forceinline__ V operator()(int i, int v) const {
    return V(packet[i].value[v]);
  }
};

// y's elements of a unit: value(packet, element of the packet)
template <int kWidth, class T, class Value>
__device__ __forceinline__ void store_unit(T* group, const Unit& unit, const Value& value) {
  using Elements = UnitElements<T, kWidth>;
#pragma unroll
  for (int i = 0; i < Elements::kPackets; ++i) {
    Packet<T, kWidth> packet;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) packet.value[v] = T(value(i, v));
    if (Elements::at(i) < unit.size) store_packet(group + unit.first + Elements::at(i), packet);
  }
}

// A block's share of its cluster's group: units that its warps take in turns.
template <int kWarps>
struct BlockUnits {
  Units units;
  int32_t begin, end;

  __device__ __forceinline__ BlockUnits(const Units& units, const ClusterPlace& place)
      : units(units) {
    const int32_t share = (units.count + place.blocks - 1) / place.blocks;
    begin = place.rank * share;
    end = min(units.count, begin + share);
  }

  __device__ __forceinline__ int32_t of_warp(int turn) const {
    return begin + turn * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  }
  __device__ __forceinline__ Unit at(int32_t number) const {
    const int32_t channel = units.by_channel(number);
    const int32_t piece = number - channel * units.per_channel, from = piece * units.size;
    return {channel, piece, channel * units.length + from, min(units.size, units.length - from)};
  }
};

// An operand's elements in the warp's units: the first are read once, the others each time.
template <class T, int kWidth>
struct GroupElements {
  const T* group;
  UnitElements<T, kWidth> kept[kKeptUnits];

  template <int kWarps>
  __device__ __forceinline__ GroupElements(const T* group, const BlockUnits<kWarps>& block)
      : group(group) {
#pragma unroll
    for (int turn = 0; turn < kKeptUnits; ++turn) {
      const int32_t number = block.of_warp(turn);
      if (number < block.end) kept[turn].load(group, block.at(number));
    }
  }
};

// body(unit, elements of each operand...)
template <int kWarps, class Body, class... Operands>
__device__ __forceinline__ void for_each_unit(const BlockUnits<kWarps>& block, const Body& body,
                                              const Operands&... operands) {
#pragma unroll
  for (int turn = 0; turn < kKeptUnits; ++turn) {
    const int32_t number = block.of_warp(turn);
    if (number < block.end) body(block.at(number), operands.kept[turn]...);
  }
  for (int32_t number = block.of_warp(kKeptUnits); number < block.end; number += kWarps) {
    const Unit unit = block.at(number);
    const auto again = [&](const auto& operand) {
      std::decay_t<decltype(operand.kept[0])> elements;
      elements.load(operand.group, unit);
      return elements;
    };
    body(unit, again(operands)...);
  }
}

// The sums of all threads of a cluster.
template <int kThreads>
__device__ __forceinline__ Pair<double> group_total(const ClusterPlace& place,
                                                    const Pair<double>& sums) {
  return cluster_reduce(place, team_reduce<kThreads>(sums, Pair<double>::merge),
                        Pair<double>::merge);
}

// ---- forward

template <class T>
struct Forward {
  using V = Widened<T>;
  T* y;
  V *mean, *rstd;
  const T* x;
  ChannelNumbers<T> weight, bias;
  GroupShape shape;
  Units units;
  double eps;
  bool centers_equal;  // elements that are all equal give 0, also without eps
};

template <class T, int kWarps, int kWidth>
__global__ void __launch_bounds__(kWarps* kWarp, kAtOnce<T> / (kWarps * kWarp))
    normalise_kernel(const __grid_constant__ Forward<T> call) {
  begin_kernel();
  using V = Widened<T>;
  const ClusterPlace place;
  const BlockUnits<kWarps> block(call.units, place);
  const int64_t row = place.number, first = row * call.shape.size();
  const double center = static_cast<double>(V(call.x[first]));
  const GroupElements<T, kWidth> x(call.x + first, block);
  ShiftedSums<V, 1> mine = {};
  for_each_unit(
      block,
      [&](const Unit& unit, const UnitElements<T, kWidth>& of_x) {
#pragma unroll
        for (int i = 0; i < of_x.kPackets; ++i) {
          if (of_x.at(i) < unit.size) mine.add(of_x.packet[i]);
        }
      },
      x);
  const Pair<double> total = group_total<kWarps * kWarp>(place, mine.about(center, 0));
  const double count = static_cast<double>(call.shape.size()), shift = total.first / count;
  const double variance = not_negative(total.second - shift * total.first) / count;
  const V mean = static_cast<V>(center + shift);
  V rstd = static_cast<V>(1.0 / math::sqrt(variance + call.eps));
  if (place.rank == 0 && threadIdx.x == 0) {
    call.mean[row] = mean;
    call.rstd[row] = rstd;
  }
  rstd = factor_of(rstd, call.centers_equal);
  const int64_t channel = call.shape.first_channel(row);
  for_each_unit(
      block,
      [&](const Unit& unit, const UnitElements<T, kWidth>& of_x) {
        const V scale = call.weight.at(channel + unit.channel, 1) * rstd;
        const V bias = call.bias.at(channel + unit.channel, 0);
        store_unit<kWidth>(call.y + first, unit,
                           [&](int i, int v) { return (of_x(i, v) - mean) * scale + bias; });
      },
      x);
}

// ---- backward: of the sums of g and of g * (x - mean) over each channel of each image

template <class T>
struct Backward {
  using V = Widened<T>;
  T* gx;             // null: nobody asks
  Pair<V>* partial;  // [N][C][units of a channel], null: nobody asks
  const T *g, *x;
  const V *mean, *rstd;
  ChannelNumbers<T> weight;
  GroupShape shape;
  Units units;
  bool centers_equal;
};

// gx = rstd * (g * weight - mean(g * weight) - x' * mean(g * weight * x')), with the normalised x'
// = (x - mean) * rstd.
template <class T, int kWarps, int kWidth>
__global__ void __launch_bounds__(kWarps* kWarp, kAtOnce<T> / (kWarps * kWarp))
    gradients_kernel(const __grid_constant__ Backward<T> call) {
  begin_kernel();
  using V = Widened<T>;
  using Elements = UnitElements<T, kWidth>;
  const ClusterPlace place;
  const BlockUnits<kWarps> block(call.units, place);
  const int64_t row = place.number, first = row * call.shape.size();
  const GroupElements<T, kWidth> g(call.g + first, block), x(call.x + first, block);
  const V mean = call.mean[row], rstd = factor_of(call.rstd[row], call.centers_equal);
  const int64_t channel = call.shape.first_channel(row);
  Pair<V>* const partial =
      call.partial ? call.partial + row * static_cast<int64_t>(call.units.count) : nullptr;
  Pair<double> total = {0, 0};
  for_each_unit(
      block,
      [&](const Unit& unit, const Elements& of_g, const Elements& of_x) {
        Pair<V> sums = {};
#pragma unroll
        for (int i = 0; i < Elements::kPackets; ++i) {
          if (of_g.at(i) >= unit.size) continue;
#pragma unroll
          for (int v = 0; v < kWidth; ++v) {
            sums.first += of_g(i, v);
            sums.second += of_g(i, v) * (of_x(i, v) - mean);
          }
        }
        sums = lanes_reduce<kWarp>(sums, Pair<V>::merge);
        if (threadIdx.x % kWarp != 0) return;
        const V weight = call.weight.at(channel + unit.channel, 1);
        total.first += static_cast<double>(sums.first * weight);
        total.second += static_cast<double>(sums.second * weight);
        if (partial)
          partial[unit.channel * call.units.per_channel + unit.piece] = {sums.first,
                                                                         sums.second * rstd};
      },
      g, x);
  if (!call.gx) return;
  total = group_total<kWarps * kWarp>(place, total);
  const double count = static_cast<double>(call.shape.size()), r = static_cast<double>(rstd);
  const V slope = static_cast<V>(r * r * r * total.second / count),
          level = static_cast<V>(r * total.first / count);
  for_each_unit(
      block,
      [&](const Unit& unit, const Elements& of_g, const Elements& of_x) {
        const V scale = call.weight.at(channel + unit.channel, 1) * rstd;
        store_unit<kWidth>(call.gx + first, unit, [&](int i, int v) {
          return of_g(i, v) * scale - ((of_x(i, v) - mean) * slope + level);
        });
      },
      g, x);
}

constexpr int kChannelTeam = 256;

// A block for each channel adds up its units in all images.
template <class T>
__global__ void __launch_bounds__(kChannelTeam)
    channel_gradients(ChannelNumbers<T> gweight, ChannelNumbers<T> gbias,
                      const Pair<Widened<T>>* partial, int64_t images, int64_t channels,
                      int32_t per_channel) {
  begin_kernel();
  const int64_t channel = blockIdx.x, count = images * per_channel;
  Pair<double> total = {0, 0};
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < count; i += kChannelTeam) {
    const int64_t image = i / per_channel, piece = i - image * per_channel;
    const Pair<Widened<T>> part = partial[(image * channels + channel) * per_channel + piece];
    total.first += static_cast<double>(part.first);
    total.second += static_cast<double>(part.second);
  }
  total = team_reduce<kChannelTeam>(total, Pair<double>::merge);
  if (threadIdx.x > 0) return;
  if (gweight) gweight.set(channel, static_cast<Widened<T>>(total.second));
  if (gbias) gbias.set(channel, static_cast<Widened<T>>(total.first));
}

// ---- launches

// The warps of a block: few, where that is enough for a group.
constexpr int kFewWarps = 2, kSomeWarps = 8, kManyWarps = 16;

template <class F>
int32_t visit_warps(const Units& units, const F& f) {
  // Short channels leave most of a unit's places empty, so some more of them are read again.
  const int few = units.length <= kWarp ? kManyWarps : kFewWarps;
  if (units.count <= few * kKeptUnits) return f(Count<kFewWarps>());
  if (units.count <= kSomeWarps * kKeptUnits) return f(Count<kSomeWarps>());
  return f(Count<kManyWarps>());
}

// Elements of two bytes travel in pairs where all channels begin at a pair's boundary.
template <class T, class F>
int32_t visit_width(const Units& units, std::initializer_list<const void*> operands, const F& f) {
  if constexpr (sizeof(T) == sizeof(uint16_t)) {
    if (units.length % 2 == 0 && std::all_of(operands.begin(), operands.end(), [](const void* p) {
          return is_aligned(p, sizeof(Packet<T, 2>));
        }))
      return f(Count<2>());
  }
  return f(Count<1>());
}

// As many blocks for a group as keep it in registers, if the device has clusters.
int blocks_of_group(const dt_stream* stream, const Units& units, int warps) {
  int blocks = 1;
  while (blocks < kMostInCluster && blocks * kKeptUnits * warps < units.count &&
         warps > kFewWarps && has_clusters(stream->device))
    blocks *= 2;
  return blocks;
}

template <class Kernel, class Call>
int32_t launch_groups(const dt_stream* stream, Kernel kernel, int warps, const Call& call) {
  return launch_clusters(stream, kernel, call.shape.rows,
                         blocks_of_group(stream, call.units, warps),
                         dim3(static_cast<unsigned>(warps * kWarp)), call);
}

template <class T>
int32_t forward(const dt_stream* stream, const GroupsForward& of) {
  using V = Widened<T>;
  const Forward<T> call = {static_cast<T*>(of.y.data),
                           static_cast<V*>(of.mean.data),
                           static_cast<V*>(of.rstd.data),
                           static_cast<const T*>(of.x.data),
                           ChannelNumbers<T>(of.weight),
                           ChannelNumbers<T>(of.bias),
                           of.shape,
                           Units(of.shape),
                           of.eps,
                           of.centers_equal};
  return visit_width<T>(call.units, {call.y, call.x}, [&](auto width) {
    return visit_warps(call.units, [&](auto warps) {
      constexpr int kWarps = decltype(warps)::value, kWidth = decltype(width)::value;
      return launch_groups(stream, normalise_kernel<T, kWarps, kWidth>, kWarps, call);
    });
  });
}

template <class T>
int32_t backward(const dt_stream* stream, const GroupsBackward& of) {
  using V = Widened<T>;
  const GroupShape& shape = of.shape;
  const bool has_parameters = of.gweight || of.gbias;
  auto* const partial = has_parameters ? static_cast<Pair<V>*>(of.workspace) : nullptr;
  const Units units(shape);
  const Backward<T> call = {optional_data<T>(of.gx),
                            partial,
                            static_cast<const T*>(of.g.data),
                            static_cast<const T*>(of.x.data),
                            static_cast<const V*>(of.mean.data),
                            static_cast<const V*>(of.rstd.data),
                            ChannelNumbers<T>(of.weight),
                            shape,
                            units,
                            of.centers_equal};
  const int32_t code = visit_width<T>(units, {call.gx, call.g, call.x}, [&](auto width) {
    return visit_warps(units, [&](auto warps) {
      constexpr int kWarps = decltype(warps)::value, kWidth = decltype(width)::value;
      return launch_groups(stream, gradients_kernel<T, kWarps, kWidth>, kWarps, call);
    });
  });
  if (code != DT_KERNEL_OK) return code;
  if (!has_parameters) return DT_KERNEL_OK;
  const int64_t channels = shape.groups * shape.per_group;
  return launch(stream, channel_gradients<T>, static_cast<unsigned>(channels), kChannelTeam, 0,
                ChannelNumbers<T>(of.gweight), ChannelNumbers<T>(of.gbias),
                static_cast<const Pair<V>*>(partial), shape.rows / shape.groups, channels,
                units.per_channel);
}

int32_t normalise(const dt_stream* stream, const GroupsForward& of) {
  return visit_stored_floating(
      of.x.dtype, [&](auto type) { return forward<typename decltype(type)::type>(stream, of); });
}

int32_t gradients(const dt_stream* stream, const GroupsBackward& of) {
  return visit_stored_floating(
      of.x.dtype, [&](auto type) { return backward<typename decltype(type)::type>(stream, of); });
}

}  // namespace

// Few long groups would leave most of the device idle, and channels of single elements most of each
// warp.
bool is_for_groups(const dt_stream* stream, const GroupShape& s) {
  const int64_t blocks = has_clusters(stream->device) ? kMostInCluster : 1;
  const bool is_kept = s.size() <= blocks * kManyWarps * kKeptUnits * kUnit;
  const bool are_many = s.rows >= 2 * multiprocessors(stream->device) && s.size() < kMaxIndex32;
  const int64_t grid = std::max(s.rows * kMostInCluster, s.groups * s.per_group);
  return s.length > 1 && grid < kMaxIndex32 && (is_kept || are_many);
}

int64_t group_gradients_bytes(const dt_stream* stream, const GroupShape& s) {
  if (!is_for_groups(stream, s)) return 0;
  return s.rows * Units(s).count * static_cast<int64_t>(sizeof(Pair<double>));
}

int32_t normalise_groups(const dt_stream* stream, const GroupsForward& of) {
  return is_for_groups(stream, of.shape) ? normalise(stream, of) : DT_KERNEL_UNSUPPORTED;
}

int32_t group_gradients(const dt_stream* stream, const GroupsBackward& of) {
  return is_for_groups(stream, of.shape) ? gradients(stream, of) : DT_KERNEL_UNSUPPORTED;
}

int32_t kernels::group_norm(const dt_stream* stream, const calls::GroupNorm& call) {
  return normalise_groups(stream, {GroupShape(call.x, numel(call.mean)), call.y, call.mean,
                                   call.rstd, call.x, call.weight, call.bias, call.eps, false});
}

int32_t kernels::group_norm_backward(const dt_stream* stream,
                                     const calls::GroupNormBackward& call) {
  return group_gradients(
      stream, {GroupShape(call.x, numel(call.mean)), call.gx, call.gweight, call.gbias, call.g,
               call.x, call.mean, call.rstd, call.weight, call.workspace, false});
}

int64_t kernels::group_norm_backward_workspace(const dt_stream* stream,
                                               const calls::GroupNormBackward& call) {
  return group_gradients_bytes(stream, GroupShape(call.x, numel(call.mean)));
}

}  // namespace dt::cuda
