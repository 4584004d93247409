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
  auto call = [](void* context, int64_t item, int64_t worker) {
    (*static_cast<const Body*>(context))(item, worker);
  };
  stream->parallel(items, stream->threads, call, const_cast<Body*>(&body));
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
