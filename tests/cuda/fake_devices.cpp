// A plugin with two devices made of host memory and the CPU's kernels, for what core does with
// devices. Their streams are as late as they can be: work is done when somebody waits for it, and
// nothing else is. So what is not ordered happens in the wrong order, each time.
#include <stdio.h>
#include <string.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/abi.h"
#include "kernels/cuda/allocator.h"
#include "kernels/tool.h"

namespace {

using dt::cuda::Allocator;
using Work = std::function<void()>;

constexpr int kDevices = 2;
constexpr int64_t kCapacity = int64_t{1} << 30;

std::recursive_mutex& mutex() {
  static auto* m = new std::recursive_mutex;
  return *m;
}
using Lock = std::lock_guard<std::recursive_mutex>;

struct Graph;

struct Stream {
  std::deque<Work> waiting;
  int64_t sent = 0, done = 0;
  uint64_t capture = 0;
  std::unique_ptr<Graph> recording;

  void send(Work work);
  void run_to(int64_t place) {
    while (done < place) {
      const Work work = std::move(waiting.front());
      waiting.pop_front();
      ++done;
      work();
    }
  }
  void run() { run_to(sent); }
};

// A place in a stream; null: nowhere yet.
struct Event {
  Stream* stream;
  int64_t place = 0;

  bool is_done() const { return !stream || stream->done >= place; }
  void wait() const {
    if (stream) stream->run_to(place);
  }
};

struct Graph {
  std::vector<Work> work;
  Allocator::Arena* arena;
  Event last = {nullptr};  // the end of its last launch
};

void Stream::send(Work work) {
  if (recording) return recording->work.push_back(std::move(work));
  waiting.push_back(std::move(work));
  ++sent;
}

class HostDriver : public dt::cuda::Driver {
 public:
  int32_t allocate(int64_t bytes, void** memory, dt_fault*) override {
    if (held_ + bytes > capacity) return DT_KERNEL_OUT_OF_MEMORY;
    *memory = aligned_alloc(512, static_cast<size_t>(bytes));
    sizes_[*memory] = bytes;
    held_ += bytes;
    return DT_KERNEL_OK;
  }
  void free(void* memory) override {  // waits for the device, as CUDA's does
    for (Stream* s : streams) s->run();
    held_ -= sizes_[memory];
    sizes_.erase(memory);
    std::free(memory);
  }
  bool may_free() override { return captures == 0; }
  void available(int64_t* free, int64_t* total) override {
    *free = capacity - held_;
    *total = capacity;
  }
  void* record(void* stream) override {
    auto* s = static_cast<Stream*>(stream);
    return new Event{s, s->sent};
  }
  bool is_done(void* event) override { return static_cast<Event*>(event)->is_done(); }
  void wait(void* event) override { static_cast<Event*>(event)->wait(); }
  void recycle(void* event) override { delete static_cast<Event*>(event); }
  uint64_t capture(void* stream) override { return static_cast<Stream*>(stream)->capture; }

  int64_t capacity = kCapacity;
  int captures = 0;
  std::vector<Stream*> streams;  // the first is the main one

 private:
  int64_t held_ = 0;
  std::map<void*, int64_t> sizes_;
};

struct Device {
  HostDriver driver;
  Allocator allocator;
  std::vector<Stream*> idle_streams;
  dt_fault fault = {};  // of a kernel that ran late
  int32_t result = DT_KERNEL_OK;

  explicit Device(int32_t number) : allocator(driver, number) {
    driver.streams.push_back(new Stream);
  }
};

Device& device(int32_t number) {
  static auto* devices = new Device* [kDevices] { new Device(0), new Device(1) };
  return *devices[number];
}

Stream* resolve(int32_t number, void* stream) {
  return stream ? static_cast<Stream*>(stream) : device(number).driver.streams[0];
}

// ---- kernels: the CPU's, later

struct Kernel {
  dt_kernel* run;
  dt_workspace* workspace;
};

std::map<std::string, Kernel>& kernels() {
  static auto* all = new std::map<std::string, Kernel>;
  return *all;
}

// What a call points to is gone when it runs.
struct Call {
  std::vector<dt_view> out, in;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  dt_call call;
  dt_stream stream;

  Call(const dt_stream* s, const dt_call* c)
      : out(c->out, c->out + c->n_out),
        in(c->in, c->in + c->n_in),
        ints(c->ints, c->ints + c->n_ints),
        floats(c->floats, c->floats + c->n_floats),
        call(*c),
        stream(*s) {}

  void run() {
    call.out = out.data();
    call.in = in.data();
    call.ints = ints.data();
    call.floats = floats.data();
    Device& d = device(stream.device);
    dt_fault fault = {};
    stream.fault = &fault;
    const int32_t result = kernels()[call.op].run(&stream, &call);
    if (result == DT_KERNEL_OK || d.result != DT_KERNEL_OK) return;
    d.result = result;
    d.fault = fault;
    d.fault.op = call.op;
  }
};

int32_t run_later(const dt_stream* stream, const dt_call* call) {
  const Lock lock(mutex());
  const auto kept = std::make_shared<Call>(stream, call);
  resolve(stream->device, stream->native)->send([kept] { kept->run(); });
  return DT_KERNEL_OK;
}

int64_t workspace(const dt_stream* stream, const dt_call* call) {
  dt_workspace* const ask = kernels()[call->op].workspace;
  return ask ? ask(stream, call) : 0;
}

// A shortcut says at once whether it takes a call, which a late kernel cannot; core does without.
void keep(dt_registry*, const char* op, dt_kernel* kernel, dt_workspace* ask) {
  if (strcmp(op, "linear_backward") != 0) kernels()[op] = {kernel, ask};
}

void add_kernels(dt_registry* registry) {
  dt_registry mine = {keep};
  dt_cpu_v2(&mine);
  for (const auto& [op, kernel] : kernels())
    registry->add(registry, op.c_str(), run_later, workspace);
}

// ---- the table

int32_t report(int32_t number, dt_fault* fault) {
  Device& d = device(number);
  const int32_t result = d.result;
  if (result != DT_KERNEL_OK) *fault = d.fault;
  d.result = DT_KERNEL_OK;
  return result;
}

int32_t properties(int32_t, dt_device_properties* p, dt_fault*) {
  *p = {};
  snprintf(p->name, sizeof(p->name), "host memory");
  p->multiprocessors = 1;
  p->total_memory = kCapacity;
  return DT_KERNEL_OK;
}

int32_t synchronize(int32_t number, dt_fault* fault) {
  const Lock lock(mutex());
  for (Stream* s : device(number).driver.streams) s->run();
  return report(number, fault);
}

int32_t allocate(int32_t number, int64_t bytes, void* stream, void** block, dt_fault* fault) {
  const Lock lock(mutex());
  return device(number).allocator.allocate(bytes, resolve(number, stream), block, fault);
}

void release(int32_t number, void* block) {
  const Lock lock(mutex());
  device(number).allocator.release(block);
}

void use_on(int32_t number, void* block, void* stream) {
  const Lock lock(mutex());
  device(number).allocator.use_on(block, resolve(number, stream));
}

int32_t memory(int32_t number, dt_memory* memory, dt_fault*) {
  *memory = device(number).allocator.memory();
  return DT_KERNEL_OK;
}

void reset_peaks(int32_t number) {
  device(number).allocator.reset_peaks();
}

void empty_cache(int32_t number) {
  const Lock lock(mutex());
  device(number).allocator.empty_cache();
}

int32_t allocate_pinned(int64_t bytes, void** block, dt_fault*) {
  *block = malloc(static_cast<size_t>(bytes));
  return DT_KERNEL_OK;
}

void release_pinned(void* block) {
  free(block);
}

int32_t copy(void* to, int32_t to_device, const void* from, int32_t from_device, int64_t bytes,
             void* stream, int32_t wait, dt_fault* fault) {
  const Lock lock(mutex());
  const int32_t number = to_device < 0 ? from_device : to_device;
  Stream* s = resolve(number, stream);
  const size_t n = static_cast<size_t>(bytes);
  if (wait && s->recording) {
    snprintf(fault->message, sizeof(fault->message), "a copy that waits cannot be captured");
    return DT_KERNEL_DEVICE;
  }
  if (from_device >= 0) {
    s->send([=] { memcpy(to, from, n); });
  } else {  // the host's bytes are read at once
    const auto* first = static_cast<const char*>(from);
    s->send(
        [to, held = std::vector<char>(first, first + n)] { memcpy(to, held.data(), held.size()); });
  }
  if (!wait) return DT_KERNEL_OK;
  s->run();
  return report(number, fault);
}

int32_t stream_create(int32_t number, int32_t, void** stream, dt_fault*) {
  const Lock lock(mutex());
  Device& d = device(number);
  if (d.idle_streams.empty()) d.idle_streams.push_back(d.driver.streams.emplace_back(new Stream));
  *stream = d.idle_streams.back();
  d.idle_streams.pop_back();
  return DT_KERNEL_OK;
}

// Its blocks may wait for it: it serves the next one who asks.
void stream_destroy(int32_t number, void* stream) {
  const Lock lock(mutex());
  device(number).idle_streams.push_back(static_cast<Stream*>(stream));
}

int32_t stream_synchronize(int32_t number, void* stream, dt_fault* fault) {
  const Lock lock(mutex());
  resolve(number, stream)->run();
  return report(number, fault);
}

int32_t stream_query(int32_t number, void* stream, int32_t* done, dt_fault*) {
  const Lock lock(mutex());
  const Stream* s = resolve(number, stream);
  *done = s->done == s->sent;
  return DT_KERNEL_OK;
}

int32_t stream_wait(int32_t number, void* stream, void* event, dt_fault* fault) {
  const Lock lock(mutex());
  if (!event) {
    snprintf(fault->message, sizeof(fault->message), "there is no event to wait for");
    return DT_KERNEL_DEVICE;
  }
  resolve(number, stream)->send([e = *static_cast<Event*>(event)] { e.wait(); });
  return DT_KERNEL_OK;
}

int32_t event_create(int32_t, int32_t, void** event, dt_fault*) {
  *event = new Event{nullptr, 0};
  return DT_KERNEL_OK;
}

void event_destroy(int32_t, void* event) {
  delete static_cast<Event*>(event);
}

int32_t event_record(int32_t number, void* event, void* stream, dt_fault*) {
  const Lock lock(mutex());
  Stream* s = resolve(number, stream);
  *static_cast<Event*>(event) = {s, s->sent};
  return DT_KERNEL_OK;
}

int32_t event_synchronize(int32_t number, void* event, dt_fault* fault) {
  const Lock lock(mutex());
  static_cast<Event*>(event)->wait();
  return report(number, fault);
}

int32_t event_query(int32_t, void* event, int32_t* done, dt_fault*) {
  const Lock lock(mutex());
  *done = static_cast<Event*>(event)->is_done();
  return DT_KERNEL_OK;
}

int32_t event_elapsed(int32_t, void*, void*, double* milliseconds, dt_fault*) {
  *milliseconds = 1;
  return DT_KERNEL_OK;
}

int32_t capture_begin(int32_t number, void* stream, dt_fault*) {
  const Lock lock(mutex());
  static uint64_t captures = 0;
  Device& d = device(number);
  Stream* s = resolve(number, stream);
  s->capture = ++captures;
  s->recording = std::make_unique<Graph>();
  ++d.driver.captures;
  s->recording->arena = d.allocator.begin_capture(s->capture);
  return DT_KERNEL_OK;
}

int32_t capture_end(int32_t number, void* stream, void** graph, dt_fault*) {
  const Lock lock(mutex());
  Device& d = device(number);
  Stream* s = resolve(number, stream);
  std::unique_ptr<Graph> recording = std::move(s->recording);
  s->capture = 0;
  --d.driver.captures;
  d.allocator.end_capture(recording->arena);
  if (graph)
    *graph = recording.release();
  else
    d.allocator.drop_graph(recording->arena);
  return DT_KERNEL_OK;
}

int32_t graph_launch(int32_t number, void* graph, void* stream, dt_fault*) {
  const Lock lock(mutex());
  Stream* s = resolve(number, stream);
  auto* launched = static_cast<Graph*>(graph);
  s->send([last = launched->last] { last.wait(); });
  for (const Work& work : launched->work) s->send(work);
  launched->last = {s, s->sent};
  return DT_KERNEL_OK;
}

void graph_destroy(int32_t number, void* graph) {
  const Lock lock(mutex());
  auto* g = static_cast<Graph*>(graph);
  device(number).allocator.drop_graph(g->arena);
  delete g;
}

const dt_signature kSignatures[] = {
#define DT_OP(name, hash) {#name, hash},
#include "kernels/ops.def"
#include "kernels/pointwise.def"
#undef DT_OP
};

const dt_backend kTable = {
    sizeof(dt_backend),
    DT_KERNEL_ABI,
    sizeof(kSignatures) / sizeof(kSignatures[0]),
    kSignatures,
    "cuda",
    add_kernels,
    properties,
    synchronize,
    allocate,
    release,
    use_on,
    memory,
    reset_peaks,
    empty_cache,
    allocate_pinned,
    release_pinned,
    copy,
    stream_create,
    stream_destroy,
    stream_synchronize,
    stream_query,
    stream_wait,
    event_create,
    event_destroy,
    event_record,
    event_synchronize,
    event_query,
    event_elapsed,
    capture_begin,
    capture_end,
    graph_launch,
    graph_destroy,
};

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

// What a tool was told: "(name" for the begin of a range, ")" for its end, "!name" for a mark.
EXPORT char fake_tool_told[4096];

EXPORT const dt_tool* dt_tool_open() {
  static const auto tell = [](const char* what, const char* name) {
    const size_t length = strlen(fake_tool_told);
    snprintf(fake_tool_told + length, sizeof(fake_tool_told) - length, "%s%s", what, name);
  };
  static int32_t depth = 0;
  static const dt_tool tool = {
      sizeof(dt_tool),
      [](const char* name) { return tell("(", name), depth++; },
      []() { return tell(")", ""), --depth; },
      [](const char* name) { return tell("<", name), uint64_t{7}; },
      [](uint64_t range) { tell(range == 7 ? ">" : "?", ""); },
      [](const char* name) { tell("!", name); },
  };
  return &tool;
}

EXPORT const dt_backend* dt_backend_open(int32_t* devices, dt_fault*) {
  *devices = kDevices;
  return &kTable;
}

// How much memory a device has.
EXPORT void fake_device_limit(int32_t number, int64_t bytes) {
  device(number).driver.capacity = bytes;
}
}
