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

 private:
  int64_t capacity_ = 0, length_ = 0;
  Tensor keys_, values_;  // [..., capacity, features]; undefined before the first update
};

}  // namespace dt
