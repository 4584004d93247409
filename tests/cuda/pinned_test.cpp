// The cache of page-locked memory of the CUDA plugin, on a device made of counters.
#include "kernels/cuda/pinned.h"

#include "tests/cuda/fake_driver.h"

namespace {

using dt::cuda::PinnedCache;
using namespace test;

struct Host : FakeDriver {
  PinnedCache cache{*this};
  dt_fault fault = {};

  Host() : FakeDriver(64 * kMiB) {}
  void* get(int64_t bytes) {
    void* block = nullptr;
    CHECK(cache.allocate(bytes, &block, &fault) == DT_KERNEL_OK);
    return block;
  }
};

void test_reuse() {
  Host h;
  void* const a = h.get(5000);
  CHECK(h.held() == 8192);
  h.cache.release(a);
  h.cache.release(a);  // only the first one counts
  CHECK(h.get(4097) == a);
  CHECK(h.get(8192) != a);
  void* none = a;
  CHECK(h.cache.allocate(0, &none, &h.fault) == DT_KERNEL_OK && !none);
}

void test_waits_for_copies() {
  Host h;
  void* const a = h.get(8192);
  h.cache.copied(at(a, 100), stream(1));
  h.cache.copied(a, stream(1));
  h.cache.copied(at(a, 8191), stream(2));
  h.cache.copied(at(a, 8192), stream(3));  // one past its end: not this block
  CHECK(h.events == 2);
  h.cache.release(a);
  CHECK(h.get(8192) != a);
  h.finish(stream(1));
  CHECK(h.get(8192) != a);
  h.finish(stream(2));
  CHECK(h.get(8192) == a && h.events == 0);
}

void test_graphs() {
  Host h;
  void* const a = h.get(8192);
  CHECK(h.cache.contains(at(a, 4000)) && !h.cache.contains(at(a, -1)));
  CHECK(h.cache.keep(at(a, 4000)) == a && h.cache.keep(at(a, 8192)) == nullptr);
  h.cache.release(a);
  CHECK(h.get(8192) != a);
  h.cache.give_back();
  h.cache.forget(a);
  CHECK(h.get(8192) == a);
}

void test_shortage() {
  Host h;
  void* const a = h.get(64 * kMiB);
  void* block = nullptr;
  CHECK(h.cache.allocate(1, &block, &h.fault) == DT_KERNEL_OUT_OF_MEMORY && h.fault.message[0]);
  CHECK(h.cache.allocate(INT64_MAX, &block, &h.fault) == DT_KERNEL_OUT_OF_MEMORY);
  h.cache.release(a);
  CHECK(h.held() == 64 * kMiB);
  h.captures[stream(1)] = 1;
  h.cache.give_back();
  CHECK(h.cache.allocate(1, &block, &h.fault) == DT_KERNEL_OUT_OF_MEMORY);
  h.captures.clear();
  CHECK(h.get(4096) != nullptr);  // what is cached in another size is given back first
  h.cache.give_back();
  CHECK(h.held() == 4096);
}

}  // namespace

int main() {
  test_reuse();
  test_waits_for_copies();
  test_graphs();
  test_shortage();
  return test::finish();
}
