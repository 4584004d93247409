// Which element of x each element of y is, and the other way round, along a dimension that is
// padded or resized: what all backends share.
#pragma once

#include "kernels/abi.h"
#include "kernels/math.h"
#include "kernels/remap_mode.h"

namespace dt::remap {

// The elements of y that are one element of x: a run and, where the padding in front or behind
// mirrors the element or goes round to it, one in each. They are counted in that order, the run
// first.
template <class Int>
struct Targets {
  Int begin, end;
  Int in_front, behind;  // -1: none

  DT_MATH Int count() const { return end - begin + (in_front >= 0) + (behind >= 0); }
  DT_MATH Int at(Int k) const {
    const Int after_run = k - (end - begin);
    if (after_run < 0) return begin + k;
    return after_run == 0 && in_front >= 0 ? in_front : behind;
  }
};

// A dimension of `from` elements in x and `to` in y.
template <class Int>
struct Dim {
  Int from = 1, to = 1, before = 0;
  RemapMode mode = RemapMode::kZeros;  // as it stands: no element is added
  double step = 1, offset = 0, inverse = 1;

  DT_MATH bool is_plain() const { return mode == RemapMode::kZeros && from == to; }

  // -1: none.
  DT_MATH Int source(Int i) const {
    if (mode == RemapMode::kNearest) return nearest(i);
    const Int at = i - before;
    if (at >= 0 && at < from) return at;
    if (mode == RemapMode::kReflect) return at < 0 ? -at : 2 * (from - 1) - at;
    if (mode == RemapMode::kReplicate) return at < 0 ? 0 : from - 1;
    if (mode == RemapMode::kCircular) return at < 0 ? at + from : at - from;
    return -1;
  }

  DT_MATH Targets<Int> targets(Int j) const {
    if (mode == RemapMode::kNearest)
      return {first_of(j), j + 1 < from ? first_of(j + 1) : to, -1, -1};
    const Int i = j + before, last = from - 1;
    Targets<Int> t = {i, i + 1, -1, -1};
    if (mode == RemapMode::kReplicate) {
      if (j == 0) t.begin = 0;
      if (j == last) t.end = to;
    } else if (mode == RemapMode::kReflect) {
      const Int mirrored = before + 2 * last - j;
      if (j > 0 && j <= before) t.in_front = before - j;
      if (j < last && mirrored < to) t.behind = mirrored;
    } else if (mode == RemapMode::kCircular) {
      if (i >= from) t.in_front = i - from;
      if (i + from < to) t.behind = i + from;
    }
    return t;
  }

 private:
  // The product is exact, and PyTorch's once it is rounded to float32: that decides which elements
  // are taken.
  DT_MATH Int nearest(Int i) const {
    const auto place = static_cast<float>((static_cast<double>(i) + offset) * step);
    const Int at = static_cast<Int>(place);
    return at < from ? at : from - 1;
  }
  // The first element of y that is element j of x, or one behind it. They only grow.
  DT_MATH Int first_of(Int j) const {
    const double guess = static_cast<double>(j) * inverse - offset;
    Int i = guess > 0 ? static_cast<Int>(guess) : 0;
    i = i < to ? i : to;
    while (i > 0 && nearest(i - 1) >= j) --i;
    while (i < to && nearest(i) < j) ++i;
    return i;
  }
};

constexpr int kMapped = 3;  // the last dimensions of a view

// Dimension d of views of a call.
template <class Int, class Call>
Dim<Int> dim_of(const Call& call, const dt_view& y, const dt_view& x, int d) {
  Dim<Int> dim;
  dim.from = static_cast<Int>(x.sizes[d]);
  dim.to = static_cast<Int>(y.sizes[d]);
  const int k = d - (y.ndim - kMapped);
  if (k < 0) return dim;
  const auto mode = static_cast<RemapMode>(call.mode);
  const bool changes = call.before[k] != 0 || dim.from != dim.to;
  // As many elements again may be others, where a place is rounded.
  if (!changes && (mode != RemapMode::kNearest || call.step[k] == 1)) return dim;
  dim.before = static_cast<Int>(call.before[k]);
  dim.mode = mode;
  dim.step = call.step[k];
  dim.inverse = 1 / call.step[k];
  dim.offset = call.offset;
  return dim;
}

// A dimension with its steps, in elements.
template <class Int>
struct Axis {
  Dim<Int> map;
  Int size = 1;  // of what is written
  Int y_step = 0, x_step = 0;
};

// The dimensions of a call in the order in which what is written lies in memory: axis 0 is the
// innermost. Those that stay as they are, and lie one behind another, are one.
template <class Int>
struct RemapPlan {
  static constexpr int kAxes = 5;

  int n = 0;
  Axis<Int> axis[kAxes];

  // Of a call that writes y, or x.
  template <class Call>
  static RemapPlan of_y(const Call& call, const dt_view& y, const dt_view& x) {
    return RemapPlan(call, y, x, true);
  }
  template <class Call>
  static RemapPlan of_x(const Call& call, const dt_view& y, const dt_view& x) {
    return RemapPlan(call, y, x, false);
  }

 private:
  template <class Call>
  RemapPlan(const Call& call, const dt_view& y, const dt_view& x, bool writes_y) {
    for (int d = y.ndim - 1; d >= 0; --d) {
      if (y.sizes[d] == 1 && x.sizes[d] == 1) continue;
      insert({dim_of<Int>(call, y, x, d), static_cast<Int>(writes_y ? y.sizes[d] : x.sizes[d]),
              static_cast<Int>(y.strides[d]), static_cast<Int>(x.strides[d])},
             writes_y);
    }
    int kept = 0;
    for (int a = 1; a < n; ++a) {
      if (!merge(&axis[kept], axis[a])) axis[++kept] = axis[a];
    }
    n = kept + 1;
  }

  void insert(const Axis<Int>& added, bool writes_y) {
    const auto step = [&](const Axis<Int>& of) { return writes_y ? of.y_step : of.x_step; };
    int a = n++;
    for (; a > 0 && step(axis[a - 1]) > step(added); --a) axis[a] = axis[a - 1];
    axis[a] = added;
  }

  static bool merge(Axis<Int>* inner, const Axis<Int>& outer) {
    const bool follows =
        outer.y_step == inner->y_step * inner->size && outer.x_step == inner->x_step * inner->size;
    if (!inner->map.is_plain() || !outer.map.is_plain() || !follows) return false;
    inner->size *= outer.size;
    inner->map.from = inner->map.to = inner->size;
    return true;
  }
};

}  // namespace dt::remap
