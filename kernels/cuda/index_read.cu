// Reading through indices: elements are moved as bits, so only their size matters.
#include <algorithm>

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

// ---- elements that are chosen one by one, side by side as gather takes them: a thread finds out
// once where some of them are, and moves their indices and results in packets

constexpr int kNeighbours = 4, kGroups = 2;  // of a thread

bool has_neighbours(const IndexPlan& plan, const dt_view& plain) {
  const int last = plan.ndim - 1;
  if (last < 0 || plan.selectors != 1) return false;
  const Selector& s = plan.selector[0];
  const int64_t bytes = std::min<int64_t>(kNeighbours * bytes_of(plain.dtype), kPacketBytes);
  bool fits = plan.plain[last] == 1 && s.strides[last] == 1 && is_aligned(plain.data, bytes) &&
              is_aligned(s.data, kPacketBytes) && plan.sizes[last] % kNeighbours == 0;
  for (int d = 0; d < last; ++d)
    fits &= plan.plain[d] % kNeighbours == 0 && s.strides[d] % kNeighbours == 0;
  return fits;
}

template <class T, class Index>
__global__ void __launch_bounds__(kBlock)
    read_neighbours(T* plain, const T* indexed, IndexPlan plan, Complaint complaint,
                    Index packets) {
  begin_kernel();
  const Index first = static_cast<Index>(blockIdx.x) * (kBlock * kGroups) + threadIdx.x;
  const int64_t step = plan.indexed[plan.ndim - 1];
  int64_t to[kGroups], from[kGroups];
  Packet<int64_t, kNeighbours> index[kGroups];
  Packet<T, kNeighbours> value[kGroups];
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    const Index packet = first + static_cast<Index>(i * kBlock);
    if (packet >= packets) continue;
    int64_t to_index[1];
    plan.find(packet * kNeighbours, &to[i], &from[i], to_index);
    index[i] = load_packet<kNeighbours>(plan.selector[0].data + to_index[0]);
  }
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    if (first + static_cast<Index>(i * kBlock) >= packets) continue;
#pragma unroll
    for (int v = 0; v < kNeighbours; ++v) {
      int64_t chosen = from[i] + v * step;
      plan.choose(0, index[i].value[v], complaint, &chosen);  // a wrong one reads element 0
      value[i].value[v] = indexed[chosen];
    }
  }
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    if (first + static_cast<Index>(i * kBlock) < packets) store_packet(plain + to[i], value[i]);
  }
}

template <class T>
int32_t read_packets(const dt_stream* stream, const Complaint& complaint, const IndexPlan& plan,
                     T* plain, const T* indexed) {
  const auto run = [&](auto index) {
    using Index = decltype(index);
    const int64_t packets = plan.count() / kNeighbours;
    return launch(stream, read_neighbours<T, Index>,
                  static_cast<unsigned>(divide_up(packets, kBlock * kGroups)), kBlock, 0, plain,
                  indexed, plan, complaint, static_cast<Index>(packets));
  };
  return plan.count() <= kMaxIndex32 ? run(uint32_t()) : run(uint64_t());
}

// Only complains: there is nothing to choose from.
__global__ void complain(const int64_t* index, Complaint complaint) {
  begin_kernel();
  complaint.accepts(*index, 0);
}

template <class T>
int32_t read(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan, void* plain,
             const void* indexed, bool in_packets) {
  const Complaint complaint(stream, call);
  if constexpr (sizeof(T) < kPacketBytes) {
    if (in_packets) {
      return read_packets(stream, complaint, plan, static_cast<T*>(plain),
                          static_cast<const T*>(indexed));
    }
  }
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
  if (is_wide)
    return read<Packet<uint32_t, 4>>(stream, call, wide, plain.data, indexed.data, false);
  return visit_width(plain.dtype, [&](auto type) {
    return read<typename decltype(type)::type>(stream, call, plan, plain.data, indexed.data,
                                               has_neighbours(plan, plain));
  });
}

}  // namespace dt::cuda
