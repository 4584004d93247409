// What attention's two kernels for Hopper share.
#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/tile_copy.cuh"
#include "kernels/cuda/warpgroup.h"

namespace dt::cuda {

// A block: groups that have 64 rows each, and one more, of which single threads have things copied.
// Registers are those of a thread; a multiprocessor has 65,536.
template <int kGroupCount>
struct Groups {
  static constexpr int kGroups = kGroupCount, kRows = kGroups * kGroupRows;
  static constexpr int kConsumers = kGroups * kGroupThreads,  // threads
      kThreads = kConsumers + kGroupThreads;
  static constexpr int kWarps = kConsumers / kWarp;  // of consumers
  static_assert(kGroups == 2 || kGroups == 3, "there are numbers for these");
  static constexpr int kRegisters = kGroups == 2 ? 240 : 160,
                       kRegistersToCopy = kGroups == 2 ? 24 : 32;
};

// Of shared memory: tiles, and what lies before the first whole kAtomBytes.
template <class Tiles>
constexpr int64_t shared_bytes() {
  constexpr int64_t kBytes = int64_t{sizeof(Tiles)} + kAtomBytes;
  static_assert(kBytes <= 227 * 1024, "a block may have no more");
  return kBytes;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// The offset is added to the array, since what is made of a number may be in any memory: the
// compiler would take generic instructions.
template <class Tiles>
__device__ __forceinline__ Tiles& block_tiles() {
  extern __shared__ unsigned char memory[];
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(memory));
  return *reinterpret_cast<Tiles*>(memory + (-at & (kAtomBytes - 1)));
}

// 2^x, where what is not a normal number is 0.
__device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Says for a warp that it has read a place.
__device__ __forceinline__ void free_place(Barrier& barrier) {
  __syncwarp();
  if (threadIdx.x % kWarp == 0) barrier.arrive();
}

// Waits until all consumers of a block have come here.
template <class Block>
__device__ __forceinline__ void wait_for_consumers() {
  constexpr int kBarrier = 1;  // 0 is that of all its threads
  asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(Block::kConsumers) : "memory");
}

// Blocks that do something one after the other, and count those that have done it: each waits for
// all before it. What they wrote is acquired once, by a last load: each time would empty the cache
// of the multiprocessor, and a fence would wait for all that the thread has sent.
__device__ __forceinline__ void wait_for_blocks(const int* done, int before) {
  int count;
  do {
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(count) : "l"(done) : "memory");
  } while (count != before);
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(count) : "l"(done) : "memory");
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
__device__ __forceinline__ void count_block(int* done, int before) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(done), "r"(before + 1) : "memory");
}

// Sums as the left operand of products, with zeros in the place of what is not kept, see
// attention_dropout.cuh.
template <class T, bool kKeepsAll, int kTiles>
__device__ __forceinline__ void pack(uint32_t (&pairs)[kTiles / 2][4],
                                     const float (&sums)[kTiles][4], uint32_t kept = ~0u) {
  using Products = PieceProducts<T, 1>;
#pragma unroll
  for (int j = 0; j < kTiles; j += 2) {
    float both[2][4];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      both[i / 4][i % 4] =
          kKeepsAll || (kept >> (4 * j + i) & 1) != 0 ? sums[j + i / 4][i % 4] : 0.0f;
    typename Products::A a;
    Products::from_sums(a, both, 0);
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[j / 2][i] = a.pair[0][i];
  }
}

// Makes a warp's products ready for exp2: says what they are still to be multiplied by. Where all
// of them are seen and nothing is added, that is the scale; else they are made scores here, see
// score(), and it is 1.
template <bool kOfKeys, bool kMayHaveMask, int kTiles>
__device__ __forceinline__ float prepare_scores(float (&products)[kTiles][4],
                                                const Scoring& scoring, int b, int h, int query,
                                                int key) {
  const int queries = kOfKeys ? 8 * kTiles : 16, keys = kOfKeys ? 16 : 8 * kTiles;
  const float unit = scoring.scale * kLog2E;
  if (query + queries <= scoring.queries && scoring.is_plain(query, key, key + keys) && unit > 0)
    return unit;
  if constexpr (kMayHaveMask) {
    score<kOfKeys, true>(products, scoring, b, h, query, key);
  } else {
    hide_scores<kOfKeys>(products, scoring, query, key, unit);
  }
  return 1.0f;
}

#endif

// With fewer, most rows of a block would be idle.
constexpr int kFewestQueries = 2 * kGroupRows;

// Calls f(type, features, whether there is neither a mask nor dropout) where these kernels can do
// it.
template <class Call, class F>
int32_t with_warpgroups(const dt_stream* stream, const Call& call, const F& f) {
  const dt_view &q = call.query, &k = call.key;
  if (!has_warpgroups(stream->device) || bytes_of(q.dtype) != 2 || q.sizes[2] < kFewestQueries ||
      !has_map(q) || !has_map(k) || !has_map(call.value))
    return DT_KERNEL_UNSUPPORTED;
  const auto with_plain = [&](auto type, auto length) {
    if (call.mask == nullptr && call.state == nullptr) return f(type, length, std::true_type());
    return f(type, length, std::false_type());
  };
  const auto with_features = [&](auto type) {
    if (std::max(q.sizes[3], call.value.sizes[3]) <= 64)
      return with_plain(type, std::integral_constant<int, 64>());
    return with_plain(type, std::integral_constant<int, 128>());
  };
  return q.dtype == dtype_of<BFloat16> ? with_features(Type<BFloat16>())
                                       : with_features(Type<Float16>());
}

}  // namespace dt::cuda
