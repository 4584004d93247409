// Writing through indices, every element by itself: where no two have the same place, or where it
// does not matter which comes first.
#pragma once

#include "kernels/cuda/sorted_writes.cuh"

namespace dt::cuda {

constexpr int kDirectThreads = 256;

struct Assign {
  template <class T>
  __device__ __forceinline__ void apply(T* y, T value) const {
    *y = value;
  }
};

template <class Op>
struct AddTo {
  Op op;
  template <class T>
  __device__ __forceinline__ void apply(T* y, T value) const {
    *y = Op::add(*y, op.weigh(value));
  }
};

// Sums in any order.
template <class Op>
struct AddAtomically {
  Op op;
  template <class T>
  __device__ __forceinline__ void apply(T* y, T value) const {
    atomicAdd(y, op.weigh(value));
  }
};

template <class T, class Op, int kSelectors, class Index>
__global__ void __launch_bounds__(kDirectThreads)
    write_elements(T* y, Values<T> values, IndexPlan plan, Complaint complaint, Op op,
                   Index count) {
  begin_kernel();
  const Index position = static_cast<Index>(blockIdx.x) * kDirectThreads + threadIdx.x;
  if (position >= count) return;
  int64_t from, to;
  if (!plan.at<kSelectors>(position, complaint, &from, &to)) return;
  op.apply(y + to, values.template load<1>(from).value[0]);
}

template <class T, class Op>
int32_t write_directly(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan,
                       T* y, const Values<T>& values, const Op& op) {
  const Complaint complaint(stream, call);
  return visit_plan(plan, [&](auto selectors, auto index) {
    using Index = decltype(index);
    const int64_t count = plan.count();
    return launch(stream, write_elements<T, Op, decltype(selectors)::value, Index>,
                  static_cast<unsigned>(divide_up(count, kDirectThreads)), kDirectThreads, 0, y,
                  values, plan, complaint, op, static_cast<Index>(count));
  });
}

}  // namespace dt::cuda
