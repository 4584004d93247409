// Reductions to values: sum, mean, prod, amax, amin, any, all, var and norm.
#include "kernels/calls/planned.h"
#include "kernels/calls/reduce.gen.h"
#include "kernels/cuda/copy.h"
#include "kernels/cuda/fold.cuh"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/pointwise_kernel.cuh"
#include "kernels/cuda/reduce_engine.cuh"

namespace dt::cuda {
namespace {

// ---- what happens to each element, and to each result

template <class T>
struct Same {
  using Value = T;
  __device__ __forceinline__ T operator()(T x) const { return x; }
};

struct Truth {
  using Value = bool;  // so that an element is compared with 0 before a conversion could lose it
  __device__ __forceinline__ int32_t operator()(bool x) const { return x; }
};

struct Square {
  using Value = double;
  __device__ __forceinline__ double operator()(double x) const { return x * x; }
};

// |x|, or whether x is nonzero.
struct Magnitude {
  using Value = double;
  bool truth;
  __device__ __forceinline__ double operator()(double x) const { return truth ? x != 0 : fabs(x); }
};

struct Power {
  using Value = double;
  double p;
  __device__ __forceinline__ double operator()(double x) const { return pow(fabs(x), p); }
};

struct Finish {
  enum Kind { kNone, kMean, kSquareRoot, kRoot };
  Kind kind = kNone;
  double p = 0;

  template <class T>
  __device__ __forceinline__ T operator()(T x, int64_t length) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (kind == kMean) return x / static_cast<T>(length);
      if (kind == kSquareRoot) return static_cast<T>(sqrt(static_cast<double>(x)));
      if (kind == kRoot) return static_cast<T>(pow(static_cast<double>(x), 1.0 / p));
    }
    return x;
  }
};

// ---- operations (see reduce_engine.cuh)

template <class Combine, class Map>
struct FoldOp {
  using Value = typename Map::Value;
  using Accumulator = typename Combine::Type;
  using Partial = typename Combine::Type;
  static constexpr int kChains = 4;
  static constexpr bool kHasPivot = false;
  Map map;
  Finish finish;

  __device__ __forceinline__ Accumulator start() const { return Combine::kIdentity; }
  __device__ __forceinline__ Partial identity() const { return Combine::kIdentity; }
  __device__ __forceinline__ void add(Accumulator& a, Value x, uint32_t, Value) const {
    a = Combine::apply(a, map(x));
  }
  __device__ __forceinline__ Accumulator join(Accumulator a, Accumulator b) const {
    return Combine::apply(a, b);
  }
  __device__ __forceinline__ Partial close(Accumulator a, const Stretch<Value>&) const { return a; }
  __device__ __forceinline__ Partial merge(Partial a, Partial b) const {
    return Combine::apply(a, b);
  }
  __device__ __forceinline__ void store(const ReduceResult& result, int64_t y, int64_t,
                                        Partial state) const {
    store_as(result.y, result.y_dtype, y, finish(state, result.length));
  }
};

// The number of elements, their mean and the sum of squared deviations from it. A block takes
// deviations from its first element: so its threads join by two additions, without a division. That
// loses digits only if the element lies far outside of the others, and then it makes most of the
// variance itself. The states of blocks are merged as Chan, Golub and LeVeque do.
struct Deviations {
  using Value = double;
  struct Accumulator {
    double sum, squares;
  };
  struct Partial {
    double count, mean, squares;
  };
  static constexpr int kChains = 2;
  static constexpr bool kHasPivot = true;
  double correction;
  bool root;

  __device__ __forceinline__ Accumulator start() const { return {0, 0}; }
  __device__ __forceinline__ Partial identity() const { return {0, 0, 0}; }
  __device__ __forceinline__ void add(Accumulator& a, double x, uint32_t, double pivot) const {
    const double d = x - pivot;
    a.sum += d;
    a.squares += d * d;
  }
  __device__ __forceinline__ Accumulator join(const Accumulator& a, const Accumulator& b) const {
    return {a.sum + b.sum, a.squares + b.squares};
  }
  __device__ __forceinline__ Partial close(const Accumulator& a,
                                           const Stretch<double>& stretch) const {
    // Dividing 0 takes many times as long as dividing 1.
    const double count = stretch.count, mean = a.sum * (1 / count);
    // Squares that overflow are infinite, and NaN only if an element is not finite.
    const double squares = a.squares - a.sum * (isinf(a.squares) ? 0.0 : mean);
    return {count, stretch.pivot + mean, not_negative(squares)};
  }
  __device__ __forceinline__ Partial merge(const Partial& a, const Partial& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double count = a.count + b.count, delta = b.mean - a.mean, weight = b.count / count;
    return {count, a.mean + delta * weight,
            a.squares + b.squares + delta * delta * a.count * weight};
  }
  __device__ __forceinline__ void store(const ReduceResult& result, int64_t y, int64_t,
                                        const Partial& state) const {
    const double freedom = fmax(static_cast<double>(result.length) - correction, 0.0);
    const double squares = result.length == 0 ? 0.0 : state.squares;
    const double variance = freedom > 0 ? squares / freedom : squares * math::kInfinity;
    store_as(result.y, result.y_dtype, y, root ? sqrt(variance) : variance);
  }
};

// ---- results that stand for one element each: nothing is reduced

// A sum begins with 0, so that it is never -0.
struct FromZero {
  static constexpr int n_in = 1, n_out = 1;
  static constexpr unsigned bool_in = 0;
  static constexpr bool bool_out = false;
  template <class T>
  static DT_FN T y(const T*, T input) {
    return T(0) + input;
  }
};

// Its deviation from itself: 0, or NaN if it is not finite.
struct FromItself {
  static constexpr int n_in = 1, n_out = 1;
  static constexpr unsigned bool_in = 0;
  static constexpr bool bool_out = false;
  template <class T>
  static DT_FN T y(const T*, T input) {
    return input - input;
  }
};

// A sum of two, which is read as fast as any two operands.
struct FromTwo {
  static constexpr int n_in = 2, n_out = 1;
  static constexpr unsigned bool_in = 0;
  static constexpr bool bool_out = false;
  template <class T>
  static DT_FN T y(const T*, T first, T second) {
    return T(0) + first + second;
  }
};

// x and y with as few dimensions as they can have; x is its first element of each result.
struct Alone {
  dt_view x, y;
  bool dense;  // along the last dimension: otherwise the engine goes through memory no worse

  explicit Alone(const ReduceOperands& on) : x(on.x), y(on.y) {
    const Axes<3> kept = reduce_axes(on).kept;
    x.ndim = y.ndim = kept.n;
    for (int d = 0; d < kept.n; ++d) {
      x.sizes[d] = y.sizes[d] = kept.size[d];
      x.strides[d] = kept.stride[d][0], y.strides[d] = kept.stride[d][1];
    }
    dense = kept.n == 0 || (x.strides[kept.n - 1] == 1 && y.strides[kept.n - 1] == 1);
  }
};

bool are_alone(const ReduceOperands& on) {
  return numel(on.x) > 0 && numel(on.x) == numel(on.y) && Alone(on).dense;
}

// Whether results are sums of two elements, and lie as those do.
bool are_pairs(const ReduceOperands& on) {
  const ReduceAxes axes = reduce_axes(on);
  return axes.reduced.n == 1 && axes.reduced.size[0] == 2 && axes.kept.n > 0 && Alone(on).dense;
}

int32_t add_pairs(const dt_stream* stream, const ReduceOperands& on, int32_t compute) {
  const Alone first(on);
  dt_view pair[2] = {first.x, first.x};
  pair[1].data = static_cast<char*>(pair[0].data) +
                 reduce_axes(on).reduced.stride[0][0] * bytes_of(on.x.dtype);
  return visit_compute(compute, [&](auto type) {
    return run_pointwise(stream, &first.y, pair,
                         pointwise_of<FromTwo, typename decltype(type)::type>());
  });
}

template <class F>
int32_t map_alone(const dt_stream* stream, const ReduceOperands& on, int32_t compute) {
  const Alone alone(on);
  return visit_compute(compute, [&](auto type) {
    return run_pointwise(stream, &alone.y, &alone.x,
                         pointwise_of<F, typename decltype(type)::type>());
  });
}

// ---- the ops

template <class Call>
ReduceOperands operands_of(const Call& call) {
  return {call.x, call.y, nullptr, call.workspace};
}

// For an operation on numbers. Integers are signed or, for sums that wrap around, unsigned; a
// narrow result is what is left of a wide one.
template <template <class> class Combine, class Integer>
int32_t reduce_numbers(const dt_stream* stream, const calls::Reduction& call, Finish finish,
                       int64_t* bytes) {
  const ReduceOperands on = operands_of(call);
  return visit_compute(call.compute, [&](auto type) {
    using T = typename decltype(type)::type;
    using Source = std::conditional_t<kIsFloating<T>, T, int64_t>;
    using Value = std::conditional_t<kIsFloating<T>, T, Integer>;
    return reduce_from<Source>(stream, on, FoldOp<Combine<Value>, Same<Value>>{{}, finish}, bytes);
  });
}

int32_t add_up(const dt_stream* stream, const calls::Reduction& call, Finish finish,
               int64_t* bytes) {
  const ReduceOperands on = operands_of(call);
  const bool alone = are_alone(on), pairs = finish.kind == Finish::kNone && are_pairs(on);
  if (!alone && !pairs) return reduce_numbers<Sum, uint64_t>(stream, call, finish, bytes);
  if (bytes) return DT_KERNEL_OK;
  return alone ? map_alone<FromZero>(stream, on, call.compute)
               : add_pairs(stream, on, call.compute);
}

int32_t plan_sum(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return add_up(stream, call, {}, bytes);
}

int32_t plan_mean(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return add_up(stream, call, {Finish::kMean}, bytes);
}

int32_t plan_prod(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return reduce_numbers<Product, uint64_t>(stream, call, {}, bytes);
}

int32_t plan_amax(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return reduce_numbers<Largest, int64_t>(stream, call, {}, bytes);
}

int32_t plan_amin(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return reduce_numbers<Smallest, int64_t>(stream, call, {}, bytes);
}

template <class Combine>
int32_t reduce_truth(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  const ReduceOperands on = operands_of(call);
  const FoldOp<Combine, Truth> op;
  if (holds<double>(on.x.dtype)) return reduce_from<double>(stream, on, op, bytes);
  if (is_floating(on.x.dtype)) return reduce_from<float>(stream, on, op, bytes);
  if (holds<int64_t>(on.x.dtype)) return reduce_from<int64_t>(stream, on, op, bytes);
  return reduce_from<uint8_t>(stream, on, op, bytes);
}

// For an operation that takes doubles, whatever the elements are.
template <class Op>
int32_t reduce_in_double(const dt_stream* stream, const ReduceOperands& on, const Op& op,
                         int64_t* bytes) {
  if (holds<double>(on.x.dtype)) return reduce_from<double>(stream, on, op, bytes);
  return reduce_from<float>(stream, on, op, bytes);
}

// An element has no freedom unless the correction leaves it some.
int32_t vary_alone(const dt_stream* stream, const ReduceOperands& on, double correction) {
  if (correction < 1) return map_alone<FromItself>(stream, on, compute_of(on.x.dtype));
  dt_view undefined = {};
  undefined.immediate = 1, undefined.dtype = dtype_of<double>;
  undefined.number.f = math::kNaN;
  return copy_view(stream, Alone(on).y, undefined);
}

int32_t plan_var(const dt_stream* stream, const calls::Var& call, int64_t* bytes) {
  const ReduceOperands on = operands_of(call);
  if (are_alone(on)) return bytes ? DT_KERNEL_OK : vary_alone(stream, on, call.correction);
  const Deviations op = {call.correction, call.root};
  return reduce_in_double(stream, on, op, bytes);
}

// Norms are accumulated in double: the square of a float neither overflows nor loses digits there.
int32_t root_of_squares(const dt_stream* stream, const ReduceOperands& on, int64_t* bytes) {
  const FoldOp<Sum<double>, Square> op = {{}, {Finish::kSquareRoot}};
  return reduce_in_double(stream, on, op, bytes);
}

template <class Combine, class Map>
int32_t fold(const dt_stream* stream, const ReduceOperands& on, Map map, Finish finish,
             int64_t* bytes) {
  return reduce_in_double(stream, on, FoldOp<Combine, Map>{map, finish}, bytes);
}

// Of nothing, every norm is 0 like a sum, except that 0^(1/p) is infinite for a negative p.
int32_t plan_norm(const dt_stream* stream, const calls::Norm& call, int64_t* bytes) {
  const ReduceOperands on = operands_of(call);
  const double p = call.p;
  const bool is_empty = numel(call.x) == 0, is_extreme = p - p != 0;
  const Magnitude abs = {false}, truth = {true};
  if (p == 2) return root_of_squares(stream, on, bytes);
  if (p == 0) return fold<Sum<double>>(stream, on, truth, {}, bytes);
  if (p == 1 || (is_extreme && is_empty)) return fold<Sum<double>>(stream, on, abs, {}, bytes);
  if (is_extreme && p > 0) return fold<Largest<double>>(stream, on, abs, {}, bytes);
  if (is_extreme && p < 0) return fold<Smallest<double>>(stream, on, abs, {}, bytes);
  // Powers are rare, and long: one way to read elements will do.
  return reduce_any(stream, on, FoldOp<Sum<double>, Power>{{p}, {Finish::kRoot, p}}, bytes);
}

}  // namespace

DT_PLANNED_KERNEL(sum, Reduction, plan_sum)
DT_PLANNED_KERNEL(mean, Reduction, plan_mean)
DT_PLANNED_KERNEL(prod, Reduction, plan_prod)
DT_PLANNED_KERNEL(amax, Reduction, plan_amax)
DT_PLANNED_KERNEL(amin, Reduction, plan_amin)
DT_PLANNED_KERNEL(any, Reduction, reduce_truth<Or>)
DT_PLANNED_KERNEL(all, Reduction, reduce_truth<And>)
DT_PLANNED_KERNEL(var, Var, plan_var)
DT_PLANNED_KERNEL(norm, Norm, plan_norm)

}  // namespace dt::cuda
