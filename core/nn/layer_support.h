// What the generated layers are written with.
#pragma once

#include <algorithm>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/base/divide.h"
#include "core/ops/copy.h"
#include "core/ops/formula.h"
#include "core/ops/shapes.gen.h"
#include "core/tensor/tensor.h"

namespace dt {

// x, or what is not given.
template <class T>
T given_if(bool condition, const T& x) {
  return condition ? x : T();
}

inline bool is_given(const Tensor& x) {
  return x.defined();
}
template <class T>
bool is_given(const std::optional<T>& x) {
  return x.has_value();
}

template <class T>
const T& value(const std::optional<T>& x) {
  return *x;
}
inline double value(const std::optional<Scalar>& x) {
  return x->to_double();
}
inline bool all_between(Span<const double> numbers, double low, double high) {
  return std::all_of(numbers.begin(), numbers.end(), [=](double x) { return low < x && x < high; });
}
inline double number(const Tensor& x) {
  return item(x).to_double();
}

// The results of a function that has several.
template <class... T>
std::vector<Tensor> list_of(const std::tuple<T...>& results) {
  return std::apply([](const auto&... x) { return std::vector<Tensor>{x...}; }, results);
}

// a / b as in Python: of integers a real number, and of tensors one.
template <class A, class B>
auto quotient(const A& a, const B& b) {
  if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>) {
    return static_cast<double>(a) / static_cast<double>(b);
  } else {
    return a / b;
  }
}

inline int64_t dim(const Tensor& x) {
  return x.ndim();
}
inline int64_t size(const Tensor& x, int64_t dim) {
  return x.size(dim);
}

// pad with the word for a mode.
inline Tensor pad(const Tensor& input, IntList margins, const std::string& mode,
                  const std::optional<Scalar>& value = std::nullopt) {
  return pad(input, margins,
             mode == "reflect"     ? PaddingMode::kReflect
             : mode == "replicate" ? PaddingMode::kReplicate
             : mode == "circular"  ? PaddingMode::kCircular
                                   : PaddingMode::kConstant,
             value);
}

// A list of n numbers; one number stands for n equal ones.
inline std::vector<int64_t> expand_list(IntList list, int64_t n, const char* layer,
                                        const char* name) {
  if (list.size() == 1) return std::vector<int64_t>(static_cast<size_t>(n), list[0]);
  DT_CHECK(list.size() == n, kValueError, layer, ": ", name, " must be one number or ", n, ", got ",
           list);
  return list.to_vector();
}

}  // namespace dt
