// cross_entropy of logits [rows, classes] against class indices, and its gradient. Of logits
// [batch, classes, places], as images lie in memory, a row is a place; neighbouring places are
// handled side by side. So are several rows of few classes, which fill no vector: they are
// transposed first.
//
// With s = label_smoothing, K classes and weights w (1 if there are none), the loss of a row with
// target t is
//   (1 - s) * w[t] * (lse - x[t])  +  s / K * sum over c of w[c] * (lse - x[c])
// with lse = log(sum(exp(x))).
#include "kernels/calls/loss.gen.h"
#include "kernels/cpu/exp_span.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rows.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 1024;
constexpr int64_t kPlaces = 512;  // that are handled side by side
constexpr int64_t kFewClasses = 32;
constexpr int64_t kTransposed = 8192;  // logits: of float32 they stay in the first-level cache

// How the rows are cut: into tiles of `group` rows, or of places of one image.
struct Cut {
  int64_t places, group, per_image, tiles;
  bool transposes;

  explicit Cut(const dt_view& x) {
    const int64_t classes = max<int64_t>(1, x.sizes[1]);
    places = x.ndim == 3 ? x.sizes[2] : 1;
    transposes = places == 1 && classes <= kFewClasses && x.sizes[0] > 1;
    group = places > 1   ? kPlaces
            : transposes ? min(kPlaces, kTransposed / classes)
                         : max<int64_t>(1, kSerialWork / 2 / classes);
    per_image = places > 1 ? ceil_div(places, group) : 1;
    tiles = places > 1 ? x.sizes[0] * per_image : ceil_div(x.sizes[0], group);
  }
  bool is_side_by_side() const { return places > 1 || transposes; }
};

template <class T>
struct Loss {
  const int64_t* target;
  int64_t target_stride;
  const T* weight;  // or null
  Cut cut;
  int64_t rows, classes, ignore_index;
  T smoothing;
  T total_weight;  // sum of w

  bool is_ignored(int64_t r) const { return target_of(r) == ignore_index; }
  int64_t target_of(int64_t r) const { return target[r * target_stride]; }
  T weight_of(int64_t c) const { return weight ? weight[c] : T(1); }
  // The first row of a tile and the one behind its last.
  int64_t begin(int64_t tile) const {
    if (cut.places == 1) return tile * cut.group;
    return tile / cut.per_image * cut.places + tile % cut.per_image * cut.group;
  }
  int64_t end(int64_t tile) const {
    const int64_t last = cut.places == 1 ? rows : (tile / cut.per_image + 1) * cut.places;
    return min(last, begin(tile) + cut.group);
  }
  // Of the first class of a row; the others follow at a distance of `places`.
  int64_t logit_of(int64_t r) const {
    return r / cut.places * cut.places * classes + r % cut.places;
  }
};

// Of either kernel's call.
template <class T, class Call>
Loss<T> make_loss(const Call& call) {
  const Cut cut(call.x);
  Loss<T> loss = {data<const int64_t>(call.target), 1, nullptr, cut, 0, 0, 0, T(0), T(0)};
  if (cut.places == 1) loss.target_stride = call.target.strides[0];
  loss.weight = optional_data<const T>(call.weight);
  loss.rows = call.x.sizes[0] * cut.places;
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

// The logarithm of sum(exp(x)) in two parts, so that top - x[t] loses no digits to a large top, and
// what exp(x - top) is multiplied by to be the softmax.
template <class T>
struct LogSum {
  T top, rest, share;
};

template <class T>
double sum_of_exp(const T* x, T shift, int64_t n) {
  double sum = 0;
  T tile[kTile];
  for (int64_t first = 0; first < n; first += kTile) {
    sum += static_cast<double>(exp_span(tile, x + first, shift, min(kTile, n - first)));
  }
  return sum;
}

// The same of few classes, added up one by one as those of rows side by side are.
template <class T>
double sum_of_few_exp(const T* x, T shift, int64_t n) {
  double sum = 0;
  T term[kFewClasses];
  exp_span(term, x, shift, n);
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(term[i]);
  return sum;
}

template <class T>
LogSum<T> log_sum_exp(const T* x, int64_t n) {
  const T top = reduce_span<Largest<T>>(x, n);
  const double sum = n <= kFewClasses ? sum_of_few_exp(x, top, n) : sum_of_exp(x, top, n);
  return {top, math::log(static_cast<T>(sum)), static_cast<T>(1 / sum)};
}

template <class T>
T smooth_loss_of_few(const Loss<T>& loss, const T* x, const LogSum<T>& lse) {
  double sum = 0;
  for (int64_t c = 0; c < loss.classes; ++c)
    sum += static_cast<double>(loss.weight_of(c) * ((lse.top - x[c]) + lse.rest));
  return static_cast<T>(sum);
}

// The sum over c of w[c] * (lse - x[c]).
template <class T>
T smooth_loss(const Loss<T>& loss, const T* x, const LogSum<T>& lse) {
  if (loss.classes <= kFewClasses) return smooth_loss_of_few(loss, x, lse);
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

// What a reduced loss is made of: sums over the rows that count, of their losses and weights.
struct LossSums {
  double loss, weight;
};

// Finishes n rows, the first of which is `begin` and begins at x; classes are `step` apart. Each
// loss is stored only if they are not reduced. `smooth` has the rows' smooth_loss, if there is any
// smoothing.
template <class T>
void finish_rows(const calls::CrossEntropy& call, const Loss<T>& loss, int64_t begin, int64_t n,
                 const T* x, int64_t step, const T* top, const T* rest, const T* share,
                 const T* smooth, LossSums* sums) {
  T *const tops = data<T>(call.scales) + begin, *const shares = tops + loss.rows;
  T* const y = call.reduces ? nullptr : data<T>(call.loss);
  for (int64_t j = 0; j < n; ++j) tops[j] = top[j], shares[j] = share[j];
  LossSums of_all = {0, 0};
  for (int64_t j = 0; j < n; ++j) {
    const int64_t t = loss.target_of(begin + j);
    T of_row = 0;
    if (t != loss.ignore_index) {
      const T weight = loss.weight_of(t);
      of_row = weight * ((top[j] - x[t * step + j]) + rest[j]);
      if (loss.smoothing != T(0)) {
        of_row = (T(1) - loss.smoothing) * of_row +
                 loss.smoothing * (smooth[j] / static_cast<T>(loss.classes));
      }
      of_all.weight += static_cast<double>(weight);
    }
    if (y) y[begin + j] = of_row;
    of_all.loss += static_cast<double>(of_row);
  }
  sums->loss += of_all.loss;
  sums->weight += of_all.weight;
}

template <class T>
LossSums rows_forward(const calls::CrossEntropy& call, const Loss<T>& loss, int64_t tile) {
  LossSums sums = {0, 0};
  for (int64_t r = loss.begin(tile); r < loss.end(tile); ++r) {
    const T* const x = data<const T>(call.x) + r * loss.classes;
    const LogSum<T> lse = log_sum_exp(x, loss.classes);
    const bool smooths = loss.smoothing != T(0) && !loss.is_ignored(r);
    const T smooth = smooths ? smooth_loss(loss, x, lse) : T(0);
    finish_rows(call, loss, r, 1, x, 1, &lse.top, &lse.rest, &lse.share, &smooth, &sums);
  }
  return sums;
}

// A tile's logits by classes: where they lie, or a transposed copy of them.
template <class T>
struct Places {
  const T* x;
  int64_t step;
  T copy[kTransposed];

  Places(const Loss<T>& loss, const T* logits, int64_t n) : x(logits), step(loss.cut.places) {
    if (!loss.cut.transposes) return;
    for (int64_t c = 0; c < loss.classes; ++c) {
      for (int64_t j = 0; j < n; ++j) copy[c * n + j] = logits[j * loss.classes + c];
    }
    x = copy, step = n;
  }
};

template <class T>
LossSums places_forward(const calls::CrossEntropy& call, const Loss<T>& loss, int64_t tile) {
  const int64_t begin = loss.begin(tile), n = loss.end(tile) - begin;
  const Places<T> logits(loss, data<const T>(call.x) + loss.logit_of(begin), n);
  const T* const x = logits.x;
  const int64_t step = logits.step;
  T top[kPlaces], rest[kPlaces], share[kPlaces], smooth[kPlaces], term[kPlaces];
  double sum[kPlaces] = {};  // of a class at a time: in float it would lose what many classes add
  for (int64_t j = 0; j < n; ++j) top[j] = Limits<T>::kLowest;
  for (int64_t c = 0; c < loss.classes; ++c) {
    for (int64_t j = 0; j < n; ++j) top[j] = Largest<T>::apply(top[j], x[c * step + j]);
  }
  for (int64_t c = 0; c < loss.classes; ++c) {
    exp_columns(term, x + c * step, top, n);
    for (int64_t j = 0; j < n; ++j) sum[j] += term[j];
  }
  for (int64_t j = 0; j < n; ++j) {
    rest[j] = math::log(static_cast<T>(sum[j]));
    share[j] = static_cast<T>(1 / sum[j]);
    sum[j] = 0;
  }
  for (int64_t c = 0; loss.smoothing != T(0) && c < loss.classes; ++c) {
    const T weight = loss.weight_of(c);
    for (int64_t j = 0; j < n; ++j) sum[j] += weight * ((top[j] - x[c * step + j]) + rest[j]);
  }
  for (int64_t j = 0; j < n; ++j) smooth[j] = static_cast<T>(sum[j]);
  LossSums sums = {0, 0};
  finish_rows(call, loss, begin, n, x, step, top, rest, share, smooth, &sums);
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
  const int64_t tiles = loss.cut.tiles;
  LossSums one = {0, 0};
  LossSums* const sums = tiles > 1 ? static_cast<LossSums*>(call.workspace) : &one;
  parallel_for(stream, tiles, 4 * loss.rows * loss.classes, [&](int64_t tile) {
    const LossSums of_tile = loss.cut.is_side_by_side() ? places_forward(call, loss, tile)
                                                        : rows_forward(call, loss, tile);
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
void row_gradient(const Loss<T>& loss, T* gx, const T* x, T top, T share, T g, int64_t target) {
  const T sharp = (T(1) - loss.smoothing) * loss.weight_of(target);
  const T uniform = loss.smoothing / static_cast<T>(loss.classes);
  const T total = g * (sharp + uniform * loss.total_weight) * share;
  const T each = uniform == T(0) ? T(0) : g * uniform;  // also where g is infinite
  for (int64_t first = 0; first < loss.classes; first += kTile) {
    const int64_t end = min(loss.classes, first + kTile);
    exp_span(gx + first, x + first, top, end - first);
    if (loss.weight) {
      for (int64_t c = first; c < end; ++c) gx[c] = gx[c] * total - each * loss.weight[c];
    } else {
      for (int64_t c = first; c < end; ++c) gx[c] = gx[c] * total - each;
    }
  }
  gx[target] -= g * sharp;
}

// g of the rows, over the divisor.
template <class T>
struct Slopes {
  T number;
  const T *factor, *divisor;
  int64_t image, place;  // strides

  Slopes(const calls::CrossEntropyBackward& call, int64_t places)
      : number(call.g.immediate ? static_cast<T>(call.g.number.f) : T(0)),
        factor(call.g.immediate ? &number : data<const T>(call.g)),
        divisor(optional_data<const T>(call.divisor)),
        image(call.g.strides[0]),
        place(places > 1 ? call.g.strides[1] : 0) {}
  Slopes(const Slopes&) = delete;

  T of(int64_t n, int64_t p) const {
    return factor[n * image + p * place] / (divisor ? *divisor : T(1));
  }
};

template <class T>
void rows_backward(const calls::CrossEntropyBackward& call, const Loss<T>& loss,
                   const Slopes<T>& slopes, int64_t tile) {
  const T *const top = data<const T>(call.scales), *const share = top + loss.rows;
  for (int64_t r = loss.begin(tile); r < loss.end(tile); ++r) {
    T* const to = data<T>(call.gx) + r * loss.classes;
    if (loss.is_ignored(r)) {
      for (int64_t c = 0; c < loss.classes; ++c) to[c] = T(0);
    } else {
      row_gradient(loss, to, data<const T>(call.x) + r * loss.classes, top[r], share[r],
                   slopes.of(r, 0), loss.target_of(r));
    }
  }
}

template <class T>
void places_backward(const calls::CrossEntropyBackward& call, const Loss<T>& loss,
                     const Slopes<T>& slopes, int64_t tile) {
  const int64_t begin = loss.begin(tile), n = loss.end(tile) - begin;
  Places<T> logits(loss, data<const T>(call.x) + loss.logit_of(begin), n);
  const T* const x = logits.x;
  const int64_t step = logits.step;
  const T *const top = data<const T>(call.scales) + begin, *const share = top + loss.rows;
  T* const result = data<T>(call.gx) + loss.logit_of(begin);
  T* const gx = loss.cut.transposes ? logits.copy : result;
  const T uniform = loss.smoothing / static_cast<T>(loss.classes);
  const int64_t image = begin / loss.cut.places, first = begin % loss.cut.places;
  T counts[kPlaces], total[kPlaces], each[kPlaces], sharp[kPlaces];
  for (int64_t j = 0; j < n; ++j) {
    const int64_t r = begin + j;
    counts[j] = !loss.is_ignored(r);
    const T slope = loss.cut.transposes ? slopes.of(r, 0) : slopes.of(image, first + j);
    const T aimed =
        (T(1) - loss.smoothing) * (counts[j] != T(0) ? loss.weight_of(loss.target_of(r)) : T(0));
    sharp[j] = slope * aimed;
    total[j] = slope * (aimed + uniform * loss.total_weight) * share[j];
    each[j] = uniform == T(0) ? T(0) : slope * uniform;
  }
  for (int64_t c = 0; c < loss.classes; ++c) {
    T* const to = gx + c * step;
    const T weight = loss.weight_of(c);
    exp_columns(to, x + c * step, top, n);
    for (int64_t j = 0; j < n; ++j)
      to[j] = counts[j] != T(0) ? to[j] * total[j] - each[j] * weight : T(0);
  }
  for (int64_t j = 0; j < n; ++j) {
    if (counts[j] != T(0)) gx[loss.target_of(begin + j) * step + j] -= sharp[j];
  }
  for (int64_t c = 0; loss.cut.transposes && c < loss.classes; ++c) {
    for (int64_t j = 0; j < n; ++j) result[j * loss.classes + c] = gx[c * n + j];
  }
}

template <class T>
int32_t backward(const dt_stream* stream, const calls::CrossEntropyBackward& call) {
  const Loss<T> loss = make_loss<T>(call);
  if (!targets_are_valid(stream, loss)) return DT_KERNEL_INDEX;
  const Slopes<T> slopes(call, loss.cut.places);
  parallel_for(stream, loss.cut.tiles, 4 * loss.rows * loss.classes, [&](int64_t tile) {
    loss.cut.is_side_by_side() ? places_backward(call, loss, slopes, tile)
                               : rows_backward(call, loss, slopes, tile);
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
  const int64_t tiles = Cut(call.x).tiles;
  return call.reduces && tiles > 1 ? tiles * static_cast<int64_t>(sizeof(LossSums)) : 0;
}

int32_t kernels::cross_entropy_backward(const dt_stream* stream,
                                        const calls::CrossEntropyBackward& call) {
  return visit_floating(call.x.dtype, [&](auto type) {
    return backward<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cpu
