// Reductions to values: sum, mean, prod, amax, amin, any, all, var and norm.
#include "kernels/cuda/fold.cuh"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/reduce_engine.cuh"
#include "kernels/cuda/register.h"

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
  Map map;
  Finish finish;

  __device__ __forceinline__ Accumulator start() const { return Combine::kIdentity; }
  __device__ __forceinline__ Partial identity() const { return Combine::kIdentity; }
  __device__ __forceinline__ void add(Accumulator& a, Value x, int64_t) const {
    a = Combine::apply(a, map(x));
  }
  __device__ __forceinline__ Partial close(Accumulator a) const { return a; }
  __device__ __forceinline__ Partial merge(Partial a, Partial b) const {
    return Combine::apply(a, b);
  }
  __device__ __forceinline__ void store(const ReduceResult& result, int64_t y, int64_t,
                                        Partial state) const {
    store_as(result.y, result.y_dtype, y, finish(state, result.length));
  }
};

// The number of elements, their mean and the sum of squared deviations from it. A thread takes
// deviations from its first element, which loses digits only if that lies far outside of the few
// others, and is cheaper than Welford's division for each; states are merged as Chan, Golub and
// LeVeque do.
struct Deviations {
  using Value = double;
  struct Accumulator {
    double first, sum, squares;
    uint32_t count;
  };
  struct Partial {
    double count, mean, squares;
  };
  static constexpr int kChains = 1;
  double correction;
  bool root;

  __device__ __forceinline__ Accumulator start() const { return {0, 0, 0, 0}; }
  __device__ __forceinline__ Partial identity() const { return {0, 0, 0}; }
  __device__ __forceinline__ void add(Accumulator& a, double x, int64_t) const {
    if (a.count++ == 0) a.first = x;
    const double d = x - a.first;
    a.sum += d;
    a.squares += d * d;
  }
  __device__ __forceinline__ Partial close(const Accumulator& a) const {
    if (a.count == 0) return identity();
    const double count = a.count, mean = a.sum / count;
    // Squares that overflow are infinite, and NaN only if an element is not finite.
    const double squares = a.squares - a.sum * (isinf(a.squares) ? 0.0 : mean);
    return {count, a.first + mean, not_negative(squares)};
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
    const double variance = squares / freedom;
    store_as(result.y, result.y_dtype, y, root ? sqrt(variance) : variance);
  }
};

// ---- the ops

// For an operation on numbers. Integers are signed or, for sums that wrap around, unsigned; a
// narrow result is what is left of a wide one.
template <template <class> class Combine, class Integer>
int32_t reduce_numbers(const dt_stream* stream, const dt_call* call, Finish finish,
                       int64_t* bytes) {
  const int32_t dtype = call->in[0].dtype;
  switch (call->ints[0]) {
    case DT_FLOAT32:
      return reduce_from<float>(stream, call, FoldOp<Combine<float>, Same<float>>{{}, finish},
                                dtype == DT_FLOAT32, bytes);
    case DT_FLOAT64:
      return reduce_from<double>(stream, call, FoldOp<Combine<double>, Same<double>>{{}, finish},
                                 dtype == DT_FLOAT64, bytes);
    default:
      return reduce_from<int64_t>(stream, call, FoldOp<Combine<Integer>, Same<Integer>>{{}, finish},
                                  dtype == DT_INT64, bytes);
  }
}

int32_t sum(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  return reduce_numbers<Sum, uint64_t>(stream, call, {}, bytes);
}

int32_t mean(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  return reduce_numbers<Sum, uint64_t>(stream, call, {Finish::kMean}, bytes);
}

// Products are rare: one way to read elements will do.
int32_t prod(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  switch (call->ints[0]) {
    case DT_FLOAT32:
      return reduce_any(stream, call, FoldOp<Product<float>, Same<float>>(), bytes);
    case DT_FLOAT64:
      return reduce_any(stream, call, FoldOp<Product<double>, Same<double>>(), bytes);
    default:
      return reduce_any(stream, call, FoldOp<Product<uint64_t>, Same<uint64_t>>(), bytes);
  }
}

int32_t amax(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  return reduce_numbers<Largest, int64_t>(stream, call, {}, bytes);
}

int32_t amin(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  return reduce_numbers<Smallest, int64_t>(stream, call, {}, bytes);
}

template <class Combine>
int32_t reduce_truth(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  const int32_t dtype = call->in[0].dtype;
  return reduce_from<uint8_t>(stream, call, FoldOp<Combine, Truth>(),
                              dtype == DT_BOOL || dtype == DT_UINT8, bytes);
}

int32_t var(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  const Deviations op = {call->floats[0], call->ints[1] != 0};
  const int32_t dtype = call->in[0].dtype;
  if (dtype == DT_FLOAT64) return reduce_from<double>(stream, call, op, true, bytes);
  return reduce_from<float>(stream, call, op, dtype == DT_FLOAT32, bytes);
}

// Norms are accumulated in double: the square of a float neither overflows nor loses digits there.
int32_t root_of_squares(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  const FoldOp<Sum<double>, Square> op = {{}, {Finish::kSquareRoot}};
  const int32_t dtype = call->in[0].dtype;
  if (dtype == DT_FLOAT64) return reduce_from<double>(stream, call, op, true, bytes);
  return reduce_from<float>(stream, call, op, dtype == DT_FLOAT32, bytes);
}

template <class Combine, class Map>
int32_t fold(const dt_stream* stream, const dt_call* call, Map map, Finish finish, int64_t* bytes) {
  return reduce_any(stream, call, FoldOp<Combine, Map>{map, finish}, bytes);
}

// Of nothing, every norm is 0 like a sum, except that 0^(1/p) is infinite for a negative p.
int32_t norm(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  const double p = call->floats[0];
  const bool is_empty = numel(call->in[0]) == 0, is_extreme = p - p != 0;
  const Magnitude abs = {false}, truth = {true};
  if (p == 2) return root_of_squares(stream, call, bytes);
  if (p == 0) return fold<Sum<double>>(stream, call, truth, {}, bytes);
  if (p == 1 || (is_extreme && is_empty)) return fold<Sum<double>>(stream, call, abs, {}, bytes);
  if (is_extreme && p > 0) return fold<Largest<double>>(stream, call, abs, {}, bytes);
  if (is_extreme && p < 0) return fold<Smallest<double>>(stream, call, abs, {}, bytes);
  return fold<Sum<double>>(stream, call, Power{p}, {Finish::kRoot, p}, bytes);
}

}  // namespace

void register_reduce(dt_registry* registry) {
#define DT_REDUCTION(name, function) \
  add(registry, name, run_kernel<function>, workspace_of<function>)
  DT_REDUCTION("sum", sum);
  DT_REDUCTION("mean", mean);
  DT_REDUCTION("prod", prod);
  DT_REDUCTION("amax", amax);
  DT_REDUCTION("amin", amin);
  DT_REDUCTION("any", reduce_truth<Or>);
  DT_REDUCTION("all", reduce_truth<And>);
  DT_REDUCTION("var", var);
  DT_REDUCTION("norm", norm);
#undef DT_REDUCTION
}

}  // namespace dt::cuda
