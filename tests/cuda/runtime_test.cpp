// Memory, copies, streams, events and errors of the CUDA plugin, on a GPU.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "tests/cuda/gpu.h"

namespace {

using test::Gpu;

constexpr int64_t kMiB = int64_t{1} << 20;

std::vector<float> count_from(float first, size_t n) {
  std::vector<float> numbers(n);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

void test_properties(Gpu& gpu) {
  dt_device_properties p = {};
  CHECK(gpu.ok(gpu.table->properties(0, &p, &gpu.fault)));
  CHECK(p.name[0] && p.major >= 8 && p.multiprocessors > 0 && p.total_memory > 1024 * kMiB);
  CHECK(gpu.table->properties(gpu.devices, &p, &gpu.fault) == DT_KERNEL_DEVICE);
  CHECK(std::strstr(gpu.fault.message, "invalid device ordinal"));
  void* block = nullptr;
  CHECK(gpu.table->allocate(gpu.devices, 1, nullptr, &block, &gpu.fault) == DT_KERNEL_DEVICE);
  CHECK(gpu.table->synchronize(-1, &gpu.fault) == DT_KERNEL_DEVICE);
}

void test_copies(Gpu& gpu) {
  const std::vector<float> numbers = count_from(1, 3 << 20);
  float* a = gpu.upload(numbers);
  CHECK(gpu.download(a, numbers.size()) == numbers);

  const int64_t bytes = static_cast<int64_t>(numbers.size() * sizeof(float));
  float* b = static_cast<float*>(gpu.get(bytes));
  CHECK(gpu.ok(gpu.table->copy(b, 0, a, 0, bytes, nullptr, 0, &gpu.fault)));
  CHECK(gpu.ok(gpu.negate(b, static_cast<int64_t>(numbers.size()))));
  CHECK(gpu.download(b, 2)[1] == -2);

  // Asynchronous, by way of page-locked memory that is released at once.
  void* pinned = nullptr;
  CHECK(gpu.ok(gpu.table->allocate_pinned(bytes, &pinned, &gpu.fault)));
  std::memcpy(pinned, numbers.data(), static_cast<size_t>(bytes));
  CHECK(gpu.ok(gpu.table->copy(b, 0, pinned, -1, bytes, nullptr, 0, &gpu.fault)));
  gpu.table->release_pinned(pinned);
  CHECK(gpu.download(b, numbers.size()) == numbers);
  CHECK(gpu.ok(gpu.table->copy(nullptr, 0, nullptr, -1, 0, nullptr, 1, &gpu.fault)));
  gpu.drop(a);
  gpu.drop(b);
}

void test_streams_and_events(Gpu& gpu) {
  const dt_backend& t = *gpu.table;
  void *side = nullptr, *start = nullptr, *end = nullptr;
  CHECK(gpu.ok(t.stream_create(0, -100, &side, &gpu.fault)));  // clamped to what there is
  CHECK(gpu.ok(t.event_create(0, 1, &start, &gpu.fault)));
  CHECK(gpu.ok(t.event_create(0, 1, &end, &gpu.fault)));
  const int64_t n = 64 << 20;
  float* a = gpu.upload(std::vector<float>(n, 2.0f));
  for (int i = 0; i < 21; ++i) CHECK(gpu.ok(gpu.negate(a, n)));
  // The side stream goes on where the main stream was.
  CHECK(gpu.ok(t.event_record(0, start, nullptr, &gpu.fault)));
  CHECK(gpu.ok(t.stream_wait(0, side, start, &gpu.fault)));
  for (int i = 0; i < 20; ++i) CHECK(gpu.ok(gpu.negate(a, n, side)));
  CHECK(gpu.ok(t.event_record(0, end, side, &gpu.fault)));
  t.use_on(0, a, side);
  CHECK(gpu.download(a, 1, side)[0] == -2);
  int32_t done = 0;
  CHECK(gpu.ok(t.event_query(0, end, &done, &gpu.fault)) && done == 1);
  CHECK(gpu.ok(t.stream_query(0, side, &done, &gpu.fault)) && done == 1);
  CHECK(gpu.ok(t.event_synchronize(0, end, &gpu.fault)));
  CHECK(gpu.ok(t.stream_synchronize(0, side, &gpu.fault)));
  double milliseconds = 0;
  CHECK(gpu.ok(t.event_elapsed(0, start, end, &milliseconds, &gpu.fault)) && milliseconds > 0);
  gpu.drop(a);
  t.event_destroy(0, start);
  t.event_destroy(0, end);
  t.stream_destroy(0, side);
  void* again = nullptr;
  CHECK(gpu.ok(t.stream_create(0, -100, &again, &gpu.fault)) && again == side);
  t.stream_destroy(0, again);
}

void test_memory(Gpu& gpu) {
  const dt_backend& t = *gpu.table;
  t.empty_cache(0);
  t.reset_peaks(0);
  dt_memory before = {}, during = {}, after = {};
  CHECK(gpu.ok(t.memory(0, &before, &gpu.fault)));
  CHECK(before.allocated == 0 && before.reserved == 0);
  void* a = gpu.get(100 * kMiB);
  CHECK(gpu.ok(t.memory(0, &during, &gpu.fault)));
  CHECK(during.allocated == 100 * kMiB && during.reserved == 100 * kMiB);
  CHECK(before.free - during.free >= 100 * kMiB && during.total == before.total);
  gpu.drop(a);
  void* b = nullptr;
  CHECK(t.allocate(0, 2 * before.total, nullptr, &b, &gpu.fault) == DT_KERNEL_OUT_OF_MEMORY && !b);
  CHECK(std::strstr(gpu.fault.message, "CUDA out of memory. Tried to allocate "));
  CHECK(gpu.ok(t.memory(0, &after, &gpu.fault)));
  CHECK(after.allocated == 0 && after.reserved == 0);  // the cache was given back on the way
  CHECK(after.peak_allocated == 100 * kMiB);
  float* c = gpu.upload(count_from(0, 100));  // the device is as good as before
  CHECK(gpu.ok(gpu.negate(c, 100)) && gpu.download(c, 100)[99] == -99);
  gpu.drop(c);
}

void test_bad_index(Gpu& gpu) {
  float* x = gpu.upload(count_from(0, 10));
  float* y = static_cast<float*>(gpu.get(3 * sizeof(float)));
  int64_t* good = gpu.upload(std::vector<int64_t>{9, 0, 4});
  int64_t* bad = gpu.upload(std::vector<int64_t>{9, 10, 4});
  for (int round = 0; round < 2; ++round) {
    CHECK(gpu.ok(gpu.select(y, x, 10, bad, 3)));
    gpu.fault = {};
    CHECK(gpu.table->synchronize(0, &gpu.fault) == DT_KERNEL_INDEX);
    CHECK(gpu.fault.op && std::strcmp(gpu.fault.op, "index_select") == 0);
    CHECK(gpu.fault.index == 10 && gpu.fault.size == 10);
    CHECK(gpu.ok(gpu.table->synchronize(0, &gpu.fault)));  // reported once
    CHECK(gpu.ok(gpu.select(y, x, 10, good, 3)));
    CHECK((gpu.download(y, 3) == std::vector<float>{9, 0, 4}));
  }
  // A blocking copy reports it too.
  CHECK(gpu.ok(gpu.select(y, x, 10, bad, 3)));
  float host[3];
  CHECK(gpu.table->copy(host, -1, y, 0, sizeof(host), nullptr, 1, &gpu.fault) == DT_KERNEL_INDEX);
  for (void* block : {static_cast<void*>(x), static_cast<void*>(y), static_cast<void*>(good),
                      static_cast<void*>(bad)})
    gpu.drop(block);
}

// Each thread works on a stream of its own; their memory comes from one cache.
void test_threads(Gpu& gpu) {
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([number] {
      Gpu mine;
      void* stream = nullptr;
      CHECK(mine.ok(mine.table->stream_create(0, 0, &stream, &mine.fault)));
      for (int step = 0; step < 200; ++step) {
        const size_t n = 1000 + 777 * static_cast<size_t>(step);
        const std::vector<float> numbers = count_from(static_cast<float>(number), n);
        const int64_t bytes = static_cast<int64_t>(n * sizeof(float));
        float* a = static_cast<float*>(mine.get(bytes, stream));
        CHECK(mine.ok(mine.table->copy(a, 0, numbers.data(), -1, bytes, stream, 0, &mine.fault)));
        CHECK(mine.ok(mine.negate(a, static_cast<int64_t>(n), stream)));
        const std::vector<float> result = mine.download(a, n, stream);
        CHECK(result.front() == -numbers.front() && result.back() == -numbers.back());
        mine.drop(a);
      }
      mine.table->stream_destroy(0, stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(gpu.ok(gpu.table->synchronize(0, &gpu.fault)));
}

// Between devices, with two of them: there and back again.
void test_two_devices(Gpu& gpu) {
  if (gpu.devices < 2) return;
  const std::vector<float> numbers = count_from(5, 1 << 20);
  const int64_t bytes = static_cast<int64_t>(numbers.size() * sizeof(float));
  float* a = gpu.upload(numbers);
  float* back = static_cast<float*>(gpu.get(bytes));
  void* b = nullptr;
  CHECK(gpu.ok(gpu.table->allocate(1, bytes, nullptr, &b, &gpu.fault)));
  CHECK(gpu.ok(gpu.table->copy(b, 1, a, 0, bytes, nullptr, 1, &gpu.fault)));
  CHECK(gpu.ok(gpu.table->copy(back, 0, b, 1, bytes, nullptr, 1, &gpu.fault)));
  CHECK(gpu.download(back, numbers.size()) == numbers);
  gpu.table->release(1, b);
  gpu.drop(a);
  gpu.drop(back);
}

// A child of fork gets an error, never a hang, and can drop what its parent had.
void test_fork(Gpu& gpu) {
  void* block = gpu.get(1000);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    void* another = nullptr;
    bool is_refused =
        gpu.table->allocate(0, 1000, nullptr, &another, &gpu.fault) == DT_KERNEL_DEVICE;
    const char* sentence = "Cannot re-initialize CUDA in forked subprocess";
    is_refused = is_refused && std::strstr(gpu.fault.message, sentence);
    is_refused = is_refused && gpu.table->synchronize(0, &gpu.fault) == DT_KERNEL_DEVICE;
    gpu.drop(block);
    gpu.table->empty_cache(0);
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  gpu.drop(block);
}

}  // namespace

int main() {
  Gpu gpu;
  if (!gpu.table) return test::skip(gpu.fault.message);
  test_properties(gpu);
  test_copies(gpu);
  test_streams_and_events(gpu);
  test_memory(gpu);
  test_bad_index(gpu);
  test_threads(gpu);
  test_two_devices(gpu);
  test_fork(gpu);
  return test::finish();
}
