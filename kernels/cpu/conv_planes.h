// Depthwise convolutions of images in planes: each plane meets a kernel of its own. Vectors lie
// along the rows, which are read where they are; of a vector that reaches beyond its row, only the
// lanes inside are read. Columns may have a stride of 2, also backward, where the two phases of a
// row are computed side by side and written as one.
#pragma once

#include "kernels/cpu/conv_plane_stage.h"

namespace dt::cpu {
namespace {

constexpr int kRowsTogether = 4;  // rows that share the weights that are read

// Doubles are not worth the code.
template <class T>
constexpr bool kHasPlanes = kHasDepthwise&& std::is_same_v<T, float>;

template <class T>
bool is_plane(const Images<T>& x) {
  return x.w_step == 1 || x.w == 1;
}

template <class T>
bool is_depthwise_planes(const Correlation<T>& k) {
  const bool has_steps =
      k.cols.out_step == 1 ? k.cols.in_step <= 2 : k.cols.out_step == 2 && k.y.w > 1;
  return kHasPlanes<T> && k.in_channels == 1 && k.out_channels == 1 && is_plane(k.x) &&
         is_plane(k.y) && has_steps && k.rows.out_step <= 2;
}

// So many sums of vectors stay in registers.
constexpr int kPlaneTaps = 3;

template <class T>
bool is_depthwise_planes(const WeightGradient<T>& k) {
  return kHasPlanes<T> && k.in_channels == 1 && k.out_channels == 1 && is_plane(k.x) &&
         is_plane(k.g) && k.gb == nullptr && k.cols.taps == kPlaneTaps &&
         k.rows.taps <= kPlaneTaps && k.cols.in_step <= 2;
}

// The elements of a row that a vector of outputs reads, every kStep-th from a column on: which of
// one vector, or of two, lie inside of the row.
template <class T, int kStep>
struct RowPart {
  int64_t begin, end;

  RowPart(int64_t column, int64_t size)
      : begin(min<int64_t>(kStep * kLanes<T>, max<int64_t>(0, -column))),
        end(max(begin, min<int64_t>(kStep * kLanes<T>, size - column))) {}

  template <size_t... kLane>
  static Vector<T> pick_even(Vector<T> low, Vector<T> high, std::index_sequence<kLane...>) {
    return pick_lanes<T>(low, high, std::index_sequence<2 * kLane...>());
  }

  Vector<T> load(const T* p) const {
    constexpr int64_t kLane = kLanes<T>;
    const Vector<T> low = load_lanes(p, min(kLane, begin), min(kLane, end));
    if constexpr (kStep == 1) return low;
    return pick_even(
        low, load_lanes(p + kLane, max<int64_t>(0, begin - kLane), max<int64_t>(0, end - kLane)),
        AllLanes<T>());
  }
};

// Vectors of which all lanes lie inside of their rows.
template <class T, int kStep>
struct WholePart {
  static Vector<T> load(const T* p) {
    if constexpr (kStep == 1) return cpu::load(p);
    return RowPart<T, kStep>::pick_even(cpu::load(p), cpu::load(p + kLanes<T>), AllLanes<T>());
  }
};

// sums += the rows of a kernel's column, from row `from` of the input on, whose rows lie `line`
// elements apart.
template <class T, class Part, int kRows>
inline void add_tap_rows(const Correlation<T>& k, const Part& part, const T* from, int64_t line,
                         const T* weight, TapRange rows, Vector<T> (&sums)[kRows]) {
  const int64_t x_row = k.rows.in_step * line, x_tap = k.rows.shift_step * line;
  const int64_t w_row = k.rows.tap_step * k.weights.row_step;
  for (int64_t r = rows.begin; r < rows.end; ++r, from += x_tap, weight += w_row) {
    const Vector<T> factor = splat(*weight);
    DT_UNROLL
    for (int i = 0; i < kRows; ++i)
      sums[i] = multiply_add(part.load(from + i * x_row), factor, sums[i]);
  }
}

// sums += a vector of outputs from column j on, of some rows which see the same taps; x is the
// input row of the first of them.
template <int kStep, class T, int kRows>
inline void add_taps(const Correlation<T>& k, const T* x, const T* weights, TapRange rows,
                     int64_t j, Vector<T> (&sums)[kRows]) {
  const KernelWeights<T>& w = k.weights;
  const int64_t w_col = k.cols.tap_step * w.col_step;
  x += k.rows.shift(rows.begin) * k.x.h_step;
  weights += rows.begin * k.rows.tap_step * w.row_step;
  for (int64_t q = 0; q < k.cols.taps; ++q, weights += w_col) {
    const int64_t column = j * kStep + k.cols.shift(q);
    if (column >= 0 && column + kStep * kLanes<T> <= k.cols.in_size) {
      add_tap_rows(k, WholePart<T, kStep>(), x + column, k.x.h_step, weights, rows, sums);
    } else {
      add_tap_rows(k, RowPart<T, kStep>(column, k.cols.in_size), x + column, k.x.h_step, weights,
                   rows, sums);
    }
  }
}

template <class T, int64_t kFirst, size_t... kLane>
inline Vector<T> interleave(Vector<T> even, Vector<T> odd, std::index_sequence<kLane...>) {
  return pick_lanes<T>(
      even, odd, std::index_sequence<(kFirst + kLane / 2 + (kLane % 2) * sizeof...(kLane))...>());
}

template <class T>
inline void store_up_to(T* y, Vector<T> v, int64_t n) {
  n >= kLanes<T> ? store(y, v) : store_first(y, v, max<int64_t>(0, n));
}

// The phases of the columns of some rows of outputs from row i on, which see the same taps.
template <class T, int kStep, int kPhases, int kRows>
void plane_rows(const Correlation<T>* phases, int64_t n, int64_t c, int64_t i, TapRange rows) {
  constexpr int64_t kLane = kLanes<T>;
  const Correlation<T>& k = phases[0];
  const T* const x = k.x.at(n, c, i * k.rows.in_step, 0);
  T* const y = k.y.at(n, c, k.rows.out_first + i * k.rows.out_step, 0);
  const Vector<T> bias = splat(k.bias == nullptr ? T(0) : k.bias[c * k.bias_step]);
  for (int64_t j = 0; j < k.cols.out_count; j += kLane) {
    Vector<T> sums[kPhases][kRows];
    DT_UNROLL
    for (int p = 0; p < kPhases; ++p) {
      const Correlation<T>& phase = phases[p];
      const KernelWeights<T>& w = phase.weights;
      const T* const weights = w.data + c * w.group_step + phase.rows.tap_first * w.row_step +
                               phase.cols.tap_first * w.col_step;
      DT_UNROLL
      for (int r = 0; r < kRows; ++r) sums[p][r] = bias;
      add_taps<kStep>(phase, x, weights, rows, j, sums[p]);
    }
    const int64_t left = k.y.w - kPhases * j;
    DT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      T* const to = y + r * k.rows.out_step * k.y.h_step + kPhases * j;
      if constexpr (kPhases == 1) {
        store_up_to(to, sums[0][r], left);
      } else {
        store_up_to(to, interleave<T, 0>(sums[0][r], sums[1][r], AllLanes<T>()), left);
        store_up_to(to + kLane, interleave<T, kLane / 2>(sums[0][r], sums[1][r], AllLanes<T>()),
                    left - kLane);
      }
    }
  }
}

// Where columns have a stride of 2: the even and the odd columns of the rows that kRowsTogether
// rows of outputs see, each a row of its own with zeros beside it, so that a tap reads whole
// vectors in their order. Taps are many, and each would part them anew.
template <class T>
struct ColumnPhases {
  static constexpr int64_t kMost = 32768 / sizeof(T);

  const ConvAxis& cols;
  int64_t first, width, lines;  // first: the column that either phase begins with, halved

  explicit ColumnPhases(const Correlation<T>& k) : cols(k.cols), first(cols.first_reach()) {
    width = ceil_div(cols.out_count, kLanes<T>) * kLanes<T> + kLanes<T> + cols.halo();
    const int64_t reach = (k.rows.taps - 1) * k.rows.shift_step;
    lines = (kRowsTogether - 1) * k.rows.in_step + max(reach, -reach) + 1;
  }

  bool is_worth_it() const {
    return cols.taps > 3 && cols.out_count > 2 * kLanes<T> && 2 * lines * width <= kMost;
  }

  void fill(T* to, const T* x, int64_t x_line) const {
    for (int64_t i = 0; i < 2 * lines; ++i, to += width) {
      const T* const row = x + (i / 2) * x_line;
      for (int64_t t = 0; t + kLanes<T> <= width; t += kLanes<T>) {
        const int64_t column = 2 * (first + t) + i % 2;
        const bool is_inside = column >= 0 && column + 2 * kLanes<T> <= cols.in_size;
        store(to + t, is_inside ? WholePart<T, 2>::load(row + column)
                                : RowPart<T, 2>(column, cols.in_size).load(row + column));
      }
    }
  }
};

// The same rows as plane_rows computes, kRowsTogether of them, which see all taps.
template <class T>
void phased_rows(const Correlation<T>& k, const ColumnPhases<T>& phases, int64_t n, int64_t c,
                 int64_t i) {
  T lines[ColumnPhases<T>::kMost];
  const KernelWeights<T>& w = k.weights;
  const TapRange rows = {0, k.rows.taps};
  const int64_t line = 2 * phases.width, begin = k.rows.shift(0), end = k.rows.shift(rows.end - 1);
  const int64_t top = min(begin, end);
  phases.fill(lines, k.x.at(n, c, i * k.rows.in_step + top, 0), k.x.h_step);
  const Vector<T> bias = splat(k.bias == nullptr ? T(0) : k.bias[c * k.bias_step]);
  T* const y = k.y.at(n, c, k.rows.out_first + i * k.rows.out_step, 0);
  for (int64_t j = 0; j < k.cols.out_count; j += kLanes<T>) {
    const T* weights =
        w.data + c * w.group_step + k.rows.tap_first * w.row_step + k.cols.tap_first * w.col_step;
    Vector<T> sums[kRowsTogether];
    for (Vector<T>& sum : sums) sum = bias;
    for (int64_t q = 0; q < k.cols.taps; ++q, weights += k.cols.tap_step * w.col_step) {
      const int64_t shift = k.cols.shift(q), half = floor_div(shift, 2);
      const T* const from = lines + (begin - top) * line + (shift - 2 * half) * phases.width + j +
                            half - phases.first;
      add_tap_rows(k, WholePart<T, 1>(), from, line, weights, rows, sums);
    }
    for (int r = 0; r < kRowsTogether; ++r)
      store_up_to(y + r * k.rows.out_step * k.y.h_step + j, sums[r], k.y.w - j);
  }
}

// Rows [begin, end) of a phase of the rows. Phases side by side have sums enough without several
// rows.
template <class T, int kStep, int kPhases>
__attribute__((noinline)) void plane_part(const Correlation<T>* phases, int64_t n, int64_t c,
                                          int64_t begin, int64_t end) {
  const ConvAxis& axis = phases[0].rows;
  const ColumnPhases<T> columns(phases[0]);
  const auto sees_all = [&](TapRange rows) { return rows.begin == 0 && rows.end == axis.taps; };
  for (int64_t i = begin; i < end;) {
    const TapRange rows = taps_inside(axis, i);
    if constexpr (kPhases == 1) {
      // The last ones but for one together with the one before, sooner than one by one.
      const int64_t first = i + kRowsTogether - 1 == end ? i - 1 : i;
      if (first >= begin && first + kRowsTogether <= end && sees_all(taps_inside(axis, first)) &&
          sees_all(taps_inside(axis, first + kRowsTogether - 1))) {
        if (kStep == 2 && columns.is_worth_it()) {
          phased_rows(phases[0], columns, n, c, first);
        } else {
          const TapRange all = {0, axis.taps};
          plane_rows<T, kStep, kPhases, kRowsTogether>(phases, n, c, first, all);
        }
        i = first + kRowsTogether;
        continue;
      }
    }
    plane_rows<T, kStep, kPhases, 1>(phases, n, c, i, rows);
    ++i;
  }
}

constexpr int64_t kPlaneElements = 8192;  // of the output, that an item has at least

// Correlations that share their passes over the images: the phases of a gradient, those of the
// columns side by side.
template <class T>
struct PlanePhases {
  static constexpr int kMost = 4;
  Correlation<T> phase[kMost];
  int count = 0;

  // Rows [begin, end) of all phases that have them.
  void run_part(int64_t n, int64_t c, int64_t begin, int64_t end) const {
    const ConvAxis& cols = phase[0].cols;
    const int together = static_cast<int>(cols.out_step);
    for (int p = 0; p < count; p += together) {
      const int64_t last = min(end, phase[p].rows.out_count);
      if (together == 2) {
        plane_part<T, 1, 2>(phase + p, n, c, begin, last);
      } else if (cols.in_step == 2) {
        plane_part<T, 2, 1>(phase + p, n, c, begin, last);
      } else {
        plane_part<T, 1, 1>(phase + p, n, c, begin, last);
      }
    }
  }

  static int64_t workspace(const dt_stream* stream, const Correlation<T>& k) {
    if (!kHasPlanes<T> || !PlaneStage<T>::serves(k)) return 0;
    return PlaneStage<T>(stream, &k, 1, Workspace(nullptr)).bytes();
  }

  __attribute__((noinline)) void run(const dt_stream* stream, Workspace workspace) const {
    if (!kHasPlanes<T> || count == 0) return;
    const Correlation<T>& k = phase[0];
    if (PlaneStage<T>::serves(k)) return PlaneStage<T>(stream, phase, count, workspace).run(stream);
    const int64_t rows = k.rows.out_count, planes = k.y.n * k.groups;
    const int64_t row = max<int64_t>(1, k.y.w * k.rows.out_step);
    // A part of a plane, or several planes.
    const int64_t part = min(rows, max<int64_t>(1, kPlaneElements / row));
    const int64_t parts = ceil_div(rows, part), items = planes * parts;
    const int64_t few = max<int64_t>(1, kPlaneElements / (row * part));
    const int64_t cycles =
        k.y.n * k.groups * k.y.h * k.y.w * (k.rows.taps * k.cols.taps + 4) / kLanes<T>;
    for_each_item(stream, ceil_div(items, few), worth_threads(stream, cycles),
                  [&](int64_t group, int64_t) {
                    const int64_t begin = group * few, end = min(items, begin + few);
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t plane = i / parts, row = i % parts * part;
                      run_part(plane / k.groups, plane % k.groups, row, row + part);
                    }
                  });
  }
};

// ---- the gradient of the weights: each plane has sums of its own

// sums += those of rows [begin, end) of the output, for some rows of the kernel from row r on which
// reach the image from all of them.
template <int kTapRows, int kStep, class T>
void add_plane_rows(const WeightGradient<T>& k, int64_t n, int64_t c, int64_t r, int64_t begin,
                    int64_t end, Vector<T> (*sums)[kPlaneTaps]) {
  Vector<T> sum[kTapRows][kPlaneTaps];
  __builtin_memcpy(&sum, sums, sizeof sum);
  const int64_t x_tap = k.rows.shift_step * k.x.h_step, width = k.cols.out_count;
  for (int64_t i = begin; i < end; ++i) {
    const T* const g = k.g.at(n, c, i, 0);
    const T* const x = k.x.at(n, c, i * k.rows.in_step + k.rows.shift(r), 0);
    for (int64_t j = 0; j < width; j += kLanes<T>) {
      const Vector<T> gradient = load_first(g + j, min<int64_t>(kLanes<T>, width - j));
      DT_UNROLL
      for (int q = 0; q < kPlaneTaps; ++q) {
        const int64_t column = j * kStep + k.cols.shift(q);
        const RowPart<T, kStep> part(column, k.cols.in_size);
        DT_UNROLL
        for (int t = 0; t < kTapRows; ++t)
          sum[t][q] = multiply_add(part.load(x + t * x_tap + column), gradient, sum[t][q]);
      }
    }
  }
  __builtin_memcpy(sums, &sum, sizeof sum);
}

// Those of the output from which row r of the kernel reaches the image.
struct RowRange {
  int64_t begin, end;

  RowRange(const ConvAxis& axis, int64_t r) {
    begin = max<int64_t>(0, -floor_div(axis.shift(r), axis.in_step));
    end = min(axis.out_count, floor_div(axis.in_size - 1 - axis.shift(r), axis.in_step) + 1);
  }
};

// The gradient from one plane. Where all rows of the kernel reach the image, it is read once.
template <int kStep, class T>
void add_plane(const WeightGradient<T>& k, int64_t n, int64_t c, T* to) {
  Vector<T> sums[kPlaneTaps][kPlaneTaps] = {};
  const RowRange first(k.rows, 0), last(k.rows, k.rows.taps - 1);
  const int64_t begin = max(first.begin, last.begin);
  const int64_t end = k.rows.taps == kPlaneTaps ? max(begin, min(first.end, last.end)) : begin;
  add_plane_rows<kPlaneTaps, kStep>(k, n, c, 0, begin, end, sums);
  for (int64_t r = 0; r < k.rows.taps; ++r) {
    const RowRange rows(k.rows, r);
    add_plane_rows<1, kStep>(k, n, c, r, rows.begin, min(begin, rows.end), sums + r);
    add_plane_rows<1, kStep>(k, n, c, r, max(end, rows.begin), rows.end, sums + r);
  }
  for (int64_t r = 0; r < k.rows.taps; ++r) sum_lanes<T, kPlaneTaps>(sums[r], to + r * kPlaneTaps);
}

template <class T>
int64_t plane_weight_workspace(const WeightGradient<T>& k) {
  Workspace workspace(nullptr);
  workspace.take<T>(k.g.n * k.groups * k.rows.taps * kPlaneTaps);
  return workspace.bytes();
}

template <class T>
void plane_weight(const dt_stream* stream, const WeightGradient<T>& k, Workspace workspace) {
  if (!kHasPlanes<T>) return;
  const int64_t planes = k.g.n * k.groups, taps = k.rows.taps * kPlaneTaps;
  T* const sums = workspace.take<T>(planes * taps);
  const int64_t elements = k.g.h * k.g.w, few = max<int64_t>(1, kPlaneElements / elements);
  const bool parallel = worth_threads(stream, planes * elements * (taps + 4) / kLanes<T>);
  for_each_item(stream, ceil_div(planes, few), parallel, [&](int64_t group, int64_t) {
    for (int64_t i = group * few; i < min(planes, (group + 1) * few); ++i) {
      T* const to = sums + i * taps;
      k.cols.in_step == 1 ? add_plane<1>(k, i / k.groups, i % k.groups, to)
                          : add_plane<2>(k, i / k.groups, i % k.groups, to);
    }
  });
  add_splits(sums, k.groups * taps, k.g.n, k.groups * taps);
  for (int64_t c = 0; c < k.groups; ++c) {
    for (int64_t r = 0; r < k.rows.taps; ++r) {
      copy_row(k.gw.at(c, 0, r, 0), k.gw.w_step, sums + c * taps + r * kPlaneTaps, 1, kPlaneTaps);
    }
  }
}

}  // namespace
}  // namespace dt::cpu
