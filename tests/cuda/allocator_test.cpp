// The caching allocator of the CUDA plugin, on a device made of counters.
#include "kernels/cuda/allocator.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/cuda/fake_driver.h"

namespace {

using dt::cuda::Allocator;
using namespace test;

void* const kMain = stream(1);
void* const kSide = stream(2);

struct Device : FakeDriver {
  Allocator allocator{*this, 0};
  dt_fault fault = {};

  std::set<void*> held_blocks;

  explicit Device(int64_t capacity = 1024 * kMiB) : FakeDriver(capacity) {}
  // Every test ends with an empty device.
  ~Device() override {
    for (void* block : held_blocks) allocator.release(block);
    allocator.empty_cache();
    CHECK(allocator.memory().allocated == 0 && held() == 0 && events == 0);
  }

  void* get(int64_t bytes, void* on = kMain) {
    void* block = nullptr;
    CHECK(allocator.allocate(bytes, on, &block, &fault) == DT_KERNEL_OK);
    CHECK(reinterpret_cast<uintptr_t>(block) % 512 == 0);
    held_blocks.insert(block);
    return block;
  }
  bool is_out(int64_t bytes) {
    void* block = at(nullptr, 1);
    const int32_t code = allocator.allocate(bytes, kMain, &block, &fault);
    return code == DT_KERNEL_OUT_OF_MEMORY && !block;
  }
  void drop(void* block) {
    allocator.release(block);
    held_blocks.erase(block);
  }
  dt_memory memory() { return allocator.memory(); }
};

void test_size_classes() {
  Device d;
  void* const a = d.get(1);
  CHECK(d.memory().allocated == 512 && d.memory().reserved == 2 * kMiB);
  CHECK(d.get(513) == at(a, 512) && d.memory().allocated == 512 + 1024);
  CHECK(d.get(kMiB) == at(a, 1536) && d.memory().reserved == 2 * kMiB);
  d.get(kMiB);  // more than the rest of the segment
  CHECK(d.memory().reserved == 4 * kMiB);
  void* const b = d.get(kMiB + 1);
  CHECK(d.memory().reserved == 24 * kMiB);
  CHECK(d.get(10 * kMiB - 512) == at(b, kMiB + 512) && d.memory().reserved == 24 * kMiB);
  d.get(10 * kMiB);
  CHECK(d.memory().reserved == 34 * kMiB);
  d.get(10 * kMiB + 1);
  CHECK(d.memory().reserved == 46 * kMiB);
  CHECK(d.held() == 46 * kMiB);
  CHECK(d.get(11 * kMiB) != nullptr);
}

void test_nothing() {
  Device d;
  void* block = at(nullptr, 1);
  CHECK(d.allocator.allocate(0, kMain, &block, &d.fault) == DT_KERNEL_OK && !block);
  d.drop(nullptr);
  d.drop(at(nullptr, 4096));
  d.allocator.use_on(nullptr, kSide);
  CHECK(d.allocations == 0 && d.memory().allocated == 0);
}

void test_reuse_and_best_fit() {
  Device d;
  void* const a = d.get(64 * kKiB);
  void* const fence1 = d.get(512);
  void* const b = d.get(16 * kKiB);
  void* const fence2 = d.get(512);
  d.drop(a);
  d.drop(b);
  CHECK(d.get(15 * kKiB) == b);  // the smaller of the two that fit
  CHECK(d.get(40 * kKiB) == a);
  CHECK(d.get(24 * kKiB) == at(a, 40 * kKiB));  // the rest of it
  CHECK(d.allocations == 1);
  d.drop(fence1);
  d.drop(fence2);
}

void test_coalescing() {
  Device d;
  // Every order of release of three neighbours leaves the whole segment free.
  const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    void* const blocks[3] = {d.get(512 * kKiB), d.get(512 * kKiB), d.get(kMiB)};
    CHECK(blocks[2] == at(blocks[0], kMiB));
    for (const int i : order) d.drop(blocks[i]);
    CHECK(d.memory().allocated == 0 && d.memory().reserved == 2 * kMiB);
  }
  CHECK(d.allocations == 1);
  d.allocator.empty_cache();
  CHECK(d.held() == 0 && d.memory().reserved == 0);
}

void test_large_rests() {
  Device d;
  void* const a = d.get(12 * kMiB);
  d.drop(a);
  // A rest of up to 1 MiB stays with its block; a larger one is split off.
  CHECK(d.get(11 * kMiB) == a && d.memory().allocated == 12 * kMiB);
  d.drop(a);
  CHECK(d.get(10 * kMiB) == a && d.memory().allocated == 10 * kMiB);
  CHECK(d.get(2 * kMiB) == at(a, 10 * kMiB));
  CHECK(d.allocations == 1);
}

void test_statistics() {
  Device d;
  void* const a = d.get(4 * kMiB);
  void* const b = d.get(6 * kMiB);
  d.drop(a);
  dt_memory m = d.memory();
  CHECK(m.allocated == 6 * kMiB && m.peak_allocated == 10 * kMiB);
  CHECK(m.reserved == 20 * kMiB && m.peak_reserved == 20 * kMiB);
  CHECK(m.total == 1024 * kMiB && m.free == 1004 * kMiB);
  d.allocator.reset_peaks();
  CHECK(d.memory().peak_allocated == 6 * kMiB);
  d.drop(b);
  d.allocator.empty_cache();
  m = d.memory();
  CHECK(m.allocated == 0 && m.reserved == 0 && m.peak_reserved == 20 * kMiB);
}

void test_out_of_memory() {
  Device d(64 * kMiB);
  void* const a = d.get(20 * kMiB);
  void* const b = d.get(30 * kMiB);
  d.drop(a);
  // The cached 20 MiB are in the way: they are given back and the call succeeds.
  void* const c = d.get(30 * kMiB);
  CHECK(d.held() == 60 * kMiB);
  CHECK(d.is_out(30 * kMiB));
  const char* message =
      "CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 64.00 MiB of "
      "which 4.00 MiB is free. 60.00 MiB is allocated by dumbtorch, and 0 bytes is reserved by "
      "dumbtorch but unallocated.";
  CHECK(std::strcmp(d.fault.message, message) == 0);
  CHECK(d.is_out(INT64_MAX) && d.is_out(int64_t{1} << 59));
  // The allocator is as good as before.
  d.drop(b);
  CHECK(d.get(25 * kMiB) == b);
  d.drop(c);
}

// When memory runs out, blocks that wait for another stream are waited for.
void test_out_of_memory_waits() {
  Device d(64 * kMiB);
  void* const a = d.get(60 * kMiB);
  d.allocator.use_on(a, kSide);
  d.drop(a);
  CHECK(d.get(50 * kMiB) == a);
  CHECK(d.allocations == 1 && d.events == 0);
}

void test_errors_of_the_driver() {
  Device d;
  d.fail_with = DT_KERNEL_DEVICE;
  void* block = nullptr;
  CHECK(d.allocator.allocate(1, kMain, &block, &d.fault) == DT_KERNEL_DEVICE && !block);
  d.fail_with = DT_KERNEL_OK;
  CHECK(d.get(1) != nullptr && d.memory().allocated == 512);
}

void test_streams() {
  Device d;
  void* const a = d.get(kKiB, kMain);
  d.drop(a);
  void* const b = d.get(kKiB, kSide);
  CHECK(b != a && d.allocations == 2);  // streams do not share free blocks
  CHECK(d.get(kKiB, kMain) == a);       // at once, although the stream may still be at work
  d.drop(b);
  CHECK(d.events == 0);
}

void test_use_on() {
  Device d;
  void* const a = d.get(kMiB);
  d.allocator.use_on(a, kMain);  // its own stream is no news
  d.allocator.use_on(a, kSide);
  d.allocator.use_on(a, kSide);
  d.allocator.use_on(a, stream(3));
  CHECK(d.events == 0);
  d.drop(a);
  CHECK(d.events == 2 && d.memory().allocated == 0);
  void* const b = d.get(kMiB);
  CHECK(b != a);
  d.finish(kSide);
  void* const c = d.get(kMiB);
  CHECK(c != a);  // the third stream still uses it
  d.finish(stream(3));
  CHECK(d.get(kMiB) == a && d.events == 0);
  d.drop(a);
  CHECK(d.events == 0 && d.get(kMiB) == a);  // the next life of a block starts without users
}

void test_graph_pool() {
  Device d;
  void* const outside = d.get(kMiB);
  d.drop(outside);
  d.captures[kMain] = 7;
  Allocator::Arena* const arena = d.allocator.begin_capture(7);
  void* const a = d.get(kMiB);
  CHECK(a != outside && d.allocations == 2);  // cached memory is not the graph's
  CHECK(d.get(kMiB, kSide) != outside);       // another stream is not captured
  CHECK(d.allocations == 3);
  d.allocator.empty_cache();  // ignored: the fake driver refuses to free now
  d.drop(a);
  void* const big = d.get(40 * kMiB);
  d.drop(big);
  CHECK(d.get(40 * kMiB) == big);  // freed during the capture, reused in it
  void* const kept = d.get(3 * kMiB);
  d.drop(big);
  d.captures.clear();
  d.allocator.end_capture(arena);

  CHECK(d.get(kMiB) == outside);  // after the capture the graph's memory is nobody else's
  void* const other = d.get(3 * kMiB);
  CHECK(other != at(kept, 3 * kMiB));
  d.allocator.empty_cache();
  const int64_t held = d.held();
  d.allocator.drop_graph(arena);
  CHECK(d.held() == held);  // one block is still held
  d.drop(kept);
  CHECK(d.held() == held - 62 * kMiB);
  CHECK(d.memory().reserved == d.held());
}

// What a call of a graph has released rests, so that the next call does not wait for its users.
void test_rest_in_a_capture() {
  Device d;
  d.captures[kMain] = 7;
  Allocator::Arena* const arena = d.allocator.begin_capture(7);
  void* const a = d.get(kMiB);
  void* const b = d.get(kMiB);
  d.drop(a);
  d.drop(b);
  for (int released = 3; released <= 32; ++released) {
    void* const other = d.get(kMiB);
    CHECK(other != a && other != b);
    d.drop(other);
  }
  void* const c = d.get(kMiB);
  CHECK(c != a && c != b);
  d.drop(c);
  CHECK(d.get(kMiB) == a);  // the first that was released, now that 32 MiB more rest
  d.drop(a);
  d.captures.clear();
  d.allocator.end_capture(arena);
  d.allocator.drop_graph(arena);
  CHECK(d.held() == 0);
}

void test_graph_outlives_its_blocks() {
  Device d;
  d.captures[kMain] = 1;
  Allocator::Arena* const first = d.allocator.begin_capture(1);
  void* const a = d.get(kMiB);
  d.captures.clear();
  d.allocator.end_capture(first);
  d.drop(a);
  CHECK(d.held() == 2 * kMiB);
  // A graph that goes while another is captured has to wait: giving back would break the capture.
  d.captures[kMain] = 2;
  Allocator::Arena* const second = d.allocator.begin_capture(2);
  d.allocator.drop_graph(first);
  d.allocator.empty_cache();
  CHECK(d.held() == 2 * kMiB);
  d.captures.clear();
  d.allocator.end_capture(second);
  CHECK(d.held() == 0);
  d.allocator.drop_graph(second);
}

// A block that a captured stream uses cannot leave an event there before the capture ends.
void test_release_during_capture() {
  Device d;
  void* const a = d.get(kMiB, kSide);
  d.allocator.use_on(a, kMain);
  d.captures[kMain] = 1;
  Allocator::Arena* const arena = d.allocator.begin_capture(1);
  d.drop(a);
  CHECK(d.events == 0 && d.get(kMiB, kSide) != a);
  d.captures.clear();
  d.allocator.end_capture(arena);
  CHECK(d.events == 1);
  d.finish(kMain);
  CHECK(d.get(kMiB, kSide) == a);
  d.allocator.drop_graph(arena);
  // The next capture does not take the block for released.
  d.allocator.use_on(a, kMain);
  d.allocator.end_capture(d.allocator.begin_capture(2));
  CHECK(d.events == 0);
}

void test_out_of_memory_during_capture() {
  Device d(64 * kMiB);
  d.drop(d.get(40 * kMiB));
  d.captures[kMain] = 1;
  Allocator::Arena* const arena = d.allocator.begin_capture(1);
  CHECK(d.is_out(40 * kMiB));
  void* const a = d.get(20 * kMiB);
  d.drop(a);
  CHECK(d.get(20 * kMiB) == a);  // rests no longer where there is no other
  d.drop(a);
  d.captures.clear();
  d.allocator.end_capture(arena);
  d.allocator.drop_graph(arena);
  CHECK(d.get(60 * kMiB) != nullptr);
}

// Random allocations on three streams, with blocks that wander between them. Blocks must never
// overlap, and a block whose last life was used by another stream must not come back before that
// stream is done.
void test_fragmentation() {
  struct Held {
    int64_t bytes;
    int home;
    std::vector<int> users;
  };
  Device d(256 * kMiB);
  std::mt19937 random(1);
  std::map<char*, Held> held;
  std::vector<std::pair<char*, Held>> busy;  // released, and its users have not finished
  const auto overlaps = [](char* a, int64_t a_bytes, char* b, int64_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
  };
  int64_t in_use = 0;
  for (int step = 0; step < 40000; ++step) {
    const int home = static_cast<int>(random() % 3) + 1;
    if (random() % 100 == 0) {
      d.finish(stream(home));
      for (auto& [block, life] : busy)
        life.users.erase(std::remove(life.users.begin(), life.users.end(), home), life.users.end());
      continue;
    }
    if (random() % 1000 == 0) d.allocator.empty_cache(), busy.clear();
    if (random() % 2 && !held.empty()) {
      auto victim = held.lower_bound(held.begin()->first + random() % (256 * kMiB));
      if (victim == held.end()) victim = held.begin();
      in_use -= victim->second.bytes;
      if (!victim->second.users.empty()) busy.push_back(*victim);
      d.drop(victim->first);
      held.erase(victim);
      continue;
    }
    const int64_t bytes = random() % 4 ? 1 + random() % (200 * kKiB) : 1 + random() % (9 * kMiB);
    if (in_use + bytes > 60 * kMiB) continue;
    const int before = d.allocations;
    const int64_t held_before = d.held();
    char* const block = static_cast<char*>(d.get(bytes, stream(home)));
    // Growing may mean that everything was waited for.
    if (d.allocations != before && d.held() < held_before) busy.clear();
    const auto above = held.lower_bound(block);
    CHECK(above == held.end() || above->first >= block + bytes);
    if (above != held.begin()) {
      const auto below = std::prev(above);
      CHECK(below->first + below->second.bytes <= block);
    }
    for (const auto& [other, life] : busy)
      CHECK(life.users.empty() || !overlaps(block, bytes, other, life.bytes));
    Held life = {bytes, home, {}};
    if (random() % 8 == 0) {
      const int user = home % 3 + 1;
      d.allocator.use_on(block, stream(user));
      life.users.push_back(user);
    }
    held[block] = life;
    in_use += bytes;
    CHECK(d.memory().reserved == d.held());
  }
  for (const auto& [block, life] : held) d.drop(block);
  CHECK(d.memory().allocated == 0);
  d.allocator.empty_cache();
  CHECK(d.held() == 0 && d.events == 0);
}

void test_threads() {
  Device d(4096 * kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&d, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<void*> held;
      dt_fault fault;
      for (int step = 0; step < 20000; ++step) {
        void* block = nullptr;
        const int64_t bytes = 1 + random() % (2 * kMiB);
        if (held.size() < 20 && !d.allocator.allocate(bytes, stream(t % 2), &block, &fault)) {
          if (random() % 4 == 0) d.allocator.use_on(block, stream(3));
          held.push_back(block);
        } else {
          std::swap(held[random() % held.size()], held.back());
          d.allocator.release(held.back());
          held.pop_back();
        }
      }
      for (void* block : held) d.allocator.release(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(d.memory().allocated == 0);
  d.allocator.empty_cache();
  CHECK(d.held() == 0 && d.events == 0);
}

}  // namespace

int main() {
  test_size_classes();
  test_nothing();
  test_reuse_and_best_fit();
  test_coalescing();
  test_large_rests();
  test_statistics();
  test_out_of_memory();
  test_out_of_memory_waits();
  test_errors_of_the_driver();
  test_streams();
  test_use_on();
  test_graph_pool();
  test_graph_outlives_its_blocks();
  test_rest_in_a_capture();
  test_release_during_capture();
  test_out_of_memory_during_capture();
  test_fragmentation();
  test_threads();
  return test::finish();
}
