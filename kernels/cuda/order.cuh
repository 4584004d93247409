// The order of elements as unsigned integers, and rows of elements in it, as on the CPU: equal
// elements have equal keys (0 and -0, all NaN), and NaN has the largest.
#pragma once

#include <type_traits>

#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {

// A key fills the lowest bits, as many as the element has.
template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T>
constexpr int kKeyBits = 8 * static_cast<int>(sizeof(T));
template <class T>
constexpr KeyOf<T> kLargestKey = static_cast<KeyOf<T>>(Bits<sizeof(T)>(~Bits<sizeof(T)>(0)));

template <class T>
__device__ __forceinline__ KeyOf<T> key_of(T x) {
  using Word = Bits<sizeof(T)>;
  constexpr Word kSign = static_cast<Word>(Word(1) << (kKeyBits<T> - 1));
  if constexpr (kIsFloating<T>) {
    const Widened<T> number = static_cast<Widened<T>>(x) + 0;  // -0 becomes 0
    if (number != number) return kLargestKey<T>;
    const T element = static_cast<T>(number);
    Word bits;
    memcpy(&bits, &element, sizeof bits);
    return static_cast<Word>(bits & kSign ? ~bits : bits | kSign);
  } else if constexpr (kIsBool<T>) {
    return x ? 1 : 0;
  } else {
    return static_cast<Word>(static_cast<Word>(x) ^ (std::is_signed_v<T> ? kSign : Word(0)));
  }
}

// The element of a key. False if there are several: zeros and NaN differ in bits that no order
// sees.
template <class T>
__device__ __forceinline__ bool element_of(KeyOf<T> key, T* element) {
  using Word = Bits<sizeof(T)>;
  constexpr Word kSign = static_cast<Word>(Word(1) << (kKeyBits<T> - 1));
  const Word word = static_cast<Word>(key);
  if constexpr (kIsFloating<T>) {
    const Word bits = static_cast<Word>(word & kSign ? word ^ kSign : ~word);
    memcpy(element, &bits, sizeof bits);
    const Widened<T> number = static_cast<Widened<T>>(*element);
    return number == number && number != 0;
  } else if constexpr (kIsBool<T>) {
    *element = word != 0;
  } else {
    *element = static_cast<T>(static_cast<Word>(word ^ (std::is_signed_v<T> ? kSign : Word(0))));
  }
  return true;
}

// Rows of x, values and indices, along the last dimension.
struct Rows {
  Offsets<3, uint64_t> kept;
  int64_t count = 1;  // rows
  int64_t n = 1;      // elements in a row of x
  int64_t first = 0;  // and in one of values and indices
  int64_t x_stride = 0, value_stride = 0, index_stride = 0;

  // values and indices may be null.
  Rows(const dt_view& x, const dt_view* values, const dt_view* indices) {
    const int last = x.ndim - 1;
    const auto stride_of = [](const dt_view* v, int d) { return v ? v->strides[d] : 0; };
    Axes<3> axes;
    for (int d = 0; d < last; ++d)
      axes.insert(axes.n, x.sizes[d], {x.strides[d], stride_of(values, d), stride_of(indices, d)});
    axes.coalesce();
    count = axes.count();
    if (count > 0) kept = Offsets<3, uint64_t>(axes);
    n = x.sizes[last];
    first = values ? values->sizes[last] : indices ? indices->sizes[last] : 0;
    x_stride = x.strides[last];
    value_stride = stride_of(values, last);
    index_stride = stride_of(indices, last);
  }
};

}  // namespace dt::cuda
