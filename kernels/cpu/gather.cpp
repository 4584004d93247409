// gather and scatter along one dimension. All index values are checked before scatter writes.
//
// Positions that differ outside the dimension never touch the same element, so they are spread over
// the threads; along the dimension the order is kept, which makes scatter deterministic.
#include <atomic>

#include "kernels/cpu/index.h"
#include "kernels/cpu/index_plan.h"
#include "kernels/cpu/reduce_plan.h"

namespace dt::cpu {
namespace {

constexpr int64_t kColumns = 512;

// Axes hold the strides of the plain operand (gather's y, scatter's source) as x, of the index as y
// and of the indexed operand as z.
struct GatherLines {
  Axes kept;
  Axis along;

  int64_t work() const { return 2 * kept.count() * along.size; }
  // Whether to walk the innermost kept axis inside the dimension, because it is the denser one.
  bool is_columns() const {
    return kept.inner().size > 1 &&
           (along.size == 1 || magnitude(kept.inner().y) < magnitude(along.y));
  }
};

inline GatherLines make_lines(const dt_view& plain, const dt_view& index, const dt_view& indexed,
                              int64_t dim) {
  GatherLines lines;
  lines.along = Axis{1, 0, 0, 0};
  for (int d = 0; d < index.ndim; ++d) {
    const Axis axis{index.sizes[d], plain.strides[d], index.strides[d], indexed.strides[d]};
    if (d == dim) {
      lines.along = axis;
    } else if (axis.size != 1) {
      lines.kept.axis[lines.kept.n++] = axis;
    }
  }
  coalesce(&lines.kept);
  if (lines.kept.n == 0) lines.kept.axis[lines.kept.n++] = Axis{1, 0, 0, 0};
  return lines;
}

// n positions, from these offsets into the plain operand, the index and the indexed operand on.
struct Line {
  int64_t n, x, y, z;
  Axis step;

  // Calls move with the three offsets of each position as long as it returns true; the result is
  // what the last call returned. All in copies, which no byte that is written might be part of.
  template <class Move>
  bool for_each(Move move) const {
    const Line at = *this;
    if (at.step.x == 1 && at.step.y == 1 && at.step.z == 0) {
      for (int64_t i = 0; i < at.n; ++i)
        if (!move(at.x + i, at.y + i, at.z)) return false;
    } else {
      for (int64_t i = 0; i < at.n; ++i)
        if (!move(at.x + i * at.step.x, at.y + i * at.step.y, at.z + i * at.step.z)) return false;
    }
    return true;
  }
};

// Calls body(line) for lines that have all positions between them.
template <class Body>
void for_each_line(const dt_stream* stream, const GatherLines& lines, const Body& body) {
  const Axis &along = lines.along, &inner = lines.kept.inner();
  const int64_t count = lines.kept.count();
  if (lines.is_columns()) {
    const int64_t per_line = ceil_div(inner.size, kColumns);
    parallel_for(stream, count / inner.size * per_line, lines.work(), [&](int64_t tile) {
      const Walk outer(lines.kept, lines.kept.n - 1, tile / per_line);
      const int64_t begin = tile % per_line * kColumns, end = min(inner.size, begin + kColumns);
      for (int64_t r = 0; r < along.size; ++r) {
        body(Line{end - begin, outer.x + r * along.x + begin * inner.x,
                  outer.y + r * along.y + begin * inner.y, outer.z + begin * inner.z, inner});
      }
    });
    return;
  }
  const Axis step = {along.size, along.x, along.y, 0};
  const int64_t group = max<int64_t>(1, kSerialWork / 4 / along.size);
  parallel_for(stream, ceil_div(count, group), lines.work(), [&](int64_t tile) {
    Walk at(lines.kept, lines.kept.n, tile * group);
    const int64_t end = min(count, (tile + 1) * group);
    for (int64_t i = tile * group; i < end; ++i, at.next())
      body(Line{along.size, at.x, at.y, at.z, step});
  });
}

// The indexed operand's dimension.
struct Target {
  int64_t size, stride;
};

inline Target target_of(const dt_view& indexed, int64_t dim) {
  if (indexed.ndim == 0) return {1, 0};
  return {indexed.sizes[dim], indexed.strides[dim]};
}

// ---- gather: elements are moved as bits

// An index value is checked when it is used; which one was wrong is found out afterwards.
template <class T>
int32_t gather_elements(const dt_stream* stream, const calls::Gather& call) {
  const dt_view &y = call.y, &x = call.x, &index = call.index;
  const GatherLines lines = make_lines(y, index, x, call.dim);
  const Target target = target_of(x, call.dim);
  T* to = data<T>(y);
  const T* from = data<const T>(x);
  const int64_t* at = data<const int64_t>(index);
  std::atomic<bool> is_right{true};
  const auto move = [=](int64_t plain, int64_t which, int64_t base) {
    const int64_t value = at[which];
    if (static_cast<uint64_t>(value) >= static_cast<uint64_t>(target.size)) return false;
    to[plain] = from[base + value * target.stride];
    return true;
  };
  for_each_line(stream, lines, [&](const Line& line) {
    if (!line.for_each(move)) is_right.store(false, std::memory_order_relaxed);
  });
  return is_right || check_index(stream, index, 0, target.size) ? DT_KERNEL_OK : DT_KERNEL_INDEX;
}

// Whether the index is an expanded one, of which each value selects a slice of the last dimension.
bool selects_slices(const dt_view& index, int64_t dim) {
  const int last = index.ndim - 1;
  return last > 0 && dim != last && index.strides[last] == 0 && index.sizes[last] > 1;
}

// ---- scatter

struct Assign {
  template <class T>
  static T apply(T, T value) {
    return value;
  }
};

struct Add {
  template <class T>
  static T apply(T old, T value) {
    return static_cast<T>(old + value);
  }
};

// bool's addition.
struct Unite {
  template <class T>
  static T apply(T old, T value) {
    return old | value;
  }
};

struct Multiply {
  template <class T>
  static T apply(T old, T value) {
    if constexpr (kIsBool<T>) return old & value;
    return static_cast<T>(old * value);
  }
};

// NaN wins.
struct Larger {
  template <class T>
  static T apply(T old, T value) {
    return value > old || value != value ? value : old;
  }
};

struct Smaller {
  template <class T>
  static T apply(T old, T value) {
    return value < old || value != value ? value : old;
  }
};

// Elements of type T are combined as Us.
template <class Op, class T, class U, class Call>
int32_t scatter_elements(const dt_stream* stream, const Call& call) {
  const dt_view &y = call.y, &source = call.source, &index = call.index;
  GatherLines lines = make_lines(source, index, y, call.dim);
  const U number = source.immediate ? static_cast<U>(number_as<T>(source)) : U(0);
  const U* from = data<const U>(source);
  if (source.immediate) {
    from = &number;
    lines.along.x = 0;
    for (int d = 0; d < lines.kept.n; ++d) lines.kept.axis[d].x = 0;
  }
  const int64_t stride = target_of(y, call.dim).stride;
  U* to = data<U>(y);
  const int64_t* at = data<const int64_t>(index);
  const auto move = [=](int64_t plain, int64_t which, int64_t base) {
    U& element = to[base + at[which] * stride];
    element = Op::apply(element, from[plain]);
    return true;
  };
  for_each_line(stream, lines, [&](const Line& line) { line.for_each(move); });
  return DT_KERNEL_OK;
}

int32_t scatter_add(const dt_stream* stream, const calls::Scatter& call) {
  return visit_value(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return scatter_elements<std::conditional_t<kIsBool<T>, Unite, Add>, T, WrapAround<T>>(stream,
                                                                                          call);
  });
}

int32_t scatter_assign(const dt_stream* stream, const calls::Scatter& call) {
  return visit_value(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return scatter_elements<Assign, T, WrapAround<T>>(stream, call);
  });
}

// Integers multiply as WrapAround, without overflow, but are compared as what they are.
template <class Op, bool kWraps>
int32_t scatter_folded(const dt_stream* stream, const calls::ScatterFold& call) {
  if (!check_index(stream, call.index, 0, target_of(call.y, call.dim).size)) return DT_KERNEL_INDEX;
  if (count(call.index) == 0) return DT_KERNEL_OK;
  return visit_value(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    using U = std::conditional_t<kWraps && !kIsBool<T>, WrapAround<T>, T>;
    return scatter_elements<Op, T, U>(stream, call);
  });
}

}  // namespace

int32_t kernels::gather(const dt_stream* stream, const calls::Gather& call) {
  const dt_view& index = call.index;
  if (count(index) == 0) return DT_KERNEL_OK;
  if (selects_slices(index, call.dim)) {
    if (!check_index(stream, index, 0, target_of(call.x, call.dim).size)) return DT_KERNEL_INDEX;
    return gather_slices(stream, call);
  }
  return visit_width(call.y.dtype, [&](auto type) {
    return gather_elements<typename decltype(type)::type>(stream, call);
  });
}

int32_t kernels::scatter(const dt_stream* stream, const calls::Scatter& call) {
  const dt_view& index = call.index;
  if (!check_index(stream, index, 0, target_of(call.y, call.dim).size)) return DT_KERNEL_INDEX;
  if (count(index) == 0) return DT_KERNEL_OK;
  return call.accumulate ? scatter_add(stream, call) : scatter_assign(stream, call);
}

int32_t kernels::scatter_prod(const dt_stream* stream, const calls::ScatterFold& call) {
  return scatter_folded<Multiply, true>(stream, call);
}

int32_t kernels::scatter_amax(const dt_stream* stream, const calls::ScatterFold& call) {
  return scatter_folded<Larger, false>(stream, call);
}

int32_t kernels::scatter_amin(const dt_stream* stream, const calls::ScatterFold& call) {
  return scatter_folded<Smaller, false>(stream, call);
}

}  // namespace dt::cpu
