// cross_entropy of logits [rows, classes] against class indices, and its gradient.
//
// With s = label_smoothing, K classes and weights w (1 if there are none), the loss of a row with
// target t is
//   (1 - s) * w[t] * (lse - x[t])  +  s / K * sum over c of w[c] * (lse - x[c]).
#include "kernels/cpu/exp_span.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/register.h"
#include "kernels/cpu/rows.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 1024;

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
  int64_t rows_per_tile() const {
    return max<int64_t>(1, kSerialWork / 2 / max<int64_t>(1, classes));
  }
};

template <class T>
Loss<T> make_loss(const dt_call* call, const dt_view& x, int target_at) {
  const dt_view& target = call->in[target_at];
  Loss<T> loss;
  loss.target = data<const int64_t>(target);
  loss.target_stride = target.strides[0];
  loss.weight = optional_input<T>(call, target_at + 1);
  loss.rows = x.sizes[0];
  loss.classes = x.sizes[1];
  loss.ignore_index = call->ints[0];
  loss.smoothing = static_cast<T>(call->floats[0]);
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

template <class T>
int32_t forward(const dt_stream* stream, const dt_call* call) {
  const Loss<T> loss = make_loss<T>(call, call->in[0], 1);
  if (!targets_are_valid(stream, loss)) return DT_KERNEL_INDEX;
  const T* logits = data<const T>(call->in[0]);
  T *y = data<T>(call->out[0]), *lse = data<T>(call->out[1]);
  const int64_t y_stride = call->out[0].strides[0], lse_stride = call->out[1].strides[0];
  const int64_t group = loss.rows_per_tile();
  parallel_for(stream, ceil_div(loss.rows, group), 4 * loss.rows * loss.classes, [&](int64_t tile) {
    const int64_t end = min(loss.rows, (tile + 1) * group);
    for (int64_t r = tile * group; r < end; ++r) {
      const T* x = logits + r * loss.classes;
      const LogSum<T> row_lse = log_sum_exp(x, loss.classes);
      lse[r * lse_stride] = row_lse.top + row_lse.rest;
      y[r * y_stride] = loss.is_ignored(r) ? T(0) : row_loss(loss, x, loss.target_of(r), row_lse);
    }
  });
  return DT_KERNEL_OK;
}

// gx[c] = g * (softmax[c] * (the sum of the row's weights) - s / K * w[c] - (1 - s) * w[t] * [c ==
// t]).
template <class T>
void row_gradient(const Loss<T>& loss, T* gx, const T* x, T lse, T g, int64_t target) {
  const T sharp = (T(1) - loss.smoothing) * loss.weight_of(target);
  const T uniform = loss.smoothing / static_cast<T>(loss.classes);
  const T total = g * (sharp + uniform * loss.total_weight);
  const T each = g * uniform;
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
int32_t backward(const dt_stream* stream, const dt_call* call) {
  const Loss<T> loss = make_loss<T>(call, call->in[1], 3);
  if (!targets_are_valid(stream, loss)) return DT_KERNEL_INDEX;
  const T *g = data<const T>(call->in[0]), *logits = data<const T>(call->in[1]),
          *lse = data<const T>(call->in[2]);
  const int64_t g_stride = call->in[0].strides[0], lse_stride = call->in[2].strides[0];
  T* gx = data<T>(call->out[0]);
  const int64_t group = loss.rows_per_tile();
  parallel_for(stream, ceil_div(loss.rows, group), 4 * loss.rows * loss.classes, [&](int64_t tile) {
    const int64_t end = min(loss.rows, (tile + 1) * group);
    for (int64_t r = tile * group; r < end; ++r) {
      T* to = gx + r * loss.classes;
      if (loss.is_ignored(r)) {
        for (int64_t c = 0; c < loss.classes; ++c) to[c] = T(0);
      } else {
        row_gradient(loss, to, logits + r * loss.classes, lse[r * lse_stride], g[r * g_stride],
                     loss.target_of(r));
      }
    }
  });
  return DT_KERNEL_OK;
}

struct CrossEntropy {
  template <class T>
  static int32_t run(const dt_stream* stream, const dt_call* call) {
    return forward<T>(stream, call);
  }
};

struct CrossEntropyBackward {
  template <class T>
  static int32_t run(const dt_stream* stream, const dt_call* call) {
    return backward<T>(stream, call);
  }
};

}  // namespace

void register_cross_entropy(dt_registry* registry) {
  add(registry, "cross_entropy", run_floating<CrossEntropy>);
  add(registry, "cross_entropy_backward", run_floating<CrossEntropyBackward>);
}

}  // namespace dt::cpu
