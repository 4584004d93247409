#include "core/ops/generation/kv_cache.h"

#include <algorithm>

#include "core/autograd/record.h"
#include "core/base/error.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/transfer.h"

namespace dt {
namespace {

void check_entry(const Tensor& x, const Tensor& held, const char* name) {
  DT_CHECK(x.ndim() >= 2, kRuntimeError, "expected ", name, " of [..., time, features], got size ",
           x.sizes());
  DT_CHECK(!needs_graph(x), kRuntimeError, name,
           " requires grad, which a cache does not pass on: update it under no_grad");
  if (!held.defined()) return;
  bool fits = x.ndim() == held.ndim() && x.dtype() == held.dtype() && x.device() == held.device();
  for (int d = 0; fits && d < x.ndim(); ++d) fits = d == x.ndim() - 2 || x.size(d) == held.size(d);
  DT_CHECK(fits, kRuntimeError, name, " has size ", x.sizes(), ", dtype ", x.dtype(),
           " and device ", x.device(), ", the cache ", held.sizes(), ", ", held.dtype(), " and ",
           held.device());
}

void check_followed(const Tensor& x, DType dtype, const Dims& sizes, const Tensor& held,
                    const char* name) {
  DT_CHECK(x.dtype() == dtype && x.sizes() == sizes && x.device() == held.device(), kRuntimeError,
           "expected ", name, " of size ", sizes, ", dtype ", dtype, " and device ", held.device(),
           ", but got ", x.sizes(), ", ", x.dtype(), " and ", x.device());
}

// Room for `capacity` tokens like those of x, with the first `length` of `held`.
Tensor with_room(const Tensor& held, const Tensor& x, int64_t capacity, int64_t length) {
  Dims sizes = x.sizes();
  sizes[x.ndim() - 2] = capacity;
  const Tensor room = make_empty(sizes, x.dtype(), x.device());
  if (length > 0) copy_(narrow(room, -2, 0, length), narrow(held, -2, 0, length));
  return room;
}

}  // namespace

Ref<KvCache> KvCache::create(int64_t capacity) {
  DT_CHECK(capacity >= 0, kValueError, "capacity must not be negative, got ", capacity);
  Ref<KvCache> cache = Ref<KvCache>::adopt(new KvCache);
  cache->capacity_ = capacity;
  return cache;
}

std::tuple<Tensor, Tensor> KvCache::update(const Tensor& key, const Tensor& value) {
  check_entry(key, keys_, "key");
  check_entry(value, values_, "value");
  DT_CHECK(key.size(-2) == value.size(-2), kRuntimeError, "key has ", key.size(-2),
           " tokens, value ", value.size(-2));
  const GradMode no_grad(false);
  if (place_.defined()) {
    index_copy_(keys_, -2, place_, key);
    index_copy_(values_, -2, place_, value);
    return {keys_, values_};
  }
  const int64_t more = key.size(-2), length = length_ + more;
  if (!keys_.defined() || length > capacity_) {
    // Doubled, so that a text of n tokens copies fewer than n.
    const int64_t capacity = length > capacity_ ? std::max(length, 2 * capacity_) : capacity_;
    const Tensor keys = with_room(keys_, key, capacity, length_);
    values_ = with_room(values_, value, capacity, length_);
    keys_ = keys;
    capacity_ = capacity;
  }
  copy_(narrow(keys_, -2, length_, more), key);
  copy_(narrow(values_, -2, length_, more), value);
  length_ = length;
  return {narrow(keys_, -2, 0, length), narrow(values_, -2, 0, length)};
}

void KvCache::truncate(int64_t length) {
  DT_CHECK(length >= 0 && length <= length_, kIndexError, "expected a length from 0 to ", length_,
           ", got ", length);
  length_ = length;
}

void KvCache::follow(const Tensor& place, const Tensor& seen) {
  DT_CHECK(keys_.defined(), kRuntimeError, "a cache that holds nothing cannot follow a place");
  check_followed(place, kIndexDType, {1}, keys_, "place");
  check_followed(seen, kDTypeOf<bool>, {1, capacity_}, keys_, "seen");
  if (!place_.defined()) {
    // What has not come yet counts for nothing, which is not true of what memory may hold.
    const GradMode no_grad(false);
    for (const Tensor& held : {keys_, values_})
      zero_(narrow(held, -2, length_, capacity_ - length_));
  }
  place_ = place;
  seen_ = seen;
}

void KvCache::settle(int64_t length) {
  // Where it followed a place, what has not come is zero; else there is nothing beyond its length.
  const int64_t most = place_.defined() ? capacity_ : length_;
  DT_CHECK(length >= 0 && length <= most, kIndexError, "expected a length from 0 to ", most,
           ", got ", length);
  place_ = seen_ = Tensor();
  length_ = length;
}

}  // namespace dt
