// Sums, means and maxima of bags of rows, and the gradient of the table.
#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/index_plan.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

template <class T>
class Bags {
 public:
  explicit Bags(const calls::EmbeddingBag& call)
      : call_(call),
        size_(call.y.sizes[1]),
        entries_(call.rows.sizes[0]),
        rows_(data<const int64_t>(call.rows)),
        offsets_(data<const int64_t>(call.offsets)),
        factors_(optional_data<const T>(call.factors)) {}

  void run(const dt_stream* stream) const {
    const int64_t bags = call_.y.sizes[0], bag_groups = min(bags, int64_t{8} * stream->threads);
    for (int64_t i = 0; i < entries_; ++i) data<int64_t>(call_.bag)[i] = -1;
    for_each_item(stream, bag_groups, worth_threads(stream, entries_ * size_),
                  [&](int64_t group, int64_t) {
                    const int64_t end = bags * (group + 1) / bag_groups;
                    for (int64_t b = bags * group / bag_groups; b < end; ++b) fill(b);
                  });
  }

 private:
  int64_t end(int64_t b) const {
    return b + 1 < call_.offsets.sizes[0] ? offsets_[b + 1] : entries_;
  }
  const T* row(int64_t i) const { return data<const T>(call_.table) + rows_[i] * size_; }

  void fill(int64_t b) const {
    T* y = data<T>(call_.y) + b * size_;
    int64_t* chosen = call_.chosen ? data<int64_t>(*call_.chosen) + b * size_ : nullptr;
    int64_t counted = 0;
    for (int64_t d = 0; d < size_; ++d) y[d] = 0;
    for (int64_t d = 0; chosen && d < size_; ++d) chosen[d] = -1;
    for (int64_t i = offsets_[b]; i < end(b); ++i) {
      if (rows_[i] == call_.padding_row) continue;
      data<int64_t>(call_.bag)[i] = b;
      if (chosen) {
        raise(y, chosen, i, counted == 0);
      } else {
        add(y, row(i), factors_ ? factors_[i] : T(1));
      }
      ++counted;
    }
    data<int64_t>(call_.count)[b] = counted;
    if (!call_.mean || counted == 0) return;
    for (int64_t d = 0; d < size_; ++d) y[d] /= static_cast<T>(counted);
  }

  void add(T* __restrict y, const T* __restrict x, T factor) const {
    for (int64_t d = 0; d < size_; ++d) y[d] += factor * x[d];
  }

  void raise(T* __restrict y, int64_t* __restrict chosen, int64_t i, bool is_first) const {
    const T* __restrict x = row(i);
    for (int64_t d = 0; d < size_; ++d) {
      const bool rises = is_first | (x[d] > y[d]);
      y[d] = rises ? x[d] : y[d];
      chosen[d] = rises ? rows_[i] : chosen[d];
    }
  }

  const calls::EmbeddingBag& call_;
  const int64_t size_, entries_;
  const int64_t *rows_, *offsets_;
  const T* factors_;
};

// Each thread looks through all entries for those of its own rows: every row's sum is made by one
// thread, in one order.
template <class T>
void add_gradients(const dt_stream* stream, const calls::EmbeddingBagBackward& call) {
  const int64_t table = call.gtable.sizes[0], size = call.gtable.sizes[1];
  const int64_t entries = call.rows.sizes[0];
  const int64_t *rows = data<const int64_t>(call.rows), *bag = data<const int64_t>(call.bag);
  const T *g = data<const T>(call.g), *factors = optional_data<const T>(call.factors);
  const bool parallel = worth_threads(stream, (table + entries) * size / 4);
  const int64_t parts = parallel ? 2 * stream->threads : 1;
  for_each_item(stream, parts, parallel, [&](int64_t part, int64_t) {
    const int64_t begin = table * part / parts, end = table * (part + 1) / parts;
    T* __restrict to = data<T>(call.gtable);
    for (int64_t i = begin * size; i < end * size; ++i) to[i] = 0;
    for (int64_t i = 0; i < entries; ++i) {
      if (rows[i] < begin || rows[i] >= end || bag[i] < 0) continue;
      const T factor = factors ? factors[i] : T(1);
      const T* __restrict from = g + bag[i] * size;
      T* __restrict row = to + rows[i] * size;
      for (int64_t d = 0; d < size; ++d) row[d] += factor * from[d];
    }
  });
}

}  // namespace

int32_t kernels::embedding_bag(const dt_stream* stream, const calls::EmbeddingBag& call) {
  if (!check_index(stream, call.rows, 0, call.table.sizes[0])) return DT_KERNEL_INDEX;
  return visit_floating(call.y.dtype,
                        [&](auto type) { Bags<typename decltype(type)::type>(call).run(stream); });
}

int32_t kernels::embedding_bag_backward(const dt_stream* stream,
                                        const calls::EmbeddingBagBackward& call) {
  return visit_floating(call.gtable.dtype, [&](auto type) {
    add_gradients<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cpu
