// Resampling of planes: rows and columns in one pass, so that what lies between the two steps never
// leaves the caches. Where a plane grows, a row's columns are made first, once for all rows that
// are made of it; where it shrinks, the rows are added up first.
#include "kernels/calls/vision.gen.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/workers.h"
#include "kernels/resample_taps.h"

namespace dt::cpu {
namespace {

// Processors gather elements slowly, but permute what lies in four vectors fast. Elsewhere, and of
// doubles, elements are read one by one.
template <class T>
constexpr bool kPermutes = sizeof(T) == 4 && kVectorBytes > 16;
template <class T>
constexpr int64_t kLanes = kVectorBytes / sizeof(T);
template <class T>
constexpr int64_t kWindow = 4 * kLanes<T>;

// A table of resample_taps.
template <class T>
struct ResampleTable {
  int64_t taps = 0, n = 0;  // no taps: the dimension stays as it is
  const int32_t* source = nullptr;
  const T* weight = nullptr;
  // For each vector of elements where the window begins in which all their sources lie; -1: there
  // is no such window.
  int32_t* window = nullptr;
  bool* narrow = nullptr;  // whether they lie in a single vector there

  ResampleTable(const dt_view* sources, const dt_view* weights) {
    if (!sources) return;
    taps = sources->sizes[0], n = sources->sizes[1];
    source = data<const int32_t>(*sources), weight = data<const T>(*weights);
  }

  void find_windows(Workspace* memory) {
    if (!kPermutes<T>) return;
    window = memory->take<int32_t>(n / kLanes<T>);
    narrow = memory->take<bool>(n / kLanes<T>);
    for (int64_t block = 0; window && block < n / kLanes<T>; ++block) {
      int32_t begin = INT32_MAX, last = -1;
      for (int64_t k = 0; k < taps; ++k) {
        for (int64_t i = block * kLanes<T>; i < (block + 1) * kLanes<T>; ++i) {
          const int32_t at = source[k * n + i];
          if (at >= 0) begin = min(begin, at);
          last = max(last, at);
        }
      }
      window[block] = last >= 0 && last - begin < kWindow<T> ? begin : -1;
      narrow[block] = last - begin < kLanes<T>;
    }
  }
};

// term(0) + ... + term(kTaps - 1), without a loop: the loop around it becomes vectors.
template <int kTaps, class T, class Term>
inline __attribute__((always_inline)) T sum_of(T sum, const Term& term) {
  if constexpr (kTaps == 0) {
    return sum;
  } else {
    return sum_of<kTaps - 1>(sum, term) + term(kTaps - 1);
  }
}

// y += the sum of kTaps weighted rows.
template <int kTaps, class T>
void add_rows(const T* const* from, const T* by, int64_t n, T* __restrict y) {
  const T* row[kTaps];
  T weight[kTaps];
  for (int k = 0; k < kTaps; ++k) row[k] = from[k], weight[k] = by[k];
  for (int64_t i = 0; i < n; ++i)
    y[i] = sum_of<kTaps>(y[i], [&](int k) { return weight[k] * row[k][i]; });
}

// y += the sum of kTaps weighted elements of x, from tap `first` on; x[-1] is 0.
template <int kTaps, class T>
void add_columns(const T* __restrict x, const ResampleTable<T>& table, int64_t first, int64_t begin,
                 int64_t end, T* __restrict y) {
  const int64_t n = table.n;
  const int32_t* __restrict source = table.source + first * n;
  const T* __restrict weight = table.weight + first * n;
  for (int64_t i = begin; i < end; ++i)
    y[i] = sum_of<kTaps>(y[i], [&](int k) { return weight[k * n + i] * x[source[k * n + i]]; });
}

// Elements at[i] of the window. Clang has no shuffle by variables.
template <bool kNarrow>
Vector<float> pick(const float* window, Vector<int32_t> at) {
#if defined(__clang__)
  Vector<float> picked = {};
  constexpr int kEnd = (kNarrow ? 1 : 4) * kLanes<float>;  // what is below 0 is not used
  for (int i = 0; i < kLanes<float>; ++i) picked[i] = window[at[i] & (kEnd - 1)];
  return picked;
#else
  using V = Vector<float>;
  constexpr int32_t kVector = kLanes<float>;
  const V a = load(window);
  if constexpr (kNarrow) return __builtin_shuffle(a, at);
  const V b = load(window + kVector), c = load(window + 2 * kVector),
          d = load(window + 3 * kVector);
  return at < 2 * kVector ? __builtin_shuffle(a, b, at) : __builtin_shuffle(c, d, at);
#endif
}

// The same of a vector of elements whose sources all lie in a window.
template <int kTaps, bool kNarrow>
void add_window(const float* window, const ResampleTable<float>& table, int64_t first, int64_t i,
                float* y) {
  const int32_t start = table.window[i / kLanes<float>];
  const Vector<float> sum = sum_of<kTaps>(load(y + i), [&](int k) {
    const Vector<int32_t> source = load(table.source + (first + k) * table.n + i);
    const Vector<float> value = pick<kNarrow>(window, source - start);
    return load(table.weight + (first + k) * table.n + i) * (source < 0 ? Vector<float>{} : value);
  });
  store(y + i, sum);
}

template <int kTaps, class T>
void add_all_columns(const T* x, const ResampleTable<T>& table, int64_t first, T* y) {
  int64_t done = 0;
  if constexpr (kPermutes<T>) {
    for (; done + kLanes<T> <= table.n; done += kLanes<T>) {
      const int32_t start = table.window[done / kLanes<T>];
      if (start >= 0 && table.narrow[done / kLanes<T>]) {
        add_window<kTaps, true>(x + start, table, first, done, y);
      } else if (start >= 0) {
        add_window<kTaps, false>(x + start, table, first, done, y);
      } else {
        add_columns<kTaps>(x, table, first, done, done + kLanes<T>, y);
      }
    }
  }
  add_columns<kTaps>(x, table, first, done, table.n, y);
}

// Calls add(first, count) for groups of four, two and one taps.
template <class Add>
void for_each_group(int64_t taps, const Add& add) {
  int64_t first = 0;
  for (; first + 4 <= taps; first += 4) add(first, std::integral_constant<int, 4>());
  if (first + 2 <= taps) {
    add(first, std::integral_constant<int, 2>());
    first += 2;
  }
  if (first < taps) add(first, std::integral_constant<int, 1>());
}

template <class T>
class Resampling {
 public:
  Resampling(const calls::Resample& call, Workspace* memory)
      : x_(data<const T>(call.x)),
        y_(data<T>(call.y)),
        planes_(call.x.sizes[0]),
        h_(call.x.sizes[1]),
        w_(call.x.sizes[2]),
        p_(call.y.sizes[1]),
        q_(call.y.sizes[2]),
        rows_(call.row_source, call.row_weight),
        columns_(call.column_source, call.column_weight) {
    columns_.find_windows(memory);
  }

  int64_t bytes_of_worker() const {
    Workspace sizes(nullptr);
    Scratch scratch(&sizes, *this);
    return sizes.bytes();
  }

  void run(const dt_stream* stream, Workspace* memory) const {
    char* workspace = memory->take<char>(0);
    const int64_t wanted = 4 * stream->threads;
    const int64_t pieces =
        planes_ >= wanted ? 1 : min(p_, ceil_div(wanted, max<int64_t>(planes_, 1)));
    const int64_t cycles = planes_ * (h_ * w_ + p_ * q_) * (1 + rows_.taps + columns_.taps) / 2;
    const int64_t bytes = bytes_of_worker();
    for_each_item(
        stream, planes_ * pieces, worth_threads(stream, cycles), [&](int64_t item, int64_t worker) {
          Workspace memory(workspace + worker * bytes);
          Scratch scratch(&memory, *this);
          const int64_t piece = item % pieces;
          run_rows(&scratch, item / pieces, p_ * piece / pieces, p_ * (piece + 1) / pieces);
        });
  }

 private:
  bool columns_first() const { return p_ >= h_; }

  // Of one worker: a row of the input with a 0 before it, and the last rows whose columns are made.
  struct Scratch {
    T *row, *made;
    const T** sums;
    T* weights;
    int64_t* held;  // which row each of `made` is

    Scratch(Workspace* memory, const Resampling& r)
        : row(memory->take<T>(kLead + r.w_ + kWindow<T>)),
          made(memory->take<T>(r.columns_first() ? r.rows_.taps * r.q_ : 0)),
          sums(memory->take<const T*>(r.rows_.taps)),
          weights(memory->take<T>(r.rows_.taps)),
          held(memory->take<int64_t>(r.rows_.taps)) {
      if (!row) return;
      row += kLead;
      row[-1] = 0;
      for (int64_t k = 0; k < r.rows_.taps; ++k) held[k] = -1;
    }
    static constexpr int64_t kLead = 64 / sizeof(T);
  };

  const T* x_row(int64_t plane, int64_t i) const { return x_ + (plane * h_ + i) * w_; }

  static void fill_zero(T* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = 0;
  }

  void make_columns(const T* row, T* y) const {
    fill_zero(y, q_);
    for_each_group(columns_.taps, [&](int64_t first, auto count) {
      add_all_columns<count.value>(row, columns_, first, y);
    });
  }

  void make_columns_of(Scratch* scratch, int64_t plane, int64_t i, T* y) const {
    const T* from = x_row(plane, i);
    for (int64_t j = 0; j < w_; ++j) scratch->row[j] = from[j];
    make_columns(scratch->row, y);
  }

  // Row i of the plane, with its columns made if they are made first.
  const T* row_of(Scratch* scratch, int64_t plane, int64_t i) const {
    if (columns_.taps == 0 || !columns_first()) return x_row(plane, i);
    const int64_t place = i % rows_.taps;
    T* made = scratch->made + place * q_;
    if (scratch->held[place] != i) make_columns_of(scratch, plane, i, made);
    scratch->held[place] = i;
    return made;
  }

  void add_up_rows(Scratch* scratch, int64_t plane, int64_t p, int64_t n, T* y) const {
    int64_t taps = 0;
    for (int64_t k = 0; k < rows_.taps; ++k) {
      const int64_t i = rows_.source[k * rows_.n + p];
      if (i < 0) break;
      scratch->sums[taps] = row_of(scratch, plane, i);
      scratch->weights[taps++] = rows_.weight[k * rows_.n + p];
    }
    fill_zero(y, n);
    for_each_group(taps, [&](int64_t first, auto count) {
      add_rows<count.value>(scratch->sums + first, scratch->weights + first, n, y);
    });
  }

  void run_rows(Scratch* scratch, int64_t plane, int64_t begin, int64_t end) const {
    for (int64_t p = begin; p < end; ++p) {
      T* y = y_ + (plane * p_ + p) * q_;
      if (rows_.taps == 0) {
        make_columns_of(scratch, plane, p, y);
      } else if (columns_.taps == 0 || columns_first()) {
        add_up_rows(scratch, plane, p, q_, y);
      } else {
        add_up_rows(scratch, plane, p, w_, scratch->row);
        make_columns(scratch->row, y);
      }
    }
  }

  const T* x_;
  T* y_;
  const int64_t planes_, h_, w_, p_, q_;
  const ResampleTable<T> rows_;
  ResampleTable<T> columns_;
};

}  // namespace

int32_t kernels::resample_taps(const dt_stream*, const calls::ResampleTaps& call) {
  return visit_floating(call.weight.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const resample::Taps<T> taps = {call.size, call.reach, call.align_corners, call.antialias,
                                    static_cast<T>(call.step)};
    const int64_t n = call.source.sizes[1];
    for (int64_t i = 0; i < n; ++i)
      taps.write(i, data<int32_t>(call.source), data<T>(call.weight), call.source.sizes[0], n);
  });
}

int32_t kernels::transpose_taps(const dt_stream*, const calls::TransposeTaps& call) {
  return visit_floating(call.weight.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const resample::Transposed<T> table = {data<const int32_t>(call.of_source),
                                           data<const T>(call.of_weight), call.of_source.sizes[0],
                                           call.of_source.sizes[1]};
    const int64_t n = call.source.sizes[1];
    for (int64_t i = 0; i < n; ++i)
      table.write(i, data<int32_t>(call.source), data<T>(call.weight), call.source.sizes[0], n);
  });
}

int32_t kernels::resample_neighbours(const dt_stream*, const calls::ResampleNeighbours&) {
  return DT_KERNEL_UNSUPPORTED;  // rows of all planes share the tables
}

int32_t kernels::resample(const dt_stream* stream, const calls::Resample& call) {
  return visit_floating(call.y.dtype, [&](auto type) {
    Workspace memory(call.workspace);
    Resampling<typename decltype(type)::type>(call, &memory).run(stream, &memory);
  });
}

int64_t kernels::resample_workspace(const dt_stream* stream, const calls::Resample& call) {
  Workspace sizes(nullptr);
  int64_t bytes = 0;
  visit_floating(call.y.dtype, [&](auto type) {
    bytes =
        stream->threads * Resampling<typename decltype(type)::type>(call, &sizes).bytes_of_worker();
  });
  return sizes.bytes() + bytes;
}

}  // namespace dt::cpu
