// group_norm of contiguous [N,C,L] and its gradients. The elements of a group lie side by side; a
// cluster of blocks, or a part of a warp, has one group and keeps what its threads have room for,
// so that memory is read once.
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

// A unit is what the lanes of a warp that have the same group take of it at a time: so many
// elements each. Of the first units of a warp the elements stay in registers.
constexpr int kOfLane = 8, kKeptUnits = 2, kFewestLanes = 4;
constexpr int64_t kUnit = kOfLane * kWarp;

// Channels that would leave many lanes of a warp idle are not looked at one by one.
constexpr int64_t kShortChannel = 64;

// The threads that a multiprocessor has registers for. Several blocks share them: some load while
// others wait for their clusters.
template <class T>
constexpr int kAtOnce = sizeof(T) > sizeof(float) ? 512 : 1024;

// How a group is cut into units. A run is a channel, or all of a group whose channels are short;
// none of its units has elements of another. Their sizes are multiples of the lanes, but for the
// last of a run: one of 257 elements is cut into 160 and 97, one of 70 is a unit.
struct Units {
  bool are_short;                       // channels: a unit has elements of several
  int32_t run, size, per_run, count;    // elements of a run, of a unit; units of a run, of a group
  int lanes;                            // of a group: less than a warp where that is enough
  Divider<int32_t> by_run, by_channel;  // units by those of a run, elements by those of a channel

  explicit Units(const GroupShape& s)
      : are_short(s.length <= kShortChannel),
        run(static_cast<int32_t>(are_short ? s.size() : s.length)),
        lanes(are_short ? lanes_for(run) : static_cast<int>(kWarp)),
        by_run(1),
        by_channel(s.length) {
    const int64_t pieces = divide_up(run, kOfLane * lanes);
    size = static_cast<int32_t>(divide_up(divide_up(run, pieces), lanes) * lanes);
    per_run = static_cast<int32_t>(divide_up(run, size));
    count = static_cast<int32_t>(s.size() / run * per_run);
    by_run = Divider<int32_t>(per_run);
  }

 private:
  static int lanes_for(int64_t elements) {
    int lanes = kFewestLanes;
    while (lanes < kWarp && lanes * kOfLane * kKeptUnits < elements) lanes *= 2;
    return lanes;
  }
};

struct Unit {
  int32_t run, piece;   // of the group, of the run
  int32_t first, size;  // in the group
};

// A lane's elements of a unit that kLanes lanes have, in packets.
template <class T, int kLanes, int kWidth>
struct UnitElements {
  static constexpr int kPackets = kOfLane / kWidth;
  using V = Widened<T>;
  Packet<T, kWidth> packet[kPackets];

  static __device__ __forceinline__ int at(int i) {
    return (i * kLanes + static_cast<int>(threadIdx.x % kLanes)) * kWidth;
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
template <int kLanes, int kWidth, class T, class Value>
__device__ __forceinline__ void store_unit(T* group, const Unit& unit, const Value& value) {
  using Elements = UnitElements<T, kLanes, kWidth>;
#pragma unroll
  for (int i = 0; i < Elements::kPackets; ++i) {
    if (Elements::at(i) >= unit.size) continue;
    Packet<T, kWidth> packet;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) packet.value[v] = T(value(i, v));
    store_packet(group + unit.first + Elements::at(i), packet);
  }
}

// The threads of a block that have one group: the block, or one of several parts of a warp. A block
// of a cluster has a share of its group: units that its warps take in turns.
template <int kTeam, bool kShort>
struct GroupTeam {
  static constexpr bool is_short = kShort;
  static constexpr int kLanes = kTeam < kWarp ? kTeam : kWarp, kWarps = kTeam / kLanes;
  static constexpr int kBlock = kTeam <= kWarp ? 128 : kTeam, kPerBlock = kBlock / kTeam;

  Units units;
  ClusterPlace place;
  int64_t row;
  int32_t begin, end;

  // Behind the last group there is nothing to do but to take part.
  __device__ __forceinline__ GroupTeam(const Units& units, const GroupShape& shape) : units(units) {
    row = place.number;
    if (kPerBlock > 1) row = row * kPerBlock + static_cast<int>(threadIdx.x) / kTeam;
    const int32_t share = (units.count + place.blocks - 1) / place.blocks;
    begin = place.rank * share;
    end = min(units.count, begin + share);
    if (kPerBlock > 1 && row >= shape.rows) row = 0, end = begin;
  }

  static __device__ __forceinline__ int rank() {
    return static_cast<int>(kPerBlock > 1 ? threadIdx.x % kTeam : threadIdx.x);
  }
  __device__ __forceinline__ bool is_first() const {
    return place.rank == 0 && rank() == 0 && (kPerBlock == 1 || begin < end);
  }
  __device__ __forceinline__ int32_t of_warp(int turn) const {
    return begin + turn * kWarps + rank() / kLanes;
  }
  __device__ __forceinline__ Unit at(int32_t number) const {
    const int32_t run = units.by_run(number);
    const int32_t piece = number - run * units.per_run, from = piece * units.size;
    return {run, piece, run * units.run + from, min(units.size, units.run - from)};
  }
  // Of the group's channels, that of an element of a unit.
  __device__ __forceinline__ int32_t channel_of(const Unit& unit, int element) const {
    return kShort ? units.by_channel(unit.first + element) : unit.run;
  }

  // The sums of all threads that have the group.
  __device__ __forceinline__ Pair<double> total(const Pair<double>& sums) const {
    return cluster_reduce(place, team_reduce<kTeam>(sums, Pair<double>::merge),
                          Pair<double>::merge);
  }
};

// An operand's elements in the warp's units: the first are read once, the others each time.
template <class T, int kLanes, int kWidth>
struct GroupElements {
  const T* group;
  UnitElements<T, kLanes, kWidth> kept[kKeptUnits];

  template <class Threads>
  __device__ __forceinline__ GroupElements(const T* group, const Threads& team) : group(group) {
#pragma unroll
    for (int turn = 0; turn < kKeptUnits; ++turn) {
      const int32_t number = team.of_warp(turn);
      if (number < team.end) kept[turn].load(group, team.at(number));
    }
  }
};

// body(unit, elements of each operand...)
template <class Threads, class Body, class... Operands>
__device__ __forceinline__ void for_each_unit(const Threads& team, const Body& body,
                                              const Operands&... operands) {
#pragma unroll
  for (int turn = 0; turn < kKeptUnits; ++turn) {
    const int32_t number = team.of_warp(turn);
    if (number < team.end) body(team.at(number), operands.kept[turn]...);
  }
  for (int32_t number = team.of_warp(kKeptUnits); number < team.end; number += Threads::kWarps) {
    const Unit unit = team.at(number);
    const auto again = [&](const auto& operand) {
      std::decay_t<decltype(operand.kept[0])> elements;
      elements.load(operand.group, unit);
      return elements;
    };
    body(unit, again(operands)...);
  }
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

template <class T, class Threads, int kWidth>
__global__ void __launch_bounds__(Threads::kBlock, kAtOnce<T> / Threads::kBlock)
    normalise_kernel(const __grid_constant__ Forward<T> call) {
  begin_kernel();
  using V = Widened<T>;
  using Elements = UnitElements<T, Threads::kLanes, kWidth>;
  const Threads team(call.units, call.shape);
  const int64_t first = team.row * call.shape.size();
  const double center = static_cast<double>(V(call.x[first]));
  const GroupElements<T, Threads::kLanes, kWidth> x(call.x + first, team);
  ShiftedSums<V, 1> mine = {};
  for_each_unit(
      team,
      [&](const Unit& unit, const Elements& of_x) {
#pragma unroll
        for (int i = 0; i < of_x.kPackets; ++i) {
          if (of_x.at(i) < unit.size) mine.add(of_x.packet[i]);
        }
      },
      x);
  const Pair<double> total = team.total(mine.about(center, 0));
  const double count = static_cast<double>(call.shape.size()), shift = total.first / count;
  const double variance = not_negative(total.second - shift * total.first) / count;
  const V mean = static_cast<V>(center + shift);
  V rstd = static_cast<V>(1.0 / math::sqrt(variance + call.eps));
  if (team.is_first()) {
    call.mean[team.row] = mean;
    call.rstd[team.row] = rstd;
  }
  rstd = factor_of(rstd, call.centers_equal);
  const int64_t channel = call.shape.first_channel(team.row);
  for_each_unit(
      team,
      [&](const Unit& unit, const Elements& of_x) {
        const auto line = [&](int element) -> Pair<V> {
          const int64_t c = channel + team.channel_of(unit, element);
          return {call.weight.at(c, 1) * rstd, call.bias.at(c, 0)};
        };
        const Pair<V> of_run = Threads::is_short ? Pair<V>() : line(0);
        store_unit<Threads::kLanes, kWidth>(call.y + first, unit, [&](int i, int v) {
          const Pair<V> of = Threads::is_short ? line(of_x.at(i) + v) : of_run;
          return (of_x(i, v) - mean) * of.first + of.second;
        });
      },
      x);
}

// ---- backward: of the sums of g and of g * (x - mean) over each channel of each image

template <class T>
struct Backward {
  using V = Widened<T>;
  T* gx;             // null: nobody asks
  Pair<V>* partial;  // null: nobody asks; [N][C][units of a channel], of short ones see image_sums
  const T *g, *x;
  const V *mean, *rstd;
  ChannelNumbers<T> weight;
  GroupShape shape;
  Units units;
  bool centers_equal;
};

// gx = rstd * (g * weight - mean(g * weight) - x' * mean(g * weight * x')), with the normalised x'
// = (x - mean) * rstd. With a weight for each element fewer threads have registers.
template <class T, class Threads, int kWidth>
__global__ void __launch_bounds__(Threads::kBlock,
                                  kAtOnce<T>*(Threads::is_short ? 3 : 4) / 4 / Threads::kBlock)
    gradients_kernel(const __grid_constant__ Backward<T> call) {
  begin_kernel();
  using V = Widened<T>;
  using Elements = UnitElements<T, Threads::kLanes, kWidth>;
  const Threads team(call.units, call.shape);
  const int64_t row = team.row, first = row * call.shape.size();
  const GroupElements<T, Threads::kLanes, kWidth> g(call.g + first, team), x(call.x + first, team);
  const V mean = call.mean[row], rstd = factor_of(call.rstd[row], call.centers_equal);
  const int64_t channel = call.shape.first_channel(row);
  Pair<V>* const partial =
      call.partial ? call.partial + row * static_cast<int64_t>(call.units.count) : nullptr;
  const auto weight_of = [&](const Unit& unit, int element) {
    return call.weight.at(channel + team.channel_of(unit, element), 1);
  };
  Pair<double> total = {0, 0};
  for_each_unit(
      team,
      [&](const Unit& unit, const Elements& of_g, const Elements& of_x) {
        Pair<V> sums = {};
#pragma unroll
        for (int i = 0; i < Elements::kPackets; ++i) {
          if (of_g.at(i) >= unit.size) continue;
#pragma unroll
          for (int v = 0; v < kWidth; ++v) {
            const V weight = Threads::is_short ? weight_of(unit, of_g.at(i) + v) : V(1);
            sums.first += of_g(i, v) * weight;
            sums.second += of_g(i, v) * weight * (of_x(i, v) - mean);
          }
        }
        if constexpr (!Threads::is_short) {
          sums = lanes_reduce<kWarp>(sums, Pair<V>::merge);
          if (threadIdx.x % kWarp != 0) return;
          if (partial)
            partial[unit.run * call.units.per_run + unit.piece] = {sums.first, sums.second * rstd};
          const V weight = weight_of(unit, 0);
          sums = {sums.first * weight, sums.second * weight};
        }
        total.first += static_cast<double>(sums.first);
        total.second += static_cast<double>(sums.second);
      },
      g, x);
  if (!call.gx) return;
  total = team.total(total);
  const double count = static_cast<double>(call.shape.size()), r = static_cast<double>(rstd);
  const V slope = static_cast<V>(r * r * r * total.second / count),
          level = static_cast<V>(r * total.first / count);
  for_each_unit(
      team,
      [&](const Unit& unit, const Elements& of_g, const Elements& of_x) {
        const V of_run = Threads::is_short ? V(0) : weight_of(unit, 0) * rstd;
        store_unit<Threads::kLanes, kWidth>(call.gx + first, unit, [&](int i, int v) {
          const V scale = Threads::is_short ? weight_of(unit, of_g.at(i) + v) * rstd : of_run;
          return of_g(i, v) * scale - ((of_x(i, v) - mean) * slope + level);
        });
      },
      g, x);
}

constexpr int kChannelTeam = 256;

// Short channels are added up place by place, over some images at a time: `partial` is [chunks of
// images][C][L].
struct ImageChunks {
  static constexpr int kTogether = 4;  // images that are on their way at once
  int64_t images, places, per_chunk;

  ImageChunks(const dt_stream* stream, const GroupShape& s)
      : images(s.rows / s.groups), places(s.groups * s.size()) {
    constexpr int64_t kFewest = 4 * kTogether, kBlocks = 8;  // of a multiprocessor
    per_chunk = std::max(
        kFewest, divide_up(images * side_by_side(), kBlocks * multiprocessors(stream->device)));
  }
  int64_t side_by_side() const { return divide_up(places, kChannelTeam); }  // blocks
  int64_t count() const { return divide_up(images, per_chunk); }
};

template <class T>
__global__ void __launch_bounds__(kChannelTeam)
    image_sums(const __grid_constant__ Backward<T> call, const ImageChunks chunks) {
  begin_kernel();
  using V = Widened<T>;
  constexpr int kTogether = ImageChunks::kTogether;
  const int64_t place = int64_t{blockIdx.x} * kChannelTeam + threadIdx.x;
  if (place >= chunks.places) return;
  const int64_t group = place / call.shape.size(), begin = blockIdx.y * chunks.per_chunk;
  const int64_t end = min(begin + chunks.per_chunk, chunks.images);
  Pair<double> total = {0, 0};
  for (int64_t image = begin; image < end; image += kTogether) {
    V g[kTogether], x[kTogether], mean[kTogether], rstd[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const bool exists = image + k < end;
      const int64_t at = (image + k) * chunks.places + place,
                    row = (image + k) * call.shape.groups + group;
      g[k] = exists ? V(call.g[at]) : V(0);
      x[k] = exists ? V(call.x[at]) : V(0);
      mean[k] = exists ? call.mean[row] : V(0);
      rstd[k] = exists ? call.rstd[row] : V(0);
    }
    Pair<V> sums = {};
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      sums.first += g[k];
      sums.second += g[k] * ((x[k] - mean[k]) * factor_of(rstd[k], call.centers_equal));
    }
    total.first += static_cast<double>(sums.first);
    total.second += static_cast<double>(sums.second);
  }
  call.partial[blockIdx.y * chunks.places + place] = {static_cast<V>(total.first),
                                                      static_cast<V>(total.second)};
}

// A block for each channel adds up what `partial` [N][C][per_channel] has of it: its units in all
// images, or its places in all chunks of them.
template <class T>
__global__ void __launch_bounds__(kChannelTeam)
    channel_gradients(ChannelNumbers<T> gweight, ChannelNumbers<T> gbias,
                      const Pair<Widened<T>>* partial, int64_t images, int64_t channels,
                      int64_t per_channel) {
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
int32_t visit_blocks(const Units& units, const F& f) {
  if (units.count <= kFewWarps * kKeptUnits) return f(Type<GroupTeam<kFewWarps * kWarp, false>>());
  if (units.count <= kSomeWarps * kKeptUnits)
    return f(Type<GroupTeam<kSomeWarps * kWarp, false>>());
  return f(Type<GroupTeam<kManyWarps * kWarp, false>>());
}

template <class F>
int32_t visit_short(const Units& units, const F& f) {
  if (units.count > kKeptUnits) return f(Type<GroupTeam<kSomeWarps * kWarp, true>>());
  static_assert(kFewestLanes == 4, "a case for each number of lanes");
  switch (units.lanes) {
    case 4:
      return f(Type<GroupTeam<4, true>>());
    case 8:
      return f(Type<GroupTeam<8, true>>());
    case 16:
      return f(Type<GroupTeam<16, true>>());
    default:
      return f(Type<GroupTeam<kWarp, true>>());
  }
}

// f(Type<GroupTeam>(), width). Elements of two bytes travel in pairs where all channels, unless
// they are short, begin at a pair's boundary.
template <class T, class F>
int32_t visit_teams(const Units& units, std::initializer_list<const void*> operands, const F& f) {
  if (units.are_short) return visit_short(units, [&](auto team) { return f(team, Count<1>()); });
  if constexpr (sizeof(T) == sizeof(uint16_t)) {
    if (units.run % 2 == 0 && std::all_of(operands.begin(), operands.end(), [](const void* p) {
          return is_aligned(p, sizeof(Packet<T, 2>));
        }))
      return visit_blocks(units, [&](auto team) { return f(team, Count<2>()); });
  }
  return visit_blocks(units, [&](auto team) { return f(team, Count<1>()); });
}

// As many blocks for a group as keep it in registers, if the device has clusters.
int blocks_of_group(const dt_stream* stream, const Units& units, int warps) {
  int blocks = 1;
  while (blocks < kMostInCluster && blocks * kKeptUnits * warps < units.count &&
         warps > kFewWarps && has_clusters(stream->device))
    blocks *= 2;
  return blocks;
}

template <class Threads, class Kernel, class Call>
int32_t launch_groups(const dt_stream* stream, Kernel kernel, const Call& call) {
  return launch_clusters(stream, kernel, divide_up(call.shape.rows, Threads::kPerBlock),
                         blocks_of_group(stream, call.units, Threads::kWarps),
                         dim3(Threads::kBlock), call);
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
  return visit_teams<T>(call.units, {call.y, call.x}, [&](auto team, auto width) {
    using Threads = typename decltype(team)::type;
    return launch_groups<Threads>(stream, normalise_kernel<T, Threads, decltype(width)::value>,
                                  call);
  });
}

template <class T>
int32_t input_gradient(const dt_stream* stream, const Backward<T>& call) {
  return visit_teams<T>(call.units, {call.gx, call.g, call.x}, [&](auto team, auto width) {
    using Threads = typename decltype(team)::type;
    return launch_groups<Threads>(stream, gradients_kernel<T, Threads, decltype(width)::value>,
                                  call);
  });
}

template <class T>
int32_t backward(const dt_stream* stream, const GroupsBackward& of) {
  using V = Widened<T>;
  const GroupShape& shape = of.shape;
  const bool has_parameters = of.gweight || of.gbias;
  const Backward<T> call = {optional_data<T>(of.gx),
                            has_parameters ? static_cast<Pair<V>*>(of.workspace) : nullptr,
                            static_cast<const T*>(of.g.data),
                            static_cast<const T*>(of.x.data),
                            static_cast<const V*>(of.mean.data),
                            static_cast<const V*>(of.rstd.data),
                            ChannelNumbers<T>(of.weight),
                            shape,
                            Units(shape),
                            of.centers_equal};
  const bool are_short = call.units.are_short;
  if (call.gx || !are_short) {
    if (const int32_t code = input_gradient(stream, call)) return code;
  }
  if (!has_parameters) return DT_KERNEL_OK;
  const ImageChunks chunks(stream, shape);
  if (are_short) {
    const dim3 grid(static_cast<unsigned>(chunks.side_by_side()),
                    static_cast<unsigned>(chunks.count()));
    if (const int32_t code = launch(stream, image_sums<T>, grid, kChannelTeam, 0, call, chunks))
      return code;
  }
  const int64_t channels = shape.groups * shape.per_group;
  return launch(stream, channel_gradients<T>, static_cast<unsigned>(channels), kChannelTeam, 0,
                ChannelNumbers<T>(of.gweight), ChannelNumbers<T>(of.gbias),
                static_cast<const Pair<V>*>(call.partial),
                are_short ? chunks.count() : chunks.images, channels,
                are_short ? shape.length : int64_t{call.units.per_run});
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

// Few long groups would leave most of the device idle.
bool is_for_groups(const dt_stream* stream, const GroupShape& s) {
  const int64_t blocks = has_clusters(stream->device) ? kMostInCluster : 1;
  const bool is_kept = s.size() <= blocks * kManyWarps * kKeptUnits * kUnit;
  const bool are_many = s.rows >= 2 * multiprocessors(stream->device) && s.size() < kMaxIndex32;
  const int64_t grid = std::max(s.rows * kMostInCluster, s.groups * s.per_group);
  return grid < kMaxIndex32 && (is_kept || are_many);
}

int64_t group_gradients_bytes(const dt_stream* stream, const GroupShape& s, int32_t dtype) {
  if (!is_for_groups(stream, s)) return 0;
  const Units units(s);
  const ImageChunks chunks(stream, s);
  const int64_t parts = units.are_short ? chunks.count() * chunks.places : s.rows * units.count;
  return parts * 2 * bytes_of(compute_of(dtype));
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
  return group_gradients_bytes(stream, GroupShape(call.x, numel(call.mean)), call.x.dtype);
}

}  // namespace dt::cuda
