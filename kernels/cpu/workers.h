// Parallel loops whose tiles need scratch memory, and the layout of the workspace that holds it.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

// Below this many cycles of one core (about 20 microseconds) other threads are not worth waking.
constexpr int64_t kSerialCycles = 60000;

inline bool worth_threads(const dt_stream* stream, int64_t cycles) {
  return stream->threads > 1 && cycles >= kSerialCycles;
}

// Calls body(item, worker) once for each item in [0, items). No two calls with the same worker run
// at the same time, so a body may use the scratch area of its worker; worker < stream->threads.
// Which worker gets an item is a matter of chance, so a result must not depend on it.
template <class Body>
inline void for_each_item(const dt_stream* stream, int64_t items, bool parallel, const Body& body) {
  if (!parallel || items <= 1) {
    for (int64_t item = 0; item < items; ++item) body(item, 0);
    return;
  }
  struct Loop {
    const Body* body;
    int64_t items, next;
  };
  Loop loop = {&body, items, 0};
  auto work = [](void* context, int64_t worker) {
    Loop* loop = static_cast<Loop*>(context);
    for (;;) {
      const int64_t item = __atomic_fetch_add(&loop->next, 1, __ATOMIC_RELAXED);
      if (item >= loop->items) return;
      (*loop->body)(item, worker);
    }
  };
  stream->parallel(min<int64_t>(stream->threads, items), work, &loop);
}

// Cuts a workspace into aligned areas. The op's workspace function runs the same cuts over no
// memory, to count bytes.
class Workspace {
 public:
  explicit Workspace(void* base) : base_(static_cast<char*>(base)) {}

  template <class T>
  T* take(int64_t elements) {
    T* area = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += ceil_div(elements * static_cast<int64_t>(sizeof(T)), 64) * 64;
    return area;
  }

  int64_t bytes() const { return used_; }

 private:
  char* base_;
  int64_t used_ = 0;
};

}  // namespace
}  // namespace dt::cpu
