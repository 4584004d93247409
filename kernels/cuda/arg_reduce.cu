// max_dim and min_dim: the largest or smallest element along one dimension and its first position.
#include "kernels/calls/planned.h"
#include "kernels/calls/reduce.gen.h"
#include "kernels/cuda/reduce_engine.cuh"

namespace dt::cuda {
namespace {

// An operation of the engine. States without an element have position -1.
template <class T, bool kLargest>
struct ArgOp {
  using Value = T;
  struct Partial {
    T value;
    int64_t position;
  };
  using Accumulator = Partial;
  static constexpr int kChains = 2;

  static __device__ __forceinline__ bool beats(T a, T b) { return kLargest ? a > b : a < b; }

  __device__ __forceinline__ Partial start() const { return {T(0), -1}; }
  __device__ __forceinline__ Partial identity() const { return start(); }

  // Positions rise within an accumulator, so that an equal element never replaces one before it.
  __device__ __forceinline__ void add(Accumulator& best, T x, int64_t position) const {
    const bool is_first_nan = x != x && best.value == best.value;
    if (best.position < 0 || is_first_nan || beats(x, best.value)) best = {x, position};
  }
  __device__ __forceinline__ Partial close(const Accumulator& best) const { return best; }

  // The better one; the earlier one of equals and of NaNs, whichever comes first.
  __device__ __forceinline__ Partial merge(const Partial& a, const Partial& b) const {
    if (a.position < 0) return b;
    if (b.position < 0) return a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool ties = a.value == b.value || (a_nan && b_nan);
    if (ties) return b.position < a.position ? b : a;
    return b_nan || (!a_nan && beats(b.value, a.value)) ? b : a;
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
