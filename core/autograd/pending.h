// The nodes that a gradient has arrived at in a backward, and which of them runs next.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/autograd/gradients.h"
#include "core/autograd/node.h"
#include "core/base/pointer_map.h"

namespace dt {

// What has arrived at a node waits here until its turn comes.
struct Pending : Pooled {
  Node* const node;
  SmallList<Tensor, 1> grads;  // of the node's outputs
  bool is_seed = false;        // grads[0] is 1 and may have no memory yet: see BackwardCall

  explicit Pending(Node* node) : node(node) { grads.resize(node->outputs.size()); }

  void hold_seed() {
    if (is_seed && !grads[0].defined()) grads[0] = make_seed(node->outputs[0]);
    is_seed = false;
  }
};

// A node's number is larger than those of what made its inputs. So taking the largest first means
// that every gradient of a node has arrived when its turn comes.
class PendingNodes {
 public:
  PendingNodes() {
    all_.reserve(kSmallGraph);
    ready_.reserve(kSmallGraph);
  }

  bool empty() const { return ready_.empty(); }
  // Whether something has arrived there.
  bool contain(const Node* node) { return index_.find(node) >= 0; }

  Pending& at(Node* node) {
    bool fresh;
    const auto next = static_cast<int64_t>(all_.size());
    const int64_t i = index_.find_or_insert(node, next, &fresh);
    if (fresh) {
      all_.push_back(std::make_unique<Pending>(node));
      ready_.push_back({node->seq, -i});
      std::push_heap(ready_.begin(), ready_.end());
    }
    return *all_[static_cast<size_t>(i)];
  }

  std::unique_ptr<Pending> take_next() {
    std::pop_heap(ready_.begin(), ready_.end());
    const auto i = static_cast<size_t>(-ready_.back().second);
    ready_.pop_back();
    return std::move(all_[i]);
  }

 private:
  static constexpr size_t kSmallGraph = 16;  // nodes

  std::vector<std::unique_ptr<Pending>> all_;        // null once they were taken
  std::vector<std::pair<uint64_t, int64_t>> ready_;  // a heap of (seq, -index in all_)
  PointerMap index_;                                 // of a node in all_
};

}  // namespace dt
