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
    }
  }

  Category category() const { return category_; }
  bool is_floating() const { return category_ == Category::FLOATING; }
  double to_double() const { return is_floating() ? f_ : static_cast<double>(i_); }
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
  else
    append(s, v.to_int64());
}

}  // namespace dt
