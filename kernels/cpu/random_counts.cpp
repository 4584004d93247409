// Random counts, and choices by given probabilities: see random_counts.h and random.toml.
#include "kernels/calls/random.gen.h"
#include "kernels/cpu/workers.h"
#include "kernels/random_counts.h"

namespace dt::cpu {
namespace {

constexpr int64_t kCyclesOfCount = 200;
constexpr int64_t kPerTile = 256;

// y[i] = make(i, the stream of element i).
template <class Call, class Make>
void draw_counts(const dt_stream* stream, const Call& call, const Make& make) {
  const uint64_t seed = data<uint64_t>(call.state)[0];
  const uint64_t offset = data<uint64_t>(call.state)[1] + static_cast<uint64_t>(call.advance);
  const int64_t n = count(call.y);
  double* y = data<double>(call.y);
  parallel_for(stream, ceil_div(n, kPerTile), n * kCyclesOfCount, [&](int64_t tile) {
    const int64_t end = min(n, (tile + 1) * kPerTile);
    for (int64_t i = tile * kPerTile; i < end; ++i) {
      y[i] = make(i, philox::Uniforms{offset + static_cast<uint64_t>(i), seed, 0});
    }
  });
}

// ---- choices

constexpr int64_t kSearched =
    16;  // fewer choices than a 16th of the row: no table is made for them

constexpr int64_t kMoreStarts = 2;  // than weights: the sum of all is the start of no cell

// A row's running sums, and near which of them each of n equal parts of the whole begins: from
// there a choice is a step or two away (H.-C. Chen, Y. Asau, AIIE Trans. 6 (1974), 163).
class RunningSums {
 public:
  RunningSums(double* sums, int32_t* starts, int64_t n) : sums_(sums), starts_(starts), n_(n) {}

  // Whether the weights are a distribution.
  template <class T>
  bool read(const T* p) {
    double sum = 0;
    bool is_valid = true;
    for (int64_t i = 0; i < n_; ++i) {
      is_valid &= p[i] >= T(0);
      sums_[i] = sum += static_cast<double>(p[i]);
    }
    for (last_ = n_ - 1; last_ > 0 && sums_[last_ - 1] == sum;) --last_;
    return is_valid && sum > 0 && sum < math::kInfinity;
  }

  // The table and what reads it have few branches: those would depend on the weights and the
  // numbers.
  void make_table() {
    const double scale = static_cast<double>(n_) / sums_[n_ - 1];
    for (int64_t cell = 0; cell < n_ + kMoreStarts; ++cell) starts_[cell] = 0;
    // One too early, since the products are rounded.
    for (int64_t i = 0; i < last_; ++i)
      starts_[static_cast<int64_t>(sums_[i] * scale) + 1] = static_cast<int32_t>(i);
    for (int64_t cell = 1; cell < n_; ++cell) starts_[cell] = max(starts_[cell], starts_[cell - 1]);
  }

  int64_t by_table(double u) const {
    const double target = target_of(u);
    int64_t i = starts_[static_cast<int64_t>(u * static_cast<double>(n_))];
    for (int step = 0; step < 3; ++step) i += sums_[i] <= target;
    while (sums_[i] <= target) ++i;
    return i;
  }

  int64_t by_halves(double u) const {
    const double target = target_of(u);
    int64_t first = 0;
    for (int64_t n = last_ + 1; n > 1;) {
      const int64_t half = n / 2;
      first += sums_[first + half - 1] <= target ? half : 0;
      n -= half;
    }
    return first;
  }

 private:
  // Below the sum of all, also where the product is rounded up: what is looked for exists.
  double target_of(double u) const { return u * sums_[n_ - 1] * (1 - 0x1p-52); }

  double* sums_;
  int32_t* starts_;
  int64_t n_, last_ = 0;
};

struct Scratch {
  double* sums;
  int32_t* starts;
  int64_t bytes;
};

Scratch scratch_of(void* base, int64_t n, int64_t workers) {
  Workspace workspace(base);
  double* sums = workspace.take<double>(n * workers);
  int32_t* starts = workspace.take<int32_t>((n + kMoreStarts) * workers);
  return {sums, starts, workspace.bytes()};
}

template <class T>
void choose_rows(const dt_stream* stream, const calls::Choose& call) {
  const int64_t rows = call.p.sizes[0], n = call.p.sizes[1], wanted = call.y.sizes[1];
  const bool parallel = worth_threads(stream, 4 * rows * (n + 4 * wanted));
  const Scratch scratch = scratch_of(call.workspace, n, stream->threads);
  for_each_item(stream, rows, parallel, [&](int64_t r, int64_t worker) {
    RunningSums row(scratch.sums + worker * n, scratch.starts + worker * (n + kMoreStarts), n);
    int64_t* y = data<int64_t>(call.y) + r * wanted;
    const double* u = data<const double>(call.u) + r * wanted;
    if (!row.read(data<const T>(call.p) + r * n)) {
      for (int64_t i = 0; i < wanted; ++i) y[i] = -1;
    } else if (wanted * kSearched < n) {
      for (int64_t i = 0; i < wanted; ++i) y[i] = row.by_halves(u[i]);
    } else {
      row.make_table();
      for (int64_t i = 0; i < wanted; ++i) y[i] = row.by_table(u[i]);
    }
  });
}

}  // namespace

int32_t kernels::poisson(const dt_stream* stream, const calls::Poisson& call) {
  const double* rate = data<const double>(call.rate);
  draw_counts(stream, call,
              [=](int64_t i, philox::Uniforms own) { return philox::poisson(rate[i], own); });
  return DT_KERNEL_OK;
}

int32_t kernels::binomial(const dt_stream* stream, const calls::Binomial& call) {
  const double *n = data<const double>(call.count), *p = data<const double>(call.prob);
  draw_counts(stream, call,
              [=](int64_t i, philox::Uniforms own) { return philox::binomial(n[i], p[i], own); });
  return DT_KERNEL_OK;
}

int32_t kernels::choose(const dt_stream* stream, const calls::Choose& call) {
  return visit_floating(
      call.p.dtype, [&](auto type) { choose_rows<typename decltype(type)::type>(stream, call); });
}

int64_t kernels::choose_workspace(const dt_stream* stream, const calls::Choose& call) {
  return scratch_of(nullptr, call.p.sizes[1], stream->threads).bytes;
}

}  // namespace dt::cpu
