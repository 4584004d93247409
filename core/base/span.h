// A view of a contiguous run of values; the parameter type for lists. It owns nothing: never store
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

namespace dt {

// gcc warns that a list's elements may die before the Span: true of members, and why no Span is
// ever stored.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
template <class T>
class Span {
 public:
  using Value = std::remove_const_t<T>;

  Span() = default;
  Span(T* data, int64_t size) : data_(data), size_(size) {}
  Span(std::initializer_list<Value> list)
      : data_(list.begin()), size_(static_cast<int64_t>(list.size())) {}
  Span(const std::vector<Value>& v) : data_(v.data()), size_(static_cast<int64_t>(v.size())) {}

  T* data() const { return data_; }
  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T& operator[](int64_t i) const { return data_[i]; }
  T& back() const { return data_[size_ - 1]; }
  std::vector<Value> to_vector() const { return {begin(), end()}; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};

#pragma GCC diagnostic pop

using IntList = Span<const int64_t>;

template <class T>
bool operator==(Span<T> a, Span<T> b) {
  if (a.size() != b.size()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) return false;
  }
  return true;
}
template <class T>
bool operator!=(Span<T> a, Span<T> b) {
  return !(a == b);
}

}  // namespace dt
