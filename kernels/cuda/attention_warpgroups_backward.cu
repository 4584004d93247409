// Gradients of attention by instructions of Hopper. A block has 128 keys, 64 for each of two
// warpgroups, and meets one tile of queries after the other; one thread lets the copy engine bring
// them. Each score is made once. In the words of arXiv 2205.14135, with keys as rows: `scores` are
// S^T and then P^T, `slopes` dP^T and then dS^T, of which `weights` and `weight_slopes` are the
// rounded ones; `value_sums` and `key_sums` are dV and dK, which stay in registers, and
// `query_sums` is what the block has for the tile's dQ. That is added in memory.
//
// Blocks add to a tile one after the other, each in its turn, so that the result is the same every
// time: in a triangle beginning with the block that meets this tile first, and all blocks go on
// together; else in the order of their keys, and each block follows a tile behind the one before. A
// block waits only for such with smaller numbers, which devices are seen to place first.
#include "kernels/cuda/attention_backward.cuh"
#include "kernels/cuda/attention_warpgroups.cuh"
#include "kernels/cuda/attention_warpgroups.h"

namespace dt::cuda {
namespace {

using Block = Groups<2>;
constexpr int kStages = 2;

// Queries of a tile: as many as registers have room for.
template <int kLength, bool kPlain>
constexpr int kQueriesOf = kLength == 64 && kPlain ? 128 : 64;
// Places of sums that wait to be added: there is memory for one of large tiles.
template <int kQueries>
constexpr int kSumsOf = kQueries == 64 ? 2 : 1;

// What a group has of a tile's sums of queries: its half of the rows, or of the columns where there
// are no more rows than one product makes.
template <int kLength, int kQueries>
struct Share {
  static constexpr bool kOfRows = kQueries == Block::kRows;
  static constexpr int kColumns = kOfRows ? kLength : kLength / Block::kGroups;
  static __device__ int row(int group) { return kOfRows ? group * kGroupRows : 0; }
  static __device__ int column(int group) { return kOfRows ? 0 : group * kColumns; }
  // Where a thread has its four numbers of 8 columns, so that a warp's are one behind the other.
  static __device__ int packet(int group, int j) {
    return ((group * (kColumns / 8) + j) * kGroupThreads +
            static_cast<int>(threadIdx.x) % kGroupThreads) *
           4;
  }
};

// Sums of tiles of queries, in the order in which threads have them, see Share.
struct QuerySums {
  float* data;
  int64_t bytes;  // of the workspace up to here

  QuerySums(void* workspace, const RowStatistics& statistics, const dt_view& query, int length) {
    Scratch scratch(workspace);
    scratch.take<char>(statistics.bytes);
    data = scratch.take<float>(query.sizes[0] * query.sizes[1] * statistics.rows * length);
    bytes = scratch.used();
  }
};

// For which gradients a kernel makes products. Those of keys and of values go together: few calls
// want one alone. This is no condition at run time: the compiler would not keep products under way
// together.
enum class Wanted { kAll, kQuery, kKeyAndValue };
template <Wanted kWanted>
constexpr bool kWantsQuery = kWanted != Wanted::kKeyAndValue;
template <Wanted kWanted>
constexpr bool kWantsKeys = kWanted != Wanted::kQuery;

// Calls f(Wanted).
template <class F>
int32_t with_wanted(const calls::AttentionBackward& call, const F& f) {
  if (call.gquery == nullptr) return f(std::integral_constant<Wanted, Wanted::kKeyAndValue>());
  if (call.gkey == nullptr && call.gvalue == nullptr)
    return f(std::integral_constant<Wanted, Wanted::kQuery>());
  return f(std::integral_constant<Wanted, Wanted::kAll>());
}

// How blocks are dealt out: some heads at a time, whose operands stay in the cache meanwhile, but
// as many as have a tile of queries for each multiprocessor: blocks beyond these would wait for
// turns.
struct BlockOrder {
  int per_head, heads, all_heads, together;  // heads of keys

  BlockOrder(const dt_view& query, const dt_view& key, int length, int queries, int processors)
      : per_head(static_cast<int>(divide_up(key.sizes[2], Block::kRows))),
        heads(static_cast<int>(key.sizes[1])),
        all_heads(static_cast<int>(key.sizes[0] * key.sizes[1])) {
    constexpr int64_t kCached = int64_t{32} << 20;
    const int64_t group = query.sizes[1] / key.sizes[1];
    // Two bytes for each operand of theirs, and four for the queries' sums.
    const int64_t bytes = (query.sizes[2] * group * 8 + key.sizes[2] * 4) * length;
    const int64_t tiles = group * divide_up(query.sizes[2], queries);
    const int64_t heads_of_tiles = divide_up(processors, tiles);
    together =
        static_cast<int>(std::min<int64_t>(all_heads, std::max(kCached / bytes, heads_of_tiles)));
  }
  int blocks() const { return per_head * all_heads; }
};

template <class T>
struct BackwardOperands {
  Gradients<T> to;
  RowStatistics statistics;
  float* query_sums;
  Scoring scoring;
  WeightDropout dropout;
  int heads, group;
  BlockOrder order;
};

struct BackwardMaps {
  CUtensorMap query, g, key, value;
};

template <class T, int kLength, int kQueries>
struct BackwardTiles {
  alignas(kAtomBytes) T key[Block::kRows * kLength];
  alignas(kAtomBytes) T value[Block::kRows * kLength];
  alignas(kAtomBytes) T query[kStages][kQueries * kLength];
  alignas(kAtomBytes) T g[kStages][kQueries * kLength];
  alignas(kAtomBytes) T slopes[kStages][kQueries / kPanel][Block::kRows * kPanel];
  alignas(128) float sums[kSumsOf<kQueries>][kQueries * kLength];  // of queries
  alignas(128) float lse[kStages][kQueries], delta[kStages][kQueries];
  Barrier keys_came, came[kStages], free[kStages], summed[kSumsOf<kQueries>],
      added[kSumsOf<kQueries>];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// What a block does: keys of a head, and the tiles of queries that they meet, for each of the
// queries' heads that share it.
struct Work {
  int b, shared_head, block, first;  // of keys
  int first_tile, tiles;

  // How many blocks add to a tile before this one.
  template <int kQueries>
  __device__ __forceinline__ int blocks_before(const Scoring& scoring, int query) const {
    if (!scoring.is_causal) return block;
    return (scoring.last_key(query + kQueries) - 1) / Block::kRows - block;
  }
};

template <int kQueries, class T>
__device__ __forceinline__ Work work_of_block(const BackwardOperands<T>& in) {
  const BlockOrder& order = in.order;
  const int index = static_cast<int>(blockIdx.x), most = order.together * order.per_head;
  const int first_head = index / most * order.together;
  const int together = min(order.together, order.all_heads - first_head), inside = index % most;
  const int head = first_head + inside % together, rank = inside / together;
  const int block = in.scoring.is_causal ? order.per_head - 1 - rank : rank;
  const int first = block * Block::kRows;
  return {head / order.heads,
          head % order.heads,
          block,
          first,
          in.scoring.is_causal ? first / kQueries : 0,
          (in.scoring.queries + kQueries - 1) / kQueries};
}

// Calls f(head, first query) for each tile, in the order in which all of a block's threads meet
// them.
template <int kQueries, class T, class F>
__device__ __forceinline__ void for_each_tile(const BackwardOperands<T>& in, const Work& work,
                                              const F& f) {
  for (int h = work.shared_head * in.group; h < (work.shared_head + 1) * in.group; ++h) {
#pragma unroll 1
    for (int tile = work.first_tile; tile < work.tiles; ++tile) f(h, tile * kQueries);
  }
}

// The thread that has things copied.
template <class T, int kLength, int kQueries>
__device__ __forceinline__ void bring(BackwardTiles<T, kLength, kQueries>& tiles,
                                      const BackwardMaps& maps, const BackwardOperands<T>& in,
                                      const Work& work) {
  if (work.first_tile >= work.tiles) {  // no query sees these keys
    tiles.keys_came.arrive();
    return;
  }
  tiles.keys_came.expect(sizeof tiles.key + sizeof tiles.value);
  copy_tile<Block::kRows, kLength>(tiles.key, maps.key, work.b, work.shared_head, work.first,
                                   tiles.keys_came);
  copy_tile<Block::kRows, kLength>(tiles.value, maps.value, work.b, work.shared_head, work.first,
                                   tiles.keys_came);
  Turn<kStages> turn;
  for_each_tile<kQueries>(in, work, [&](int h, int query) {
    const int place = turn.place;
    Barrier& came = tiles.came[place];
    tiles.free[place].wait(turn.phase ^ 1);
    came.expect(sizeof tiles.query[0] + sizeof tiles.g[0] + 2 * sizeof tiles.lse[0]);
    copy_tile<kQueries, kLength>(tiles.query[place], maps.query, work.b, h, query, came);
    copy_tile<kQueries, kLength>(tiles.g[place], maps.g, work.b, h, query, came);
    const int64_t at = in.statistics.at(work.b, h, in.heads) + query;
    copy_numbers(tiles.lse[place], in.statistics.lse + at, kQueries, came);
    copy_numbers(tiles.delta[place], in.statistics.delta + at, kQueries, came);
    turn.advance();
  });
}

// The threads that have sums of queries added, each those of its own place.
template <class T, int kLength, int kQueries>
__device__ __forceinline__ void add_sums(BackwardTiles<T, kLength, kQueries>& tiles,
                                         const BackwardOperands<T>& in, const Work& work,
                                         int place) {
  constexpr int kCount = kQueries * kLength;
  Turn<kSumsOf<kQueries>> turn;
  for_each_tile<kQueries>(in, work, [&](int h, int query) {
    const bool is_own = turn.place == place;
    const uint32_t phase = turn.phase;
    turn.advance();
    if (!is_own) return;
    const int64_t at = in.statistics.at(work.b, h, in.heads) + query;
    int* const done = in.statistics.blocks_added + at / RowStatistics::kTile;  // of its first 64
    float* const to = in.query_sums + at * kLength;
    tiles.summed[place].wait(phase);
    const int before = work.blocks_before<kQueries>(in.scoring, query);
    wait_for_blocks(done, before);
    if (before == 0)
      write_numbers(to, tiles.sums[place], kCount);
    else
      add_numbers(to, tiles.sums[place], kCount);
    close_writes();
    wait_until_read();
    tiles.added[place].arrive();
    wait_until_written();
    count_block(done, before);
  });
}

// P = exp2(S * unit - lse), since scores are in units of log2(e), and dS = P * (dP - delta). Rows
// are keys.
template <bool kPlain, int kTiles>
__device__ __forceinline__ void make_slopes(float (&scores)[kTiles][4], float (&slopes)[kTiles][4],
                                            float unit, const float* lse, const float* delta,
                                            uint32_t kept, float factor) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    const int query = 8 * j + lane_pair();
    const float2 two_lse = *reinterpret_cast<const float2*>(lse + query),
                 two_delta = *reinterpret_cast<const float2*>(delta + query);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scores[j][i] = exp2_of(fmaf(scores[j][i], unit, i % 2 == 0 ? -two_lse.x : -two_lse.y));
      if constexpr (!kPlain)
        slopes[j][i] = (kept >> (4 * j + i) & 1) != 0 ? slopes[j][i] * factor : 0.0f;
      slopes[j][i] = scores[j][i] * (slopes[j][i] - (i % 2 == 0 ? two_delta.x : two_delta.y));
    }
  }
}

// Hands a thread's sums of a tile's queries to who has them added.
template <class T, int kLength, int kQueries, int kTiles>
__device__ __forceinline__ void hand_over(BackwardTiles<T, kLength, kQueries>& tiles, int place,
                                          int group, const float (&sums)[kTiles][4]) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    float* const to = tiles.sums[place] + Share<kLength, kQueries>::packet(group, j);
    *reinterpret_cast<float4*>(to) = {sums[j][0], sums[j][1], sums[j][2], sums[j][3]};
  }
  publish_tiles();
  free_place(tiles.summed[place]);
}

// A group's 64 keys.
template <Wanted kWanted, bool kPlain, class T, int kLength, int kQueries>
__device__ __forceinline__ void gradients_of_keys(BackwardTiles<T, kLength, kQueries>& tiles,
                                                  const BackwardOperands<T>& in, const Work& work) {
  using Products = WarpgroupProducts<T>;
  using Own = Share<kLength, kQueries>;
  constexpr int kTiles = kQueries / 8, kSteps = kQueries / kProductDepth;
  const int group = threadIdx.x / kGroupThreads, group_row = group * kGroupRows;
  const int warp_row = threadIdx.x / kWarp * kWarpRows, key = work.first + warp_row;
  const T* const own_key = tiles.key + group_row * kPanel;
  const T* const own_value = tiles.value + group_row * kPanel;
  const T* const key_columns = tiles.key + Own::column(group) / kPanel * (Block::kRows * kPanel) +
                               Own::column(group) % kPanel;
  float key_sums[kLength / 8][4], value_sums[kLength / 8][4];
  clear(key_sums);
  clear(value_sums);
  tiles.keys_came.wait(0);
  Turn<kStages> turn;
  Turn<kSumsOf<kQueries>> of_sums;
  for_each_tile<kQueries>(in, work, [&](int h, int query) {
    const T *const queries = tiles.query[turn.place], *const g = tiles.g[turn.place];
    float scores[kTiles][4], slopes[kTiles][4], query_sums[Own::kColumns / 8][4];
    uint32_t weights[kSteps][4], weight_slopes[kSteps][4];
    tiles.came[turn.place].wait(turn.phase);
    begin_products();
    Products::template multiply_rows<kLength, Block::kRows, kQueries>(scores, own_key, queries);
    close_products();
    Products::template multiply_rows<kLength, Block::kRows, kQueries>(slopes, own_value, g);
    close_products();
    uint32_t kept = ~0u;
    if constexpr (!kPlain) {
      if (in.dropout.drops()) kept = in.dropout.template kept<true, kTiles>(work.b, h, query, key);
    }
    wait_products<1>();
    hold(scores);
    const float unit = prepare_scores<true, !kPlain>(scores, in.scoring, work.b, h, query, key);
    wait_products<0>();
    hold(slopes);
    make_slopes<kPlain>(scores, slopes, unit, tiles.lse[turn.place], tiles.delta[turn.place], kept,
                        in.dropout.factor());
    pack<T, true>(weight_slopes, slopes);
    pack<T, kPlain>(weights, scores, kept);
    if constexpr (kWantsQuery<kWanted>) {
      store_rows<Block::kRows>(tiles.slopes[turn.place][0], warp_row, weight_slopes);
      publish_tiles();
    }
    begin_products();
    if constexpr (kWantsKeys<kWanted>)
      Products::template multiply_sums<kQueries>(value_sums, weights, g);
    if constexpr (kWantsQuery<kWanted>) {
      wait_for_consumers<Block>();  // all slopes are there
      Products::template multiply_columns<Block::kRows>(
          query_sums, tiles.slopes[turn.place][Own::row(group) / kPanel], key_columns);
    }
    close_products();
    if constexpr (kWantsKeys<kWanted>)
      Products::template multiply_sums<kQueries>(key_sums, weight_slopes, queries);
    close_products();
    if constexpr (kWantsQuery<kWanted>) tiles.added[of_sums.place].wait(of_sums.phase ^ 1);
    wait_products<1>();
    if constexpr (kWantsKeys<kWanted>) {
      hold(value_sums);
      hold(weights);
    }
    if constexpr (kWantsQuery<kWanted>) {
      hold(query_sums);
      hand_over(tiles, of_sums.place, group, query_sums);
    }
    wait_products<0>();
    if constexpr (kWantsKeys<kWanted>) {
      hold(key_sums);
      hold(weight_slopes);
    }
    free_place(tiles.free[turn.place]);
    turn.advance();
    of_sums.advance();
  });
  if constexpr (!kWantsKeys<kWanted>) return;
  const float scales[2] = {in.scoring.scale, in.scoring.scale};
  const float factors[2] = {in.dropout.factor(), in.dropout.factor()};
  if (in.to.key.data)
    store_sums<kLength>(in.to.key, work.b, work.shared_head, key, key_sums, scales);
  if (in.to.value.data)
    store_sums<kLength>(in.to.value, work.b, work.shared_head, key, value_sums, factors);
}

#endif

template <Wanted kWanted, class T, int kLength, bool kPlain>
__global__ void __launch_bounds__(Block::kThreads, 1)
    differentiate_by_warpgroups(BackwardOperands<T> in, const __grid_constant__ BackwardMaps maps) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int kQueries = kQueriesOf<kLength, kPlain>;
  auto& tiles = block_tiles<BackwardTiles<T, kLength, kQueries>>();
  if (threadIdx.x == 0) {
    tiles.keys_came.open(1);
    for (int i = 0; i < kStages; ++i) tiles.came[i].open(1), tiles.free[i].open(Block::kWarps);
    for (int i = 0; i < kSumsOf<kQueries>; ++i)
      tiles.summed[i].open(Block::kWarps), tiles.added[i].open(1);
    publish_barriers();
  }
  __syncthreads();
  begin_kernel();
  const Work work = work_of_block<kQueries>(in);
  if (threadIdx.x >= Block::kConsumers) {
    give_registers_but<Block::kRegistersToCopy>();
    const int warp = (threadIdx.x - Block::kConsumers) / kWarp;
    if (threadIdx.x % kWarp != 0) return;
    if (warp == 0)
      bring(tiles, maps, in, work);
    else if (kWantsQuery<kWanted> && warp <= kSumsOf<kQueries>)
      add_sums(tiles, in, work, warp - 1);
  } else {
    take_registers_up_to<Block::kRegisters>();
    gradients_of_keys<kWanted, kPlain>(tiles, in, work);
  }
#endif
}

// Rounds queries' sums, when all blocks have added theirs. A block has a tile.
template <class T, int kLength, int kQueries>
__global__ void __launch_bounds__(Block::kConsumers)
    round_query_gradient(HeadMatrices<T> to, RowStatistics statistics, const float* sums,
                         float scale) {
  using Own = Share<kLength, kQueries>;
  const int query = blockIdx.x * kQueries, h = blockIdx.y, b = blockIdx.z, heads = gridDim.y;
  const int group = threadIdx.x / kGroupThreads,
            warp_row = threadIdx.x % kGroupThreads / kWarp * kWarpRows;
  begin_kernel();
  const float* const from = sums + (statistics.at(b, h, heads) + query) * kLength;
  float own[Own::kColumns / 8][4];
#pragma unroll
  for (int j = 0; j < Own::kColumns / 8; ++j) {
    const float4 x = *reinterpret_cast<const float4*>(from + Own::packet(group, j));
    own[j][0] = x.x, own[j][1] = x.y, own[j][2] = x.z, own[j][3] = x.w;
  }
  to.data += Own::column(group);
  to.features -= Own::column(group);
  const float scales[2] = {scale, scale};
  store_sums<Own::kColumns>(to, b, h, query + Own::row(group) + warp_row, own, scales);
}

template <Wanted kWanted, class T, int kLength, bool kPlain>
int32_t run(const dt_stream* stream, const calls::AttentionBackward& call) {
  constexpr int kQueries = kQueriesOf<kLength, kPlain>;
  constexpr int64_t kBytes = shared_bytes<BackwardTiles<T, kLength, kQueries>>();
  constexpr auto kKernel = differentiate_by_warpgroups<kWanted, T, kLength, kPlain>;
  if (const int32_t code = allow_shared<kKernel>(stream, kBytes)) return code;
  const dt_view &q = call.query, &k = call.key;
  BackwardMaps maps;
  int32_t code = make_map(q, &maps.query);
  if (code == DT_KERNEL_OK) code = make_map(call.g, &maps.g);
  if (code == DT_KERNEL_OK) code = make_map(k, &maps.key);
  if (code == DT_KERNEL_OK) code = make_map(call.value, &maps.value);
  const RowStatistics statistics(call.workspace, q);
  const QuerySums sums(call.workspace, statistics, q, kLength);
  if (code == DT_KERNEL_OK) code = take_statistics<T>(stream, call, statistics);
  if (code != DT_KERNEL_OK) return code;
  const BackwardOperands<T> in = {
      Gradients<T>(call),
      statistics,
      sums.data,
      Scoring(call.mask, call.scale, call.is_causal, q, k),
      WeightDropout(call.state, call.advance, call.p, q, k),
      static_cast<int>(q.sizes[1]),
      static_cast<int>(q.sizes[1] / k.sizes[1]),
      BlockOrder(q, k, kLength, kQueries, multiprocessors(stream->device))};
  code = launch(stream, kKernel, dim3(static_cast<unsigned>(in.order.blocks())), Block::kThreads,
                kBytes, in, maps);
  if (code != DT_KERNEL_OK || !kWantsQuery<kWanted>) return code;
  const dim3 tiles(static_cast<unsigned>(divide_up(q.sizes[2], kQueries)),
                   static_cast<unsigned>(q.sizes[1]), static_cast<unsigned>(q.sizes[0]));
  return launch(stream, round_query_gradient<T, kLength, kQueries>, tiles, Block::kConsumers, 0,
                in.to.query, statistics, sums.data, in.scoring.scale);
}

}  // namespace

int32_t attention_backward_by_warpgroups(const dt_stream* stream,
                                         const calls::AttentionBackward& call) {
  return with_warpgroups(stream, call, [&](auto type, auto length, auto plain) -> int32_t {
    if (!has_map(call.g)) return DT_KERNEL_UNSUPPORTED;
    return with_wanted(call, [&](auto wanted) {
      return run<decltype(wanted)::value, typename decltype(type)::type, decltype(length)::value,
                 decltype(plain)::value>(stream, call);
    });
  });
}

int64_t attention_backward_by_warpgroups_workspace(const dt_stream* stream,
                                                   const calls::AttentionBackward& call) {
  int64_t bytes = 0;
  with_warpgroups(stream, call, [&](auto, auto length, auto) -> int32_t {
    const RowStatistics statistics(nullptr, call.query);
    bytes =
        call.gquery ? QuerySums(nullptr, statistics, call.query, length).bytes : statistics.bytes;
    return DT_KERNEL_OK;
  });
  return bytes;
}

}  // namespace dt::cuda
