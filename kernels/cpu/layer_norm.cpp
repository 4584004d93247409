// layer_norm over the last dimension of contiguous [rows, n], and its gradients. rms_norm is the
// same without a mean.
#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/row_group.h"

namespace dt::cpu {
namespace {

// Tiles of rows that are worth a thread's while.
template <class T>
int64_t rows_per_tile(int64_t n) {
  return max<int64_t>(rows_together<T>(n), kSerialWork / 2 / max<int64_t>(1, n));
}

// Elements from i on times their weights, if there are any.
template <class T>
Vector<T> weighted(Vector<T> v, const T* weight, int64_t i, int64_t count) {
  return weight ? v * load_as<T>(weight + i, count) : v;
}

// ---- forward

// One over the standard deviation. Rounding may leave a variance of less than nothing; of one that
// overflowed nothing is known: NaN, not 0.
inline double rstd_of(double variance, double eps) {
  if (!(variance < __builtin_inf())) return __builtin_nan("");
  return 1.0 / __builtin_sqrt(max(0.0, variance) + eps);
}

// Means and deviations of a group of rows. Two passes, and the second also measures by how much the
// rounded mean is off: a large mean costs no digits.
template <class T>
void row_statistics(const T* x, int64_t rows, int64_t n, double eps, T* mean, T* rstd) {
  const T count = static_cast<T>(n);
  T sum[kMostRows<T>], off[kMostRows<T>], squares[kMostRows<T>];
  const auto sum_of = [&](T(&sums)[kMostRows<T>], const auto& transform) {
    sum_rows<T>(
        rows, n,
        [&](int64_t k, int64_t first, int64_t some) {
          const T* const row = x + k * n;
          const T guess = sum[k];
          return sum_terms<T>(first, some, [=](int64_t i, int64_t count) {
            return Terms<T, 1>{transform(load_as<T>(row + i, count), guess)};
          });
        },
        sums);
  };
  sum_of(sum, [](auto v, T) { return v; });
  for (int64_t k = 0; k < rows; ++k) sum[k] /= count;
  sum_of(off, [](auto v, T guess) { return v - guess; });
  sum_of(squares, [](auto v, T guess) { return (v - guess) * (v - guess); });
  for (int64_t k = 0; k < rows; ++k) {
    off[k] /= count;
    const double variance = static_cast<double>(squares[k] / count) -
                            static_cast<double>(off[k]) * static_cast<double>(off[k]);
    mean[k] = sum[k] + off[k];
    rstd[k] = static_cast<T>(rstd_of(variance, eps));
  }
}

// Without a mean. What overflowed makes the row 0.
template <class T>
void row_rstds(const T* x, int64_t rows, int64_t n, double eps, T* rstd) {
  T squares[kMostRows<T>];
  sum_rows<T>(
      rows, n,
      [=](int64_t k, int64_t first, int64_t some) {
        const T* const row = x + k * n;
        return sum_terms<T>(first, some, [=](int64_t i, int64_t count) {
          const Vector<T> v = load_as<T>(row + i, count);
          return Terms<T, 1>{v * v};
        });
      },
      squares);
  for (int64_t k = 0; k < rows; ++k) {
    const auto mean = static_cast<double>(squares[k] / static_cast<T>(n));
    rstd[k] = static_cast<T>(1.0 / __builtin_sqrt(mean + eps));
  }
}

template <class T>
void normalize_row(T* y, const T* x, int64_t n, T mean, T rstd, const T* weight, const T* bias) {
  write_row(y, n, [=](int64_t i, int64_t count) {
    const Vector<T> v = weighted<T>((load_as<T>(x + i, count) - mean) * rstd, weight, i, count);
    return bias ? v + load_as<T>(bias + i, count) : v;
  });
}

template <class T>
int32_t forward(const dt_stream* stream, const calls::LayerNorm& call) {
  const int64_t n = call.x.sizes[1], rows = call.x.sizes[0];
  const T* x = data<const T>(call.x);
  const T* weight = optional_data<const T>(call.weight);
  const T* bias = optional_data<const T>(call.bias);
  T *y = data<T>(call.y), *mean = optional_data<T>(call.mean), *rstd = data<T>(call.rstd);
  const double eps = call.eps;
  const int64_t group = rows_per_tile<T>(n);
  parallel_for(stream, ceil_div(rows, group), 2 * rows * n, [&](int64_t tile) {
    const int64_t end = min(rows, (tile + 1) * group);
    for (int64_t r = tile * group, some; r < end; r += some) {
      some = min(rows_together<T>(n), end - r);
      if (mean) {
        row_statistics(x + r * n, some, n, eps, mean + r, rstd + r);
      } else {
        row_rstds(x + r * n, some, n, eps, rstd + r);
      }
      for (int64_t k = r; k < r + some; ++k)
        normalize_row(y + k * n, x + k * n, n, mean ? mean[k] : T(0), rstd[k], weight, bias);
    }
  });
  return DT_KERNEL_OK;
}

// ---- backward

constexpr int64_t kColumns = 512;  // of sums over rows that are taken at a time

// The sums over rows are taken in chunks of rows that the shape fixes; each chunk has a row of
// scratch for either sum. Of chunks of a few long rows the scratch would be as much as the rows:
// then the rows are read again, some columns at a time.
struct Chunks {
  int64_t rows, n, rows_per_chunk, chunks;

  bool reads_again() const { return chunks > 1 && rows_per_chunk <= 4; }
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
  const T *g, *x, *weight;  // weight may be null
  const T* mean;            // or null: nothing was taken away
  const T* rstd;
  T* gx;          // or null
  bool adds;      // to what gx holds
  T* sum_weight;  // where sums over rows go, or null
  T* sum_bias;    // or null

  T center(int64_t r) const { return mean ? mean[r] : T(0); }
};

// gx = rstd * (h - mean(h) - xhat * mean(h * xhat)), where h = g * weight and xhat = (x - mean) *
// rstd; without mean(h) where no mean was taken away. Of up to kMostRows rows.
template <class T>
void input_gradients(const Gradients<T>& to, int64_t r, int64_t rows, int64_t n) {
  const T* const weight = to.weight;
  const auto h = [=](const T* g, int64_t i, int64_t count) {
    return weighted<T>(load_as<T>(g + i, count), weight, i, count);
  };
  T off[kMostRows<T>], slope[kMostRows<T>];
  sum_rows<T>(
      rows, n,
      [&](int64_t k, int64_t first, int64_t some) {
        const T *const g = to.g + (r + k) * n, *const x = to.x + (r + k) * n;
        const T mean = to.center(r + k), rstd = to.rstd[r + k];
        return sum_terms<T>(first, some, [=](int64_t i, int64_t count) {
          const Vector<T> gh = h(g, i, count);
          return Terms<T, 2>{gh, gh * ((load_as<T>(x + i, count) - mean) * rstd)};
        });
      },
      off, slope);
  for (int64_t k = 0; k < rows; ++k) {
    const T *const g = to.g + (r + k) * n, *const x = to.x + (r + k) * n;
    const T mean = to.center(r + k), rstd = to.rstd[r + k];
    const T mean_h = to.mean ? off[k] / static_cast<T>(n) : T(0);
    const T mean_slope = slope[k] / static_cast<T>(n);
    T* const gx = to.gx + (r + k) * n;
    const bool adds = to.adds;
    write_row(gx, n, [=](int64_t i, int64_t count) {
      const Vector<T> xhat = (load_as<T>(x + i, count) - mean) * rstd;
      const Vector<T> gradient = rstd * (h(g, i, count) - mean_h - xhat * mean_slope);
      return adds ? load_as<T>(gx + i, count) + gradient : gradient;
    });
  }
}

// What the rows add to the sums in columns [first, end): one column after the other, whose sums
// stay in registers meanwhile.
template <class T>
void add_rows(const Gradients<T>& to, int64_t r, int64_t rows, int64_t n, int64_t first,
              int64_t end) {
  constexpr int64_t kWidth = kLanes<T>;
  const T *const g = to.g + r * n, *const x = to.x + r * n, *const rstd = to.rstd + r;
  T *const weights = to.sum_weight, *const biases = to.sum_bias;
  const T* const mean = to.mean ? to.mean + r : nullptr;
  const auto columns = [=](int64_t i, int64_t count, const auto& put)
      __attribute__((always_inline)) {
    Vector<T> of_weight = weights ? load_as<T>(weights + i, count) : Vector<T>{};
    Vector<T> of_bias = biases ? load_as<T>(biases + i, count) : Vector<T>{};
    for (int64_t k = 0; k < rows; ++k) {
      const Vector<T> own = load_as<T>(g + k * n + i, count);
      of_weight += own * ((load_as<T>(x + k * n + i, count) - (mean ? mean[k] : T(0))) * rstd[k]);
      of_bias += own;
    }
    if (weights) put(weights + i, of_weight);
    if (biases) put(biases + i, of_bias);
  };
  int64_t i = first;
  for (; i + kWidth <= end; i += kWidth) columns(i, kWidth, [](T* p, Vector<T> v) { store(p, v); });
  if (i < end) columns(i, end - i, [=](T* p, Vector<T> v) { store_few(p, v, end - i); });
}

// Adds up the chunks' rows pairwise and stores the sum.
template <class T>
void combine_chunks(const dt_stream* stream, const Chunks& c, T* sums, T* result) {
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
Gradients<T> make_gradients(const calls::LayerNormBackward& call) {
  Gradients<T> to;
  to.g = data<const T>(call.g);
  to.x = data<const T>(call.x);
  to.weight = optional_data<const T>(call.weight);
  to.mean = optional_data<const T>(call.mean);
  to.rstd = data<const T>(call.rstd);
  to.gx = optional_data<T>(call.gx);
  to.adds = call.adds;
  to.sum_weight = optional_data<T>(call.gweight);
  to.sum_bias = optional_data<T>(call.gbias);
  return to;
}

// The gradients of rows [r, end), of which the sums are taken here if `sums`: of as many rows at a
// time as stay in the first-level cache.
template <class T>
void do_rows(const Gradients<T>& to, int64_t r, int64_t end, int64_t n, bool sums) {
  const int64_t most = max(kMostRows<T> / 2, kRowTile / max<int64_t>(1, n));
  for (int64_t some; r < end; r += some) {
    some = min(most, end - r);
    for (int64_t k = 0; k < some && to.gx; k += kMostRows<T>)
      input_gradients(to, r + k, min(kMostRows<T>, some - k), n);
    if (sums) add_rows(to, r, some, n, 0, n);
  }
}

template <class T>
void sum_columns(const dt_stream* stream, const Chunks& c, const Gradients<T>& to) {
  parallel_for(stream, ceil_div(c.n, kColumns), c.rows * c.n, [&](int64_t tile) {
    const int64_t first = tile * kColumns, end = min(c.n, first + kColumns);
    if (to.sum_weight) clear(to.sum_weight + first, end - first);
    if (to.sum_bias) clear(to.sum_bias + first, end - first);
    for (int64_t r = 0; r < c.rows; r += kMostRows<T> / 2)
      add_rows(to, r, min(kMostRows<T> / 2, c.rows - r), c.n, first, end);
  });
}

template <class T>
int32_t backward(const dt_stream* stream, const calls::LayerNormBackward& call) {
  const Chunks c = make_chunks(call);
  const Gradients<T> all = make_gradients<T>(call);
  const bool wants_weight = call.gweight != nullptr, wants_bias = call.gbias != nullptr;
  const bool sums = wants_weight || wants_bias, again = c.reads_again();
  T* const scratch = static_cast<T*>(call.workspace);  // or null, if rows are read again
  const int64_t biases_at = wants_weight ? c.chunks * c.n : 0;
  parallel_for(stream, c.chunks, 2 * c.rows * c.n, [&](int64_t chunk) {
    Gradients<T> to = all;
    if (wants_weight && !again) clear(to.sum_weight = scratch + chunk * c.n, c.n);
    if (wants_bias && !again) clear(to.sum_bias = scratch + biases_at + chunk * c.n, c.n);
    const int64_t first = chunk * c.rows_per_chunk;
    do_rows(to, first, min(c.rows, first + c.rows_per_chunk), c.n, sums && !again);
  });
  if (sums && again) {
    sum_columns(stream, c, all);
  } else {
    if (wants_weight) combine_chunks(stream, c, scratch, all.sum_weight);
    if (wants_bias) combine_chunks(stream, c, scratch + biases_at, all.sum_bias);
  }
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
  if (c.reads_again()) return 0;
  const int64_t sums = (call.gweight ? 1 : 0) + (call.gbias ? 1 : 0);
  return sums * c.chunks * c.n * bytes_of(call.x.dtype);
}

}  // namespace dt::cpu
