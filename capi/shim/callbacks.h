// Functions of the user's: who owns their data, and how handles reach them.
#pragma once

#include <vector>

#include "capi/shim/guard.h"
#include "capi/shim/handles.h"
#include "core/base/ref.h"
#include "core/tensor/tensor.h"

namespace dt::capi {

// What drop(data) must be called for once nobody needs it. The last Ref may go on any thread, so it
// only queues the drop; the next thread that leaves a call of the C API runs it.
struct DroppedLater : RefCounted {
  void* data;
  void (*drop)(void*);
  DroppedLater* next = nullptr;

  DroppedLater(void* data, void (*drop)(void*)) : data(data), drop(drop) {}
  static void destroy(DroppedLater* d);
};

// Takes the user's data over: on entry to a call, before anything can fail.
class UserData {
 public:
  UserData(void* data, void (*drop)(void*));
  void* get() const { return block_ ? block_->data : nullptr; }
  // The block itself, for interfaces that keep a plain pointer.
  DroppedLater* detach() { return block_.detach(); }

 private:
  Ref<DroppedLater> block_;
};

// A handle for the time of a callback; the library keeps it.
template <class C>
class Lent {
 public:
  using Object = typename HandleKind<C>::Object;
  explicit Lent(const Object& object) {
    if constexpr (std::is_same_v<Object, Tensor>) {
      if (!object.defined()) return;
    }
    handle_ = make_handle<C>(object);
  }
  ~Lent() {
    if (handle_) release_slot(bits(handle_), HandleKind<C>::number);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  C* get() const { return handle_; }

 private:
  C* handle_ = nullptr;
};

class LentList {
 public:
  explicit LentList(TensorList tensors);
  ~LentList();
  LentList(const LentList&) = delete;
  LentList& operator=(const LentList&) = delete;
  dt_tensor* const* data() const { return handles_.data(); }

 private:
  void release();
  std::vector<dt_tensor*> handles_;
};

// Where a callback puts its new handle, which becomes the library's.
template <class C>
class Given {
 public:
  using Object = typename HandleKind<C>::Object;
  explicit Given(const char* name) : name_(name) {}
  ~Given() { release_any(bits(handle_)); }  // a careless callback may give one of another kind
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  C** slot() { return &handle_; }
  Object take() const { return *Pin<C>(handle_, name_); }
  Object take_optional() const { return handle_ ? take() : Object(); }

 private:
  const char* name_;
  C* handle_ = nullptr;
};

// The error that a callback's status stands for, as an exception.
[[noreturn]] void throw_callback_error(dt_status status, uint64_t serial_before);
uint64_t error_serial();

template <class F>
void check_callback(F&& call) {
  const KeepContext keep;
  const uint64_t before = error_serial();
  const dt_status status = call();
  if (status != DT_STATUS_OK) throw_callback_error(status, before);
}

}  // namespace dt::capi
