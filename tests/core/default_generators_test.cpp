// Default generators of contexts and devices, and what draws from them without saying so: dropout,
// loaders, captured steps. The devices are tests/cuda/fake_devices.cpp's.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "core/autograd/engine.h"
#include "core/data/loader.h"
#include "core/ops/copy.h"
#include "core/ops/ops.h"
#include "core/runtime/context.h"
#include "core/runtime/generator.h"
#include "core/runtime/graph.h"
#include "core/runtime/stream.h"

namespace dt {
namespace {

constexpr Device kFirst{DeviceType::kCuda, 0}, kSecond{DeviceType::kCuda, 1};

int failures = 0;

void check(bool good, const std::string& what) {
  if (good) return;
  std::printf("FAIL %s\n", what.c_str());
  ++failures;
}

Tensor draw(Device device) {
  return on_host(rand({8}, {}, DType::FLOAT32, device));
}

// What a thread with generators of its own computes, on several devices.
std::vector<Tensor> work(int64_t seed) {
  seed_all(seed);
  std::vector<Tensor> drawn;
  for (const Device device : {kCpu, kFirst, kSecond, kFirst}) {
    drawn.push_back(draw(device));
    Tensor x = ones({8}, DType::FLOAT32, device, true);
    const Tensor y = dropout(x, 0.5, true);
    run_backward({sum(y)}, {Tensor()}, {}, {});
    drawn.push_back(on_host(y.detach()));
    drawn.push_back(on_host(x.grad()));
  }
  return drawn;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool equals = a.size() == b.size();
  for (size_t i = 0; equals && i < a.size(); ++i) equals = equal(a[i], b[i]);
  return equals;
}

void check_devices() {
  const auto alone = work(7);
  seed_all(3);
  const Tensor on_cpu = draw(kCpu), on_first = draw(kFirst);
  check(equal(on_cpu, on_first), "all devices' generators have one seed");
  seed_all(3);
  check(equal(draw(kCpu), on_cpu), "a seed repeats");
  std::vector<Tensor> drawn;
  std::thread([&] {
    set_own_generators(true);
    drawn = work(7);
  }).join();
  check(same(drawn, alone), "numbers of one's own are those of the seed");
  check(equal(draw(kFirst), on_first), "and nobody else's");
}

void check_kept_generator() {
  set_own_generators(true);
  const Ref<Generator> own = default_generator(kSecond);
  check(own->device() == kSecond && own == default_generator(kSecond), "one for each device");
  check(own->seed() == default_generator()->seed(), "all of one seed");
  set_own_generators(false);
  check(!(own == default_generator(kSecond)), "the process's is another one");
  rand({8}, own, DType::FLOAT32, kSecond);
}

// A captured step draws from the generators of the context that recorded it, whoever replays it or
// gives it up.
void check_captures() {
  const auto graph = Ref<Graph>::adopt(new Graph(kFirst));
  const Tensor out = empty({8}, DType::FLOAT32, kFirst);
  set_own_generators(true);
  seed_all(11);
  const Tensor first = draw(kFirst), second = draw(kFirst);
  seed_all(11);
  graph->begin();
  uniform_(out);
  graph->end();
  const Ref<Generator> own = default_generator(kFirst);
  set_own_generators(false);
  seed_all(12);
  const Generator::Position before = default_generator(kFirst)->position();
  graph->replay();
  check(equal(on_host(out), first), "the first replay");
  graph->replay();
  check(equal(on_host(out), second), "the second replay");
  check(default_generator(kFirst)->position() == before, "the process's does not move");
  const auto given_up = Ref<Graph>::adopt(new Graph(kFirst));
  given_up->begin();
  set_own_generators(true);
  given_up->abandon();
  set_own_generators(false);
  const auto again = Ref<Graph>::adopt(new Graph(kFirst));
  again->begin();  // refused if the generator were still being captured
  again->end();
}

std::vector<Tensor> epoch(DataLoader& loader) {
  std::vector<Tensor> batches;
  for (auto batch = loader.next(); !batch.empty(); batch = loader.next())
    batches.push_back(on_host(batch[0]));
  return batches;
}

// A loader shuffles with the CPU's generator, whatever the default device, and with that of the
// context that starts the epoch. Its datasets may lie on any device.
void check_loaders() {
  const Tensor numbers = arange(0, 100, 1, DType::INT64);
  DataLoaderOptions options;
  options.batch_size = 10;
  options.shuffle = true;
  const auto loader = make_data_loader(make_tensor_dataset({numbers}), options);
  seed_all(5);
  const auto expected = epoch(*loader);
  for (const Device where : {kCpu, kFirst}) {
    const auto other = make_data_loader(make_tensor_dataset({to(numbers, where)}), options);
    for (const Device by_default : {kCpu, kFirst, kSecond}) {
      context().set_default_device(by_default);
      seed_all(5);
      check(same(epoch(*other), expected), "batches do not depend on devices");
    }
  }
  context().set_default_device(kCpu);
  set_own_generators(true);
  seed_all(5);
  set_own_generators(false);
  std::thread([&] {
    set_own_generators(true);
    seed_all(5);
    check(same(epoch(*loader), expected), "an epoch is of whom starts it");
  }).join();
}

}  // namespace
}  // namespace dt

int main() {
  setenv("DT_CUDA_PLUGIN", DT_FAKE_DEVICES, 1);
  for (const auto test :
       {dt::check_devices, dt::check_kept_generator, dt::check_captures, dt::check_loaders}) {
    try {
      test();
    } catch (const dt::Error& e) {
      dt::check(false, e.what());
    }
  }
  if (dt::failures == 0) std::printf("default generators: ok\n");
  return dt::failures != 0;
}
