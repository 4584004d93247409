// One token through a block is five kernels, each a product with a vector but attention. Little is
// computed, so what counts is how long one waits for the other, and that weights are under way
// before: blocks come while the kernel before runs, ask for their weights, and wait with those in
// their registers. Weights may be read so early because the first kernel lets nobody come before
// all that was sent before it is done.
#include "kernels/calls/generation.gen.h"
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_shares.cuh"
#include "kernels/cuda/attention_single.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/reduce_block.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/scratch.h"
#include "kernels/functors_2.gen.h"

namespace dt::cuda {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kAhead = 6;  // packets of weights that a thread asks for before it waits
constexpr int kOwn = 4;    // numbers of a token that a thread normalises
constexpr int kMostWidth = kOwn * kThreads;
constexpr int kMostDepth = 8192;  // floats that fit into a block's shared memory

// bias[j] + the sum over k of vector[k] * weight(k, j), the outputs j side by side.
template <class T>
struct Linear {
  const T* weight;
  const T* bias;  // or null
  int depth, outputs;
  int64_t row;  // from one k to the next

  Linear(const dt_view& w, const dt_view* b)
      : weight(static_cast<const T*>(w.data)),
        bias(b ? static_cast<const T*>(b->data) : nullptr),
        depth(static_cast<int>(w.sizes[1])),
        outputs(static_cast<int>(w.sizes[0])),
        row(w.strides[1]) {}

  __device__ __forceinline__ float added(int j) const {
    return bias && j >= 0 ? static_cast<float>(bias[j]) : 0.0f;
  }
};

// Which packets of outputs a block has, and which rows of which of them a warp.
template <class T>
struct Piece {
  static constexpr int kWidth = kPacketWidth<T>;
  int first, units;         // of the block, in packets
  int unit, share, shares;  // of the warp; shares <= share where there is nothing for it

  __device__ explicit Piece(int outputs) {
    const int64_t all = outputs / kWidth, block = blockIdx.x;
    first = static_cast<int>(all * block / gridDim.x);
    units = static_cast<int>(all * (block + 1) / gridDim.x) - first;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    shares = units ? kWarps / units : 0;
    unit = units ? warp % units : 0;
    share = units ? warp / units : 0;
  }
  __device__ bool works() const { return share < shares; }
  __device__ int begin() const { return share * kWarp + static_cast<int>(threadIdx.x) % kWarp; }
  __device__ int step() const { return shares * kWarp; }
  // The output of a thread at the end; negative where it has none.
  __device__ int output() const {
    const int i = static_cast<int>(threadIdx.x);
    return i < units * kWidth ? first * kWidth + i : -1;
  }
};

// The first packets of a thread's column of weights.
template <class T>
struct Ahead {
  uint4 packet[kAhead];

  __device__ __forceinline__ void ask(const Linear<T>& linear, const Piece<T>& piece) {
    if (!piece.works()) return;
    const T* const column = linear.weight + (piece.first + piece.unit) * Piece<T>::kWidth;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int k = piece.begin() + i * piece.step();
      if (k < linear.depth) packet[i] = *reinterpret_cast<const uint4*>(column + k * linear.row);
    }
  }
};

template <class T>
__device__ __forceinline__ void add_row(float (&sums)[kPacketWidth<T>], float x, const uint4& row) {
  T w[kPacketWidth<T>];
  memcpy(w, &row, sizeof w);
#pragma unroll
  for (int v = 0; v < kPacketWidth<T>; ++v) sums[v] += x * static_cast<float>(w[v]);
}

// Adds up each of a lane's sums over the warp: lanes exchange halves of what they have until each
// has one sum, that of number lane / (kWarp / kCount).
template <int kCount>
__device__ __forceinline__ float spread_sums(float (&sums)[kCount]) {
  int step = kWarp / 2;
#pragma unroll
  for (int half = kCount / 2; half > 0; half /= 2, step /= 2) {
    const bool is_upper = (threadIdx.x & step) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float given = is_upper ? sums[i] : sums[i + half];
      sums[i] = (is_upper ? sums[i + half] : sums[i]) + __shfl_xor_sync(~0u, given, step);
    }
  }
  for (; step > 0; step /= 2) sums[0] += __shfl_xor_sync(~0u, sums[0], step);
  return sums[0];
}

// The sum of the output that belongs to this thread; what others return means nothing.
template <class T>
__device__ __forceinline__ float multiply(const Linear<T>& linear, const Piece<T>& piece,
                                          const Ahead<T>& ahead, const float* vector) {
  constexpr int kWidth = kPacketWidth<T>, kLanes = kWarp / kWidth;
  __shared__ float of_warps[kWarps][kWidth];
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  if (piece.works()) {
    float sums[kWidth] = {};
    const T* const column = linear.weight + (piece.first + piece.unit) * kWidth;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int k = piece.begin() + i * piece.step();
      if (k < linear.depth) add_row<T>(sums, vector[k], ahead.packet[i]);
    }
#pragma unroll 4
    for (int k = piece.begin() + kAhead * piece.step(); k < linear.depth; k += piece.step())
      add_row<T>(sums, vector[k], *reinterpret_cast<const uint4*>(column + k * linear.row));
    const float sum = spread_sums(sums);
    if (lane % kLanes == 0) of_warps[warp][lane / kLanes] = sum;
  }
  __syncthreads();
  float sum = 0;
  if (piece.output() < 0) return sum;
  const int unit = static_cast<int>(threadIdx.x) / kWidth;
  for (int i = 0; i < piece.shares; ++i)
    sum += of_warps[i * piece.units + unit][threadIdx.x % kWidth];
  return sum;
}

// ---- where a product's vector comes from: `ask` before the kernel before is done, `fill` behind
// it

template <class T>
struct Normed {
  const T* x;
  const T* weight;
  const T* bias;  // or null
  int width;
  float eps;

  Normed(const void* token, const dt_view& w, const dt_view* b, double epsilon)
      : x(static_cast<const T*>(token)),
        weight(static_cast<const T*>(w.data)),
        bias(b ? static_cast<const T*>(b->data) : nullptr),
        width(static_cast<int>(w.sizes[0])),
        eps(static_cast<float>(epsilon)) {}

  struct Asked {
    float weight[kOwn], bias[kOwn];
  };
  __device__ __forceinline__ Asked ask() const {
    Asked asked;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int k = static_cast<int>(threadIdx.x) + i * kThreads;
      asked.weight[i] = k < width ? static_cast<float>(weight[k]) : 0.0f;
      asked.bias[i] = k < width && bias ? static_cast<float>(bias[k]) : 0.0f;
    }
    return asked;
  }
  __device__ __forceinline__ void fill(float* vector, const Asked& asked) const {
    const auto add = [](float a, float b) { return a + b; };
    float own[kOwn], sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int k = static_cast<int>(threadIdx.x) + i * kThreads;
      own[i] = k < width ? static_cast<float>(x[k]) : 0.0f;
      sum += own[i];
    }
    const float mean = block_reduce<kThreads>(sum, add, 0.0f) / static_cast<float>(width);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int k = static_cast<int>(threadIdx.x) + i * kThreads;
      if (k < width) squares += (own[i] - mean) * (own[i] - mean);
    }
    const float variance = block_reduce<kThreads>(squares, add, 0.0f) / static_cast<float>(width);
    const float factor = 1 / sqrtf(variance + eps);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int k = static_cast<int>(threadIdx.x) + i * kThreads;
      if (k < width)
        vector[k] =
            static_cast<float>(T((own[i] - mean) * factor * asked.weight[i] + asked.bias[i]));
    }
  }
};

// What attention left in parts of the keys.
template <class T>
struct Merged {
  float* shares;
  int parts, features, width;

  struct Asked {};
  __device__ __forceinline__ Asked ask() const { return {}; }
  __device__ __forceinline__ void fill(float* vector, Asked) const {
    for (int k = static_cast<int>(threadIdx.x); k < width; k += kThreads) {
      const int64_t of_head = int64_t{k / features} * parts * (features + 2);
      Share all;
      const float sum = merge_shares({shares + of_head, parts, features}, k % features, &all);
      vector[k] = static_cast<float>(T(all.total == 0 ? 0.0f : sum / all.total));
    }
  }
};

template <class T>
struct AsItIs {
  const T* x;
  int width;

  struct Asked {};
  __device__ __forceinline__ Asked ask() const { return {}; }
  __device__ __forceinline__ void fill(float* vector, Asked) const {
    for (int k = static_cast<int>(threadIdx.x); k < width; k += kThreads)
      vector[k] = static_cast<float>(x[k]);
  }
};

// ---- where its outputs go: what `ask` gives is there when `store` needs it

// The query beside, key and value to their place in the cache.
template <class T>
struct ToCache {
  T* query;
  HeadMatrices<T> keys, values;
  const int64_t* place;
  int width;
  Complaint complaint;

  __device__ __forceinline__ int64_t ask(int) const { return *place; }
  __device__ __forceinline__ void store(int j, float y, int64_t at) const {
    if (j < width) {
      query[j] = T(y);
    } else if (complaint.accepts(at, keys.rows)) {
      const HeadMatrices<T>& to = j < 2 * width ? keys : values;
      const int k = j % width;
      *(to.at(0, k / to.features, static_cast<int>(at)) + k % to.features) = T(y);
    }
  }
};

template <class T>
struct Activated {
  T* to;

  __device__ __forceinline__ float ask(int) const { return 0; }
  __device__ __forceinline__ void store(int j, float y, float) const {
    to[j] = T(fn::gelu_tanh::y<float>(nullptr, static_cast<float>(T(y))));
  }
};

template <class T>
struct Added {
  T* to;
  const T* x;

  __device__ __forceinline__ float ask(int j) const {
    return j < 0 ? 0.0f : static_cast<float>(x[j]);
  }
  __device__ __forceinline__ void store(int j, float y, float around) const {
    to[j] = T(around + static_cast<float>(T(y)));
  }
};

// What is between two products is rounded as if each op had written it.
template <class T, bool kIsFirst, class Source, class Sink>
__global__ void __launch_bounds__(kThreads)
    multiply_token(Linear<T> linear, Source source, Sink sink) {
  extern __shared__ float vector[];
  const Piece<T> piece(linear.outputs);
  const int j = piece.output();
  if constexpr (kIsFirst) begin_chain();
  Ahead<T> ahead;
  ahead.ask(linear, piece);
  const typename Source::Asked asked = source.ask();
  const float bias = linear.added(j);
  if constexpr (!kIsFirst) begin_kernel();
  const auto kept = sink.ask(j);
  source.fill(vector, asked);
  __syncthreads();
  const float sum = multiply(linear, piece, ahead, vector);
  if (j >= 0) sink.store(j, sum + bias, kept);
}

// ---- launches

using calls::DecoderBlock;

int64_t width_of(const DecoderBlock& call) {
  return call.out_weight.sizes[0];
}

// What one kernel leaves for the next.
template <class T>
struct Between {
  T* query;
  float* shares;
  T* attended;  // and added to the token
  T* hidden;
  int64_t bytes;

  Between(void* workspace, const DecoderBlock& call, int parts) {
    Scratch scratch(workspace);
    const int64_t heads = call.keys.sizes[1], features = call.keys.sizes[3];
    query = scratch.take<T>(width_of(call));
    shares = scratch.take<float>(heads * parts * (features + 2));
    attended = scratch.take<T>(width_of(call));
    hidden = scratch.take<T>(call.up_weight.sizes[0]);
    bytes = scratch.used();
  }
};

template <class T, bool kIsFirst, class Source, class Sink>
int32_t run_product(const dt_stream* stream, const Linear<T>& linear, const Source& source,
                    const Sink& sink) {
  const int64_t packets = linear.outputs / kPacketWidth<T>, most = multiprocessors(stream->device);
  return launch_chained(stream, multiply_token<T, kIsFirst, Source, Sink>,
                        static_cast<unsigned>(packets < most ? packets : most), kThreads,
                        static_cast<size_t>(linear.depth) * sizeof(float), linear, source, sink);
}

dt_view query_view(void* data, const dt_view& keys) {
  dt_view v = keys;
  v.data = data;
  v.sizes[2] = 1;
  v.strides[1] = v.strides[2] = keys.sizes[3];
  return v;
}

// bool [1, capacity] as the mask of all heads.
dt_view mask_view(const dt_view& seen) {
  dt_view v = seen;
  v.ndim = 4;
  for (int d = 0; d < 4; ++d) v.sizes[d] = 1, v.strides[d] = 0;
  v.sizes[3] = seen.sizes[1];
  v.strides[3] = seen.strides[1];
  return v;
}

template <class T>
int32_t run_block(const dt_stream* stream, const DecoderBlock& call) {
  const int parts = single_query_parts(stream, call.keys);
  const Between<T> between(call.workspace, call, parts);
  const int width = static_cast<int>(width_of(call)),
            hidden = static_cast<int>(call.up_weight.sizes[0]),
            features = static_cast<int>(call.keys.sizes[3]);
  const T* const x = static_cast<const T*>(call.x.data);
  int32_t code = run_product<T, true>(
      stream, Linear<T>(call.qkv_weight, call.qkv_bias),
      Normed<T>(x, call.norm1_weight, call.norm1_bias, call.eps),
      ToCache<T>{between.query, HeadMatrices<T>(call.keys), HeadMatrices<T>(call.values),
                 static_cast<const int64_t*>(call.place.data), width, Complaint(stream, call)});
  if (code != DT_KERNEL_OK) return code;
  const dt_view seen = mask_view(call.seen);
  code =
      attend_in_parts(stream, {query_view(between.query, call.keys), call.keys, call.values, seen},
                      call.scale, parts, between.shares);
  if (code != DT_KERNEL_OK) return code;
  code = run_product<T, false>(stream, Linear<T>(call.out_weight, call.out_bias),
                               Merged<T>{between.shares, parts, features, width},
                               Added<T>{between.attended, x});
  if (code != DT_KERNEL_OK) return code;
  code = run_product<T, false>(
      stream, Linear<T>(call.up_weight, call.up_bias),
      Normed<T>(between.attended, call.norm2_weight, call.norm2_bias, call.eps),
      Activated<T>{between.hidden});
  if (code != DT_KERNEL_OK) return code;
  return run_product<T, false>(stream, Linear<T>(call.down_weight, call.down_bias),
                               AsItIs<T>{between.hidden, hidden},
                               Added<T>{static_cast<T*>(call.y.data), between.attended});
}

// Outputs side by side in whole packets, not more than the device's blocks have threads for.
template <class T>
bool fits(const dt_stream* stream, const dt_view& weight) {
  constexpr int64_t kWidth = kPacketWidth<T>;
  const int64_t outputs = weight.sizes[0], depth = weight.sizes[1];
  return weight.strides[0] == 1 && weight.strides[1] % kWidth == 0 && outputs % kWidth == 0 &&
         is_aligned(weight.data, kPacketBytes) && depth <= kMostDepth &&
         outputs <= int64_t{kWarps} * kWidth * multiprocessors(stream->device);
}

bool is_dense(const dt_view* v) {
  return v == nullptr || v->strides[0] == 1;
}

template <class T>
bool fits(const dt_stream* stream, const DecoderBlock& call) {
  const HeadMatrices<T> keys(call.keys), values(call.values);
  return width_of(call) <= kMostWidth && keys.has_packets && values.has_packets &&
         keys.features <= kMostSingleFeatures && fits<T>(stream, call.qkv_weight) &&
         fits<T>(stream, call.out_weight) && fits<T>(stream, call.up_weight) &&
         fits<T>(stream, call.down_weight) && is_dense(&call.norm1_weight) &&
         is_dense(call.norm1_bias) && is_dense(call.qkv_bias) && is_dense(call.out_bias) &&
         is_dense(&call.norm2_weight) && is_dense(call.norm2_bias) && is_dense(call.up_bias) &&
         is_dense(call.down_bias);
}

}  // namespace

int32_t kernels::decoder_block(const dt_stream* stream, const DecoderBlock& call) {
  return visit_stored_floating(call.x.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    if constexpr (std::is_same_v<Widened<T>, float>) {
      if (fits<T>(stream, call)) return run_block<T>(stream, call);
    }
    return DT_KERNEL_UNSUPPORTED;
  });
}

int64_t kernels::decoder_block_workspace(const dt_stream* stream, const DecoderBlock& call) {
  return Between<float>(nullptr, call, single_query_parts(stream, call.keys)).bytes;
}

}  // namespace dt::cuda
