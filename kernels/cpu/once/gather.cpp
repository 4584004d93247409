// The elements of gather and scatter along one dimension.
//
// Positions that differ outside the dimension never touch the same element, so they are spread over
// the threads; along the dimension the order is kept, which makes scatter deterministic.
#include "kernels/cpu/gather_once.h"

#include <atomic>

#include "kernels/cpu/reduce_plan.h"

namespace dt::cpu {
namespace {

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
      lines.along = {axis.size, axis.x, axis.y, 0};  // there the index leads
    } else if (axis.size != 1) {
      lines.kept.axis[lines.kept.n++] = axis;
    }
  }
  coalesce(&lines.kept);
  if (lines.kept.n == 0) lines.kept.axis[lines.kept.n++] = Axis{1, 0, 0, 0};
  return lines;
}

// Positions of two axes, from these offsets into the plain operand, the index and the indexed
// operand on.
struct AxisBlock {
  Axis outer, inner;
  int64_t x, y, z;

  // Calls move with the three offsets of each position as long as it returns true; the result is
  // what the last call returned. All in copies, which no byte that is written might be part of.
  template <class Move>
  bool for_each(Move move) const {
    const AxisBlock at = *this;
    const bool is_dense = at.inner.x == 1 && at.inner.y == 1 && at.inner.z == 0;
    for (int64_t r = 0; r < at.outer.size; ++r) {
      int64_t px = at.x + r * at.outer.x, py = at.y + r * at.outer.y, pz = at.z + r * at.outer.z;
      if (is_dense) {
        for (int64_t i = 0; i < at.inner.size; ++i)
          if (!move(px + i, py + i, pz)) return false;
      } else {
        for (int64_t i = 0; i < at.inner.size; ++i) {
          if (!move(px, py, pz)) return false;
          px += at.inner.x, py += at.inner.y, pz += at.inner.z;
        }
      }
    }
    return true;
  }
};

// Calls body(block) for blocks that have all positions between them.
template <class Body>
void for_each_block(const dt_stream* stream, const GatherLines& lines, const Body& body) {
  constexpr int64_t kColumns = 512, kPositions = kSerialWork / 4;  // of a tile
  const Axis &along = lines.along, &inner = lines.kept.inner();
  const bool is_columns = lines.is_columns();
  const int64_t width = is_columns ? kColumns : max<int64_t>(1, kPositions / along.size);
  const int64_t pieces = ceil_div(inner.size, width), count = lines.kept.count() / inner.size;
  const int64_t group = pieces > 1 ? 1 : max<int64_t>(1, kPositions / (along.size * inner.size));
  parallel_for(stream, ceil_div(count, group) * pieces, lines.work(), [&](int64_t tile) {
    const int64_t first = tile / pieces * group, last = min(count, first + group);
    const int64_t begin = tile % pieces * width;
    Axis part = inner;
    part.size = min(width, inner.size - begin);
    Walk at(lines.kept, lines.kept.n - 1, first);
    for (int64_t i = first; i < last; ++i, at.next()) {
      body(AxisBlock{is_columns ? along : part, is_columns ? part : along, at.x + begin * inner.x,
                     at.y + begin * inner.y, at.z + begin * inner.z});
    }
  });
}

// The indexed operand's dimension.
struct IndexedDim {
  int64_t size, stride;
};

inline IndexedDim target_of(const dt_view& indexed, int64_t dim) {
  if (indexed.ndim == 0) return {1, 0};
  return {indexed.sizes[dim], indexed.strides[dim]};
}

// ---- gather: elements are moved as bits

template <class T>
bool gather_elements(const dt_stream* stream, const calls::Gather& call) {
  const GatherLines lines = make_lines(call.y, call.index, call.x, call.dim);
  const IndexedDim target = target_of(call.x, call.dim);
  T* to = data<T>(call.y);
  const T* from = data<const T>(call.x);
  const int64_t* at = data<const int64_t>(call.index);
  std::atomic<bool> is_right{true};
  const auto move = [=](int64_t plain, int64_t which, int64_t base) {
    const int64_t value = at[which];
    if (static_cast<uint64_t>(value) >= static_cast<uint64_t>(target.size)) return false;
    to[plain] = from[base + value * target.stride];
    return true;
  };
  for_each_block(stream, lines, [&](const AxisBlock& block) {
    if (!block.for_each(move)) is_right.store(false, std::memory_order_relaxed);
  });
  return is_right;
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
    return static_cast<T>(old * value);
  }
};

// NaN wins.
struct Larger {
  template <class T>
  static T apply(T old, T value) {
    return (value > old) | (value != value) ? value : old;
  }
};

struct Smaller {
  template <class T>
  static T apply(T old, T value) {
    return (value < old) | (value != value) ? value : old;
  }
};

template <class Op, class T>
int32_t scatter_elements(const dt_stream* stream, const Scattered& s) {
  GatherLines lines = make_lines(s.source, s.index, s.y, s.dim);
  T number;
  const T* from = data<const T>(s.source);
  if (s.source.immediate) {
    put_number(&number, s.y.dtype, s.source);
    from = &number;
    lines.along.x = 0;
    for (int d = 0; d < lines.kept.n; ++d) lines.kept.axis[d].x = 0;
  }
  const int64_t stride = target_of(s.y, s.dim).stride;
  T* to = data<T>(s.y);
  const int64_t* at = data<const int64_t>(s.index);
  const auto move = [=](int64_t plain, int64_t which, int64_t base) {
    T& element = to[base + at[which] * stride];
    element = Op::apply(element, from[plain]);
    return true;
  };
  for_each_block(stream, lines, [&](const AxisBlock& block) { block.for_each(move); });
  return DT_KERNEL_OK;
}

// Whole numbers wrap around, which only unsigned ones do.
template <class Op>
int32_t fold_wrapped(const dt_stream* stream, const Scattered& s) {
  return visit_value(s.y.dtype, [&](auto type) {
    return scatter_elements<Op, WrapAround<typename decltype(type)::type>>(stream, s);
  });
}

// Comparisons need the sign.
template <class Op>
int32_t fold_signed(const dt_stream* stream, const Scattered& s) {
  return visit_value(s.y.dtype, [&](auto type) {
    return scatter_elements<Op, Stored<typename decltype(type)::type>>(stream, s);
  });
}

}  // namespace
}  // namespace dt::cpu

bool dt_gather_elements(const dt_stream* stream, const dt::calls::Gather& call) {
  bool is_right = true;
  dt::visit_width(call.y.dtype, [&](auto type) {
    is_right = dt::cpu::gather_elements<typename decltype(type)::type>(stream, call);
  });
  return is_right;
}

int32_t dt_scatter_elements(const dt_stream* stream, dt::cpu::ScatterStep fold,
                            const dt::cpu::Scattered& s) {
  using namespace dt::cpu;
  const bool is_bool = dt::is_bool(s.y.dtype);
  switch (fold) {
    case ScatterStep::kAssign:
      return dt::visit_width(s.y.dtype, [&](auto type) {
        return scatter_elements<Assign, typename decltype(type)::type>(stream, s);
      });
    case ScatterStep::kAdd:
      return is_bool ? scatter_elements<Unite, uint8_t>(stream, s) : fold_wrapped<Add>(stream, s);
    case ScatterStep::kMultiply:
      return fold_wrapped<Multiply>(stream, s);  // a bool's factors are 0 or 1
    case ScatterStep::kLarger:
      return fold_signed<Larger>(stream, s);
    case ScatterStep::kSmaller:
      return fold_signed<Smaller>(stream, s);
  }
  return DT_KERNEL_UNSUPPORTED;
}
