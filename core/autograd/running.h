// What hooks and nodes may ask about the backward that calls them.
#pragma once

#include "core/autograd/gradients.h"
#include "core/autograd/node.h"
#include "core/runtime/context.h"

namespace dt {

class RunningBackward {
 public:
  RunningBackward() : before_(context().backward) { context().backward = this; }
  ~RunningBackward() { context().backward = before_; }
  RunningBackward(const RunningBackward&) = delete;
  RunningBackward& operator=(const RunningBackward&) = delete;

  const int64_t id = next_id();
  // Whether it comes, or has come, to the node.
  virtual bool reaches(const Node* node) = 0;  // which is not looked into
  // What has arrived so far at the end of the edge; null: nothing.
  virtual const Tensor* arrived(const Edge& edge) = 0;
  // Whether it, or one around it, was asked for the gradients of some tensors alone.
  bool has_targets() const { return targeted() || (before_ && before_->has_targets()); }

 private:
  virtual bool targeted() const = 0;
  static int64_t next_id() {
    static std::atomic<int64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
  }

  RunningBackward* const before_;  // a hook that runs a backward is inside another one
};

// What has arrived so far where result i of the call goes, if the node may add that result to it in
// place, and leave it undefined; null: it may not. Anomaly mode wants to see each result by itself.
inline const Tensor* sum_to_add_to(const BackwardCall& b, int i) {
  if (context().anomaly_enabled) return nullptr;
  const Tensor* const sum = b.run ? b.run->arrived(b.node->edges[i]) : nullptr;
  return sum && may_add_into(*sum) ? sum : nullptr;
}

// The innermost one of this thread: its number, which no other has; 0: none runs.
inline int64_t current_backward() {
  const RunningBackward* const b = context().backward;
  return b ? b->id : 0;
}
inline bool is_reached(int64_t address) {
  RunningBackward* const b = context().backward;
  DT_CHECK(b, kRuntimeError, "no backward runs on this thread");
  return b->reaches(reinterpret_cast<const Node*>(address));
}
inline bool has_targets() {
  const RunningBackward* const b = context().backward;
  return b && b->has_targets();
}

}  // namespace dt
