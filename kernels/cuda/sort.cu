// sort and order_statistic: rows that a block can hold are sorted there (row_sort.cu); of long ones
// of which little is wanted, that is selected (row_sample.cu, row_select.cu). Others are sorted by
// radix sorts, which are stable, over (key, position) pairs of rows; by CUB's, but for a row that
// is not long. Few rows are sorted one after the other, many as segments.
#include <algorithm>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "kernels/calls/planned.h"
#include "kernels/calls/sorting.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/order.cuh"
#include "kernels/cuda/radix_sort.cuh"
#include "kernels/cuda/row_sample.cuh"
#include "kernels/cuda/row_select.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256, kPerThread = 4;
constexpr int64_t kMaxElements = int64_t{UINT32_MAX};  // positions are sorted in 32 bits
constexpr int64_t kMaxSegmented = int64_t{INT32_MAX};  // elements that CUB counts with an int
constexpr int64_t kFewRows = 4;

dim3 blocks_for(int64_t elements) {
  return dim3(static_cast<unsigned>(divide_up(elements, kThreads * kPerThread)));
}

// A thread's elements of rows of n, which lie one behind another: kPerThread of them, a block's
// width apart, that are on their way at once.
struct Places {
  int64_t row[kPerThread], at[kPerThread];

  // A single row, which may be long, costs no division.
  __device__ __forceinline__ Places(int64_t n, int64_t rows) {
    const int64_t first = int64_t{blockIdx.x} * (kThreads * kPerThread) + threadIdx.x;
    row[0] = rows == 1 ? 0 : first / n;
    at[0] = first - row[0] * n;
#pragma unroll
    for (int k = 1; k < kPerThread; ++k) {
      const int64_t next = at[k - 1] + kThreads;
      const int64_t passed = rows == 1 ? 0 : n < kThreads ? next / n : next >= n;
      row[k] = row[k - 1] + passed, at[k] = next - passed * n;
    }
  }
  __device__ __forceinline__ bool exists(int k, int64_t n, int64_t rows) const {
    return row[k] < rows && at[k] < n;
  }
};

// ---- rows as pairs, [rows][n]

template <class T>
__global__ void __launch_bounds__(kThreads)
    make_pairs(KeyOf<T>* keys, uint32_t* positions, const T* x, const __grid_constant__ Rows rows,
               bool descending) {
  begin_kernel();
  const Places places(rows.n, rows.count);
  T element[kPerThread];
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    if (!places.exists(k, rows.n, rows.count)) break;
    int64_t offset[3];
    rows.kept.at(static_cast<uint64_t>(places.row[k]), offset);
    element[k] = x[offset[0] + places.at[k] * rows.x_stride];
  }
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    if (!places.exists(k, rows.n, rows.count)) break;
    const int64_t i = places.row[k] * rows.n + places.at[k];
    const KeyOf<T> key = key_of(element[k]);
    keys[i] = descending ? ~key : key;
    if (positions) positions[i] = static_cast<uint32_t>(places.at[k]);
  }
}

// The same of a single row, as a function of the position.
template <class T>
struct RowKeys {
  const T* x;
  int64_t stride;
  bool descending;
  __device__ __forceinline__ uint32_t operator()(uint32_t position) const {
    const KeyOf<T> key = key_of(x[position * stride]);
    return static_cast<uint32_t>(descending ? ~key : key);
  }
};

struct RowBegin {
  int64_t n;
  __host__ __device__ __forceinline__ int64_t operator()(int64_t row) const { return row * n; }
};

// Positions are null where nothing but the elements is wanted: keys alone are sorted sooner.
template <class Key>
struct Pairs {
  Key* keys;
  uint32_t* positions;

  Pairs(Scratch* scratch, int64_t count, bool has_positions)
      : keys(scratch->take<Key>(count)),
        positions(has_positions ? scratch->take<uint32_t>(count) : nullptr) {}
  Pairs(Key* keys, uint32_t* positions) : keys(keys), positions(positions) {}
};

// CUB sorts what fits into a tile of it in one kernel, and what does not in about ten. Until the
// memory takes longer than these, our own sort (radix_sort.cuh) does with a kernel for each digit.
constexpr int64_t kCubTile = 4864;

template <class T>
constexpr bool kHasShortKeys = sizeof(KeyOf<T>) == sizeof(uint32_t);

bool is_for_digits(const Rows& rows) {
  return rows.count == 1 && rows.n > kCubTile && are_few_pairs(rows.n);
}

template <class T>
int32_t sort_by_digits(const dt_stream* stream, const T* x, const Rows& rows, bool descending,
                       Scratch* scratch, Pairs<KeyOf<T>>* sorted) {
  const FewPairs few(scratch, rows.n, kKeyBits<T>);
  *sorted = {few.memory.keys, few.memory.order};
  if (!x) return DT_KERNEL_OK;
  return sort_few(stream, few, static_cast<uint32_t>(rows.n),
                  RowKeys<T>{x, rows.x_stride, descending});
}

bool are_segments(const Rows& rows) {
  return rows.count > kFewRows && rows.count * rows.n <= kMaxSegmented;
}

// CUB's sort. Without scratch memory it only says how much it needs.
template <class Key>
cudaError_t sort_by_cub(const Rows& rows, const Pairs<Key>& from, const Pairs<Key>& to,
                        bool has_positions, int bits, void* memory, size_t& bytes,
                        cudaStream_t stream) {
  const int64_t elements = rows.count * rows.n;
  if (are_segments(rows)) {
    const auto begins = thrust::make_transform_iterator(thrust::make_counting_iterator(int64_t{0}),
                                                        RowBegin{rows.n});
    return cub::DeviceSegmentedRadixSort::SortPairs(
        memory, bytes, from.keys, to.keys, from.positions, to.positions, static_cast<int>(elements),
        static_cast<int>(rows.count), begins, begins + 1, 0, bits, stream);
  }
  cudaError_t error = cudaSuccess;
  const int64_t count = memory ? rows.count : 1;
  for (int64_t row = 0; row < count && error == cudaSuccess; ++row) {
    const int64_t at = row * rows.n;
    const uint32_t n = static_cast<uint32_t>(rows.n);
    if (!has_positions)
      error = cub::DeviceRadixSort::SortKeys(memory, bytes, from.keys + at, to.keys + at, n, 0,
                                             bits, stream);
    else
      error = cub::DeviceRadixSort::SortPairs(memory, bytes, from.keys + at, to.keys + at,
                                              from.positions + at, to.positions + at, n, 0, bits,
                                              stream);
  }
  return error;
}

// Sorts the rows of x; if x is null, only takes the memory for it.
template <class T>
int32_t sort_rows(const dt_stream* stream, const T* x, const Rows& rows, bool descending,
                  bool has_positions, Scratch* scratch, Pairs<KeyOf<T>>* sorted) {
  if constexpr (kHasShortKeys<T>) {
    if (is_for_digits(rows)) return sort_by_digits(stream, x, rows, descending, scratch, sorted);
  }
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  const int64_t elements = rows.count * rows.n;
  has_positions = has_positions || are_segments(rows);
  const Pairs<KeyOf<T>> unsorted(scratch, elements, has_positions);
  *sorted = Pairs<KeyOf<T>>(scratch, elements, has_positions);
  size_t bytes = 0;
  if (const cudaError_t error =
          sort_by_cub(rows, unsorted, *sorted, has_positions, kKeyBits<T>, nullptr, bytes, nullptr))
    return check(error, "radix sort", stream->fault);
  void* const memory = scratch->take<char>(static_cast<int64_t>(bytes));
  if (!x) return DT_KERNEL_OK;
  if (const int32_t code = launch(stream, make_pairs<T>, blocks_for(elements), dim3(kThreads), 0,
                                  unsorted.keys, unsorted.positions, x, rows, descending))
    return code;
  return check(sort_by_cub(rows, unsorted, *sorted, has_positions, kKeyBits<T>, memory, bytes,
                           native_stream(stream)),
               "radix sort", stream->fault);
}

// ---- results; values or indices may be null

template <class T>
struct Results {
  T* values;
  int64_t* indices;
  const T* x;
  const uint32_t* positions;  // of RowSort
};

// The first pairs of every row. Values are made of the keys, which lie in order: in x they would be
// anywhere. Without positions, 0 and NaN are those that their keys stand for.
template <class T>
__global__ void __launch_bounds__(kThreads)
    write_first(Pairs<KeyOf<T>> sorted, Results<T> y, const __grid_constant__ Rows rows,
                bool descending) {
  begin_kernel();
  const Places places(rows.first, rows.count);
  KeyOf<T> keys[kPerThread];
  uint32_t positions[kPerThread];
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    if (!places.exists(k, rows.first, rows.count)) break;
    const int64_t pair = places.row[k] * rows.n + places.at[k];
    positions[k] = sorted.positions ? sorted.positions[pair] : 0;
    if (y.values) keys[k] = sorted.keys[pair];
  }
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    if (!places.exists(k, rows.first, rows.count)) break;
    int64_t offset[3];
    rows.kept.at(static_cast<uint64_t>(places.row[k]), offset);
    const int64_t position = positions[k];
    if (y.indices)
      y.indices[offset[2] + places.at[k] * rows.index_stride] =
          y.positions ? y.positions[places.row[k] * rows.n + position] : position;
    if (!y.values) continue;
    T element;
    if (!element_of(descending ? ~keys[k] : keys[k], &element) && sorted.positions)
      element = y.x[offset[0] + position * rows.x_stride];
    y.values[offset[1] + places.at[k] * rows.value_stride] = element;
  }
}

// Rows that no block can sort. A dry run of this and of what follows only takes the scratch memory.
int32_t sort_long_rows(const dt_stream* stream, const RowSort& sort, Scratch* scratch,
                       bool is_dry) {
  const Rows& rows = sort.rows;
  if (rows.count * rows.n > kMaxElements) return DT_KERNEL_UNSUPPORTED;
  return visit_any(sort.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    Pairs<KeyOf<T>> sorted(nullptr, nullptr);
    const T* x = is_dry ? nullptr : static_cast<const T*>(sort.x);
    const int32_t code =
        sort_rows(stream, x, rows, sort.descending, sort.indices != nullptr, scratch, &sorted);
    if (code != DT_KERNEL_OK || is_dry) return code;
    const Results<T> results = {static_cast<T*>(sort.values), sort.indices, x, sort.positions};
    return launch(stream, write_first<T>, blocks_for(rows.count * rows.first), dim3(kThreads), 0,
                  sorted, results, rows, sort.descending);
  });
}

int32_t sort_whole(const dt_stream* stream, const RowSort& sort, Scratch* scratch, bool is_dry) {
  if (!are_short_rows(sort.rows, sort.dtype)) return sort_long_rows(stream, sort, scratch, is_dry);
  return is_dry ? DT_KERNEL_OK : sort_short_rows(stream, sort);
}

// Rows of which so little is wanted that it is sorted after it was selected.
bool is_selection(const RowSort& sort) {
  constexpr int64_t kLeastShare = 4;
  return !are_short_rows(sort.rows, sort.dtype) && sort.rows.n >= kLeastShare * sort.rows.first &&
         can_select(sort.rows);
}

int32_t sort_selected(const dt_stream* stream, const calls::Sort& call, const RowSort& sort,
                      Scratch* scratch, bool is_dry) {
  if (can_select_by_sample(stream, sort))
    return is_dry ? DT_KERNEL_OK : select_by_sample(stream, sort);
  const Selected selected(sort, scratch);
  if (const int32_t code = select_rows(stream, sort, selected, scratch, is_dry)) return code;
  dt_view x = call.values ? *call.values : *call.indices;
  x.data = selected.elements;
  x.dtype = sort.dtype;
  int64_t stride = 1;
  for (int d = x.ndim - 1; d >= 0; --d) {
    x.strides[d] = stride;
    stride *= x.sizes[d];
  }
  RowSort again(x, call.values, call.indices, call.descending);
  again.positions = selected.positions;
  return sort_whole(stream, again, scratch, is_dry);
}

// ---- the kernels

bool is_nothing(const Rows& rows) {
  return rows.count == 0 || rows.n == 0 || rows.first == 0;
}

int32_t plan_sort(const dt_stream* stream, const calls::Sort& call, int64_t* bytes) {
  const RowSort sort(call.x, call.values, call.indices, call.descending);
  if (is_nothing(sort.rows)) return DT_KERNEL_OK;
  const bool is_dry = bytes != nullptr;
  Scratch scratch(is_dry ? nullptr : call.workspace);
  const int32_t code = is_selection(sort) ? sort_selected(stream, call, sort, &scratch, is_dry)
                                          : sort_whole(stream, sort, &scratch, is_dry);
  if (is_dry) *bytes = scratch.used();
  return code;
}

int32_t plan_order_statistic(const dt_stream* stream, const calls::OrderStatistic& call,
                             int64_t* bytes) {
  RowSort sort(call.x, &call.values, &call.indices, false);
  sort.is_statistic = true;
  sort.which = {call.rank, call.median, call.skip_nan};
  if (is_nothing(sort.rows)) return DT_KERNEL_OK;
  constexpr int64_t kSortedSooner = 512;  // a row of so many elements
  if (sort.rows.n <= kSortedSooner && are_short_rows(sort.rows, sort.dtype))
    return bytes ? DT_KERNEL_OK : sort_short_rows(stream, sort);
  if (can_select_by_sample(stream, sort))
    return bytes ? DT_KERNEL_OK : select_by_sample(stream, sort);
  if (!can_select(sort.rows)) return DT_KERNEL_UNSUPPORTED;
  Scratch scratch(bytes ? nullptr : call.workspace);
  const int32_t code = select_rows(stream, sort, Selected(), &scratch, bytes != nullptr);
  if (bytes) *bytes = scratch.used();
  return code;
}

}  // namespace

DT_PLANNED_KERNEL(sort, Sort, plan_sort)
DT_PLANNED_KERNEL(order_statistic, OrderStatistic, plan_order_statistic)

}  // namespace dt::cuda
