// What attention's kernels share: operands, blocks of rows in shared memory, the scores of a block.
#pragma once

#include <algorithm>

#include "kernels/calls/attention.gen.h"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/shared.cuh"
#include "kernels/cuda/tensor_core.cuh"

namespace dt::cuda {

constexpr int kWarpRows = 16;
constexpr float kLog2E = 1.44269504f;

// Matrices [batch, head] of rows whose elements are dense.
template <class T>
struct HeadMatrices {
  T* data;
  int64_t batch, head, row;
  int rows, features;
  bool has_packets;  // rows are made of aligned packets

  explicit HeadMatrices(const dt_view& v)
      : data(static_cast<T*>(v.data)),
        batch(v.strides[0]),
        head(v.strides[1]),
        row(v.strides[2]),
        rows(static_cast<int>(v.sizes[2])),
        features(static_cast<int>(v.sizes[3])) {
    constexpr int64_t kWidth = kPacketWidth<std::remove_const_t<T>>;
    has_packets = features % kWidth == 0 && batch % kWidth == 0 && head % kWidth == 0 &&
                  row % kWidth == 0 && is_aligned(data, kPacketBytes);
  }
  __device__ T* at(int b, int h, int i) const { return data + b * batch + h * head + i * row; }
};

// What the scores of a call are made with.
struct Scoring {
  const void* mask;  // null: none
  int32_t mask_dtype;
  int64_t mask_stride[4];
  float scale;
  bool is_causal;
  int queries, keys;

  Scoring(const dt_view* m, double factor, bool causal, const dt_view& query, const dt_view& key)
      : mask(m ? m->data : nullptr),
        mask_dtype(m ? m->dtype : 0),
        mask_stride{},
        scale(static_cast<float>(factor)),
        is_causal(causal),
        queries(static_cast<int>(query.sizes[2])),
        keys(static_cast<int>(key.sizes[2])) {
    for (int d = 0; d < 4 && m; ++d) mask_stride[d] = m->strides[d];
  }

  // Whether the place alone says that the query does not see the key.
  __device__ __forceinline__ bool is_hidden(int query, int key) const {
    return query >= queries || key >= keys || (is_causal && key > query);
  }
  // What the mask adds to a score: it is of truth values, of floats, or of the query's type.
  __device__ __forceinline__ float added(int b, int h, int query, int key) const {
    const int64_t at =
        b * mask_stride[0] + h * mask_stride[1] + query * mask_stride[2] + key * mask_stride[3];
    if (mask_dtype == dtype_of<bool>) return static_cast<const bool*>(mask)[at] ? 0.0f : -INFINITY;
    if (mask_dtype == dtype_of<float>) return static_cast<const float*>(mask)[at];
    if (mask_dtype == dtype_of<BFloat16>)
      return static_cast<float>(static_cast<const BFloat16*>(mask)[at]);
    return static_cast<float>(static_cast<const Float16*>(mask)[at]);
  }
  // The score of a query and a key, in units of log2(e), from their product.
  __device__ __forceinline__ float of(float product, int b, int h, int query, int key) const {
    if (is_hidden(query, key)) return -INFINITY;
    const float score = product * scale;
    return (mask != nullptr ? score + added(b, h, query, key) : score) * kLog2E;
  }
  // The same of a key that is not hidden: what a mask of truth values says is known by then.
  __device__ __forceinline__ float of_seen(float product, int b, int h, int query, int key) const {
    if (mask == nullptr || mask_dtype == dtype_of<bool>) return product * scale * kLog2E;
    return of(product, b, h, query, key);
  }
  // Whether a key is not seen whatever its product is.
  __device__ __forceinline__ bool hides(int b, int h, int query, int key) const {
    if (key >= keys || (is_causal && key > query)) return true;
    return mask != nullptr && mask_dtype == dtype_of<bool> &&
           !static_cast<const bool*>(mask)[b * mask_stride[0] + h * mask_stride[1] +
                                           query * mask_stride[2] + key * mask_stride[3]];
  }
  // Whether all queries from `query` on see the keys [key, end), and nothing is added.
  __device__ __forceinline__ bool is_plain(int query, int key, int end) const {
    return mask == nullptr && end <= keys && (!is_causal || end <= query + 1);
  }
  // Behind the last key that one of the queries before `end` sees.
  __device__ __forceinline__ int last_key(int end) const {
    return is_causal ? min(keys, end) : keys;
  }
};

// Rows [first, first + kRows) on their way to shared memory, with zeros in the place of what is not
// there: copies that go on by themselves, or packets in registers where numbers are to be split.
template <class Products, int kLength, int kRows, int kThreads>
class RowCopy {
  using Element = typename Products::Element;
  using Piece = typename Products::Piece;
  static constexpr int kWidth = kPacketWidth<Element>, kPackets = kLength / kWidth;
  static constexpr bool kSplits = Products::kPieces > 1;
  static constexpr int kCount = kRows * kPackets / kThreads;
  static_assert(kRows * kPackets % kThreads == 0, "each thread has as many");

 public:
  __device__ __forceinline__ RowCopy(Piece* rows, const HeadMatrices<const Element>& x, int b,
                                     int h, int first)
      : rows_(rows) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int row = number(i) / kPackets, column = number(i) % kPackets * kWidth;
      const bool inside = first + row < x.rows;
      const Element* const from = x.at(b, h, inside ? first + row : 0) + column;
      if constexpr (kSplits) {
        packet_[i] = read(x, from, inside, column);
      } else if (x.has_packets) {
        copy_async<kPacketBytes>(target(i), from, inside && column < x.features);
      } else {
        const Packet<Element, kWidth> packet = read(x, from, inside, column);
        memcpy(target(i), &packet, sizeof packet);
      }
    }
    close_copies();
  }
  // After which, and a barrier, all threads can see the rows.
  __device__ __forceinline__ void end() {
    wait_copies<0>();
    if constexpr (kSplits) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        float(&x)[kWidth] = packet_[i].value;
#pragma unroll
        for (int p = 0; p < Products::kPieces; ++p) {
          *reinterpret_cast<uint2*>(target(i) + p * kLength) = {Products::take_piece(x[0], x[1]),
                                                                Products::take_piece(x[2], x[3])};
        }
      }
    }
  }

 private:
  static __device__ __forceinline__ int number(int i) {
    return threadIdx.x + i * kThreads;
  }
  __device__ __forceinline__ Piece* target(int i) const {
    return rows_ + number(i) / kPackets * Products::template kPitch<kLength> +
           number(i) % kPackets * kWidth;
  }
  static __device__ __forceinline__ Packet<Element, kWidth> read(
      const HeadMatrices<const Element>& x, const Element* from, bool inside, int column) {
    Packet<Element, kWidth> packet = {};
    if (x.has_packets) {
      if (inside && column < x.features) packet = load_packet<kWidth>(from);
    } else {
#pragma unroll
      for (int k = 0; k < kWidth; ++k)
        if (inside && column + k < x.features) packet.value[k] = from[k];
    }
    return packet;
  }

  Piece* rows_;
  Packet<Element, kWidth> packet_[kSplits ? kCount : 1];
};

// Makes each of a warp's products of rows, queries from `query` on, with columns, keys from `key`
// on, or the other way round, score_of(product, query, key).
template <bool kOfKeys, int kTiles, class F>
__device__ __forceinline__ void make_scores(float (&products)[kTiles][4], int query, int key,
                                            const F& score_of) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = lane_group() + i / 2 * 8, column = 8 * j + lane_pair() + i % 2;
      products[j][i] = score_of(products[j][i], query + (kOfKeys ? column : row),
                                key + (kOfKeys ? row : column));
    }
  }
}

// The same without a mask: times `factor`, where the place alone hides none.
template <bool kOfKeys, int kTiles>
__device__ __forceinline__ void hide_scores(float (&products)[kTiles][4], const Scoring& scoring,
                                            int query, int key, float factor) {
  make_scores<kOfKeys>(products, query, key, [&](float product, int query, int key) {
    return scoring.is_hidden(query, key) ? -INFINITY : product * factor;
  });
}

// The same with everything. kCompact keeps the code for masks small, for kernels that spend most of
// their time elsewhere.
template <bool kOfKeys, bool kCompact, int kTiles>
__device__ __forceinline__ void score(float (&products)[kTiles][4], const Scoring& scoring, int b,
                                      int h, int query, int key) {
  const int queries = kOfKeys ? 8 * kTiles : 16, keys = kOfKeys ? 16 : 8 * kTiles;
  const float factor = scoring.scale * kLog2E;
  // Each way has code of its own, so that what is run lies together: kernels of short sequences
  // wait for little else than their instructions.
  if (query + queries <= scoring.queries && scoring.is_plain(query, key, key + keys)) {
    make_scores<kOfKeys>(products, query, key,
                         [&](float product, int, int) { return product * factor; });
  } else if (scoring.mask == nullptr) {
    hide_scores<kOfKeys>(products, scoring, query, key, factor);
  } else {
    Scoring own = scoring;
    if constexpr (kCompact) {
      // Held in registers: else each score has code to read them, for each dtype of masks, which is
      // a quarter of the kernel.
      asm("" : "+r"(own.mask_dtype));
#pragma unroll
      for (int64_t& stride : own.mask_stride) asm("" : "+l"(stride));
    }
    make_scores<kOfKeys>(products, query, key, [&](float product, int query, int key) {
      return own.of(product, b, h, query, key);
    });
  }
}

template <int kTiles>
__device__ __forceinline__ void clear(float (&sums)[kTiles][4]) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[j][i] = 0;
  }
}

// Four lanes have two columns each of the same four tiles. Afterwards each has all of one tile.
__device__ __forceinline__ void gather_tile(uint32_t (&pairs)[4]) {
#pragma unroll
  for (int distance = 1; distance <= 2; distance *= 2) {
    const bool is_upper = (threadIdx.x & distance) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((i & distance) != 0) continue;
      uint32_t &lower = pairs[i], &upper = pairs[i + distance];
      const uint32_t other = __shfl_xor_sync(~0u, is_upper ? lower : upper, distance);
      (is_upper ? lower : upper) = other;
    }
  }
}

// Writes a warp's sums [16, kLength], times `factor` of the lane's two rows.
template <int kLength, class T>
__device__ __forceinline__ void store_sums(const HeadMatrices<T>& y, int b, int h, int first,
                                           const float (&sums)[kLength / 8][4],
                                           const float (&factor)[2]) {
  constexpr bool kGathers = sizeof(T) == 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first + lane_group() + 8 * half;
    const bool inside = row < y.rows;
    T* const to = y.at(b, h, inside ? row : 0);
    const auto pair = [&](int j) {
      Packet<T, 2> both;
#pragma unroll
      for (int i = 0; i < 2; ++i) both.value[i] = T(sums[j][2 * half + i] * factor[half]);
      return both;
    };
    if constexpr (kGathers) {
      // Whole packets: with pairs, most of what memory takes at a time would be empty.
      if (y.has_packets) {
#pragma unroll
        for (int j = 0; j < kLength / 8; j += 4) {
          uint32_t pairs[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const Packet<T, 2> both = pair(j + i);
            memcpy(&pairs[i], &both, sizeof both);
          }
          gather_tile(pairs);
          const int column = 8 * j + 4 * lane_pair();
          if (inside && column < y.features)
            *reinterpret_cast<uint4*>(to + column) = {pairs[0], pairs[1], pairs[2], pairs[3]};
        }
        continue;
      }
    }
#pragma unroll
    for (int j = 0; j < kLength / 8; ++j) {
      const int column = 8 * j + lane_pair();
      const Packet<T, 2> both = pair(j);
      if (!kGathers && y.has_packets && inside && column < y.features)
        store_packet<2>(to + column, both);
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (!y.has_packets && inside && column + i < y.features) to[column + i] = both.value[i];
    }
  }
}

inline bool has_dense_rows(const dt_view& v) {
  return v.sizes[3] == 1 || v.strides[3] == 1;
}

// Whether these kernels can do it: one floating type that tensor cores take, dense rows of up to
// 128 elements, some heads, and as many blocks as a grid may have.
inline bool has_kernel(const dt_view& query, const dt_view& key, const dt_view& value) {
  constexpr int64_t kMostFeatures = 128, kMostBlocks = 65535, kMostRows = int64_t{1} << 30;
  for (const dt_view* v : {&query, &key, &value}) {
    if (!has_dense_rows(*v) || v->sizes[3] > kMostFeatures || v->sizes[2] > kMostRows ||
        v->sizes[1] == 0)
      return false;
  }
  return query.dtype != dtype_of<double> && query.sizes[0] <= kMostBlocks &&
         query.sizes[1] <= kMostBlocks;
}

// Calls f(Products(), features) for a dtype and the smallest of 32, 64 and 128 that has room for
// both sizes.
template <class Products, class F>
int32_t with_length(const dt_view& query, const dt_view& value, const F& f) {
  const int64_t features = std::max(query.sizes[3], value.sizes[3]);
  if (features <= 32) return f(Products(), std::integral_constant<int, 32>());
  if (features <= 64) return f(Products(), std::integral_constant<int, 64>());
  return f(Products(), std::integral_constant<int, 128>());
}

template <class F>
int32_t with_products(const dt_stream* stream, const dt_view& query, const dt_view& value,
                      const F& f) {
  if (query.dtype == dtype_of<BFloat16>)
    return with_length<PieceProducts<BFloat16, 1>>(query, value, f);
  if (query.dtype == dtype_of<Float16>)
    return with_length<PieceProducts<Float16, 1>>(query, value, f);
  if ((stream->flags & DT_FLAG_TF32_MATMUL) != 0)
    return with_length<PieceProducts<BFloat16, 2>>(query, value, f);
  return with_length<PieceProducts<BFloat16, 3>>(query, value, f);
}

}  // namespace dt::cuda
