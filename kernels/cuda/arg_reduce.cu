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
  const int32_t dtype = call.x.dtype;
  if (numel(call.x) == 0) return DT_KERNEL_OK;
  switch (call.compute) {
    case DT_FLOAT32:
      return reduce_from<float>(stream, on, ArgOp<float, kLargest>(), dtype == DT_FLOAT32, bytes);
    case DT_FLOAT64:
      return reduce_from<double>(stream, on, ArgOp<double, kLargest>(), dtype == DT_FLOAT64, bytes);
    default:  // narrow integers are compared wide
      return reduce_from<int64_t>(stream, on, ArgOp<int64_t, kLargest>(), dtype == DT_INT64, bytes);
  }
}

}  // namespace

DT_PLANNED_KERNEL(max_dim, ReductionAlong, arg_reduce<true>)
DT_PLANNED_KERNEL(min_dim, ReductionAlong, arg_reduce<false>)

}  // namespace dt::cuda
