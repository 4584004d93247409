// Reference-counted objects: the count lives in the object, so a Ref is one pointer wide.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace dt {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  // True when this was the last reference. A sole owner needs no atomic decrement.
  bool release() const {
    if (count_.load(std::memory_order_acquire) == 1) return true;
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  int32_t use_count() const { return count_.load(std::memory_order_acquire); }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<int32_t> count_{1};
};

// T offers `static void destroy(T*)`, called when the last Ref is gone.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& other) : p_(other.p_) {
    if (p_) p_->retain();
  }
  Ref(Ref&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  template <class U>
  Ref(Ref<U>&& other) noexcept : p_(other.detach()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && p_->release()) T::destroy(p_);
  }

  // Takes over the reference that a new object is born with.
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  static Ref share(T* p) {
    if (p) p->retain();
    return adopt(p);
  }
  T* detach() { return std::exchange(p_, nullptr); }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& other) const { return p_ == other.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace dt
