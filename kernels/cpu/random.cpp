// Random ops: see philox.h for the numbers, and random.toml for which element gets which.
#include "kernels/calls/nn.gen.h"
#include "kernels/calls/random.gen.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/random_bits.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// Random numbers of 32 or 64 bits that a chunk of kBlocks blocks is made into.
template <class Bits>
constexpr int64_t kPerChunk = 16 * kBlocks / sizeof(Bits);
constexpr int64_t kChunksPerTask = 64;

// Calls body(bits, start, n) for consecutive runs of n <= kPerChunk elements.
template <class Bits, Order kOrder = Order::kElements, class Call, class Body>
inline void for_each_chunk(const dt_stream* stream, const Call& call, int64_t cycles,
                           const Body& body) {
  constexpr int64_t kElements = kPerChunk<Bits>;
  const RoundKeys keys(data<uint64_t>(call.state)[0]);
  const uint64_t offset = data<uint64_t>(call.state)[1] + static_cast<uint64_t>(call.advance);
  const int64_t n = count(call.y);
  const int64_t chunks = ceil_div(n, kElements);
  const int64_t tasks = worth_threads(stream, n * cycles) ? ceil_div(chunks, kChunksPerTask) : 1;
  const auto run = [&](int64_t task) {
    alignas(64) Bits bits[kElements] = {};
    for (int64_t c = chunks * task / tasks; c < chunks * (task + 1) / tasks; ++c) {
      const int64_t elements = min(kElements, n - c * kElements);
      make_bits<kOrder>(bits, offset + static_cast<uint64_t>(c * kBlocks), keys,
                        ceil_div(elements * kBlocks, kElements));
      body(bits, c * kElements, elements);
    }
  };
  parallel_for(stream, tasks, run);
}

// Has make(values) write kAll values at once, of which n are wanted at y.
template <int64_t kAll, class T, class Make>
inline void put_run(T* y, int64_t n, const Make& make) {
  T values[kAll];
  make(n < kAll ? values : y);
  if (n < kAll) __builtin_memcpy(y, values, static_cast<size_t>(n) * sizeof(T));
}

// ---- uniform

template <class T, class Bits>
void draw(const dt_stream* stream, const calls::Uniform& call) {
  const T low = static_cast<T>(call.low), range = static_cast<T>(call.high - call.low);
  T* y = data<T>(call.y);
  const auto body = [=](const Bits* bits, int64_t start, int64_t n) {
    put_run<kPerChunk<Bits>>(y + start, n, [=](T* values) {
      DT_INDEPENDENT
      for (int64_t i = 0; i < kPerChunk<Bits>; ++i)
        values[i] = low + range * philox::uniform(bits[i]);
    });
  };
  for_each_chunk<Bits>(stream, call, 4, body);
}

// ---- normal

// At least n values.
template <class T, class Bits>
inline void normal_values(T* y, const Bits* bits, int64_t n, T mean, T std) {
  constexpr int64_t kPairs = kPerChunk<Bits> / kBlocks * kBlocksAtOnce / 2;
  const Bits *even = bits, *odd = bits + kPerChunk<Bits> / 2;
  for (; n > 0; n -= 2 * kPairs, y += 2 * kPairs, even += kPairs, odd += kPairs) {
    for (int64_t i = 0; i < kPairs; ++i) {
      const philox::Pair<T> z = philox::normal(even[i], odd[i]);
      y[2 * i] = mean + std * z.first;
      y[2 * i + 1] = mean + std * z.second;
    }
  }
}

template <class T, class Bits>
void draw(const dt_stream* stream, const calls::Normal& call) {
  const T mean = static_cast<T>(call.mean), std = static_cast<T>(call.std);
  T* y = data<T>(call.y);
  const auto body = [=](const Bits* bits, int64_t start, int64_t n) {
    put_run<kPerChunk<Bits>>(y + start, n,
                             [=](T* values) { normal_values(values, bits, n, mean, std); });
  };
  for_each_chunk<Bits, Order::kApart>(stream, call, 8, body);
}

// ---- integers, in any dtype

// y[i] = value(bits of element i), a T, converted to y's dtype.
template <class T, class Bits, class Call, class Value>
void integers(const dt_stream* stream, const Call& call, const Value& value) {
  const dt_view& y = call.y;
  TileFunction* const convert = conversion(dtype_of<T>, y.dtype);
  const int64_t bytes = bytes_of(y.dtype);
  const auto body = [&](const Bits* bits, int64_t start, int64_t n) {
    T values[kPerChunk<Bits>];
    for (int64_t i = 0; i < kPerChunk<Bits>; ++i) values[i] = value(bits[i]);
    Tile tile;
    tile.rows = 1;
    tile.n = n;
    tile.in[0] = values;
    tile.out = static_cast<char*>(y.data) + start * bytes;
    convert(tile);
  };
  for_each_chunk<Bits>(stream, call, 6, body);
}

// ---- dropout

template <class T, class>
void draw(const dt_stream* stream, const calls::Dropout& call) {
  const DropRule<T> rule(call.p);
  const T* x = data<T>(call.x);
  T* y = data<T>(call.y);
  const auto body = [=](const uint32_t* bits, int64_t start, int64_t n) {
    rule.apply(y + start, x + start, bits, n);
  };
  for_each_chunk<uint32_t>(stream, call, 4, body);
}

template <class Call>
int32_t draw_floating(const dt_stream* stream, const Call& call) {
  return visit_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    draw<T, Bits<sizeof(T)>>(stream, call);
  });
}

}  // namespace

int32_t kernels::uniform(const dt_stream* stream, const calls::Uniform& call) {
  return draw_floating(stream, call);
}

// The formulas of its steps are vector code.
int32_t kernels::exponential(const dt_stream*, const calls::Exponential&) {
  return DT_KERNEL_UNSUPPORTED;
}

// A comparison is vector code, too.
int32_t kernels::bernoulli_each(const dt_stream*, const calls::BernoulliEach&) {
  return DT_KERNEL_UNSUPPORTED;
}

int32_t kernels::normal(const dt_stream* stream, const calls::Normal& call) {
  return draw_floating(stream, call);
}

int32_t kernels::dropout(const dt_stream* stream, const calls::Dropout& call) {
  return draw_floating(stream, call);
}

int32_t kernels::randint(const dt_stream* stream, const calls::Randint& call) {
  const uint64_t low = static_cast<uint64_t>(call.low),
                 range = static_cast<uint64_t>(call.high) - low;
  integers<int64_t, uint64_t>(stream, call, [=](uint64_t bits) {
    const unsigned __int128 product = static_cast<unsigned __int128>(bits) * range;
    return static_cast<int64_t>(low + static_cast<uint64_t>(product >> 64));
  });
  return DT_KERNEL_OK;
}

int32_t kernels::random_keys(const dt_stream* stream, const calls::RandomKeys& call) {
  integers<int64_t, uint64_t>(stream, call,
                              [](uint64_t bits) { return static_cast<int64_t>(bits >> 1); });
  return DT_KERNEL_OK;
}

int32_t kernels::bernoulli(const dt_stream* stream, const calls::Bernoulli& call) {
  const int32_t limit = philox::threshold(call.p);
  integers<uint8_t, uint32_t>(stream, call, [=](uint32_t bits) {
    return static_cast<uint8_t>(static_cast<int32_t>(bits >> 8) < limit);
  });
  return DT_KERNEL_OK;
}

}  // namespace dt::cpu
