// The keys and values that an attention layer has computed for a text so far.
#pragma once

#include <tuple>

#include "core/base/ref.h"
#include "core/tensor/tensor.h"

namespace dt {

class KvCache : public RefCounted {
 public:
  static Ref<KvCache> create(int64_t capacity);
  static void destroy(KvCache* c) { delete c; }

  // Appends, and gives all: views [..., length, features] of the cache.
  std::tuple<Tensor, Tensor> update(const Tensor& key, const Tensor& value);
  int64_t length() const { return length_; }
  void truncate(int64_t length);

  // For work that is recorded once and run for many tokens: from here on they come one by one, each
  // takes the place that `place` [1] holds while the work runs, and update gives the whole memory,
  // of which `seen` [1, capacity] is true up to that place. There must be some memory.
  void follow(const Tensor& place, const Tensor& seen);
  // No longer: it holds `length` tokens.
  void settle(int64_t length);
  int64_t capacity() const { return capacity_; }
  // [..., capacity, features], undefined before the first update.
  const Tensor& keys() const { return keys_; }
  const Tensor& values() const { return values_; }
  // Undefined where nothing is followed.
  const Tensor& place() const { return place_; }
  const Tensor& seen() const { return seen_; }

 private:
  int64_t capacity_ = 0, length_ = 0;
  Tensor keys_, values_;
  Tensor place_, seen_;
};

}  // namespace dt
