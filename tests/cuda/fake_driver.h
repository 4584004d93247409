// A device made of counters, for the caches of memory: it has a capacity, streams that finish their
// work when the test says so, and captures. It knows every address that it handed out and nothing
// can be read from them.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "kernels/cuda/driver.h"
#include "tests/cuda/check.h"

namespace test {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

class FakeDriver : public dt::cuda::Driver {
 public:
  explicit FakeDriver(int64_t capacity) : capacity_(capacity) {}

  int32_t allocate(int64_t bytes, void** memory, dt_fault*) override {
    if (fail_with != DT_KERNEL_OK) return fail_with;
    if (held() + bytes > capacity_) return DT_KERNEL_OUT_OF_MEMORY;
    ++allocations;
    *memory = reinterpret_cast<void*>(next_);
    segments_[*memory] = bytes;
    next_ += bytes + 4096;  // a gap, so that segments never seem to touch
    return DT_KERNEL_OK;
  }
  bool may_free() override { return captures.empty(); }
  void free(void* memory) override {
    CHECK(may_free());
    CHECK(segments_.erase(memory) == 1);
  }
  void available(int64_t* free, int64_t* total) override {
    *free = capacity_ - held();
    *total = capacity_;
  }
  void* record(void* stream) override {
    CHECK(captures.count(stream) == 0);
    Event* event = new Event{stream, ++submitted_[stream]};
    ++events;
    return event;
  }
  bool is_done(void* event) override {
    const Event& e = *static_cast<Event*>(event);
    return e.number <= finished_[e.stream];
  }
  void wait(void* event) override { finish(static_cast<Event*>(event)->stream); }
  void recycle(void* event) override {
    --events;
    delete static_cast<Event*>(event);
  }
  uint64_t capture(void* stream) override {
    const auto found = captures.find(stream);
    return found == captures.end() ? 0 : found->second;
  }

  // The stream has done all it was told so far.
  void finish(void* stream) { finished_[stream] = submitted_[stream]; }

  int64_t held() const {
    int64_t sum = 0;
    for (const auto& [memory, bytes] : segments_) sum += bytes;
    return sum;
  }

  std::map<void*, uint64_t> captures;  // by stream
  int32_t fail_with = DT_KERNEL_OK;
  int allocations = 0, events = 0;

 private:
  struct Event {
    void* stream;
    int64_t number;
  };

  const int64_t capacity_;
  int64_t next_ = int64_t{1} << 40;
  std::map<void*, int64_t> segments_;
  std::map<void*, int64_t> submitted_, finished_;
};

inline void* stream(int number) {
  return reinterpret_cast<void*>(static_cast<intptr_t>(number * 16));
}

inline char* at(void* block, int64_t offset) {
  return static_cast<char*>(block) + offset;
}

}  // namespace test
