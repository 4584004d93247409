// searchsorted: how many elements of a sorted row come before each of the values.
#include "kernels/calls/sorting.gen.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/index_plan.h"
#include "kernels/cpu/reduce_plan.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 256;
constexpr int kTogether = 16;

// How many of n sorted elements, which `at` gives, come before each of kTogether values. These are
// looked for in step, because an element is long in coming. Nothing comes behind NaN, as in
// PyTorch.
template <bool kRight, class T, class At>
void count_before(int64_t n, const At& at, const T* values, int64_t* counts) {
  for (int j = 0; j < kTogether; ++j) counts[j] = 0;
  for (int64_t length = n; length > 0;) {
    const int64_t half = (length + 1) / 2;
    for (int j = 0; j < kTogether; ++j) {
      const T middle = at(counts[j] + half - 1);
      const bool is_before = kRight ? !(middle > values[j]) : !(middle >= values[j]);
      counts[j] += half & -static_cast<int64_t>(is_before);
    }
    length -= half;
  }
}

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
    const T* row = data<const T>(sorted) + at.y;
    const int64_t length = sorted.sizes[last_], stride = sorted.strides[last_];
    const T* from = data<const T>(values) + at.x + begin * values.strides[last_];
    T wanted[kTile] = {};
    int64_t found[kTile];
    for (int64_t i = 0; i < n; ++i) wanted[i] = from[i * values.strides[last_]];
    const auto search_by = [&](const auto& element) {
      for (int64_t i = 0; i < n; i += kTogether)
        count_before<kRight>(length, element, wanted + i, found + i);
    };
    const int64_t* const order = call_.sorter ? data<const int64_t>(*call_.sorter) + at.z : nullptr;
    const int64_t step = call_.sorter ? call_.sorter->strides[last_] : 0;
    if (ends_in_nan(row, order)) {
      for (int64_t i = 0; i < n; ++i) found[i] = count_before_nan(row, order, wanted[i]);
    } else if (order) {
      search_by([=](int64_t i) { return row[order[i * step] * stride]; });
    } else if (stride == 1) {
      search_by([=](int64_t i) { return row[i]; });
    } else {
      search_by([=](int64_t i) { return row[i * stride]; });
    }
    const int64_t to = line * values.sizes[last_] + begin;  // y is row-major
    store_run(data<char>(y) + to * bytes_of(y.dtype), y.dtype, 1, found, n);
  }

  T element(const T* row, const int64_t* order, int64_t i) const {
    if (order) i = order[i * call_.sorter->strides[last_]];
    return row[i * call_.sorted.strides[last_]];
  }

  bool ends_in_nan(const T* row, const int64_t* order) const {
    const int64_t n = call_.sorted.sizes[last_];
    if (!kIsFloating<T> || n == 0) return false;
    const T last = element(row, order, n - 1);
    return last != last;
  }

  // The same of a row that ends in NaN, from which PyTorch's search goes to the right whatever it
  // looks for: the result depends on which elements are asked, which are PyTorch's here.
  __attribute__((noinline)) int64_t count_before_nan(const T* row, const int64_t* order,
                                                     T value) const {
    int64_t count = 0;
    for (int64_t length = call_.sorted.sizes[last_]; length > 0;) {
      const int64_t half = length / 2;
      const T middle = element(row, order, count + half);
      const bool is_before = call_.right ? !(middle > value) : !(middle >= value);
      count += is_before ? half + 1 : 0;
      length = is_before ? length - half - 1 : half;
    }
    return count;
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
