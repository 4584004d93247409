// sort and order_statistic: CUB's radix sorts, which are stable, over (key, position) pairs of
// rows. Few rows are sorted one after the other, many as segments.
#include <algorithm>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "kernels/calls/planned.h"
#include "kernels/calls/sorting.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/order.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxElements = int64_t{UINT32_MAX};  // positions are sorted in 32 bits
constexpr int64_t kMaxSegmented = int64_t{INT32_MAX};  // elements that CUB counts with an int
constexpr int64_t kFewRows = 4;

dim3 blocks_for(int64_t threads) {
  return dim3(static_cast<unsigned>(divide_up(threads, kThreads)));
}

__device__ __forceinline__ int64_t thread_number() {
  return int64_t{blockIdx.x} * kThreads + threadIdx.x;
}

// ---- rows as pairs, [rows][n]

template <class T>
__global__ void __launch_bounds__(kThreads)
    make_pairs(KeyOf<T>* keys, uint32_t* positions, const T* x, const __grid_constant__ Rows rows,
               bool descending) {
  begin_kernel();
  const int64_t i = thread_number();
  if (i >= rows.count * rows.n) return;
  const int64_t row = i / rows.n, at = i - row * rows.n;
  int64_t offset[3];
  rows.kept.at(static_cast<uint64_t>(row), offset);
  const KeyOf<T> key = key_of(x[offset[0] + at * rows.x_stride]);
  keys[i] = descending ? ~key : key;
  positions[i] = static_cast<uint32_t>(at);
}

struct RowBegin {
  int64_t n;
  __host__ __device__ __forceinline__ int64_t operator()(int64_t row) const { return row * n; }
};

template <class Key>
struct Pairs {
  Key* keys;
  uint32_t* positions;
};

// Scratch memory: pairs before and after the sort, and what CUB asks for.
template <class T>
class SortedRows {
 public:
  using Key = KeyOf<T>;

  SortedRows(const dt_stream* stream, const Rows& rows, void* workspace)
      : stream_(stream), rows_(rows), elements_(rows.count * rows.n) {
    char* at = static_cast<char*>(workspace);
    for (Pairs<Key>* pairs : {&unsorted_, &sorted_}) {
      pairs->keys = reinterpret_cast<Key*>(at);
      at += aligned(elements_ * static_cast<int64_t>(sizeof(Key)));
      pairs->positions = reinterpret_cast<uint32_t*>(at);
      at += aligned(elements_ * static_cast<int64_t>(sizeof(uint32_t)));
    }
    rest_ = at;
  }

  const Pairs<Key>& sorted() const { return sorted_; }

  int32_t workspace(int64_t* bytes) {
    if (const cudaError_t error = set_device(stream_->device))
      return check(error, "cudaSetDevice", stream_->fault);
    size_t needed = 0;
    if (const cudaError_t error = sort(nullptr, needed, nullptr))
      return check(error, "radix sort", stream_->fault);
    *bytes = 2 * (aligned(elements_ * static_cast<int64_t>(sizeof(Key))) +
                  aligned(elements_ * static_cast<int64_t>(sizeof(uint32_t)))) +
             static_cast<int64_t>(needed);
    return DT_KERNEL_OK;
  }

  int32_t run(const T* x, bool descending) {
    if (const int32_t code = launch(stream_, make_pairs<T>, blocks_for(elements_), dim3(kThreads),
                                    0, unsorted_.keys, unsorted_.positions, x, rows_, descending))
      return code;
    size_t needed = 0;
    if (const cudaError_t error = sort(nullptr, needed, nullptr))
      return check(error, "radix sort", stream_->fault);
    return check(sort(rest_, needed, native_stream(stream_)), "radix sort", stream_->fault);
  }

 private:
  static int64_t aligned(int64_t bytes) { return divide_up(bytes, 256) * 256; }

  // Sorts, or, without scratch memory, only says how much it needs.
  cudaError_t sort(void* rest, size_t& bytes, cudaStream_t stream) const {
    if (rows_.count > kFewRows && elements_ <= kMaxSegmented) {
      const auto begins = thrust::make_transform_iterator(
          thrust::make_counting_iterator(int64_t{0}), RowBegin{rows_.n});
      return cub::DeviceSegmentedRadixSort::SortPairs(
          rest, bytes, unsorted_.keys, sorted_.keys, unsorted_.positions, sorted_.positions,
          static_cast<int>(elements_), static_cast<int>(rows_.count), begins, begins + 1, 0,
          kKeyBits<T>, stream);
    }
    cudaError_t error = cudaSuccess;
    const int64_t rows = rest ? rows_.count : 1;
    for (int64_t row = 0; row < rows && error == cudaSuccess; ++row) {
      const int64_t at = row * rows_.n;
      error = cub::DeviceRadixSort::SortPairs(
          rest, bytes, unsorted_.keys + at, sorted_.keys + at, unsorted_.positions + at,
          sorted_.positions + at, static_cast<uint32_t>(rows_.n), 0, kKeyBits<T>, stream);
    }
    return error;
  }

  const dt_stream* stream_;
  const Rows& rows_;
  const int64_t elements_;
  Pairs<Key> unsorted_, sorted_;
  char* rest_;
};

// ---- results; values or indices may be null

template <class T>
struct Results {
  T* values;
  int64_t* indices;
  const T* x;

  __device__ __forceinline__ void put(const Rows& rows, int64_t row, int64_t i,
                                      int64_t position) const {
    int64_t offset[3];
    rows.kept.at(static_cast<uint64_t>(row), offset);
    if (values) values[offset[1] + i * rows.value_stride] = x[offset[0] + position * rows.x_stride];
    if (indices) indices[offset[2] + i * rows.index_stride] = position;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    write_first(const uint32_t* positions, Results<T> y, const __grid_constant__ Rows rows) {
  begin_kernel();
  const int64_t i = thread_number();
  if (i >= rows.count * rows.first) return;
  const int64_t row = i / rows.first, at = i - row * rows.first;
  y.put(rows, row, at, positions[row * rows.n + at]);
}

struct Statistic {
  int64_t rank;
  bool median, skip_nan;
};

// How many sorted keys are those of numbers: NaN are the last.
template <class T>
__device__ __forceinline__ int64_t count_numbers(const KeyOf<T>* keys, int64_t n) {
  if (!kIsFloating<T>) return n;
  int64_t begin = 0, end = n;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (keys[middle] == kLargestKey<T>)
      end = middle;
    else
      begin = middle + 1;
  }
  return begin;
}

// A thread for each row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    write_statistic(Pairs<KeyOf<T>> sorted, Results<T> y, const __grid_constant__ Rows rows,
                    Statistic which) {
  begin_kernel();
  const int64_t row = thread_number();
  if (row >= rows.count) return;
  int64_t rank = which.rank;
  if (which.median) {
    const int64_t numbers = count_numbers<T>(sorted.keys + row * rows.n, rows.n);
    const bool is_nan = numbers < rows.n && !which.skip_nan;
    rank = is_nan ? numbers : (numbers > 1 ? (numbers - 1) / 2 : 0);
  }
  y.put(rows, row, 0, sorted.positions[row * rows.n + rank]);
}

// ---- the kernels

// Sorts the rows of x and calls write(sorted, results); with `bytes` only says how much scratch
// memory that needs.
template <class Call, class Write>
int32_t plan_rows(const dt_stream* stream, const Call& call, const dt_view* values,
                  const dt_view* indices, bool descending, int64_t* bytes, const Write& write) {
  const Rows rows(call.x, values, indices);
  if (rows.count * rows.n * rows.first == 0) return DT_KERNEL_OK;
  if (rows.count * rows.n > kMaxElements) return DT_KERNEL_UNSUPPORTED;
  return visit_value(call.x.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    SortedRows<T> sorted(stream, rows, call.workspace);
    if (bytes) return sorted.workspace(bytes);
    const T* x = static_cast<const T*>(call.x.data);
    if (const int32_t code = sorted.run(x, descending)) return code;
    const Results<T> results = {values ? static_cast<T*>(values->data) : nullptr,
                                indices ? static_cast<int64_t*>(indices->data) : nullptr, x};
    return write(sorted.sorted(), results, rows);
  });
}

int32_t plan_sort(const dt_stream* stream, const calls::Sort& call, int64_t* bytes) {
  return plan_rows(stream, call, call.values, call.indices, call.descending, bytes,
                   [&](const auto& sorted, const auto& y, const Rows& rows) {
                     using T = std::remove_pointer_t<decltype(y.values)>;
                     return launch(stream, write_first<T>, blocks_for(rows.count * rows.first),
                                   dim3(kThreads), 0, sorted.positions, y, rows);
                   });
}

int32_t plan_order_statistic(const dt_stream* stream, const calls::OrderStatistic& call,
                             int64_t* bytes) {
  const Statistic which = {call.rank, call.median, call.skip_nan};
  return plan_rows(stream, call, &call.values, &call.indices, false, bytes,
                   [&](const auto& sorted, const auto& y, const Rows& rows) {
                     using T = std::remove_pointer_t<decltype(y.values)>;
                     return launch(stream, write_statistic<T>, blocks_for(rows.count),
                                   dim3(kThreads), 0, sorted, y, rows, which);
                   });
}

}  // namespace

DT_PLANNED_KERNEL(sort, Sort, plan_sort)
DT_PLANNED_KERNEL(order_statistic, OrderStatistic, plan_order_statistic)

}  // namespace dt::cuda
