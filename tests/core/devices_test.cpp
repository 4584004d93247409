// What core does with several devices: order, who may use whose memory, what is refused. The
// devices are tests/cuda/fake_devices.cpp's, which do their work as late as they can.
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include "core/autograd/backward_streams.h"
#include "core/autograd/engine.h"
#include "core/ops/copy.h"
#include "core/ops/ops.h"
#include "core/ops/options.h"
#include "core/optim/optimizer.h"
#include "core/optim/optimizers.gen.h"
#include "core/optim/steps.h"
#include "core/runtime/context.h"
#include "core/runtime/graph.h"
#include "core/runtime/profiler.h"

namespace {
thread_local bool no_memory = false;  // for the next object
}  // namespace

// Not inlined, or the compiler takes them for two that do not match.
__attribute__((noinline)) void* operator new(size_t bytes) {
  void* const p = no_memory ? nullptr : std::malloc(bytes);
  no_memory = false;
  if (!p) throw std::bad_alloc();
  return p;
}
__attribute__((noinline)) void operator delete(void* p) noexcept {
  std::free(p);
}
__attribute__((noinline)) void operator delete(void* p, size_t) noexcept {
  std::free(p);
}

namespace dt::test {
namespace {

constexpr Device kFirst{DeviceType::kCuda, 0}, kSecond{DeviceType::kCuda, 1};
constexpr int64_t kCount = 1 << 18;  // too many for the allocator's small blocks

int failures = 0;

void check(bool good, const std::string& what) {
  if (good) return;
  std::printf("FAIL %s\n", what.c_str());
  ++failures;
}

template <class F>
void check_refused(F&& call, const std::string& words) {
  try {
    call();
    check(false, "not refused: " + words);
  } catch (const Error& e) {
    check(std::string(e.what()).find(words) != std::string::npos, e.what());
  }
}

Tensor filled(double value, Device device, int64_t count = kCount) {
  return full({count}, value, DType::FLOAT32, device);
}

// Reading waits only for what the tensor's device was told, in its current stream.
void check_all(const Tensor& x, double value, const std::string& what) {
  check(equal(on_host(x), filled(value, kCpu, x.numel())), what);
}

// A stream is current for a block.
class OnStream {
 public:
  OnStream(Device device, const Ref<Stream>& stream)
      : device_(device), before_(Ref<Stream>::share(current_stream(device))) {
    set_current_stream(device, stream);
  }
  ~OnStream() { set_current_stream(device_, before_); }

 private:
  const Device device_;
  const Ref<Stream> before_;
};

// ---- copies

// The source changes as soon as the copy was asked for.
void check_source_waits() {
  const Tensor x = filled(1, kFirst);
  const Tensor y = to(x, kSecond);
  add_(x, 1);
  synchronize_device(kFirst);
  check_all(y, 1, "a copy is of what was there");
  check_all(x, 2, "the source goes on");
}

// The destination asks for the copy before the source is made.
void check_destination_waits() {
  const Tensor x = filled(1, kFirst);
  add_(x, 1);
  check_all(to(x, kSecond), 2, "a copy waits for its source");
}

// What was made for the copy is gone at once, and its memory goes to the next one.
void check_memory_waits() {
  const Tensor x = full({kCount, 2}, 7, DType::FLOAT32, kFirst);
  const Tensor y = to(slice(x, 1, 0, 2, 2), kSecond);
  const Tensor other = filled(9, kFirst);
  synchronize_device(kFirst);
  check_all(reshape(y, {-1}), 7, "memory is free only after the copy");
}

void check_events_of_both_kinds() {
  const Ref<Event> of_host = Event::create(kCpu, false), of_device = Event::create(kFirst, false);
  of_host->record(nullptr);
  of_host->wait(kFirst);
  const Tensor x = filled(1, kFirst);
  of_device->record(nullptr);
  check(!of_device->query(), "devices work late");
  of_device->wait(kCpu);
  check(of_device->query(), "the CPU waits for a device's event");
}

// ---- training

std::vector<Tensor> parameters(const std::vector<Device>& devices) {
  std::vector<Tensor> list;
  for (const Device device : devices) {
    const double value = static_cast<double>(list.size()) + 1;
    list.push_back(filled(value, device, 3));
    list.back().set_requires_grad(true);
  }
  return list;
}

// By whatever name the main stream is made current, it is the one that needs no waiting for.
void check_names_of_the_main_stream() {
  const OnStream side(kFirst, Stream::create(kFirst, 0));
  check(current_stream(kFirst) != nullptr, "a side stream is current");
  const OnStream main(kFirst, Stream::wrap(kFirst, nullptr));
  check(current_stream(kFirst) == nullptr, "the main stream is null");
}

void set_gradients(const std::vector<Tensor>& params, int step) {
  for (size_t i = 0; i < params.size(); ++i) {
    const double value = std::sin(1.0 + 3 * step + 7 * static_cast<double>(i));
    params[i].set_grad(filled(value, params[i].device(), 3));
  }
}

const std::vector<Device> kHosts = {kCpu, kCpu, kCpu, kCpu};
const std::vector<Device> kMixtures[] = {{kFirst, kSecond, kFirst, kSecond},
                                         {kCpu, kSecond, kCpu, kFirst},
                                         {kSecond, kCpu, kFirst, kCpu}};

template <class Train>
void check_as_on_host(const std::string& what, Train train) {
  const std::vector<Tensor> right = parameters(kHosts);
  train(right);
  for (const std::vector<Device>& devices : kMixtures) {
    const std::vector<Tensor> params = parameters(devices);
    train(params);
    for (size_t i = 0; i < params.size(); ++i) {
      check(params[i].device() == devices[i], what + " leaves parameters where they are");
      check(allclose(on_host(params[i].detach()), right[i].detach(), 1e-6, 1e-7), what);
    }
  }
}

template <class Make>
void check_optimizer(const std::string& what, Make make) {
  check_as_on_host(what, [&](const std::vector<Tensor>& params) {
    const Ref<Optimizer> optimizer = make(params);
    for (int step = 0; step < 3; ++step) {
      set_gradients(params, step);
      optimizer->step();
      optimizer->group(0).set("lr", 0.1 / (step + 2));
    }
  });
}

void check_optimizers() {
  check_optimizer("SGD", [](TensorList p) { return make_sgd(p, {0.1, 0, 0, 0, false, false}); });
  check_optimizer("SGD with momentum", [](TensorList p) {
    return make_sgd(p, {0.1, 0.9, 0, 0, false, false});
  });
  check_optimizer("Adam", [](TensorList p) { return make_adam(p, {}); });
}

// The rate lies on a device, as captured steps need it.
void check_rates() {
  for (const Device device : {kFirst, kSecond}) {
    const Tensor rate = full({}, 0.5, DType::FLOAT64, device);
    check_as_on_host("a rate on a device", [&](const std::vector<Tensor>& params) {
      set_gradients(params, 0);
      std::vector<Tensor> grads;
      for (const Tensor& p : params) grads.push_back(p.grad());
      optimizer_update("sgd", params, grads, {}, rate, {0, 0, 0, 0, 0, 0}, false);
    });
  }
}

// A step that the second device refuses has changed what lies on the first.
void check_steps_in_part() {
  const std::vector<Tensor> params = parameters({kFirst, kSecond});
  set_gradients(params, 0);
  const std::vector<Tensor> buffers = {filled(0, kFirst, 3), filled(0, kFirst, 3)};
  std::vector<uint32_t> before;
  for (const Tensor& p : params) before.push_back(p.version());
  const Tensor other = filled(0, kFirst, 3);
  check_refused(
      [&] {
        optimizer_update("sgd", params, {params[0].grad(), params[1].grad()}, buffers, 1.0,
                         {1.0, 0.5, 0, 0, 0, 0}, false);
      },
      "Expected all tensors to be on the same device");
  check(params[0].version() > before[0] && buffers[0].version() > other.version(),
        "a change counts though the step failed");
  check(params[1].version() == before[1] && buffers[1].version() == other.version(),
        "what was refused has not changed");
}

// A captured step reads the rate from its GPU, whatever the order of the parameters; one that is
// partly on the CPU would be replayed only in part.
void check_captured_rates() {
  for (const bool is_sgd : {true, false}) {
    const std::vector<Tensor> params = parameters({kCpu, kFirst});
    const auto optimizer =
        is_sgd ? make_sgd(params, {1, 0, 0, 0, false, false}) : make_adam(params, AdamOptions{});
    params[1].set_grad(filled(1, kFirst, 3));
    optimizer->step();
    const auto graph = Ref<Graph>::adopt(new Graph(kFirst));
    graph->begin();
    optimizer->step();
    graph->end();
    const Tensor before = on_host(params[1].detach());
    optimizer->group(0).set("lr", 0);
    graph->replay();
    check(equal(on_host(params[1].detach()), before), "a replay obeys the schedule");
    params[0].set_grad(filled(1, kCpu, 3));
    if (!is_sgd) optimizer->step();
    const auto mixed = Ref<Graph>::adopt(new Graph(kFirst));
    mixed->begin();
    check_refused([&] { optimizer->step(); }, "cannot be captured");
    mixed->abandon();
  }
}

void check_clipping() {
  check_as_on_host("clip_grad_norm_", [](const std::vector<Tensor>& params) {
    set_gradients(params, 0);
    const Tensor norm = clip_grad_norm_(params, 0.5, 2, false);
    double squares = 0;
    for (size_t i = 0; i < params.size(); ++i) {
      squares += 3 * std::pow(std::sin(1.0 + 7 * static_cast<double>(i)), 2);
      copy_elements(params[i], params[i].grad());
    }
    check(std::fabs(item(norm).to_double() - std::sqrt(squares)) < 1e-5, "the norm of all");
  });
}

// Forward on a stream of its own, backward outside.
void check_backward_follows() {
  const Ref<Stream> side = Stream::create(kFirst, 0);
  const Tensor x = filled(3, kFirst, 10);
  x.set_requires_grad(true);
  synchronize_device(kFirst);
  Tensor loss;
  {
    const OnStream block(kFirst, side);
    loss = sum(mul(exp(x), x));
  }
  run_backward({loss}, {}, {}, {});
  check(!current_stream(kFirst), "the stream of before is current again");
  const double right = std::exp(3.0) * 4;
  const Tensor got = on_host(x.grad());
  check(allclose(got, full({10}, right, DType::FLOAT32, kCpu), 1e-5, 0), "a gradient");
}

// The way back to the stream of before needs an event; without one it is taken all the same.
void check_backward_without_memory() {
  const Ref<Stream> side = Stream::create(kFirst, 0);
  const Tensor x = filled(3, kFirst, 10);
  x.set_requires_grad(true);
  synchronize_device(kFirst);
  Tensor y;
  {
    const OnStream block(kFirst, side);
    y = exp(x);
  }
  {
    BackwardStreams streams;
    streams.follow(*y.grad_fn());
    check(current_stream(kFirst) == side.get(), "the forward's stream is current");
    no_memory = true;
  }
  check(!no_memory, "memory was asked for");
  check(!current_stream(kFirst), "the stream of before is current again");
}

// ---- what is refused, and what is not

void check_mixtures() {
  const Tensor host = filled(1, kCpu, 4), first = filled(1, kFirst, 4),
               second = filled(1, kSecond, 4);
  const std::string sentence =
      "Expected all tensors to be on the same device, but found at least two devices, ";
  check_refused([&] { add(host, first); }, sentence + "cuda:0 and cpu!");
  check_refused([&] { add(first, host); }, sentence + "cuda:0 and cpu!");
  check_refused([&] { mul(first, second); }, sentence + "cuda:0 and cuda:1!");
  check_refused([&] { cat({first, second}, 0); }, sentence + "cuda:0 and cuda:1!");
  check_refused([&] { stack({second, host}, 0); }, sentence + "cuda:1 and cpu!");
}

void check_indices() {
  const Tensor x = arange(0, 12, 1, DType::FLOAT32, kSecond);
  const Tensor numbers = arange(3, 5, 1, DType::INT64, kCpu);
  check(equal(on_host(index(x, {numbers})), arange(3, 5, 1, DType::FLOAT32)), "CPU indices");
  const Tensor mask = ge(arange(0, 12, 1, DType::FLOAT32), 10);
  check(equal(on_host(index(x, {mask})), arange(10, 12, 1, DType::FLOAT32)), "a CPU mask");
  index_put_(x, {mask}, full({}, -1, DType::FLOAT32, kSecond), false);
  index_put_(x, {numbers}, full({}, -1, DType::FLOAT32, kSecond), false);
  check(item(sum(on_host(x))).to_double() == 66 - 10 - 11 - 3 - 4 - 4, "writes by CPU indices");
}

void check_captures() {
  const Tensor x = filled(1, kFirst), y = filled(1, kSecond);
  const auto graph = Ref<Graph>::adopt(new Graph(kFirst));
  const std::string sentence =
      "work on cuda:1 cannot be recorded while this thread captures a graph on cuda:0";
  graph->begin();
  check_refused([&] { add_(y, 1); }, sentence);
  check_refused([&] { to(x, kSecond); }, sentence);
  check_refused([&] { item(sum(y)); }, sentence);
  std::thread([&] { add_(y, 1); }).join();
  add_(x, 1);
  graph->end();
  check_all(y, 2, "another thread may");
  check_all(x, 1, "captured work does not run");
  graph->replay();
  check_all(x, 2, "a replay");
}

// A recording ends on another thread than it began on, which goes on or is gone.
void check_captures_left_by_their_thread() {
  const Ref<Context> recorder = Ref<Context>::adopt(new Context);
  for (const bool drop : {false, true}) {
    auto graph = Ref<Graph>::adopt(new Graph(kFirst));
    std::thread([&] {
      const Ref<Context> own = swap_context(recorder);
      graph->begin();
      swap_context(own);
    }).join();
    const OnStream block(kFirst, Stream::create(kFirst, 0));
    const Stream* const mine = current_stream(kFirst);
    if (drop)
      graph = Ref<Graph>();
    else
      graph->abandon();
    check(current_stream(kFirst) == mine, "who abandons a capture keeps the current stream");
    check(!recorder->graph && !recorder->streams[0], "who began a capture is out of it");
  }
  const auto graph = Ref<Graph>::adopt(new Graph(kFirst));
  std::thread([&] { graph->begin(); }).join();
  std::thread([&] { graph->abandon(); }).join();
}

void check_draws_beside_a_capture() {
  seed_all(5);
  const Tensor first = rand({8}), second = rand({8});
  seed_all(5);
  const auto graph = Ref<Graph>::adopt(new Graph(kFirst));
  Tensor drawn;
  graph->begin();
  std::thread([&] { drawn = rand({8}, {}, DType::FLOAT32, kFirst); }).join();
  graph->end();
  check(equal(on_host(drawn), first), "another thread's draw");
  check(equal(on_host(rand({8}, {}, DType::FLOAT32, kFirst)), second), "no draw comes twice");
}

// ---- memory

// A graph is gone before its replay on another stream has run.
void check_dropped_graph() {
  const Ref<Stream> side = Stream::create(kFirst, 0);
  const Tensor sum = filled(1, kFirst);
  Tensor x = filled(3, kFirst);
  auto graph = Ref<Graph>::adopt(new Graph(kFirst));
  graph->begin();
  add_(sum, x);
  graph->end();
  x = Tensor();
  synchronize_device(kFirst);
  {
    const OnStream block(kFirst, side);
    graph->replay();
  }
  graph = Ref<Graph>();
  check_all(filled(9, kFirst), 9, "the next tensor");
  side->synchronize();
  check_all(sum, 4, "a graph's memory waits for its replays");
}

// A graph that is replayed on one stream after the other holds the last one only.
void check_streams_of_replays() {
  const Tensor x = filled(1, kFirst);
  const auto graph = Ref<Graph>::adopt(new Graph(kFirst));
  graph->begin();
  add_(x, x);
  graph->end();
  const Ref<Stream> streams[] = {Stream::create(kFirst, 0), Stream::create(kFirst, 0)};
  synchronize_device(kFirst);
  for (const Ref<Stream>& stream : streams) {
    const OnStream block(kFirst, stream);
    graph->replay();
  }
  check(streams[0]->use_count() == 1, "a graph lets go of the streams of earlier replays");
  streams[1]->synchronize();
  check_all(x, 4, "a replay runs behind the one before");
}

void check_memory_hook() {
  void* plugin = dlopen(DT_FAKE_DEVICES, RTLD_NOW);
  const auto limit =
      reinterpret_cast<void (*)(int32_t, int64_t)>(dlsym(plugin, "fake_device_limit"));
  const int64_t bytes = int64_t{64} << 20;
  limit(1, bytes + bytes / 2);
  Tensor held = filled(1, kSecond, bytes / 4);
  int64_t asked = 0;
  int calls = 0;
  set_memory_hook([&](int64_t missing) {
    asked = missing;
    held = Tensor();
    return ++calls == 1;
  });
  const Tensor next = filled(2, kSecond, bytes / 4);
  check(calls == 1 && asked == bytes, "the hook is asked once");
  check_refused([&] { filled(3, kSecond, bytes / 4); }, "CUDA out of memory");
  check(calls == 2, "a hook that has nothing is asked once");
  set_memory_hook(nullptr);
  limit(1, int64_t{1} << 30);
}

// Kernels and nodes of a backward are ranges around what they call, also where one fails.
void check_what_a_tool_is_told() {
  void* plugin = dlopen(DT_FAKE_DEVICES, RTLD_NOW);
  auto* told = static_cast<char*>(dlsym(plugin, "fake_tool_told"));
  const Tensor x = filled(2, kFirst), y = filled(3, kFirst);
  x.set_requires_grad(true);
  mul(x, y);
  check(std::string(told).empty(), "nobody is told before it is asked for");
  profiler_emit_nvtx(true);
  check(profiler_nvtx_push("step") == 0, "the first range is not inside another");
  const Tensor z = mul(x, y);
  run_backward({z}, {ones_like(z)}, {}, {});
  check(profiler_nvtx_pop() == 0, "the range was the first");
  profiler_emit_nvtx(false);
  mul(x, y);
  profiler_nvtx_end(profiler_nvtx_start("load"));
  profiler_nvtx_mark("end");
  const std::string all = told;
  check(all.rfind("(step(mul)", 0) == 0, "a kernel is a range");
  check(all.find("(MulBackward0(") != std::string::npos, "kernels lie within a node");
  check(all.size() > 11 && all.substr(all.size() - 11) == ")<load>!end", "others follow");
}

}  // namespace
}  // namespace dt::test

int main() {
  using namespace dt::test;
  setenv("DT_CUDA_PLUGIN", DT_FAKE_DEVICES, 1);
  for (const auto test : {check_source_waits,
                          check_destination_waits,
                          check_memory_waits,
                          check_events_of_both_kinds,
                          check_names_of_the_main_stream,
                          check_optimizers,
                          check_rates,
                          check_steps_in_part,
                          check_captured_rates,
                          check_clipping,
                          check_backward_follows,
                          check_backward_without_memory,
                          check_mixtures,
                          check_indices,
                          check_captures,
                          check_captures_left_by_their_thread,
                          check_draws_beside_a_capture,
                          check_dropped_graph,
                          check_streams_of_replays,
                          check_memory_hook,
                          check_what_a_tool_is_told}) {
    try {
      test();
    } catch (const dt::Error& e) {
      check(false, e.what());
    }
  }
  std::printf(failures ? "%d failures\n" : "all devices agree\n", failures);
  return failures != 0;
}
