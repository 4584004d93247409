// A tensor kept for backward. Using it after it was changed in place is PyTorch's error, not a
// wrong gradient. Where hooks are in force (saved_hooks.h), what these made of it is kept instead.
#pragma once

#include "core/autograd/node.h"
#include "core/autograd/saved_hooks.h"

namespace dt {

class Saved {
 public:
  Saved() = default;
  // An input: kept with its history. Undefined if x is.
  static Saved input(const Tensor& x);
  // An input whose elements no gradient depends on: kept for its place in the graph, and may be
  // written.
  static Saved place(const Tensor& x);
  // An output of the node that keeps it: kept without its history, which would be a cycle.
  static Saved output(const Tensor& y, int index = 0);

  bool defined() const { return tensor_.defined() || packed_; }
  // The tensor, attached to the graph again; `owner` is the node that saved it.
  Tensor get(Node* owner) const;
  void reset() {
    tensor_ = Tensor();
    packed_ = nullptr;
  }

 private:
  // Instead of an output's number. A derived input is one that another node has made.
  enum : int32_t { kInput = -1, kPlace = -2, kDerived = -3 };

  Tensor unpack(Node* owner) const;
  [[noreturn]] void fail_changed(const Node* owner) const;

  Tensor tensor_;       // undefined if it is packed
  Ref<Packed> packed_;  // null if it is not
  uint32_t version_ = 0;
  int32_t output_index_ = kInput;
};

}  // namespace dt
