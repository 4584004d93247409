// What a program puts in the place of the tensors that ops keep for backward: on the host, rounded,
// in a file.
#pragma once

#include <atomic>
#include <memory>

#include "core/autograd/hooks.h"
#include "core/autograd/node.h"

namespace dt {

// A pair of functions. `pack` gives what is kept of a tensor, also a tensor; `unpack` makes the
// first of it again. Undefined stands for what they were given.
struct SavedHooks {
  // How many pairs there are, in all contexts and graphs: whoever saves a tensor looks here first.
  static inline std::atomic<int64_t> count{0};

  const GradHook pack, unpack;

  SavedHooks(GradHook pack, GradHook unpack) : pack(std::move(pack)), unpack(std::move(unpack)) {
    ++count;
  }
  ~SavedHooks() { --count; }
};

// The context's ops use this pair from now on, until it is taken off and the one before is in force
// again.
void push_saved_tensors_hooks(GradHook pack, GradHook unpack);
void pop_saved_tensors_hooks();

// What was kept of a tensor, and what unpack's result must be like.
class Packed : public RefCounted {
 public:
  // Null if no hooks are in force.
  static Ref<Packed> make(const Tensor& x) {
    return SavedHooks::count.load(std::memory_order_relaxed) ? with_hooks(x) : Ref<Packed>();
  }
  // A tensor of x's elements, outside of the graph.
  Tensor unpack() const;
  // Where the gradient of x goes.
  const Edge& edge() const { return edge_; }
  static void destroy(Packed* p) { delete p; }

 private:
  static Ref<Packed> with_hooks(const Tensor& x);
  Packed(std::shared_ptr<const SavedHooks> hooks, const Tensor& x);

  std::shared_ptr<const SavedHooks> hooks_;
  Tensor kept_;
  Edge edge_;
  Dims sizes_, strides_;
  DType dtype_;
  Device device_;
};

}  // namespace dt
