// Random ops: see philox.h for the numbers, and random.toml for which element gets which. A thread
// makes the elements of a Philox block at a time: four of 32 random bits, or two of 64.
#include <algorithm>
#include <type_traits>

#include "kernels/calls/nn.gen.h"
#include "kernels/calls/random.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/types.cuh"
#include "kernels/math.h"
#include "kernels/philox.h"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

// The random words of a block in the order of the elements that they make.
template <class Bits>
constexpr int kPerBlock = sizeof(Bits) == 4 ? 4 : 2;

template <class Bits>
struct Words {
  Bits bits[kPerBlock<Bits>];

  __device__ __forceinline__ explicit Words(const philox::Block& block) {
    if constexpr (sizeof(Bits) == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) bits[i] = block.word[i];
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        bits[i] = block.word[2 * i] | static_cast<uint64_t>(block.word[2 * i + 1]) << 32;
    }
  }
};

// ---- what elements are made of words. A maker turns all words of a block into values, because
// normal numbers come in pairs; `first` is the index of the block's first element.

template <class T>
struct Uniform {
  using Value = T;
  using Bits = dt::Bits<sizeof(T)>;
  T low, range;
  __device__ __forceinline__ void make(T* y, const Words<Bits>& words, int64_t, int64_t) const {
#pragma unroll
    for (int i = 0; i < kPerBlock<Bits>; ++i)
      y[i] = philox::add(low, philox::multiply(range, philox::uniform(words.bits[i])));
  }
};

// The logarithm of w in [2^-24, 1], with an error of less than 0.96 of its last place, without the
// library's questions for other numbers. w = 2^k (1 + f), and 1 + f is in [2/3, 4/3).
__device__ __forceinline__ float log_of_share(float w) {
  constexpr int32_t kTwoThirds = 0x3f2aaaab;
  const int32_t bits = __float_as_int(w);
  const int32_t k = (bits - kTwoThirds) & ~0x7fffff;  // times 2^23
  const float f = __int_as_float(bits - k) - 1;
  constexpr float kTail[] = {0.134337753f, -0.122872368f, 0.141169786f, -0.16673398f,
                             0.200038359f, -0.249999434f, 0.333333194f, -0.5f};
  float tail = -0.124298662f;
#pragma unroll
  for (const float c : kTail) tail = __fmaf_rn(tail, f, c);
  return __fmaf_rn(static_cast<float>(k), 0.693147182f * 0x1p-23f, __fmaf_rn(tail, f * f, f));
}
__device__ __forceinline__ double log_of_share(double w) {
  return math::log(w);
}

// -log1p(-u): 1 - u is exact.
template <class T>
struct Exponential {
  using Value = T;
  using Bits = dt::Bits<sizeof(T)>;
  T lambd;
  __device__ __forceinline__ void make(T* y, const Words<Bits>& words, int64_t, int64_t) const {
    constexpr T kLeast = sizeof(T) == 8 ? T(0x1p-53) : T(0x1p-24);
#pragma unroll
    for (int i = 0; i < kPerBlock<Bits>; ++i) {
      const T value = -log_of_share(T(1) - philox::uniform(words.bits[i]));
      y[i] = value < kLeast ? kLeast : value;
      if (lambd != T(1)) y[i] /= lambd;  // division is dear, and most calls have none
    }
  }
};

template <class T>
struct Normal {
  using Value = T;
  using Bits = dt::Bits<sizeof(T)>;
  T mean, std;
  __device__ __forceinline__ void make(T* y, const Words<Bits>& words, int64_t, int64_t) const {
#pragma unroll
    for (int i = 0; i < kPerBlock<Bits>; i += 2) {
      const philox::Pair<T> z = philox::normal(words.bits[i], words.bits[i + 1]);
      y[i] = philox::add(mean, philox::multiply(std, z.first));
      y[i + 1] = philox::add(mean, philox::multiply(std, z.second));
    }
  }
};

struct Integers {
  using Value = int64_t;
  using Bits = uint64_t;
  uint64_t low, range;
  __device__ __forceinline__ void make(int64_t* y, const Words<Bits>& words, int64_t,
                                       int64_t) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) y[i] = static_cast<int64_t>(low + __umul64hi(words.bits[i], range));
  }
};

struct Keys {
  using Value = int64_t;
  using Bits = uint64_t;
  __device__ __forceinline__ void make(int64_t* y, const Words<Bits>& words, int64_t,
                                       int64_t) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) y[i] = static_cast<int64_t>(words.bits[i] >> 1);
  }
};

struct Bernoulli {
  using Value = uint8_t;
  using Bits = uint32_t;
  int32_t limit;
  __device__ __forceinline__ void make(uint8_t* y, const Words<Bits>& words, int64_t,
                                       int64_t) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) y[i] = static_cast<int32_t>(words.bits[i] >> 8) < limit;
  }
};

// An input beside what is drawn: those of its elements that a block's numbers are for.
template <class T, int kValues>
struct Beside {
  const T* x;
  bool aligned;

  explicit Beside(const dt_view& view)
      : x(static_cast<const T*>(view.data)),
        aligned(is_aligned(view.data, alignof(Packet<T, kValues>))) {}

  __device__ __forceinline__ Packet<T, kValues> at(int64_t first, int64_t n) const {
    if (aligned && first + kValues <= n) return load_packet<kValues>(x + first);
    Packet<T, kValues> in = {};
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      if (first + i < n) in.value[i] = x[first + i];
    }
    return in;
  }
};

template <class T>
struct BernoulliEach {
  using Value = Widened<T>;
  using Bits = dt::Bits<sizeof(Value)>;
  Beside<T, kPerBlock<Bits>> p;
  __device__ __forceinline__ void make(Value* y, const Words<Bits>& words, int64_t first,
                                       int64_t n) const {
    const auto chance = widened(p.at(first, n));
#pragma unroll
    for (int i = 0; i < kPerBlock<Bits>; ++i)
      y[i] = philox::uniform(words.bits[i]) < chance.value[i];
  }
};

template <class T>
struct Dropout {
  using Value = Widened<T>;
  using Bits = uint32_t;
  Beside<T, 4> x;
  Value scale;
  int32_t limit;
  __device__ __forceinline__ void make(Value* y, const Words<Bits>& words, int64_t first,
                                       int64_t n) const {
    const Packet<Value, 4> in = widened(x.at(first, n));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool keeps = static_cast<int32_t>(words.bits[i] >> 8) >= limit;
      y[i] = in.value[i] * (keeps ? scale : 0);  // NaN where NaN or an infinity is dropped
    }
  }
};

// ---- the kernel

// {seed, offset} on the device, so that a captured graph draws fresh numbers.
struct State {
  const uint64_t* values;
  uint64_t advance;

  State(const dt_view& state, int64_t advance)
      : values(static_cast<const uint64_t*>(state.data)), advance(static_cast<uint64_t>(advance)) {}

  __device__ __forceinline__ uint64_t seed() const { return values[0]; }
  __device__ __forceinline__ uint64_t offset() const { return values[1] + advance; }
};

// Blocks of a thread when there are many, and how many of them it makes at a time: the keys of
// Philox's rounds serve all, and one waits less for the other's arithmetic than for its own.
constexpr int64_t kMostEach = 16, kManyThreads = 1 << 18;
constexpr int kTogether = 2;

// Whether values of type T are elements of the dtype but for rounding, and those of a block one
// store at y.
template <class T, int kValues>
bool is_packed(const void* y, int32_t dtype) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, Own, ...)            \
  case DT_##NAME:                                     \
    return std::is_same_v<Widened<Stored<Own>>, T> && \
           is_aligned(y, alignof(Packet<Stored<Own>, kValues>));
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
  return false;
}

template <class T, int kValues>
__device__ __forceinline__ void put_packet(void* y, int32_t dtype, int64_t first,
                                           const Packet<T, kValues>& values) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, Own, ...)                         \
  case DT_##NAME:                                                  \
    if constexpr (std::is_same_v<Widened<Stored<Own>>, T>)         \
      store_rounded(static_cast<Stored<Own>*>(y) + first, values); \
    break;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
}

template <class T, int kValues>
__device__ __forceinline__ void put(void* y, int32_t dtype, bool packed, int64_t first, int64_t n,
                                    const Packet<T, kValues>& values) {
  if (packed && first + kValues <= n) return put_packet(y, dtype, first, values);
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    if (first + i < n) store_as(y, dtype, first + i, values.value[i]);
  }
}

template <class Maker, int kBlocks>
__global__ void __launch_bounds__(kThreads)
    random_kernel(void* y, int32_t dtype, bool packed, int64_t n, State state, Maker maker) {
  begin_kernel();
  constexpr int kValues = kPerBlock<typename Maker::Bits>;
  const uint64_t seed = state.seed(), offset = state.offset();
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x; index * kValues < n;
       index += kBlocks * step) {
    Packet<typename Maker::Value, kValues> values[kBlocks];
#pragma unroll
    for (int k = 0; k < kBlocks; ++k) {
      const int64_t here = index + k * step;
      const philox::Block words = philox::block(offset + static_cast<uint64_t>(here), 0, seed);
      maker.make(values[k].value, Words<typename Maker::Bits>(words), here * kValues, n);
    }
#pragma unroll
    for (int k = 0; k < kBlocks; ++k)
      put(y, dtype, packed, (index + k * step) * kValues, n, values[k]);
  }
}

template <class Call, class Maker>
int32_t draw(const dt_stream* stream, const Call& call, const Maker& maker) {
  const dt_view& y = call.y;
  constexpr int kValues = kPerBlock<typename Maker::Bits>;
  const int64_t n = numel(y), all = divide_up(n, kValues);
  const int64_t each = std::clamp(all / kManyThreads, int64_t{1}, kMostEach);
  const int64_t blocks = divide_up(all, each * kThreads);
  const bool packed = is_packed<typename Maker::Value, kValues>(y.data, y.dtype);
  const auto kernel = each < kTogether ? random_kernel<Maker, 1> : random_kernel<Maker, kTogether>;
  return launch(stream, kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, y.data,
                y.dtype, packed, n, State(call.state, call.advance), maker);
}

}  // namespace

int32_t kernels::uniform(const dt_stream* stream, const calls::Uniform& call) {
  return visit_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const Uniform<T> maker = {static_cast<T>(call.low), static_cast<T>(call.high - call.low)};
    return draw(stream, call, maker);
  });
}

int32_t kernels::exponential(const dt_stream* stream, const calls::Exponential& call) {
  return visit_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return draw(stream, call, Exponential<T>{static_cast<T>(call.lambd)});
  });
}

int32_t kernels::normal(const dt_stream* stream, const calls::Normal& call) {
  return visit_floating(compute_of(call.y.dtype), [&](auto type) {
    using T = typename decltype(type)::type;
    const Normal<T> maker = {static_cast<T>(call.mean), static_cast<T>(call.std)};
    return draw(stream, call, maker);
  });
}

int32_t kernels::randint(const dt_stream* stream, const calls::Randint& call) {
  const uint64_t low = static_cast<uint64_t>(call.low);
  const Integers maker = {low, static_cast<uint64_t>(call.high) - low};
  return draw(stream, call, maker);
}

int32_t kernels::random_keys(const dt_stream* stream, const calls::RandomKeys& call) {
  return draw(stream, call, Keys());
}

int32_t kernels::bernoulli(const dt_stream* stream, const calls::Bernoulli& call) {
  return draw(stream, call, Bernoulli{philox::threshold(call.p)});
}

int32_t kernels::bernoulli_each(const dt_stream* stream, const calls::BernoulliEach& call) {
  return visit_stored_floating(call.y.dtype, [&](auto type) {
    using Maker = BernoulliEach<typename decltype(type)::type>;
    return draw(stream, call, Maker{decltype(Maker::p)(call.p)});
  });
}

int32_t kernels::dropout(const dt_stream* stream, const calls::Dropout& call) {
  return visit_stored_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const double p = call.p;
    const Dropout<T> maker = {Beside<T, 4>(call.x),
                              static_cast<Widened<T>>(p < 1 ? 1 / (1 - p) : 0),
                              philox::threshold(p)};
    return draw(stream, call, maker);
  });
}

}  // namespace dt::cuda
