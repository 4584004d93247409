// A list that keeps its first few items in place: most nodes have one to three edges.
#pragma once

#include <memory>

namespace dt {

template <class T, int kInline>
class SmallList {
 public:
  SmallList() = default;
  explicit SmallList(int n) { resize(n); }
  SmallList(const SmallList&) = delete;
  SmallList& operator=(const SmallList&) = delete;

  // Only ever called once, on an empty list.
  void resize(int n) {
    if (n > kInline) more_.reset(new T[n]());
    size_ = n;
  }
  int size() const { return size_; }
  T* begin() { return more_ ? more_.get() : first_; }
  T* end() { return begin() + size_; }
  T& operator[](int i) { return begin()[i]; }

 private:
  int size_ = 0;
  T first_[kInline] = {};
  std::unique_ptr<T[]> more_;
};

}  // namespace dt
