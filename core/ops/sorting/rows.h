// What the functions of sorting share: rows as kernels see them, and sorted elements for functions
// that go on with them.
#pragma once

#include "core/runtime/backend.h"
#include "core/runtime/calls/sorting.gen.h"

namespace dt {

// x's memory with dimension d, of any size, as the last one; a number is a row of one element.
View row_view(const Tensor& x, const Dims& sizes, const Dims& strides, int d);
inline View row_view(const Tensor& x, int d) {
  return row_view(x, x.sizes(), x.strides(), d);
}

// The sizes with another one in dimension d. A number's stay as they are.
Dims with_size(Dims sizes, int d, int64_t size);

// The elements of a 1-d tensor in rising order, without a record. Which of 0 and -0 comes first,
// nobody knows.
Tensor sorted_elements(const Tensor& x);

// The least and the greatest of integers, of which there are some.
struct Extremes {
  int64_t low, high;
};
Extremes extremes_of(const Tensor& x);

// How many of x's integers are each of first, first + 1 and so on, added to y's int64; in y of
// bool, whether any is. False if the device does not do this at once.
bool count_integers(const Tensor& y, const Tensor& x, int64_t first);

}  // namespace dt
