// Windows that overlap, added up where they lie: a line of y at a time, which gets what each
// element of the windows has for it.
#include "kernels/cpu/common.h"
#include "kernels/slide.h"

namespace dt::cpu {
namespace {

template <class T>
void add_run(T* y, int64_t y_step, const T* x, int64_t x_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i * y_step] += x[i * x_step];
}

template <class T>
class Sums {
 public:
  explicit Sums(const calls::AddWindows& call)
      : y_(data<T>(call.y)),
        x_(data<const T>(call.x)),
        rows_(call, 0),
        columns_(call, 1),
        inner_sizes_(call.y.sizes[1]),
        together_(call.y.sizes[4]),
        step_(call.x.strides) {}

  int64_t lines(const dt_view& y) const { return y.sizes[0] * y.sizes[1] * y.sizes[2]; }

  void fill(int64_t line) const {
    const int64_t i = line % rows_.size, outer = line / rows_.size,
                  length = columns_.size * together_;
    const T* const x = x_ + outer / inner_sizes_ * step_[0] + outer % inner_sizes_ * step_[1];
    T* const y = y_ + line * length;
    __builtin_memset(y, 0, static_cast<size_t>(length) * sizeof(T));
    rows_.for_each_at(i, [&](int64_t r, int64_t u) {
      for (int64_t s = 0; s < columns_.taps; ++s)
        add(y, x + r * step_[2] + s * step_[3] + u * step_[4], s);
    });
  }

 private:
  // Element s of the windows in a row.
  void add(T* y, const T* x, int64_t s) const {
    const int64_t begin = columns_.begin(s), end = columns_.end(s);
    if (begin >= end) return;  // it lies outside in all windows
    if (together_ == 1)
      return add_run(y + columns_.place(begin, s), columns_.stride, x + begin * step_[5], step_[5],
                     end - begin);
    for (int64_t v = begin; v < end; ++v)
      add_run(y + columns_.place(v, s) * together_, 1, x + v * step_[5], step_[6], together_);
  }

  T* y_;
  const T* x_;
  Slide<int64_t> rows_, columns_;
  int64_t inner_sizes_, together_;
  const int64_t* step_;  // x's
};

}  // namespace

int32_t kernels::add_windows(const dt_stream* stream, const calls::AddWindows& call) {
  if (count(call.y) == 0) return DT_KERNEL_OK;
  return visit_floating(call.y.dtype, [&](auto type) {
    const Sums<typename decltype(type)::type> sums(call);
    const int64_t lines = sums.lines(call.y), tasks = min(lines, int64_t{8} * stream->threads);
    parallel_for(stream, tasks, max(count(call.x), count(call.y)), [&](int64_t task) {
      for (int64_t l = lines * task / tasks; l < lines * (task + 1) / tasks; ++l) sums.fill(l);
    });
  });
}

}  // namespace dt::cpu
