// Sums, means and maxima of bags of rows, and the gradient of the table.
#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/index_plan.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

constexpr int64_t kAhead = 4;  // so many entries ahead memory is asked for a row, or its beginning
constexpr int64_t kFetchBytes = 1024;

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
      if (i + kAhead < entries_) fetch(row(i + kAhead));
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

  // Rows lie anywhere: the processor cannot foresee where.
  void fetch(const T* row) const {
    const char* from = reinterpret_cast<const char*>(row);
    const int64_t bytes = min(kFetchBytes, size_ * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + i);
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

// What counts in each row's gradient: row r has entries [end[r - 1], end[r]), in their order.
template <class T>
struct SortedEntries {
  int64_t *end, *bag;
  T* factor;

  SortedEntries(const calls::EmbeddingBagBackward& call, Workspace* memory)
      : end(memory->take<int64_t>(call.gtable.sizes[0] + 1)),
        bag(memory->take<int64_t>(call.rows.sizes[0])),
        factor(memory->take<T>(call.rows.sizes[0])) {}

  // `end` begins as the number of entries, becomes where they begin, and moves on with each.
  void fill(const calls::EmbeddingBagBackward& call) const {
    const int64_t table = call.gtable.sizes[0], entries = call.rows.sizes[0];
    const int64_t *rows = data<const int64_t>(call.rows), *bags = data<const int64_t>(call.bag);
    const T* factors = optional_data<const T>(call.factors);
    for (int64_t r = 0; r <= table; ++r) end[r] = 0;
    for (int64_t i = 0; i < entries; ++i) end[rows[i] + 1] += bags[i] >= 0;
    for (int64_t r = 0; r < table; ++r) end[r + 1] += end[r];
    for (int64_t i = 0; i < entries; ++i) {
      if (bags[i] < 0) continue;
      const int64_t at = end[rows[i]]++;
      bag[at] = bags[i];
      factor[at] = factors ? factors[i] : T(1);
    }
  }
};

// Each row is written by one thread, its first entry over what was there.
template <class T>
void add_gradients(const dt_stream* stream, const calls::EmbeddingBagBackward& call) {
  const int64_t table = call.gtable.sizes[0], size = call.gtable.sizes[1];
  Workspace memory(call.workspace);
  const SortedEntries<T> entries(call, &memory);
  entries.fill(call);
  const T* g = data<const T>(call.g);
  const int64_t work = (table + call.rows.sizes[0]) * size;
  const int64_t parts = min(table, max<int64_t>(1, work / kSerialWork));
  for_each_item(stream, parts, worth_threads(stream, work / 4), [&](int64_t part, int64_t) {
    const int64_t last = table * (part + 1) / parts;
    for (int64_t r = table * part / parts; r < last; ++r) {
      T* __restrict row = data<T>(call.gtable) + r * size;
      const int64_t begin = r == 0 ? 0 : entries.end[r - 1];
      if (begin == entries.end[r]) {
        for (int64_t d = 0; d < size; ++d) row[d] = 0;
      }
      for (int64_t i = begin; i < entries.end[r]; ++i) {
        const T factor = entries.factor[i];
        const T* __restrict from = g + entries.bag[i] * size;
        if (i == begin) {
          for (int64_t d = 0; d < size; ++d) row[d] = 0 + factor * from[d];
        } else {
          for (int64_t d = 0; d < size; ++d) row[d] += factor * from[d];
        }
      }
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

int64_t kernels::embedding_bag_backward_workspace(const dt_stream*,
                                                  const calls::EmbeddingBagBackward& call) {
  Workspace sizes(nullptr);
  visit_floating(call.gtable.dtype,
                 [&](auto type) { SortedEntries<typename decltype(type)::type>(call, &sizes); });
  return sizes.bytes();
}

}  // namespace dt::cpu
