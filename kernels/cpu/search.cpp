// searchsorted: how many elements of a sorted row come before each of the values.
#include "kernels/calls/sorting.gen.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/index_plan.h"
#include "kernels/cpu/reduce_plan.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 256;

// A sorted row, or one that `sorter` brings into order.
template <class T>
struct SortedRow {
  const T* data;
  const int64_t* sorter;
  int64_t n, stride, sorter_stride;

  T operator[](int64_t i) const { return data[(sorter ? sorter[i * sorter_stride] : i) * stride]; }

  // Nothing comes behind NaN, as in PyTorch.
  template <bool kRight>
  int64_t count_before(T value) const {
    int64_t begin = 0, length = n;
    while (length > 0) {
      const int64_t half = length / 2;
      const T middle = (*this)[begin + half];
      const bool is_before = kRight ? !(middle > value) : !(middle >= value);
      begin = is_before ? begin + half + 1 : begin;
      length = is_before ? length - half - 1 : half;
    }
    return begin;
  }
};

// Axes hold the strides of the values, of sorted and of sorter.
template <class T>
class Search {
 public:
  explicit Search(const calls::Searchsorted& call) : call_(call), last_(call.values.ndim - 1) {
    for (int d = 0; d < last_; ++d)
      lines_.axis[lines_.n++] =
          Axis{call.values.sizes[d], call.values.strides[d], call.sorted.strides[d],
               call.sorter ? call.sorter->strides[d] : 0};
  }

  void run(const dt_stream* stream) const {
    const int64_t length = call_.values.sizes[last_], tiles = ceil_div(length, kTile);
    parallel_for(stream, lines_.count() * tiles, 16 * lines_.count() * length, [&](int64_t tile) {
      const int64_t begin = tile % tiles * kTile;
      if (call_.right) {
        search<true>(tile / tiles, begin, min(kTile, length - begin));
      } else {
        search<false>(tile / tiles, begin, min(kTile, length - begin));
      }
    });
  }

 private:
  template <bool kRight>
  void search(int64_t line, int64_t begin, int64_t n) const {
    const Walk at(lines_, lines_.n, line);
    const dt_view &sorted = call_.sorted, &values = call_.values, &y = call_.y;
    const SortedRow<T> row = {data<const T>(sorted) + at.y,
                              call_.sorter ? data<const int64_t>(*call_.sorter) + at.z : nullptr,
                              sorted.sizes[last_], sorted.strides[last_],
                              call_.sorter ? call_.sorter->strides[last_] : 0};
    const T* from = data<const T>(values) + at.x + begin * values.strides[last_];
    int64_t found[kTile];
    for (int64_t i = 0; i < n; ++i)
      found[i] = row.template count_before<kRight>(from[i * values.strides[last_]]);
    const int64_t to = line * values.sizes[last_] + begin;  // y is row-major
    store_run(data<char>(y) + to * bytes_of(y.dtype), y.dtype, 1, found, n);
  }

  const calls::Searchsorted& call_;
  const int last_;
  Axes lines_;
};

}  // namespace

int32_t kernels::searchsorted(const dt_stream* stream, const calls::Searchsorted& call) {
  if (count(call.values) == 0) return DT_KERNEL_OK;
  const int64_t n = call.sorted.sizes[call.sorted.ndim - 1];
  if (call.sorter && !check_index(stream, *call.sorter, 0, n)) return DT_KERNEL_INDEX;
  return visit_value(call.values.dtype, [&](auto type) {
    Search<Stored<typename decltype(type)::type>>(call).run(stream);
  });
}

}  // namespace dt::cpu
