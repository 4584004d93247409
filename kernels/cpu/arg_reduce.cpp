// max_dim and min_dim: the largest or smallest element along one dimension and its first position.
#include "kernels/calls/planned.h"
#include "kernels/calls/reduce.gen.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/reduce_plan.h"
#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

// Whether `candidate`, which comes later, replaces `best`: it must be strictly better, or the first
// NaN. Branch-free.
template <class Op, class T>
bool replaces(T candidate, T best) {
  return (Op::apply(best, candidate) != best) & (best == best);
}

// An integer as wide as T, so that values and positions move through vectors together.
template <class T>
struct PositionOf {
  using type = int32_t;
};
template <>
struct PositionOf<double> {
  using type = int64_t;
};
template <>
struct PositionOf<int64_t> {
  using type = int64_t;
};

template <class T>
struct Best {
  T value;
  int64_t position;
};

template <class Op>
class ArgReduce {
 public:
  using T = typename Op::Value;
  using Position = typename PositionOf<T>::type;
  static constexpr int64_t kColumns = 256;

  ArgReduce(const dt_stream* stream, const calls::ReductionAlong& call)
      : stream_(stream),
        x_(call.x),
        values_(call.values),
        indices_(call.indices),
        plan_(plan(call)),
        partial_(static_cast<Best<T>*>(call.workspace)) {}

  // Positions along a dimension must keep their order, so the one reduced axis is as core gave it.
  static ReducePlan plan(const calls::ReductionAlong& call) {
    ReducePlan p = make_plan(call.x, call.values, &call.indices, sizeof(T), false);
    if (p.columns && p.length > INT32_MAX) {  // positions of columns must fit into Position
      p.columns = false;
      p.chunks = 1;
      cut_rows(&p);
    }
    return p;
  }

  static int64_t workspace(const calls::ReductionAlong& call) {
    const ReducePlan p = plan(call);
    if (p.columns || p.chunks == 1) return 0;
    return p.blocks * p.chunks * static_cast<int64_t>(sizeof(Best<T>));
  }

  void run() const {
    if (plan_.columns) {
      const int64_t per_line = ceil_div(plan_.kept.inner().size, kColumns);
      const int64_t blocks = plan_.outputs / plan_.kept.inner().size * per_line;
      parallel_for(stream_, blocks, plan_.work(),
                   [&](int64_t block) { reduce_columns(block, per_line); });
    } else if (plan_.chunks > 1) {
      parallel_for(stream_, plan_.blocks * plan_.chunks, plan_.work(), [&](int64_t tile) {
        const int64_t begin = tile % plan_.chunks * plan_.chunk_length;
        const int64_t end = min(plan_.length, begin + plan_.chunk_length);
        partial_[tile] =
            reduce_row(Walk(plan_.kept, plan_.kept.n, tile / plan_.chunks).x, begin, end);
      });
      for (int64_t i = 0; i < plan_.outputs; ++i) combine(i);
    } else {
      parallel_for(stream_, plan_.blocks, plan_.work(), [&](int64_t block) {
        const int64_t end = min(plan_.outputs, (block + 1) * plan_.width);
        Walk at(plan_.kept, plan_.kept.n, block * plan_.width);
        for (int64_t i = block * plan_.width; i < end; ++i, at.next())
          put(at, reduce_row(at.x, 0, plan_.length));
      });
    }
  }

 private:
  const char* x_at(int64_t offset) const {
    return data<const char>(x_) + offset * bytes_of(x_.dtype);
  }
  char* value_at(int64_t offset) const {
    return data<char>(values_) + offset * bytes_of(values_.dtype);
  }

  void put(const Walk& at, const Best<T>& best) const {
    store_run(value_at(at.y), values_.dtype, 1, &best.value, 1);
    data<int64_t>(indices_)[at.z] = best.position;
  }

  void combine(int64_t output) const {
    const Best<T>* parts = partial_ + output * plan_.chunks;
    Best<T> best = parts[0];
    for (int64_t c = 1; c < plan_.chunks; ++c) {
      if (replaces<Op>(parts[c].value, best.value)) best = parts[c];
    }
    put(Walk(plan_.kept, plan_.kept.n, output), best);
  }

  // Finds the best of a tile with vectors, and its place only in the few tiles that improve on
  // those before.
  Best<T> reduce_row(int64_t x, int64_t begin, int64_t end) const {
    const int64_t stride = plan_.reduced.inner().x;
    const bool is_dense = holds<T>(x_.dtype) && stride == 1;
    T buffer[ReducePlan::kTile];
    Best<T> best{};
    for (int64_t at = begin; at < end; at += ReducePlan::kTile) {
      const int64_t n = min(end - at, ReducePlan::kTile);
      const char* source = x_at(x + at * stride);
      if (!is_dense) load_run(buffer, source, x_.dtype, stride, n);
      const T* tile = is_dense ? reinterpret_cast<const T*>(source) : buffer;
      const T value = reduce_span<Op>(tile, n);
      if (at == begin || replaces<Op>(value, best.value))
        best = {value, at + first_of(tile, value)};
    }
    return best;
  }

  static int64_t first_of(const T* x, T value) {
    int64_t i = 0;
    if (value != value) {  // NaN
      while (x[i] == x[i]) ++i;
    } else {
      while (x[i] != value) ++i;
    }
    return i;
  }

  void reduce_columns(int64_t block, int64_t per_line) const {
    const Axis& kept = plan_.kept.inner();
    const Axis& reduced = plan_.reduced.inner();
    const Walk outer(plan_.kept, plan_.kept.n - 1, block / per_line);
    const int64_t first = block % per_line * kColumns, width = min(kColumns, kept.size - first);
    const bool is_dense = holds<T>(x_.dtype) && kept.x == 1;
    T best[kColumns], buffer[kColumns];
    Position position[kColumns];
    const bool is_narrow = is_dense && width <= kLanes<T>;
    if (is_narrow) {
      reduce_narrow(reinterpret_cast<const T*>(x_at(outer.x + first * kept.x)), width, best,
                    position);
    }
    for (int64_t r = 0; !is_narrow && r < reduced.size; ++r) {
      const char* source = x_at(outer.x + first * kept.x + r * reduced.x);
      if (!is_dense) load_run(buffer, source, x_.dtype, kept.x, width);
      const T* row = is_dense ? reinterpret_cast<const T*>(source) : buffer;
      if (r == 0) {
        for (int64_t j = 0; j < width; ++j) best[j] = row[j], position[j] = 0;
      } else {
        improve(best, position, row, static_cast<Position>(r), width);
      }
    }
    store_run(value_at(outer.y + first * kept.y), values_.dtype, kept.y, best, width);
    store_run(data<int64_t>(indices_) + outer.z + first * kept.z, dtype_of<int64_t>, kept.z,
              position, width);
  }

  // Few columns stay in registers. Their vector is filled up by what does not matter.
  void reduce_narrow(const T* x, int64_t width, T* best, Position* position) const {
    const Axis& reduced = plan_.reduced.inner();
    Vector<T> now = load_first(x, width);
    Vector<Position> where{};
    for (int64_t r = 1; r < reduced.size; ++r) {
      const Vector<T> candidate = load_first(x + r * reduced.x, width);
      choose(candidate, static_cast<Position>(r), &now, &where);
    }
    store(best, now);
    store(position, where);
  }

  static void choose(Vector<T> candidate, Position r, Vector<T>* now, Vector<Position>* where) {
    const Vector<T> better = Op::apply(*now, candidate);
    const auto improves = (better != *now) & (*now == *now);
    *now = improves ? candidate : *now;
    *where = improves ? Vector<Position>{} + r : *where;
  }

  // In vectors by hand: compilers leave the choice of positions in scalars.
  static void improve(T* best, Position* position, const T* row, Position r, int64_t width) {
    static_assert(sizeof(Position) == sizeof(T));
    constexpr int64_t kWidth = kLanes<T>;
    int64_t j = 0;
    for (; j + kWidth <= width; j += kWidth) {
      Vector<T> now = load(best + j);
      Vector<Position> where = load(position + j);
      choose(load(row + j), r, &now, &where);
      store(best + j, now);
      store(position + j, where);
    }
    for (; j < width; ++j) {
      const bool improves = replaces<Op>(row[j], best[j]);
      best[j] = improves ? row[j] : best[j];
      position[j] = improves ? r : position[j];
    }
  }

  const dt_stream* stream_;
  const dt_view& x_;
  const dt_view& values_;
  const dt_view& indices_;
  const ReducePlan plan_;
  Best<T>* partial_;
};

template <class Op>
int32_t arg_reduce(const dt_stream* stream, const calls::ReductionAlong& call, int64_t* bytes) {
  const bool is_empty = count(call.x) == 0;
  if (bytes) {
    *bytes = is_empty ? 0 : ArgReduce<Op>::workspace(call);
  } else if (!is_empty) {
    ArgReduce<Op>(stream, call).run();
  }
  return DT_KERNEL_OK;
}

template <template <class> class Op>
int32_t arg_reduce_numbers(const dt_stream* stream, const calls::ReductionAlong& call,
                           int64_t* bytes) {
  return visit_compute(call.compute, [&](auto type) {
    using T = typename decltype(type)::type;
    // Narrow integers are compared wide.
    using Value = std::conditional_t<kIsFloating<T>, T, int64_t>;
    return arg_reduce<Op<Value>>(stream, call, bytes);
  });
}

}  // namespace

DT_PLANNED_KERNEL(max_dim, ReductionAlong, arg_reduce_numbers<Largest>)
DT_PLANNED_KERNEL(min_dim, ReductionAlong, arg_reduce_numbers<Smallest>)

}  // namespace dt::cpu
