// Captured graphs of the CUDA plugin, on a GPU.
#include <cstring>
#include <thread>

#include "tests/cuda/gpu.h"

namespace {

using test::Gpu;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kCount = 1 << 20;

void* capture_negation(Gpu& gpu, float* a) {
  void* graph = nullptr;
  CHECK(gpu.ok(gpu.table->capture_begin(0, nullptr, &gpu.fault)));
  CHECK(gpu.ok(gpu.negate(a, kCount)));
  CHECK(gpu.ok(gpu.table->capture_end(0, nullptr, &graph, &gpu.fault)));
  CHECK(graph != nullptr);
  return graph;
}

void test_replay(Gpu& gpu) {
  float* a = gpu.upload(std::vector<float>(kCount, 3.0f));
  void* graph = capture_negation(gpu, a);
  CHECK(gpu.download(a, 1)[0] == 3);  // recorded, not run
  for (int i = 0; i < 5; ++i) CHECK(gpu.ok(gpu.table->graph_launch(0, graph, nullptr, &gpu.fault)));
  CHECK(gpu.download(a, kCount)[kCount - 1] == -3);
  gpu.table->graph_destroy(0, graph);
  gpu.drop(a);
}

// New segments, reuse in the capture, and blocks that outlive the graph.
void test_memory(Gpu& gpu) {
  const dt_backend& t = *gpu.table;
  const int64_t bytes = kCount * static_cast<int64_t>(sizeof(float));
  float* x = gpu.upload(std::vector<float>(kCount, 1.0f));
  CHECK(gpu.ok(t.capture_begin(0, nullptr, &gpu.fault)));
  float* a = static_cast<float*>(gpu.get(bytes));
  CHECK(gpu.ok(t.copy(a, 0, x, 0, bytes, nullptr, 0, &gpu.fault)));
  CHECK(gpu.ok(gpu.negate(a, kCount)));
  float* y = static_cast<float*>(gpu.get(bytes));
  CHECK(gpu.ok(t.copy(y, 0, a, 0, bytes, nullptr, 0, &gpu.fault)));
  gpu.drop(a);
  void* big = gpu.get(64 * kMiB);
  gpu.drop(big);
  CHECK(gpu.get(64 * kMiB) == big);
  gpu.drop(big);
  t.empty_cache(0);  // ignored
  void* graph = nullptr;
  CHECK(gpu.ok(t.capture_end(0, nullptr, &graph, &gpu.fault)));
  void* other = gpu.get(64 * kMiB);
  CHECK(other != big);  // the graph's own
  CHECK(gpu.ok(t.graph_launch(0, graph, nullptr, &gpu.fault)));
  CHECK(gpu.download(y, 1)[0] == -1);
  t.graph_destroy(0, graph);
  CHECK(gpu.download(y, 1)[0] == -1);  // y lives on
  gpu.drop(y);
  gpu.drop(x);
  gpu.drop(other);
  t.empty_cache(0);
  dt_memory memory = {};
  CHECK(gpu.ok(t.memory(0, &memory, &gpu.fault)));
  CHECK(memory.allocated == 0 && memory.reserved == 0);
}

// What would wait for the device is refused with a sentence, and the capture goes on.
void test_refusals(Gpu& gpu) {
  const dt_backend& t = *gpu.table;
  float* a = gpu.upload(std::vector<float>(kCount, 3.0f));
  void* event = nullptr;
  CHECK(gpu.ok(t.event_create(0, 0, &event, &gpu.fault)));
  CHECK(gpu.ok(t.event_record(0, event, nullptr, &gpu.fault)));
  CHECK(gpu.ok(t.capture_begin(0, nullptr, &gpu.fault)));
  float host[1] = {};
  int32_t done = 0;
  const auto refused = [&](int32_t code) {
    return code == DT_KERNEL_DEVICE &&
           std::strstr(gpu.fault.message, "is not permitted while a graph is captured");
  };
  CHECK(refused(t.copy(host, -1, a, 0, sizeof(host), nullptr, 1, &gpu.fault)));
  CHECK(refused(t.copy(a, 0, host, -1, sizeof(host), nullptr, 0, &gpu.fault)));
  CHECK(refused(t.synchronize(0, &gpu.fault)));
  CHECK(refused(t.stream_synchronize(0, nullptr, &gpu.fault)));
  CHECK(refused(t.stream_query(0, nullptr, &done, &gpu.fault)));
  CHECK(refused(t.event_synchronize(0, event, &gpu.fault)));
  CHECK(refused(t.event_query(0, event, &done, &gpu.fault)));
  CHECK(refused(t.capture_begin(0, nullptr, &gpu.fault)));
  CHECK(gpu.ok(gpu.negate(a, kCount)));
  void* graph = nullptr;
  CHECK(gpu.ok(t.capture_end(0, nullptr, &graph, &gpu.fault)));
  CHECK(gpu.ok(t.graph_launch(0, graph, nullptr, &gpu.fault)));
  CHECK(gpu.download(a, 1)[0] == -3);
  t.graph_destroy(0, graph);
  t.event_destroy(0, event);
  gpu.drop(a);
}

// A recording can be thrown away, and ending what did not begin is an error.
void test_abandoned(Gpu& gpu) {
  const dt_backend& t = *gpu.table;
  float* a = gpu.upload(std::vector<float>(kCount, 3.0f));
  CHECK(gpu.ok(t.capture_begin(0, nullptr, &gpu.fault)));
  void* block = gpu.get(kMiB);
  CHECK(gpu.ok(gpu.negate(a, kCount)));
  CHECK(gpu.ok(t.capture_end(0, nullptr, nullptr, &gpu.fault)));
  gpu.drop(block);
  CHECK(gpu.download(a, 1)[0] == 3);
  void* graph = nullptr;
  CHECK(t.capture_end(0, nullptr, &graph, &gpu.fault) == DT_KERNEL_DEVICE && !graph);
  CHECK(gpu.ok(gpu.negate(a, kCount)) && gpu.download(a, 1)[0] == -3);
  gpu.drop(a);
}

// Page-locked memory that a graph copies from stays the graph's, though its owner released it.
void test_pinned(Gpu& gpu) {
  const dt_backend& t = *gpu.table;
  const int64_t bytes = 4096;
  void *pinned = nullptr, *other = nullptr, *graph = nullptr;
  CHECK(gpu.ok(t.allocate_pinned(bytes, &pinned, &gpu.fault)));
  float* a = gpu.upload(std::vector<float>(1024, 0.0f));
  CHECK(gpu.ok(t.capture_begin(0, nullptr, &gpu.fault)));
  CHECK(gpu.ok(t.copy(a, 0, pinned, -1, bytes, nullptr, 0, &gpu.fault)));
  CHECK(gpu.ok(t.capture_end(0, nullptr, &graph, &gpu.fault)));
  for (const float number : {1.0f, 2.0f}) {
    static_cast<float*>(pinned)[1023] = number;
    CHECK(gpu.ok(t.graph_launch(0, graph, nullptr, &gpu.fault)));
    CHECK(gpu.download(a, 1024)[1023] == number);
  }
  t.release_pinned(pinned);
  CHECK(gpu.ok(t.allocate_pinned(bytes, &other, &gpu.fault)) && other != pinned);
  t.release_pinned(other);
  t.graph_destroy(0, graph);
  gpu.drop(a);
}

// Another thread works, allocates and waits while this one captures.
void test_beside_another_thread(Gpu& gpu) {
  const dt_backend& t = *gpu.table;
  float* a = gpu.upload(std::vector<float>(kCount, 3.0f));
  CHECK(gpu.ok(t.capture_begin(0, nullptr, &gpu.fault)));
  std::thread([] {
    Gpu mine;
    void* stream = nullptr;
    CHECK(mine.ok(mine.table->stream_create(0, 0, &stream, &mine.fault)));
    float* b = static_cast<float*>(mine.get(256 * kMiB, stream));
    CHECK(mine.ok(mine.negate(b, 1000, stream)));
    CHECK(mine.download(b, 1000, stream).size() == 1000);
    CHECK(mine.ok(mine.table->synchronize(0, &mine.fault)));
    mine.drop(b);
    mine.table->empty_cache(0);
    mine.table->stream_destroy(0, stream);
  }).join();
  CHECK(gpu.ok(gpu.negate(a, kCount)));
  void* graph = nullptr;
  CHECK(gpu.ok(t.capture_end(0, nullptr, &graph, &gpu.fault)));
  CHECK(gpu.ok(t.graph_launch(0, graph, nullptr, &gpu.fault)));
  CHECK(gpu.download(a, 1)[0] == -3);
  t.graph_destroy(0, graph);
  gpu.drop(a);
}

}  // namespace

int main() {
  Gpu gpu;
  if (!gpu.table) return test::skip(gpu.fault.message);
  test_replay(gpu);
  test_memory(gpu);
  test_refusals(gpu);
  test_abandoned(gpu);
  test_pinned(gpu);
  test_beside_another_thread(gpu);
  return test::finish();
}
