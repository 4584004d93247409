// cross_entropy of logits [rows, classes] against class indices, and its gradient.
//
// With s = label_smoothing, K classes and weights w (1 if there are none), the loss of a row with
// target t is
//   (1 - s) * w[t] * (lse - x[t])  +  s / K * sum over c of w[c] * (lse - x[c]).
#include "kernels/calls/loss.gen.h"
#include "kernels/cpu/exp_span.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rows.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 1024;

int64_t rows_per_tile(int64_t classes) {
  return max<int64_t>(1, kSerialWork / 2 / max<int64_t>(1, classes));
}

template <class T>
struct Loss {
  const int64_t* target;
  int64_t target_stride;
  const T* weight;  // or null
  int64_t rows, classes, ignore_index;
  T smoothing;
  T total_weight;  // sum of w

  bool is_ignored(int64_t r) const { return target_of(r) == ignore_index; }
  int64_t target_of(int64_t r) const { return target[r * target_stride]; }
  T weight_of(int64_t c) const { return weight ? weight[c] : T(1); }
  int64_t rows_per_tile() const { return cpu::rows_per_tile(classes); }
};

// Of either kernel's call.
template <class T, class Call>
Loss<T> make_loss(const Call& call) {
  Loss<T> loss;
  loss.target = data<const int64_t>(call.target);
  loss.target_stride = call.target.strides[0];
  loss.weight = optional_data<const T>(call.weight);
  loss.rows = call.x.sizes[0];
  loss.classes = call.x.sizes[1];
  loss.ignore_index = call.ignore_index;
  loss.smoothing = static_cast<T>(call.label_smoothing);
  loss.total_weight =
      loss.weight ? reduce_span<Sum<T>>(loss.weight, loss.classes) : static_cast<T>(loss.classes);
  return loss;
}

template <class T>
bool targets_are_valid(const dt_stream* stream, const Loss<T>& loss) {
  for (int64_t r = 0; r < loss.rows; ++r) {
    const int64_t t = loss.target_of(r);
    if (t == loss.ignore_index || (t >= 0 && t < loss.classes)) continue;
    stream->fault->index = t;
    stream->fault->size = loss.classes;
    return false;
  }
  return true;
}

// The logarithm of sum(exp(x)) in two parts, so that top - x[t] loses no digits to a large top.
template <class T>
struct LogSum {
  T top, rest;
};

template <class T>
LogSum<T> log_sum_exp(const T* x, int64_t n) {
  const T top = reduce_span<Largest<T>>(x, n);
  double sum = 0;
  T tile[kTile];
  for (int64_t first = 0; first < n; first += kTile) {
    sum += static_cast<double>(exp_span(tile, x + first, top, min(kTile, n - first)));
  }
  return {top, math::log(static_cast<T>(sum))};
}

// The sum over c of w[c] * (lse - x[c]).
template <class T>
T smooth_loss(const Loss<T>& loss, const T* x, const LogSum<T>& lse) {
  double sum = 0;
  T tile[kTile];
  for (int64_t first = 0; first < loss.classes; first += kTile) {
    const int64_t count = min(kTile, loss.classes - first);
    for (int64_t i = 0; i < count; ++i) tile[i] = (lse.top - x[first + i]) + lse.rest;
    for (int64_t i = 0; loss.weight && i < count; ++i) tile[i] *= loss.weight[first + i];
    sum += static_cast<double>(reduce_span<Sum<T>>(tile, count));
  }
  return static_cast<T>(sum);
}

template <class T>
T row_loss(const Loss<T>& loss, const T* x, int64_t target, const LogSum<T>& lse) {
  const T sharp = loss.weight_of(target) * ((lse.top - x[target]) + lse.rest);
  if (loss.smoothing == T(0)) return sharp;
  const T smooth = smooth_loss(loss, x, lse) / static_cast<T>(loss.classes);
  return (T(1) - loss.smoothing) * sharp + loss.smoothing * smooth;
}

// What a reduced loss is made of: sums over the rows that count, of their losses and weights.
struct LossSums {
  double loss, weight;
};

// Rows [begin, end). Each loss is stored only if they are not reduced.
template <class T>
LossSums rows_forward(const calls::CrossEntropy& call, const Loss<T>& loss, int64_t begin,
                      int64_t end) {
  const T* logits = data<const T>(call.x);
  T *y = call.reduces ? nullptr : data<T>(call.loss), *lse = data<T>(call.lse);
  const int64_t y_stride = y ? call.loss.strides[0] : 0, lse_stride = call.lse.strides[0];
  LossSums sums = {0, 0};
  for (int64_t r = begin; r < end; ++r) {
    const T* x = logits + r * loss.classes;
    const LogSum<T> row_lse = log_sum_exp(x, loss.classes);
    lse[r * lse_stride] = row_lse.top + row_lse.rest;
    const int64_t t = loss.target_of(r);
    const bool counts = t != loss.ignore_index;
    const T of_row = counts ? row_loss(loss, x, t, row_lse) : T(0);
    if (y) y[r * y_stride] = of_row;
    sums.loss += static_cast<double>(of_row);
    if (counts) sums.weight += static_cast<double>(loss.weight_of(t));
  }
  return sums;
}

template <class T>
void store_reduced(const calls::CrossEntropy& call, const LossSums& sums) {
  const bool divides = call.divisor != nullptr;
  *data<T>(call.loss) = static_cast<T>(divides ? sums.loss / sums.weight : sums.loss);
  if (divides) *data<T>(*call.divisor) = static_cast<T>(sums.weight);
}

template <class T>
int32_t forward(const dt_stream* stream, const calls::CrossEntropy& call) {
  const Loss<T> loss = make_loss<T>(call);
  if (!targets_are_valid(stream, loss)) return DT_KERNEL_INDEX;
  const int64_t group = loss.rows_per_tile(), tiles = ceil_div(loss.rows, group);
  LossSums one = {0, 0};
  LossSums* const sums = tiles > 1 ? static_cast<LossSums*>(call.workspace) : &one;
  parallel_for(stream, tiles, 4 * loss.rows * loss.classes, [&](int64_t tile) {
    const int64_t begin = tile * group, end = min(loss.rows, begin + group);
    const LossSums of_tile = rows_forward(call, loss, begin, end);
    if (call.reduces) sums[tile] = of_tile;
  });
  if (!call.reduces) return DT_KERNEL_OK;
  LossSums total = {0, 0};
  for (int64_t tile = 0; tile < tiles; ++tile) {
    total.loss += sums[tile].loss;
    total.weight += sums[tile].weight;
  }
  store_reduced<T>(call, total);
  return DT_KERNEL_OK;
}

// gx[c] = g * (softmax[c] * (the sum of the row's weights) - s / K * w[c] - (1 - s) * w[t] * [c ==
// t]).
template <class T>
void row_gradient(const Loss<T>& loss, T* gx, const T* x, T lse, T g, int64_t target) {
  const T sharp = (T(1) - loss.smoothing) * loss.weight_of(target);
  const T uniform = loss.smoothing / static_cast<T>(loss.classes);
  const T total = g * (sharp + uniform * loss.total_weight);
  const T each = uniform == T(0) ? T(0) : g * uniform;  // also where g is infinite
  for (int64_t first = 0; first < loss.classes; first += kTile) {
    const int64_t end = min(loss.classes, first + kTile);
    exp_span(gx + first, x + first, lse, end - first);
    if (loss.weight) {
      for (int64_t c = first; c < end; ++c) gx[c] = gx[c] * total - each * loss.weight[c];
    } else {
      for (int64_t c = first; c < end; ++c) gx[c] = gx[c] * total - each;
    }
  }
  gx[target] -= g * sharp;
}

template <class T>
int32_t backward(const dt_stream* stream, const calls::CrossEntropyBackward& call) {
  const Loss<T> loss = make_loss<T>(call);
  if (!targets_are_valid(stream, loss)) return DT_KERNEL_INDEX;
  const dt_view& g = call.g;
  const T number = g.immediate ? static_cast<T>(g.number.f) : T(0),
          *divisor = optional_data<const T>(call.divisor);
  const T* factor = g.immediate ? &number : data<const T>(g);
  const T *logits = data<const T>(call.x), *lse = data<const T>(call.lse);
  const int64_t factor_stride = g.strides[0], lse_stride = call.lse.strides[0];
  T* gx = data<T>(call.gx);
  const int64_t group = loss.rows_per_tile();
  parallel_for(stream, ceil_div(loss.rows, group), 4 * loss.rows * loss.classes, [&](int64_t tile) {
    const int64_t end = min(loss.rows, (tile + 1) * group);
    for (int64_t r = tile * group; r < end; ++r) {
      T* to = gx + r * loss.classes;
      if (loss.is_ignored(r)) {
        for (int64_t c = 0; c < loss.classes; ++c) to[c] = T(0);
      } else {
        const T slope = factor[r * factor_stride] / (divisor ? *divisor : T(1));
        row_gradient(loss, to, logits + r * loss.classes, lse[r * lse_stride], slope,
                     loss.target_of(r));
      }
    }
  });
  return DT_KERNEL_OK;
}

}  // namespace

int32_t kernels::cross_entropy(const dt_stream* stream, const calls::CrossEntropy& call) {
  return visit_floating(call.x.dtype, [&](auto type) {
    return forward<typename decltype(type)::type>(stream, call);
  });
}

// The sums of the tiles.
int64_t kernels::cross_entropy_workspace(const dt_stream*, const calls::CrossEntropy& call) {
  const int64_t rows = call.x.sizes[0], classes = call.x.sizes[1];
  const int64_t tiles = ceil_div(rows, rows_per_tile(classes));
  return call.reduces && tiles > 1 ? tiles * static_cast<int64_t>(sizeof(LossSums)) : 0;
}

int32_t kernels::cross_entropy_backward(const dt_stream* stream,
                                        const calls::CrossEntropyBackward& call) {
  return visit_floating(call.x.dtype, [&](auto type) {
    return backward<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cpu
