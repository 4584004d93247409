// layer_norm over the last dimension of contiguous [rows, n], and its gradients. rms_norm is the
// same without a mean.
#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rows.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 1024;

// Tiles of rows that are worth a thread's while.
inline int64_t rows_per_tile(int64_t n) {
  return max<int64_t>(1, kSerialWork / 2 / max<int64_t>(1, n));
}

// A stretch of an optional weight [n]; where there is none, ones.
template <class T>
class Weight {
 public:
  explicit Weight(const T* weight) : weight_(weight) {
    for (int64_t i = 0; i < kTile; ++i) ones_[i] = T(1);
  }
  const T* from(int64_t first) const { return weight_ ? weight_ + first : ones_; }

 private:
  const T* weight_;
  T ones_[kTile];
};

// ---- forward

// One over the standard deviation. Rounding may leave a variance of less than nothing; of one that
// overflowed nothing is known: NaN, not 0.
inline double rstd_of(double variance, double eps) {
  if (!(variance < __builtin_inf())) return __builtin_nan("");
  return 1.0 / __builtin_sqrt(max(0.0, variance) + eps);
}

// Two passes, and the second also measures by how much the rounded mean is off: a large mean costs
// no digits.
template <class T>
void row_statistics(const T* x, int64_t n, double eps, T* mean, T* rstd) {
  const T count = static_cast<T>(n);
  const T guess = reduce_span<Sum<T>>(x, n) / count;
  const T off = reduce_span<Sum<T>>(x, n, [guess](auto v) { return v - guess; }) / count;
  const T squares =
      reduce_span<Sum<T>>(x, n, [guess](auto v) { return (v - guess) * (v - guess); }) / count;
  const double variance =
      static_cast<double>(squares) - static_cast<double>(off) * static_cast<double>(off);
  *mean = guess + off;
  *rstd = static_cast<T>(rstd_of(variance, eps));
}

// Without a mean. What overflowed makes the row 0.
template <class T>
T row_rstd(const T* x, int64_t n, double eps) {
  const T squares = reduce_span<Sum<T>>(x, n, [](auto v) { return v * v; }) / static_cast<T>(n);
  return static_cast<T>(1.0 / __builtin_sqrt(static_cast<double>(squares) + eps));
}

template <class T>
void normalize_row(T* y, const T* x, int64_t n, T mean, T rstd, const T* weight, const T* bias) {
  if (weight && bias) {
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
  } else if (weight) {
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * weight[i];
  } else if (bias) {
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd + bias[i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd;
  }
}

template <class T>
int32_t forward(const dt_stream* stream, const calls::LayerNorm& call) {
  const int64_t n = call.x.sizes[1], rows = call.x.sizes[0];
  const T* x = data<const T>(call.x);
  const T* weight = optional_data<const T>(call.weight);
  const T* bias = optional_data<const T>(call.bias);
  T *y = data<T>(call.y), *mean = optional_data<T>(call.mean), *rstd = data<T>(call.rstd);
  const double eps = call.eps;
  const int64_t group = rows_per_tile(n);
  parallel_for(stream, ceil_div(rows, group), 2 * rows * n, [&](int64_t tile) {
    const int64_t end = min(rows, (tile + 1) * group);
    for (int64_t r = tile * group; r < end; ++r) {
      T center = 0;
      if (mean) {
        row_statistics(x + r * n, n, eps, &center, &rstd[r]);
        mean[r] = center;
      } else {
        rstd[r] = row_rstd(x + r * n, n, eps);
      }
      normalize_row(y + r * n, x + r * n, n, center, rstd[r], weight, bias);
    }
  });
  return DT_KERNEL_OK;
}

// ---- backward

// The sums over rows are taken in chunks of rows that the shape fixes; each chunk has a row of
// scratch for either sum.
struct Chunks {
  int64_t rows, n, rows_per_chunk, chunks;
};

inline Chunks make_chunks(const calls::LayerNormBackward& call) {
  Chunks c;
  c.rows = call.x.sizes[0];
  c.n = call.x.sizes[1];
  const int64_t wanted = min<int64_t>(64, max<int64_t>(1, c.rows * c.n / kSerialWork));
  c.rows_per_chunk = max<int64_t>(1, ceil_div(c.rows, wanted));
  c.chunks = ceil_div(c.rows, c.rows_per_chunk);
  return c;
}

template <class T>
void clear(T* sums, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sums[i] = T(0);
}

template <class T>
struct Gradients {
  const T *g, *x;
  const T* mean;  // or null: nothing was taken away
  const T* rstd;
  T* gx;          // or null
  T* sum_weight;  // the chunk's row of sums, or null
  T* sum_bias;    // or null
};

// gx = rstd * (h - mean(h) - xhat * mean(h * xhat)), where h = g * weight and xhat = (x - mean) *
// rstd; without mean(h) where no mean was taken away.
template <class T>
void input_gradient(T* gx, const T* g, const T* x, int64_t n, bool is_centered, T mean, T rstd,
                    const Weight<T>& weight) {
  double sum_h = 0, sum_hx = 0;
  T h[kTile], hx[kTile];
  for (int64_t first = 0; first < n; first += kTile) {
    const int64_t count = min(kTile, n - first);
    const T* w = weight.from(first);
    for (int64_t i = 0; i < count; ++i) {
      h[i] = g[first + i] * w[i];
      hx[i] = h[i] * ((x[first + i] - mean) * rstd);
    }
    sum_h += reduce_span<Sum<T>>(h, count);
    sum_hx += reduce_span<Sum<T>>(hx, count);
  }
  const T mean_h = is_centered ? static_cast<T>(sum_h / static_cast<double>(n)) : T(0);
  const T mean_hx = static_cast<T>(sum_hx / static_cast<double>(n));
  for (int64_t first = 0; first < n; first += kTile) {
    const int64_t count = min(kTile, n - first);
    const T* w = weight.from(first);
    for (int64_t i = 0; i < count; ++i) {
      const T xhat = (x[first + i] - mean) * rstd;
      gx[first + i] = rstd * (g[first + i] * w[i] - mean_h - xhat * mean_hx);
    }
  }
}

template <class T>
void backward_row(const Gradients<T>& to, int64_t r, int64_t n, const Weight<T>& weight) {
  const T *g = to.g + r * n, *x = to.x + r * n;
  const bool is_centered = to.mean != nullptr;
  const T mean = is_centered ? to.mean[r] : T(0), rstd = to.rstd[r];
  if (to.gx) input_gradient(to.gx + r * n, g, x, n, is_centered, mean, rstd, weight);
  if (to.sum_weight) {
    for (int64_t i = 0; i < n; ++i) to.sum_weight[i] += g[i] * ((x[i] - mean) * rstd);
  }
  if (to.sum_bias) {
    for (int64_t i = 0; i < n; ++i) to.sum_bias[i] += g[i];
  }
}

// Adds up the chunks' rows pairwise and stores the sum.
template <class T>
void combine_chunks(const dt_stream* stream, const Chunks& c, T* sums, T* result) {
  constexpr int64_t kColumns = 512;
  if (c.chunks == 0) return clear(result, c.n);
  parallel_for(stream, ceil_div(c.n, kColumns), c.chunks * c.n, [&](int64_t tile) {
    const int64_t first = tile * kColumns, width = min(kColumns, c.n - first);
    for (int64_t step = 1; step < c.chunks; step *= 2) {
      for (int64_t k = 0; k + step < c.chunks; k += 2 * step) {
        reduce_rows<Sum<T>>(sums + k * c.n + first, sums + (k + step) * c.n + first, 0, 1, width);
      }
    }
    __builtin_memcpy(result + first, sums + first, static_cast<size_t>(width) * sizeof(T));
  });
}

template <class T>
int32_t backward(const dt_stream* stream, const calls::LayerNormBackward& call) {
  const Chunks c = make_chunks(call);
  const bool wants_weight = call.gweight != nullptr, wants_bias = call.gbias != nullptr;
  T* scratch = static_cast<T*>(call.workspace);
  T* weight_sums = wants_weight ? scratch : nullptr;
  T* bias_sums = wants_bias ? scratch + (wants_weight ? c.chunks * c.n : 0) : nullptr;
  parallel_for(stream, c.chunks, 2 * c.rows * c.n, [&](int64_t chunk) {
    const Weight<T> weight(optional_data<const T>(call.weight));
    Gradients<T> to;
    to.g = data<const T>(call.g);
    to.x = data<const T>(call.x);
    to.mean = optional_data<const T>(call.mean);
    to.rstd = data<const T>(call.rstd);
    to.gx = optional_data<T>(call.gx);
    to.sum_weight = wants_weight ? weight_sums + chunk * c.n : nullptr;
    to.sum_bias = wants_bias ? bias_sums + chunk * c.n : nullptr;
    if (to.sum_weight) clear(to.sum_weight, c.n);
    if (to.sum_bias) clear(to.sum_bias, c.n);
    const int64_t end = min(c.rows, (chunk + 1) * c.rows_per_chunk);
    for (int64_t r = chunk * c.rows_per_chunk; r < end; ++r) backward_row(to, r, c.n, weight);
  });
  if (wants_weight) combine_chunks(stream, c, weight_sums, data<T>(*call.gweight));
  if (wants_bias) combine_chunks(stream, c, bias_sums, data<T>(*call.gbias));
  return DT_KERNEL_OK;
}

}  // namespace

int32_t kernels::layer_norm(const dt_stream* stream, const calls::LayerNorm& call) {
  return visit_floating(call.x.dtype, [&](auto type) {
    return forward<typename decltype(type)::type>(stream, call);
  });
}

int32_t kernels::layer_norm_backward(const dt_stream* stream,
                                     const calls::LayerNormBackward& call) {
  return visit_floating(call.g.dtype, [&](auto type) {
    return backward<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::layer_norm_backward_workspace(const dt_stream*,
                                               const calls::LayerNormBackward& call) {
  const Chunks c = make_chunks(call);
  const int64_t sums = (call.gweight ? 1 : 0) + (call.gbias ? 1 : 0);
  return sums * c.chunks * c.n * bytes_of(call.x.dtype);
}

}  // namespace dt::cpu
