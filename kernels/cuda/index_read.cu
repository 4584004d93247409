// Reading through indices: elements are moved as bits, so only their size matters.
#include "kernels/cuda/index_move.h"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kPerThread = 4;  // elements whose addresses and values are under way at once

template <class T, int kSelectors, class Index>
__global__ void __launch_bounds__(kBlock)
    read_elements(T* plain, const T* indexed, IndexPlan plan, Complaint complaint, Index count) {
  begin_kernel();
  const Index first = static_cast<Index>(blockIdx.x) * (kBlock * kPerThread) + threadIdx.x;
  int64_t to[kPerThread], from[kPerThread];
  T value[kPerThread];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const Index position = first + static_cast<Index>(i * kBlock);
    if (position < count) plan.at<kSelectors>(position, complaint, &to[i], &from[i]);
  }
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    if (first + static_cast<Index>(i * kBlock) < count) value[i] = indexed[from[i]];
  }
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    if (first + static_cast<Index>(i * kBlock) < count) plain[to[i]] = value[i];
  }
}

// Only complains: there is nothing to choose from.
__global__ void complain(const int64_t* index, Complaint complaint) {
  begin_kernel();
  complaint.accepts(*index, 0);
}

template <class T>
int32_t read(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan, void* plain,
             const void* indexed) {
  const Complaint complaint(stream, call);
  return visit_plan(plan, [&](auto selectors, auto index) {
    using Index = decltype(index);
    const int64_t count = plan.count();
    return launch(stream, read_elements<T, decltype(selectors)::value, Index>,
                  static_cast<unsigned>(divide_up(count, kBlock * kPerThread)), kBlock, 0,
                  static_cast<T*>(plain), static_cast<const T*>(indexed), plan, complaint,
                  static_cast<Index>(count));
  });
}

}  // namespace

int32_t complain_of_nothing(const dt_stream* stream, const calls::Call& call,
                            const IndexPlan& plan) {
  for (int k = 0; k < plan.selectors; ++k) {
    if (plan.selector[k].size == 0)
      return launch(stream, complain, 1, 1, 0, plan.selector[k].data, Complaint(stream, call));
  }
  return DT_KERNEL_OK;
}

int32_t read_indexed(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan,
                     const dt_view& plain, const dt_view& indexed) {
  if (plan.count() == 0) return DT_KERNEL_OK;
  if (chooses_from_nothing(plan)) return complain_of_nothing(stream, call, plan);
  IndexPlan wide = plan;
  const bool is_wide = is_aligned(plain.data, kPacketBytes) &&
                       is_aligned(indexed.data, kPacketBytes) &&
                       widen(&wide, kPacketBytes / bytes_of(plain.dtype));
  if (is_wide) return read<Packet<uint32_t, 4>>(stream, call, wide, plain.data, indexed.data);
  return visit_width(plain.dtype, [&](auto type) {
    return read<typename decltype(type)::type>(stream, call, plan, plain.data, indexed.data);
  });
}

}  // namespace dt::cuda
