// A plain number as the caller wrote it: a bool, an integer or a real number.
#pragma once

#include <type_traits>

#include "core/base/dtype.h"
#include "core/base/text.h"

namespace dt {

class Scalar {
 public:
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Scalar(T v) {
    if constexpr (std::is_floating_point_v<T>) {
      category_ = Category::FLOATING;
      f_ = v;
    } else {
      category_ = std::is_same_v<T, bool> ? Category::BOOL : Category::INTEGER;
      i_ = static_cast<int64_t>(v);
      if constexpr (std::is_same_v<T, uint64_t>) is_beyond_ = i_ < 0;
    }
  }

  Category category() const { return category_; }
  bool is_floating() const { return category_ == Category::FLOATING; }
  // Whether it is an integer of 2^63 or more, of which to_int64 gives the bits: it wraps around.
  bool is_beyond_int64() const { return is_beyond_; }
  double to_double() const {
    if (is_floating()) return f_;
    return is_beyond_ ? static_cast<double>(static_cast<uint64_t>(i_)) : static_cast<double>(i_);
  }
  // Truncates; saturates instead of the undefined conversion, and NaN is 0.
  int64_t to_int64() const {
    if (!is_floating()) return i_;
    if (!(f_ == f_)) return 0;
    if (f_ >= 9223372036854775808.0) return INT64_MAX;
    if (f_ <= -9223372036854775808.0) return INT64_MIN;
    return static_cast<int64_t>(f_);
  }
  bool to_bool() const { return is_floating() ? f_ != 0 : i_ != 0; }

 private:
  Category category_;
  bool is_beyond_ = false;
  union {
    int64_t i_;
    double f_;
  };
};

inline void append(std::string& s, const Scalar& v) {
  if (v.is_floating())
    append(s, v.to_double());
  else if (v.category() == Category::BOOL)
    append(s, v.to_bool());
  else if (v.is_beyond_int64())
    append(s, static_cast<uint64_t>(v.to_int64()));
  else
    append(s, v.to_int64());
}

}  // namespace dt
