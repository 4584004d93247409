#include "kernels/cuda/call_order.h"

#include <algorithm>

namespace dt::cuda {
namespace {

bool overlap(const Touched& a, const Touched& b) {
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

bool contains(const Touched& outer, const Touched& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

}  // namespace

std::vector<int> CallOrder::add(const std::vector<Touched>& touched) {
  const int number = static_cast<int>(behind_.size());
  std::vector<bool> behind(number + 1), conflicts(number);
  behind[number] = true;
  for (const Touched& mine : touched) {
    for (const Touch& touch : touches_) {
      if ((mine.is_written || touch.memory.is_written) && overlap(mine, touch.memory))
        conflicts[touch.call] = true;
    }
  }
  // Whom a call waits for comes before it: from the last one down, all that is reached is known.
  std::vector<int> awaited;
  for (int call = number - 1; call >= 0; --call) {
    if (!conflicts[call] || behind[call]) continue;
    awaited.push_back(call);
    is_last_[call] = false;
    for (int i = 0; i <= call; ++i) {
      if (behind_[call][i]) behind[i] = true;
    }
  }
  // Who comes later and would wait for what this call overwrites waits for this call, and so does
  // who overwrites what this call reads: for those behind it, too.
  for (const Touched& mine : touched) {
    const auto gone = std::remove_if(touches_.begin(), touches_.end(), [&](const Touch& touch) {
      return contains(mine, touch.memory) &&
             (mine.is_written || (!touch.memory.is_written && behind[touch.call]));
    });
    touches_.erase(gone, touches_.end());
  }
  for (const Touched& mine : touched) touches_.push_back({mine, number});
  behind_.push_back(std::move(behind));
  is_last_.push_back(true);
  return awaited;
}

std::vector<int> CallOrder::last() const {
  std::vector<int> calls;
  for (size_t i = 0; i < is_last_.size(); ++i) {
    if (is_last_[i]) calls.push_back(static_cast<int>(i));
  }
  return calls;
}

void CallOrder::clear() {
  behind_.clear();
  is_last_.clear();
  touches_.clear();
}

}  // namespace dt::cuda
