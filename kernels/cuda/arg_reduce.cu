// max_dim and min_dim: the largest or smallest element along one dimension and its first position.
#include "kernels/calls/planned.h"
#include "kernels/calls/reduce.gen.h"
#include "kernels/cuda/fold.cuh"
#include "kernels/cuda/reduce_engine.cuh"

namespace dt::cuda {
namespace {

// An operation of the engine. An accumulator begins with the value that every other beats, nowhere:
// if it ends so, all elements have that value, and the first of them wins.
template <class T, bool kLargest>
struct ArgOp {
  using Value = T;
  struct Accumulator {
    T value;
    uint32_t position;
  };
  // Without an element, the position is -1.
  struct Partial {
    T value;
    int64_t position;
  };
  static constexpr int kChains = 2;
  static constexpr bool kHasPivot = false;
  static constexpr uint32_t kNowhere = UINT32_MAX;
  static constexpr T kWorst = std::conditional_t<kLargest, Largest<T>, Smallest<T>>::kIdentity;

  static __device__ __forceinline__ bool beats(T a, T b) { return kLargest ? a > b : a < b; }
  // NaN beats all but NaN; of equals, and of NaNs, the earlier one wins.
  template <class Position>
  static __device__ __forceinline__ bool comes_before(T a, Position at_a, T b, Position at_b) {
    const bool a_nan = a != a, b_nan = b != b;
    if (a_nan != b_nan) return a_nan;
    return beats(a, b) || (!beats(b, a) && at_a < at_b);
  }

  __device__ __forceinline__ Accumulator start() const { return {kWorst, kNowhere}; }
  __device__ __forceinline__ Partial identity() const { return {T(0), -1}; }

  // Positions rise within an accumulator, so that an equal element never replaces one before it.
  __device__ __forceinline__ void add(Accumulator& best, T x, uint32_t position, T) const {
    const bool beats_or_nan = kLargest ? !(x <= best.value) : !(x >= best.value);
    if (beats_or_nan && best.value == best.value) best = {x, position};
  }
  __device__ __forceinline__ Accumulator join(const Accumulator& a, const Accumulator& b) const {
    return comes_before(b.value, b.position, a.value, a.position) ? b : a;
  }
  __device__ __forceinline__ Partial close(const Accumulator& best,
                                           const Stretch<T>& stretch) const {
    return {best.value, stretch.first + (best.position == kNowhere ? 0 : best.position)};
  }
  __device__ __forceinline__ Partial merge(const Partial& a, const Partial& b) const {
    if (a.position < 0) return b;
    if (b.position < 0) return a;
    return comes_before(b.value, b.position, a.value, a.position) ? b : a;
  }
  __device__ __forceinline__ void store(const ReduceResult& result, int64_t y, int64_t z,
                                        const Partial& best) const {
    store_as(result.y, result.y_dtype, y, best.value);
    result.z[z] = best.position;
  }
};

template <bool kLargest>
int32_t arg_reduce(const dt_stream* stream, const calls::ReductionAlong& call, int64_t* bytes) {
  const ReduceOperands on = {call.x, call.values, &call.indices, call.workspace};
  if (numel(call.x) == 0) return DT_KERNEL_OK;
  return visit_compute(call.compute, [&](auto type) {
    using T = typename decltype(type)::type;
    // Narrow integers are compared wide.
    using Value = std::conditional_t<kIsFloating<T>, T, int64_t>;
    return reduce_from<Value>(stream, on, ArgOp<Value, kLargest>(), bytes);
  });
}

}  // namespace

DT_PLANNED_KERNEL(max_dim, ReductionAlong, arg_reduce<true>)
DT_PLANNED_KERNEL(min_dim, ReductionAlong, arg_reduce<false>)

}  // namespace dt::cuda
