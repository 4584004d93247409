// Nothing is used twice here, so all that counts is how many bytes are on their way: a team of
// lanes has a row of keys or values, a packet each, and a block's teams share the keys of a head.
// Teams keep the largest score so far and sums relative to it (arXiv 1805.02867), which are merged
// in a fixed order: over a warp, a block, and, where a head's keys are many and heads are few, over
// several blocks (arXiv 2311.01282). Of keys that a mask hides only the mask is read.
#include "kernels/cuda/attention_single.h"

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_shares.cuh"
#include "kernels/cuda/rows.cuh"

namespace dt::cuda {
namespace {

constexpr int kMostThreads = 512, kMostWarps = kMostThreads / kWarp;
constexpr int kAtOnce = 4;  // keys whose rows a team has on their way
constexpr int kMostFeatures = kMostSingleFeatures;

// Merges all shares for the feature of this thread and writes what they come to.
template <class T>
__device__ __forceinline__ void finish(const Shares& shares, const HeadMatrices<T>& y, float* lse,
                                       int b, int h) {
  const int feature = static_cast<int>(threadIdx.x);
  if (feature >= shares.features) return;
  Share all;
  const float sum = merge_shares(shares, feature, &all);
  *(y.at(b, h, 0) + feature) = T(all.total == 0 ? 0.0f : sum / all.total);
  if (lse != nullptr && feature == 0)
    *lse = all.total == 0 ? INFINITY : all.top / kLog2E + logf(all.total);
}

// What has been loaded is kept as it came until it is used.
template <class T>
__device__ __forceinline__ uint4 load_whole(const T* p) {
  return *reinterpret_cast<const uint4*>(p);
}
template <class T>
__device__ __forceinline__ Packet<T, kPacketWidth<T>> elements_of(const uint4& loaded) {
  Packet<T, kPacketWidth<T>> packet;
  memcpy(&packet, &loaded, sizeof packet);
  return packet;
}

// What a lane's packets add: products with the query over the team, then sums of values.
template <class T, int kLanes>
struct TeamShare {
  static constexpr int kWidth = kPacketWidth<T>;
  Share share;
  float sums[kWidth] = {};

  __device__ __forceinline__ void add(const float (&scores)[kAtOnce],
                                      const uint4 (&values)[kAtOnce]) {
    float most = share.top;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) most = fmaxf(most, scores[i]);
    float mine, other;
    share.merge(most, 0, &mine, &other);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sums[v] *= mine;
    const float shift = most == -INFINITY ? 0.0f : most;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = exp2f(scores[i] - shift);
      share.total += weight;
      const auto value = elements_of<T>(values[i]);
#pragma unroll
      for (int v = 0; v < kWidth; ++v) sums[v] += weight * static_cast<float>(value.value[v]);
    }
  }

  // Those of the warp's teams become one.
  __device__ __forceinline__ void merge_teams() {
#pragma unroll
    for (int step = kLanes; step < kWarp; step *= 2) {
      const float top = __shfl_xor_sync(~0u, share.top, step),
                  total = __shfl_xor_sync(~0u, share.total, step);
      float mine, other;
      share.merge(top, total, &mine, &other);
#pragma unroll
      for (int v = 0; v < kWidth; ++v)
        sums[v] = sums[v] * mine + __shfl_xor_sync(~0u, sums[v], step) * other;
    }
  }
};

template <int kLanes, class T>
__device__ __forceinline__ float team_product(const Packet<float, kPacketWidth<T>>& query,
                                              const uint4& loaded) {
  const auto key = elements_of<T>(loaded);
  float product = 0;
#pragma unroll
  for (int v = 0; v < kPacketWidth<T>; ++v)
    product += query.value[v] * static_cast<float>(key.value[v]);
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) product += __shfl_xor_sync(~0u, product, step);
  return product;
}

// What the blocks of a head divide among them.
struct Division {
  int blocks, keys;  // of a head; of a block, at most
};

// `partial` has room for the shares of all blocks; null if a head has one block.
template <class T, int kLanes>
__global__ void __launch_bounds__(kMostThreads)
    attention_of_one(HeadMatrices<T> y, float* lse, HeadMatrices<const T> query,
                     HeadMatrices<const T> key, HeadMatrices<const T> value, Scoring scoring,
                     int group, Division division, float* partial) {
  constexpr int kWidth = kPacketWidth<T>;
  __shared__ float shared[kMostWarps * (kMostFeatures + 2)];
  const int h = blockIdx.y, b = blockIdx.z, head = b * static_cast<int>(gridDim.y) + h;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, column = lane * kWidth;
  const int team = static_cast<int>(threadIdx.x) / kLanes,
            teams = static_cast<int>(blockDim.x) / kLanes;
  const int first = static_cast<int>(blockIdx.x) * division.keys;
  const int end = min(first + division.keys, scoring.last_key(1));
  begin_kernel();
  Packet<float, kWidth> q = filled_packet<kWidth>(0.0f);
  if (column < query.features) q = load_widened<kWidth>(query.at(b, h, 0) + column);
  TeamShare<T, kLanes> mine;
  for (int k = first; k < end; k += kAtOnce * teams) {
    uint4 keys[kAtOnce] = {}, values[kAtOnce] = {};
    bool sees[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = k + i * teams + team;
      sees[i] = at < end && !scoring.hides(b, h, 0, at);
      if (sees[i] && column < key.features) keys[i] = load_whole(key.at(b, h / group, at) + column);
      if (sees[i] && column < value.features)
        values[i] = load_whole(value.at(b, h / group, at) + column);
    }
    float scores[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float product = team_product<kLanes, T>(q, keys[i]);
      scores[i] = sees[i] ? scoring.of_seen(product, b, h, 0, k + i * teams + team) : -INFINITY;
    }
    mine.add(scores, values);
  }
  mine.merge_teams();
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const Shares of_warps = {shared, warps, value.features};
  float* const to = of_warps.of(static_cast<int>(threadIdx.x) / kWarp);
  if (threadIdx.x % kWarp < kLanes && column < value.features) {
    if (lane == 0) to[0] = mine.share.top, to[1] = mine.share.total;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) to[2 + column + v] = mine.sums[v];
  }
  __syncthreads();
  float* const lse_here = lse ? lse + head : nullptr;
  if (partial == nullptr) return finish(of_warps, y, lse_here, b, h);
  // One share of the block's, for the kernel that merges those of all blocks.
  const Shares of_blocks = {partial, 0, value.features};
  float* const share = of_blocks.of(int64_t{head} * division.blocks + blockIdx.x);
  const int feature = static_cast<int>(threadIdx.x);
  if (feature >= value.features) return;
  Share all;
  share[2 + feature] = merge_shares(of_warps, feature, &all);
  if (feature == 0) share[0] = all.top, share[1] = all.total;
}

template <class T>
__global__ void merge_blocks(HeadMatrices<T> y, float* lse, float* partial, Division division) {
  const int h = blockIdx.y, b = blockIdx.z, head = b * static_cast<int>(gridDim.y) + h;
  begin_kernel();
  const Shares all = {partial + int64_t{head} * division.blocks * (y.features + 2), division.blocks,
                      y.features};
  finish(all, y, lse ? lse + head : nullptr, b, h);
}

// ---- launches

// How many blocks share the keys of a head.
int64_t blocks_of_head(const dt_stream* stream, int64_t keys, int64_t heads) {
  constexpr int64_t kLeast = 256;  // keys that are worth a block of their own
  const int64_t wanted = keys / kLeast, room = multiprocessors(stream->device) / heads;
  const int64_t blocks = wanted < room ? wanted : room;
  return blocks < 1 ? 1 : blocks;
}

Division divided(int64_t keys, int64_t blocks) {
  return {static_cast<int>(blocks), static_cast<int>(divide_up(keys, blocks))};
}

Division division_of(const dt_stream* stream, const calls::Attention& call) {
  const int64_t keys = call.key.sizes[2], heads = call.query.sizes[0] * call.query.sizes[1];
  return divided(keys, blocks_of_head(stream, keys, heads));
}

// So many that a team has work for one round at least, and fewer where there are many blocks.
template <int kLanes>
unsigned threads_for(const dt_stream* stream, int64_t blocks, int64_t keys) {
  int64_t threads = blocks > 2 * multiprocessors(stream->device) ? 256 : kMostThreads;
  while (threads > kMostFeatures && threads / kLanes >= 2 * keys) threads /= 2;
  return static_cast<unsigned>(threads);
}

template <class T, int kLanes>
int32_t run_single(const dt_stream* stream, const calls::Attention& call) {
  const dt_view& q = call.query;
  const Division division = division_of(stream, call);
  const dim3 heads(1, static_cast<unsigned>(q.sizes[1]), static_cast<unsigned>(q.sizes[0]));
  const dim3 grid(static_cast<unsigned>(division.blocks), heads.y, heads.z);
  float* const lse = call.lse ? static_cast<float*>(call.lse->data) : nullptr;
  float* const partial = division.blocks > 1 ? static_cast<float*>(call.workspace) : nullptr;
  const unsigned threads =
      threads_for<kLanes>(stream, int64_t{grid.x} * grid.y * grid.z, division.keys);
  const int32_t code = launch(stream, attention_of_one<T, kLanes>, grid, threads, 0,
                              HeadMatrices<T>(call.y), lse, HeadMatrices<const T>(q),
                              HeadMatrices<const T>(call.key), HeadMatrices<const T>(call.value),
                              Scoring(call.mask, call.scale, call.is_causal, q, call.key),
                              static_cast<int>(q.sizes[1] / call.key.sizes[1]), division, partial);
  if (code != DT_KERNEL_OK || partial == nullptr) return code;
  return launch(stream, merge_blocks<T>, heads, kMostFeatures, 0, HeadMatrices<T>(call.y), lse,
                partial, division);
}

template <class T>
bool has_whole_packets(const dt_view& v) {
  return HeadMatrices<const T>(v).has_packets;
}

}  // namespace

bool is_single_query(const calls::Attention& call) {
  if (call.query.sizes[2] != 1 || call.state != nullptr) return false;
  bool is_whole = false;
  visit_stored_floating(call.query.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    is_whole = has_whole_packets<T>(call.query) && has_whole_packets<T>(call.key) &&
               has_whole_packets<T>(call.value);
    return int32_t{DT_KERNEL_OK};
  });
  return is_whole;
}

int32_t attention_single(const dt_stream* stream, const calls::Attention& call) {
  return visit_stored_floating(call.query.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    constexpr int kLanes = 64 / kPacketWidth<T>;
    if constexpr (std::is_same_v<Widened<T>, float>) {
      if (call.query.sizes[3] <= 64 && call.value.sizes[3] <= 64)
        return run_single<T, kLanes>(stream, call);
      return run_single<T, 2 * kLanes>(stream, call);
    } else {
      return DT_KERNEL_UNSUPPORTED;
    }
  });
}

int single_query_parts(const dt_stream* stream, const dt_view& keys) {
  return static_cast<int>(blocks_of_head(stream, keys.sizes[2], keys.sizes[0] * keys.sizes[1]));
}

int32_t attend_in_parts(const dt_stream* stream, const SingleQuery& of, double scale, int parts,
                        float* shares) {
  const Division division = divided(of.key.sizes[2], parts);
  const dim3 grid(static_cast<unsigned>(parts), static_cast<unsigned>(of.query.sizes[1]),
                  static_cast<unsigned>(of.query.sizes[0]));
  return visit_stored_floating(of.query.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    if constexpr (std::is_same_v<Widened<T>, float>) {
      constexpr int kLanes = 64 / kPacketWidth<T>;
      const auto run = [&](auto kernel, unsigned threads) {
        return launch_chained(stream, kernel, grid, threads, 0, HeadMatrices<T>(of.query),
                              static_cast<float*>(nullptr), HeadMatrices<const T>(of.query),
                              HeadMatrices<const T>(of.key), HeadMatrices<const T>(of.value),
                              Scoring(&of.mask, scale, false, of.query, of.key), 1, division,
                              shares);
      };
      const int64_t blocks = int64_t{grid.x} * grid.y * grid.z;
      if (of.query.sizes[3] <= 64)
        return run(attention_of_one<T, kLanes>, threads_for<kLanes>(stream, blocks, division.keys));
      return run(attention_of_one<T, 2 * kLanes>,
                 threads_for<2 * kLanes>(stream, blocks, division.keys));
    } else {
      return DT_KERNEL_UNSUPPORTED;
    }
  });
}

int64_t attention_single_workspace(const dt_stream* stream, const calls::Attention& call) {
  const int64_t blocks = division_of(stream, call).blocks;
  if (blocks <= 1) return 0;
  const int64_t heads = call.query.sizes[0] * call.query.sizes[1];
  return heads * blocks * (call.value.sizes[3] + 2) * int64_t{sizeof(float)};
}

}  // namespace dt::cuda
