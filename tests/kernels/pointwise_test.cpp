// The elementwise executor: random calls of every shape, stride, dtype and aliasing that
// kernels/calls/pointwise.h allows, against a plain loop over logical indices, for each instruction
// set that this machine has. Values are small integers, so every op here is exact in every dtype.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/kernels/kernel_table.h"

namespace {

uint64_t random_state = 1;

int64_t draw(int64_t n) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<int64_t>((random_state >> 33) % static_cast<uint64_t>(n));
}

// A stand-in for core's thread pool.
void run_parallel(int64_t tiles, int64_t, void (*body)(void*, int64_t, int64_t), void* context) {
  std::thread other([=] {
    for (int64_t t = 1; t < tiles; t += 2) body(context, t, 1);
  });
  for (int64_t t = 0; t < tiles; t += 2) body(context, t, 0);
  other.join();
}

dt_fault fault;
const dt_stream kStreams[] = {{run_parallel, 1, 0, &fault, nullptr, 0},
                              {run_parallel, 2, 0, &fault, nullptr, 0}};

const int32_t kDtypes[] = {DT_FLOAT32, DT_FLOAT64, DT_INT64, DT_INT32, DT_UINT8, DT_BOOL};

int64_t bytes_of(int32_t dtype) {
  return dtype == DT_FLOAT64 || dtype == DT_INT64 ? 8 : dtype <= DT_INT32 ? 4 : 1;
}

double read(const void* p, int32_t dtype) {
  switch (dtype) {
    case DT_FLOAT32:
      return *static_cast<const float*>(p);
    case DT_FLOAT64:
      return *static_cast<const double*>(p);
    case DT_INT64:
      return static_cast<double>(*static_cast<const int64_t*>(p));
    case DT_INT32:
      return *static_cast<const int32_t*>(p);
    default:
      return *static_cast<const uint8_t*>(p);
  }
}

void write(void* p, int32_t dtype, double value) {
  switch (dtype) {
    case DT_FLOAT32:
      *static_cast<float*>(p) = static_cast<float>(value);
      return;
    case DT_FLOAT64:
      *static_cast<double*>(p) = value;
      return;
    case DT_INT64:
      *static_cast<int64_t*>(p) = static_cast<int64_t>(value);
      return;
    case DT_INT32:
      *static_cast<int32_t*>(p) = static_cast<int32_t>(value);
      return;
    case DT_UINT8:
      *static_cast<uint8_t*>(p) = static_cast<uint8_t>(static_cast<int64_t>(value));
      return;
    default:
      *static_cast<uint8_t*>(p) = value != 0;
      return;
  }
}

// A view and the memory under it.
struct Operand {
  dt_view view = {};
  std::vector<char> memory;

  char* at(const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view.strides[d];
    return static_cast<char*>(view.data) + offset * bytes_of(view.dtype);
  }
  double get(const std::vector<int64_t>& index) {
    if (view.immediate)
      return view.dtype <= DT_FLOAT64 ? view.number.f : static_cast<double>(view.number.i);
    return read(at(index), view.dtype);
  }
};

void for_each(const std::vector<int64_t>& sizes,
              const std::function<void(const std::vector<int64_t>&)>& body) {
  std::vector<int64_t> index(sizes.size(), 0);
  for (int64_t s : sizes) {
    if (s == 0) return;
  }
  for (;;) {
    body(index);
    int d = static_cast<int>(sizes.size()) - 1;
    while (d >= 0 && ++index[d] == sizes[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

// Memory in a random layout: permuted, with gaps, flipped, or broadcast (inputs only).
void allocate(Operand& x, const std::vector<int64_t>& sizes, int32_t dtype, bool input) {
  const int n = static_cast<int>(sizes.size());
  x.view = {};
  x.view.dtype = dtype;
  x.view.ndim = n;
  std::vector<int> order(n);
  for (int d = 0; d < n; ++d) order[d] = d;
  if (draw(3) == 0 && input) {
    for (int d = n - 1; d > 0; --d) std::swap(order[d], order[draw(d + 1)]);
  }
  int64_t stride = draw(6) == 0 ? 2 : 1, least = 0, greatest = 0;
  for (int i = n - 1; i >= 0; --i) {
    const int d = order[i];
    const bool broadcast = input && draw(4) == 0;
    x.view.sizes[d] = sizes[d];
    x.view.strides[d] = broadcast ? 0 : draw(12) == 0 ? -stride : stride;
    const int64_t reach = (sizes[d] - 1) * x.view.strides[d];
    (reach < 0 ? least : greatest) += reach;
    if (!broadcast) stride *= sizes[d] + (draw(8) == 0 ? 3 : 0);
  }
  const int64_t bytes = bytes_of(dtype);
  x.memory.assign(static_cast<size_t>((greatest - least + 1) * bytes + 64), 0);
  x.view.data = x.memory.data() - least * bytes;
  for_each(sizes, [&](const std::vector<int64_t>& index) {
    write(x.at(index), dtype, static_cast<double>(dtype == DT_UINT8 ? draw(9) : draw(17) - 8));
  });
  if (input && draw(8) == 0) {
    x.view.immediate = 1;
    x.view.data = nullptr;
    for (int d = 0; d < n; ++d) x.view.strides[d] = 0;
    if (dtype <= DT_FLOAT64)
      x.view.number.f = static_cast<double>(draw(9) - 4);
    else
      x.view.number.i = dtype == DT_BOOL ? draw(2) : draw(9);
  }
}

using Formula = std::function<double(const std::vector<double>& in, double alpha)>;

struct Op {
  const char* name;
  int n_in;
  bool bool_first, bool_out, floats_only;
  std::vector<Formula> outputs;
};

const std::vector<Op> kOps = {
    {"copy", 1, false, false, false, {[](auto& x, double) { return x[0]; }}},
    {"neg", 1, false, false, false, {[](auto& x, double) { return -x[0]; }}},
    {"add", 2, false, false, false, {[](auto& x, double a) { return x[0] + a * x[1]; }}},
    {"mul", 2, false, false, false, {[](auto& x, double) { return x[0] * x[1]; }}},
    {"maximum", 2, false, false, false, {[](auto& x, double) { return std::fmax(x[0], x[1]); }}},
    {"lt", 2, false, true, false, {[](auto& x, double) { return x[0] < x[1]; }}},
    {"where", 3, true, false, false, {[](auto& x, double) { return x[0] != 0 ? x[1] : x[2]; }}},
    {"mul_backward",
     3,
     false,
     false,
     true,
     {[](auto& x, double) { return x[0] * x[2]; }, [](auto& x, double) { return x[0] * x[1]; }}},
};

// One random call; returns whether every output is right.
bool run_case(const KernelTable& table, const dt_stream& stream, int64_t size_limit,
              std::string& what) {
  const Op& op = kOps[draw(static_cast<int64_t>(kOps.size()))];
  const int64_t extents[] = {1, 2, 3, 4, 5, 7, 16, 31, 40, 100, 300, 1500};
  std::vector<int64_t> sizes(static_cast<size_t>(draw(5)));
  int64_t total = 1;
  for (int64_t& s : sizes) {
    s = extents[draw(12)];
    if (total * s > size_limit) s = 1;
    if (draw(200) == 0) s = 0;
    total *= s > 0 ? s : 1;
  }
  const int32_t compute = kDtypes[draw(op.floats_only ? 2 : 4)];
  std::vector<Operand> in(op.n_in), out(op.outputs.size());
  for (int i = 0; i < op.n_in; ++i) {
    const int32_t dtype = op.bool_first && i == 0 ? DT_BOOL : draw(3) ? compute : kDtypes[draw(6)];
    allocate(in[i], sizes, dtype, true);
  }
  std::vector<dt_view> in_views, out_views;
  for (Operand& x : in) in_views.push_back(x.view);
  for (Operand& y : out) {
    const int32_t natural = op.bool_out ? DT_BOOL : compute;
    allocate(y, sizes, draw(4) ? natural : kDtypes[draw(6)], false);
    if (out.size() > 1 && draw(3) == 0) y.view.dtype = 0;
    out_views.push_back(y.view);
  }
  const double alpha = static_cast<double>(draw(4));
  std::vector<std::vector<double>> want(out.size());
  for_each(sizes, [&](const std::vector<int64_t>& index) {
    std::vector<double> x;
    for (Operand& operand : in) x.push_back(operand.get(index));
    for (size_t j = 0; j < out.size(); ++j) want[j].push_back(op.outputs[j](x, alpha));
  });
  // Sometimes the first output is written over a full input.
  const int over = static_cast<int>(draw(op.n_in));
  bool full = in[over].view.immediate == 0 && draw(3) == 0 && out[0].view.dtype != 0;
  for (size_t d = 0; d < sizes.size(); ++d) full &= in[over].view.strides[d] != 0;
  if (full && in[over].view.dtype == out[0].view.dtype) {
    out_views[0] = in[over].view;
    out[0].view = in[over].view;
  }
  const int64_t ints[] = {compute, static_cast<int64_t>(alpha)};
  dt_call call = {op.name,
                  static_cast<int32_t>(out.size()),
                  op.n_in,
                  2,
                  1,
                  out_views.data(),
                  in_views.data(),
                  ints,
                  &alpha,
                  nullptr};
  const int32_t status = table.run(stream, call);
  what = std::string(op.name) + " compute " + std::to_string(compute) + " sizes";
  for (int64_t s : sizes) what += " " + std::to_string(s);
  bool ok = status == DT_KERNEL_OK;
  for (size_t j = 0; j < out.size() && ok; ++j) {
    if (out[j].view.dtype == 0) continue;
    size_t i = 0;
    for_each(sizes, [&](const std::vector<int64_t>& index) {
      double expected = 0;
      write(&expected, out[j].view.dtype, want[j][i++]);
      ok &= read(out[j].at(index), out[j].view.dtype) == read(&expected, out[j].view.dtype);
    });
  }
  return ok;
}

// sin and cos of arguments beyond the fast reduction, through the kernel.
bool test_trigonometry(const KernelTable& table) {
  const double huge = 1e22;
  std::vector<double> x(100, 0.5), y(100);
  x[7] = huge;
  x[9] = INFINITY;
  dt_view view = {};
  view.dtype = DT_FLOAT64;
  view.ndim = 1;
  view.sizes[0] = 100;
  view.strides[0] = 1;
  dt_view in = view, out = view;
  in.data = x.data();
  out.data = y.data();
  const int64_t compute = DT_FLOAT64;
  dt_call call = {"sin", 1, 1, 1, 0, &out, &in, &compute, nullptr, nullptr};
  table.run(kStreams[0], call);
  return std::fabs(y[7] - std::sin(huge)) < 1e-15 && std::isnan(y[9]) &&
         std::fabs(y[8] - std::sin(0.5)) < 1e-15;
}

// Outputs too large for the caches are written past them: a transposed and a plain copy of 32 MiB.
bool test_streaming(const KernelTable& table) {
  const int64_t rows = 2048, n = 4096;
  std::vector<float> x(static_cast<size_t>(rows * n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 999983);
  std::vector<float> memory(x.size() + 16);
  float* y = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) / 4;
  dt_view in = {}, out = {};
  in.dtype = out.dtype = DT_FLOAT32;
  in.ndim = out.ndim = 2;
  in.sizes[0] = out.sizes[0] = rows;
  in.sizes[1] = out.sizes[1] = n;
  in.data = x.data();
  out.data = y;
  out.strides[0] = n;
  out.strides[1] = 1;
  dt_call call = {"copy", 1, 1, 0, 0, &out, &in, nullptr, nullptr, nullptr};
  bool ok = true;
  for (bool transposed : {false, true}) {
    in.strides[0] = transposed ? 1 : n;
    in.strides[1] = transposed ? rows : 1;
    ok &= table.run(kStreams[1], call) == DT_KERNEL_OK;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < n; ++i)
        ok &= y[r * n + i] == x[r * in.strides[0] + i * in.strides[1]];
    }
  }
  return ok;
}

int test(const KernelTable& table) {
  int failures = 0;
  for (int i = 0; i < 6000; ++i) {
    const int64_t limit = i % 200 == 0 ? 400000 : 3000;
    std::string what;
    random_state = static_cast<uint64_t>(i) * 977 + 5;
    if (run_case(table, kStreams[i % 2], limit, what)) continue;
    if (++failures <= 10) std::printf("FAIL %s case %d: %s\n", table.isa.c_str(), i, what.c_str());
  }
  if (!test_trigonometry(table))
    ++failures, std::printf("FAIL %s: sin of huge arguments\n", table.isa.c_str());
  if (!test_streaming(table))
    ++failures, std::printf("FAIL %s: copies past the caches\n", table.isa.c_str());
  std::printf("pointwise %s: %s\n", table.isa.c_str(), failures == 0 ? "ok" : "failed");
  return failures;
}

}  // namespace

int main() {
  int failures = 0;
  for (const KernelTable& table : kernel_tables()) failures += test(table);
  return failures == 0 ? 0 : 1;
}
