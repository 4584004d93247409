// Elements that come from elsewhere along some dimensions: padding, and resizing by repetition. A
// thread computes where its elements come from, or all elements that are made of its own: nothing
// is written twice, and gradients are added up in one order.
#include "kernels/remap.h"

#include <algorithm>

#include "kernels/calls/vision.gen.h"
#include "kernels/cuda/pool_window.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

using Plan = remap::RemapPlan<int32_t>;
constexpr int kThreads = 256, kAxes = Plan::kAxes;
constexpr int kBlocksAtOnce = 6;  // of a multiprocessor

// Numbers what is written, in the order of memory, but for axis 1: `together` neighbours along it
// count as one, for which all else is found once.
template <class Int>
struct Walk {
  remap::RemapPlan<Int> plan;
  Divider<Int> by_size[kAxes];
  std::make_unsigned_t<Int> count = 1;

  Walk(const remap::RemapPlan<Int>& given, int together)
      : plan(given), by_size{by(0, 1), by(1, together), by(2, 1), by(3, 1), by(4, 1)} {
    for (int a = 0; a < kAxes; ++a)
      count *= static_cast<std::make_unsigned_t<Int>>(length(a, a == 1 ? together : 1));
  }

  // Where a number is along axis a; what is left counts the axes further out.
  __device__ __forceinline__ Int split(int a, Int together, Int* rest) const {
    const Int all = *rest, length = (plan.axis[a].size + together - 1) / together;
    *rest = by_size[a](all);
    return all - *rest * length;
  }

 private:
  int64_t length(int a, int together) const {
    return a < plan.n ? divide_up(plan.axis[a].size, together) : 1;
  }
  Divider<Int> by(int a, int together) const { return Divider<Int>(length(a, together)); }
};

template <class Int>
__device__ __forceinline__ Int thread_number() {
  return static_cast<Int>(static_cast<std::make_unsigned_t<Int>>(blockIdx.x) * kThreads +
                          threadIdx.x);
}

template <class T, int kTogether, class Int>
__global__ void __launch_bounds__(kThreads)
    remap_kernel(T* y, const T* x, const __grid_constant__ Walk<Int> walk) {
  begin_kernel();
  Int rest = thread_number<Int>(), first = 0;
  if (static_cast<std::make_unsigned_t<Int>>(rest) >= walk.count) return;
  bool exists = true;
#pragma unroll
  for (int a = 0; a < kAxes; ++a) {
    if (a >= walk.plan.n) break;
    const remap::Axis<Int>& axis = walk.plan.axis[a];
    const Int i = walk.split(a, a == 1 ? kTogether : 1, &rest);
    if (a == 1) {
      first = i * kTogether;
      continue;
    }
    const Int at = axis.map.source(i);
    exists &= at >= 0;
    y += i * axis.y_step;
    x += at * axis.x_step;
  }
  const remap::Axis<Int>& axis = walk.plan.axis[1];
  T value[kTogether];
#pragma unroll
  for (int k = 0; k < kTogether; ++k) {
    if (first + k >= axis.size) break;
    const Int at = axis.map.source(first + k);
    value[k] = exists && at >= 0 ? x[at * axis.x_step] : T(0);
  }
#pragma unroll
  for (int k = 0; k < kTogether; ++k) {
    if (first + k < axis.size) y[(first + k) * axis.y_step] = value[k];
  }
}

// The sum of g over all that axes 0 to a became.
template <int a, class T, class Int>
__device__ __forceinline__ T sum_of(const remap::RemapPlan<Int>& plan,
                                    const remap::Targets<Int> (&targets)[kAxes], const T* g) {
  if constexpr (a < 0) {
    return *g;
  } else {
    if (a >= plan.n) return sum_of<a - 1>(plan, targets, g);
    const remap::Axis<Int>& axis = plan.axis[a];
    if (axis.map.is_plain())
      return sum_of<a - 1>(plan, targets, g + targets[a].begin * axis.y_step);
    T sum = 0;
    for (Int k = 0; k < targets[a].count(); ++k)
      sum += sum_of<a - 1>(plan, targets, g + targets[a].at(k) * axis.y_step);
    return sum;
  }
}

// Most elements became one, unless an image grows: those are asked for together.
template <class T, int kTogether, class Int>
__device__ __forceinline__ void copy_ones(T* gx, const T* g, const remap::Axis<Int>& axis,
                                          Int first) {
  T value[kTogether];
#pragma unroll
  for (int k = 0; k < kTogether; ++k) {
    if (first + k >= axis.size) break;
    const remap::Targets<Int> row = axis.map.targets(first + k);
    if (row.count() == 1) value[k] = g[row.begin * axis.y_step];
  }
#pragma unroll
  for (int k = 0; k < kTogether; ++k) {
    if (first + k >= axis.size) break;
    if (axis.map.targets(first + k).count() == 1) gx[(first + k) * axis.x_step] = value[k];
  }
}

template <class T, int kTogether, class Int>
__global__ void __launch_bounds__(kThreads)
    remap_backward_kernel(T* gx, const T* g, const __grid_constant__ Walk<Int> walk) {
  begin_kernel();
  Int rest = thread_number<Int>(), first = 0, from = 0;
  if (static_cast<std::make_unsigned_t<Int>>(rest) >= walk.count) return;
  remap::Targets<Int> targets[kAxes];
  bool is_one = true;
#pragma unroll
  for (int a = 0; a < kAxes; ++a) {
    if (a >= walk.plan.n) break;
    const remap::Axis<Int>& axis = walk.plan.axis[a];
    const Int j = walk.split(a, a == 1 ? kTogether : 1, &rest);
    if (a == 1) {
      first = j * kTogether;
      continue;
    }
    targets[a] = axis.map.targets(j);
    is_one &= targets[a].count() == 1;
    gx += j * axis.x_step;
    from += targets[a].begin * axis.y_step;
  }
  const remap::Axis<Int>& axis = walk.plan.axis[1];
  if (is_one) copy_ones<T, kTogether>(gx, g + from, axis, first);
#pragma unroll 1
  for (Int j = first; j < first + kTogether && j < axis.size; ++j) {
    targets[1] = axis.map.targets(j);
    if (!is_one || targets[1].count() != 1)
      gx[j * axis.x_step] = sum_of<kAxes - 1>(walk.plan, targets, g);
  }
}

// ---- images that grew by a power of two: all elements became equally many neighbours

// The axes of what is written, in packets along axis 0, and those further out that grew.
struct Repeats {
  static constexpr int kGrown = remap::kMapped;
  int n, grown = 0;
  int32_t count = 1;
  int32_t size[kAxes], x_step[kAxes], y_step[kAxes];
  Divider<int32_t> by_size[kAxes];
  int32_t times[kGrown] = {}, step[kGrown] = {};

  Repeats(const Plan& plan, int together)
      : n(plan.n),
        by_size{by(plan, 0, together), by(plan, 1, 1), by(plan, 2, 1), by(plan, 3, 1),
                by(plan, 4, 1)} {
    for (int a = 0; a < n; ++a) {
      const remap::Axis<int32_t>& axis = plan.axis[a];
      const int32_t factor = axis.map.to / axis.map.from, width = a == 0 ? together : 1;
      size[a] = axis.size / width;
      count *= size[a];
      x_step[a] = axis.x_step * width;
      y_step[a] = axis.y_step * width * factor;
      if (a == 0 || factor == 1) continue;
      times[grown] = factor;
      step[grown++] = axis.y_step;
    }
  }

 private:
  static Divider<int32_t> by(const Plan& plan, int a, int together) {
    return Divider<int32_t>(a < plan.n ? plan.axis[a].size / together : 1);
  }
};

// Sums of kFactor neighbours, over all that the first `axes` of those that grew became.
template <int axes, int kFactor, int kTogether, class T>
__device__ __forceinline__ Packet<T, kTogether> sums_of(const Repeats& repeats, const T* g) {
  Packet<T, kTogether> sums = {};
  if constexpr (axes == 0) {
    const auto part = load_packet<kTogether * kFactor>(g);
#pragma unroll
    for (int i = 0; i < kTogether * kFactor; ++i) sums.value[i / kFactor] += part.value[i];
  } else {
    const int32_t times = axes <= repeats.grown ? repeats.times[axes - 1] : 1;
#pragma unroll 2
    for (int32_t k = 0; k < times; ++k) {
      const auto part =
          sums_of<axes - 1, kFactor, kTogether>(repeats, g + k * repeats.step[axes - 1]);
#pragma unroll
      for (int i = 0; i < kTogether; ++i) sums.value[i] += part.value[i];
    }
  }
  return sums;
}

template <int kFactor, int kTogether, class T>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    sum_repeats(T* gx, const T* g, const __grid_constant__ Repeats repeats) {
  begin_kernel();
  int32_t rest = thread_number<int32_t>();
  if (rest >= repeats.count) return;
#pragma unroll
  for (int a = 0; a < kAxes; ++a) {
    if (a >= repeats.n) break;
    const int32_t outer = repeats.by_size[a](rest), i = rest - outer * repeats.size[a];
    rest = outer;
    gx += i * repeats.x_step[a];
    g += i * repeats.y_step[a];
  }
  store_packet(gx, sums_of<Repeats::kGrown, kFactor, kTogether>(repeats, g));
}

// Whether targets(j) = [f * j, f * j + f) for the f of each axis: the places are exact then.
bool are_repeats(const Plan& plan) {
  constexpr int32_t kExact = 1 << 22;  // places up to there and halves are floats
  bool grows = false;
  for (int a = 0; a < plan.n; ++a) {
    const remap::Dim<int32_t>& map = plan.axis[a].map;
    if (map.is_plain()) continue;
    const int32_t factor = map.to / map.from;
    const bool is_power = factor > 0 && (factor & (factor - 1)) == 0;
    if (map.mode != RemapMode::kNearest || !is_power || map.to != factor * map.from ||
        map.step * factor != 1 || map.to > kExact)
      return false;
    grows |= factor > 1;
  }
  return grows;
}

// Whether axis 0 can be walked in packets of so many elements, each of which became `factor`.
template <class T>
bool has_packets(const Plan& plan, const T* gx, const T* g, int factor, int together) {
  const remap::Axis<int32_t>& inner = plan.axis[0];
  bool fits = inner.x_step == 1 && inner.y_step == 1 && inner.size % together == 0 &&
              is_aligned(gx, sizeof(T) * together) && is_aligned(g, sizeof(T) * together * factor);
  for (int a = 1; a < plan.n; ++a)
    fits &= plan.axis[a].x_step % together == 0 && plan.axis[a].y_step % (together * factor) == 0;
  return fits;
}

template <int kFactor, class T>
int32_t sum_by_packets(const dt_stream* stream, const Plan& plan, T* gx, const T* g) {
  const auto run = [&](auto together) {
    constexpr int kTogether = decltype(together)::value;
    const Repeats repeats(plan, kTogether);
    const auto blocks = static_cast<unsigned>(divide_up(repeats.count, kThreads));
    return launch(stream, sum_repeats<kFactor, kTogether, T>, blocks, kThreads, 0, gx, g, repeats);
  };
  constexpr int kTogether = std::max(kPacketWidth<T> / kFactor, 1);
  if (has_packets(plan, gx, g, kFactor, kTogether)) return run(Count<kTogether>());
  if (has_packets(plan, gx, g, kFactor, 1)) return run(Count<1>());
  return DT_KERNEL_UNSUPPORTED;
}

template <class T>
int32_t run_repeats(const dt_stream* stream, const Plan& plan, T* gx, const T* g) {
  if (!are_repeats(plan)) return DT_KERNEL_UNSUPPORTED;
  switch (plan.axis[0].map.to / plan.axis[0].map.from) {
    case 1:
      return sum_by_packets<1>(stream, plan, gx, g);
    case 2:
      return sum_by_packets<2>(stream, plan, gx, g);
    case 4:
      return sum_by_packets<4>(stream, plan, gx, g);
  }
  return DT_KERNEL_UNSUPPORTED;
}

template <class Int>
unsigned blocks_for(const Walk<Int>& walk) {
  return static_cast<unsigned>(divide_up(static_cast<int64_t>(walk.count), kThreads));
}

// Several elements a thread, if threads enough remain to keep the device busy: f(how many).
template <class F>
int32_t visit_together(const dt_stream* stream, const dt_view& written, const F& f) {
  constexpr int kTogether = 4, kResident = 2048;
  const bool many =
      numel(written) / kTogether >= int64_t{kResident} * multiprocessors(stream->device);
  return many ? f(Count<kTogether>()) : f(Count<1>());
}

template <class T, class Int>
int32_t run_remap(const dt_stream* stream, const calls::Remap& call) {
  return visit_together(stream, call.y, [&](auto count) {
    constexpr int kTogether = decltype(count)::value;
    const Walk<Int> walk(remap::RemapPlan<Int>::of_y(call, call.y, call.x), kTogether);
    return launch(stream, remap_kernel<T, kTogether, Int>, blocks_for(walk), kThreads, 0,
                  static_cast<T*>(call.y.data), static_cast<const T*>(call.x.data), walk);
  });
}

template <class T, class Int>
int32_t run_remap_backward(const dt_stream* stream, const calls::RemapBackward& call) {
  const auto plan = remap::RemapPlan<Int>::of_x(call, call.g, call.gx);
  T* const gx = static_cast<T*>(call.gx.data);
  const T* const g = static_cast<const T*>(call.g.data);
  if constexpr (std::is_same_v<Int, int32_t>) {
    const int32_t code = run_repeats(stream, plan, gx, g);
    if (code != DT_KERNEL_UNSUPPORTED) return code;
  }
  return visit_together(stream, call.gx, [&](auto count) {
    constexpr int kTogether = decltype(count)::value;
    const Walk<Int> walk(plan, kTogether);
    return launch(stream, remap_backward_kernel<T, kTogether, Int>, blocks_for(walk), kThreads, 0,
                  gx, g, walk);
  });
}

// What is counted, and twice as much, fits into 32 bits: a mirrored place is before it is mirrored.
bool fits(const dt_view& y, const dt_view& x) {
  return is_small(y) && is_small(x) && numel(y) < kMaxIndex32 / 2 && numel(x) < kMaxIndex32 / 2;
}

}  // namespace

int32_t kernels::remap(const dt_stream* stream, const calls::Remap& call) {
  if (numel(call.y) == 0) return DT_KERNEL_OK;
  return visit_width(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return fits(call.y, call.x) ? run_remap<T, int32_t>(stream, call)
                                : run_remap<T, int64_t>(stream, call);
  });
}

int32_t kernels::remap_backward(const dt_stream* stream, const calls::RemapBackward& call) {
  if (numel(call.gx) == 0) return DT_KERNEL_OK;
  return visit_floating(call.gx.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return fits(call.g, call.gx) ? run_remap_backward<T, int32_t>(stream, call)
                                 : run_remap_backward<T, int64_t>(stream, call);
  });
}

}  // namespace dt::cuda
