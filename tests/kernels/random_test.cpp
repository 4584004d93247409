// Philox against its published vectors, and the random kernels: the same bits from every
// instruction set, thread count and split, the documented element order, and the moments and
// quantiles of the distributions.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/philox.h"
#include "tests/kernels/kernel_table.h"

namespace {

int failures = 0;

void check(bool ok, const char* what) {
  if (!ok) ++failures, std::printf("FAIL %s\n", what);
}

void run_parallel(int64_t tiles, int64_t, void (*body)(void*, int64_t, int64_t), void* context) {
  std::thread other([=] {
    for (int64_t t = tiles - 1; t >= 0; t -= 2) body(context, t, 1);
  });
  for (int64_t t = tiles - 2; t >= 0; t -= 2) body(context, t, 0);
  other.join();
}

dt_fault fault;
const dt_stream kSerial = {run_parallel, 1, 0, &fault, nullptr, 0},
                kThreaded = {run_parallel, 2, 0, &fault, nullptr, 0};

dt_view view(void* data, int32_t dtype, int64_t n) {
  dt_view v = {};
  v.data = data;
  v.dtype = dtype;
  v.ndim = 1;
  v.sizes[0] = n;
  v.strides[0] = 1;
  return v;
}

template <class T>
std::vector<T> draw(const KernelTable& table, const char* op, int32_t dtype, int64_t n, double a,
                    double b, const dt_stream& stream = kSerial, int64_t offset = 0,
                    uint64_t seed = 42) {
  std::vector<T> y(static_cast<size_t>(n));
  uint64_t state[2] = {seed, static_cast<uint64_t>(offset) + 5};
  const dt_view out = view(y.data(), dtype, n), in = view(state, DT_INT64, 2);
  const int64_t ints[] = {-5, static_cast<int64_t>(a), static_cast<int64_t>(b)};
  const double floats[] = {a, b};
  const dt_call call = {op, 1, 1, 3, 2, &out, &in, ints, floats, nullptr};
  check(table.run(stream, call) == DT_KERNEL_OK, "status");
  return y;
}

void test_vectors() {
  using dt::philox::Block;
  const auto same = [](const Block& b, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
    return b.word[0] == w0 && b.word[1] == w1 && b.word[2] == w2 && b.word[3] == w3;
  };
  const uint64_t ones = ~uint64_t(0);
  check(same(dt::philox::block(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8),
        "Philox of zeros");
  check(same(dt::philox::block(ones, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd),
        "Philox of ones");
  check(same(dt::philox::block(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822),
             0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1),
        "Philox of pi");
}

// Element i comes from word i % 4 of block offset + i / 4, also across the carry into the counter's
// upper half.
void test_order(const KernelTable& table) {
  const int64_t offset = (int64_t(1) << 32) - 40;
  const std::vector<float> u =
      draw<float>(table, "uniform", DT_FLOAT32, 1001, 0, 1, kSerial, offset);
  const std::vector<double> v =
      draw<double>(table, "uniform", DT_FLOAT64, 1001, 0, 1, kSerial, offset);
  const std::vector<float> z =
      draw<float>(table, "normal", DT_FLOAT32, 1001, 0, 1, kSerial, offset);
  for (int64_t i = 0; i < 1001; ++i) {
    const dt::philox::Block b = dt::philox::block(static_cast<uint64_t>(offset + i / 4), 0, 42);
    const dt::philox::Block d = dt::philox::block(static_cast<uint64_t>(offset + i / 2), 0, 42);
    const int half = static_cast<int>(i % 2), word = static_cast<int>(i % 4);
    check(u[i] == static_cast<float>(b.word[word] >> 8) * 0x1p-24f, "uniform float32 by index");
    const uint64_t wide = d.word[2 * half] | static_cast<uint64_t>(d.word[2 * half + 1]) << 32;
    check(v[i] == static_cast<double>(wide >> 11) * 0x1p-53, "uniform float64 by index");
    const auto pair = dt::philox::normal(b.word[word & 2], b.word[(word & 2) + 1]);
    check(z[i] == (word % 2 ? pair.second : pair.first), "normal float32 by index");
    if (failures > 10) return;
  }
}

// Mean, variance, skewness, kurtosis and the tails of a standard normal sample.
template <class T>
void test_normal(const std::vector<T>& z) {
  const double n = static_cast<double>(z.size());
  double sum[5] = {}, beyond[4] = {}, largest = 0;
  for (T value : z) {
    double power = 1;
    for (double& s : sum) s += power, power *= value;
    for (int k = 0; k < 4; ++k) beyond[k] += value > k;
    largest = std::fmax(largest, std::fabs(value));
  }
  const double expected[] = {1, 0, 1, 0, 3},
               deviation[] = {0, 1, std::sqrt(2.0), std::sqrt(15.0), std::sqrt(96.0)};
  for (int k = 1; k < 5; ++k) {
    check(std::fabs(sum[k] / n - expected[k]) < 5 * deviation[k] / std::sqrt(n),
          "moments of normal");
  }
  for (int k = 0; k < 4; ++k) {
    const double p = 0.5 * std::erfc(k / std::sqrt(2.0));
    check(std::fabs(beyond[k] / n - p) < 5 * std::sqrt(p / n), "quantiles of normal");
  }
  check(largest > 4 && largest < 9, "tails of normal");
}

void test_distributions(const KernelTable& table) {
  const int64_t n = 1 << 20;
  const double slack = 5 / std::sqrt(static_cast<double>(n));
  test_normal(draw<float>(table, "normal", DT_FLOAT32, n, 0, 1));
  test_normal(draw<double>(table, "normal", DT_FLOAT64, n, 0, 1));
  double mean = 0, ones = 0;
  for (float u : draw<float>(table, "uniform", DT_FLOAT32, n, -1, 3)) {
    check(u >= -1 && u <= 3, "range of uniform");
    mean += u;
  }
  check(std::fabs(mean / n - 1) < 4 * slack, "mean of uniform");
  int64_t counts[7] = {};
  for (int64_t k : draw<int64_t>(table, "randint", DT_INT64, n, -3, 4)) {
    check(k >= -3 && k < 4, "range of randint");
    ++counts[k + 3];
  }
  for (int64_t c : counts)
    check(std::fabs(static_cast<double>(c) / n - 1.0 / 7) < slack, "randint is even");
  for (uint8_t b : draw<uint8_t>(table, "bernoulli", DT_BOOL, n, 0.3, 0)) ones += b;
  check(std::fabs(ones / n - 0.3) < slack, "bernoulli");
  for (int64_t k : draw<int64_t>(table, "random_keys", DT_INT64, 1000, 0, 0)) check(k >= 0, "keys");
}

void test_dropout(const KernelTable& table) {
  const int64_t n = 100003;
  std::vector<float> x(n, 2.0f), y(n);
  int64_t state[2] = {7, 0};
  const dt_view in[] = {view(x.data(), DT_FLOAT32, n), view(state, DT_INT64, 2)};
  const int64_t advance = 3;
  for (double p : {0.0, 0.25, 1.0}) {
    dt_view out = view(y.data(), DT_FLOAT32, n);
    dt_call call = {"dropout", 1, 2, 1, 1, &out, in, &advance, &p, nullptr};
    table.run(kThreaded, call);
    double kept = 0;
    bool values = true;
    for (float v : y) kept += v != 0, values &= v == 0 || v == static_cast<float>(2 / (1 - p));
    check(values && std::fabs(kept / n - (1 - p)) < 0.01, "dropout");
    std::vector<float> z(x);
    dt_view place = view(z.data(), DT_FLOAT32, n);
    const dt_view in_place[] = {place, in[1]};
    call.out = &place;
    call.in = in_place;
    table.run(kSerial, call);
    check(z == y, "dropout in place");
  }
}

template <class T>
void test_same_bits(const std::vector<KernelTable>& tables, const char* op, int32_t dtype, double a,
                    double b, const char* what) {
  const std::vector<T> first = draw<T>(tables[0], op, dtype, 300001, a, b);
  for (const KernelTable& table : tables) {
    check(draw<T>(table, op, dtype, 300001, a, b, kThreaded) == first, what);
    const std::vector<T> few = draw<T>(table, op, dtype, 37, a, b);
    check(std::memcmp(few.data(), first.data(), 37 * sizeof(T)) == 0, what);
  }
}

}  // namespace

int main() {
  test_vectors();
  const std::vector<KernelTable> tables = kernel_tables();
  for (const KernelTable& table : tables) {
    test_order(table);
    test_dropout(table);
  }
  test_distributions(tables.back());
  test_same_bits<float>(tables, "normal", DT_FLOAT32, 1, 2, "normal float32: same bits");
  test_same_bits<double>(tables, "normal", DT_FLOAT64, 1, 2, "normal float64: same bits");
  test_same_bits<float>(tables, "uniform", DT_FLOAT32, -0.1, 0.3, "uniform float32: same bits");
  test_same_bits<double>(tables, "uniform", DT_FLOAT64, -0.1, 0.3, "uniform float64: same bits");
  test_same_bits<int64_t>(tables, "randint", DT_INT64, -10, 1000, "randint: same bits");
  test_same_bits<int32_t>(tables, "randint", DT_INT32, -10, 1000, "randint int32: same bits");
  test_same_bits<int64_t>(tables, "random_keys", DT_INT64, 0, 0, "keys: same bits");
  test_same_bits<float>(tables, "bernoulli", DT_FLOAT32, 0.3, 0, "bernoulli: same bits");
  std::printf(failures == 0 ? "random: ok\n" : "random: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
