#include "core/runtime/generator.h"

#include <mutex>
#include <random>
#include <vector>

#include "core/runtime/transfer.h"
#include "core/runtime/context.h"
#include "core/runtime/graph.h"

namespace dt {
namespace {

using Guard = std::lock_guard<SpinLock>;

constexpr int64_t kFixedSeed = 67280421310721;  // PyTorch's seed of a new generator

// A counter gives 128 random bits. The widest draws take 64 of them.
constexpr int64_t kElementsPerCounter = 2;

int64_t unpredictable_seed() {
  std::random_device source;
  return static_cast<int64_t>(uint64_t{source()} << 32 | source());
}

// Never freed: threads may draw while the process exits.
DefaultGenerators& process_generators() {
  static auto& generators = *new DefaultGenerators;
  return generators;
}

Ref<DefaultGenerators> default_generators() {
  const Ref<DefaultGenerators>& own = context().own_generators;
  return own ? own : Ref<DefaultGenerators>::share(&process_generators());
}

}  // namespace

Tensor random_state(Generator::Position position, Device device) {
  const Tensor state = make_empty({2}, kDTypeOf<int64_t>, kCpu);
  state.data_as<int64_t>()[0] = position.seed;
  state.data_as<int64_t>()[1] = position.counter;
  if (device == kCpu) return state;
  const Tensor there = make_empty({2}, kDTypeOf<int64_t>, device);
  copy_elements(there, state);
  return there;
}

Generator::Generator(Device device, int64_t seed) : device_(device) {
  restart(seed, 0);
}

// A new tensor each time: nodes that will repeat a draw keep the old one.
void Generator::restart(int64_t seed, int64_t offset) {
  const Tensor state = random_state({seed, offset}, device_);
  const Guard guard(lock_);
  state_ = state;
  seed_ = seed;
  offset_ = offset;
  advance_ = 0;
}

void Generator::manual_seed(int64_t seed) {
  restart(seed, 0);
}

int64_t Generator::seed() const {
  const Guard guard(lock_);
  return seed_;
}

Generator::Position Generator::position() const {
  const Guard guard(lock_);
  return {seed_, offset_ + advance_};
}

Tensor Generator::get_state() const {
  return random_state(position(), kCpu);
}

void Generator::set_state(const Tensor& state) {
  const bool valid = state.dtype() == kDTypeOf<int64_t> && state.ndim() == 1 && state.numel() == 2;
  DT_CHECK(valid, kTypeError, "RNG state must be an int64 tensor of size [2], got ", state.dtype(),
           " ", state.sizes());
  DT_CHECK(state.device() == kCpu, kTypeError, "RNG state must be a CPU tensor, got one on ",
           state.device());
  const int64_t* values = state.data_as<int64_t>();
  restart(values[0], values[state.strides()[0]]);
}

Generator::Draw Generator::reserve(int64_t elements) {
  const int64_t counters = elements / kElementsPerCounter + elements % kElementsPerCounter;
  const Guard guard(lock_);
  // Another thread's draws are no part of the graph that one captures.
  const Graph* graph = context().graph;
  const bool is_captured = captured_.defined() && graph && graph->device() == device_;
  int64_t& advance = is_captured ? captured_advance_ : advance_;
  const Draw draw{is_captured ? captured_ : state_, advance};
  advance += counters;
  return draw;
}

Tensor Generator::begin_capture() {
  const Tensor state = random_state(position(), device_);
  const Guard guard(lock_);
  DT_CHECK(!captured_.defined(), kRuntimeError, "a step is being captured already");
  captured_ = state;
  captured_advance_ = 0;
  return state;
}

int64_t Generator::end_capture() {
  const Guard guard(lock_);
  captured_ = Tensor();
  return captured_advance_;
}

void Generator::skip(int64_t counters) {
  const Guard guard(lock_);
  advance_ += counters;
}

DefaultGenerators::DefaultGenerators()
    : cpu_(Ref<Generator>::adopt(new Generator(kCpu, unpredictable_seed()))) {}

Ref<Generator> DefaultGenerators::find(size_t index) {
  const Guard guard(lock_);
  return index < cuda_.size() ? cuda_[index] : Ref<Generator>();
}

// No lock is held while one is made or seeded: that takes memory of the device.
Ref<Generator> DefaultGenerators::get(Device device) {
  if (device == kCpu) return cpu_;
  const auto index = static_cast<size_t>(device.index);
  if (const Ref<Generator> made = find(index)) return made;
  const auto fresh = Ref<Generator>::adopt(new Generator(device, cpu_->seed()));
  const Guard guard(lock_);
  if (cuda_.size() <= index) cuda_.resize(index + 1);
  if (!cuda_[index]) cuda_[index] = fresh;
  return cuda_[index];
}

void DefaultGenerators::seed_all(int64_t seed) {
  cpu_->manual_seed(seed);
  std::vector<Ref<Generator>> all;
  {
    const Guard guard(lock_);
    all = cuda_;
  }
  for (const Ref<Generator>& generator : all) {
    if (generator) generator->manual_seed(seed);
  }
}

bool has_own_generators() {
  return static_cast<bool>(context().own_generators);
}

void set_own_generators(bool mode) {
  if (mode == has_own_generators()) return;
  context().own_generators =
      mode ? Ref<DefaultGenerators>::adopt(new DefaultGenerators) : Ref<DefaultGenerators>();
}

Ref<Generator> default_generator(Device device) {
  return default_generators()->get(device);
}

void seed_all(int64_t seed) {
  default_generators()->seed_all(seed);
}

Ref<Generator> generator_or_default(const Ref<Generator>& generator, Device device) {
  if (!generator) return default_generator(device);
  DT_CHECK(generator->device() == device, kRuntimeError, "Expected a '", device,
           "' device type for generator but found '", generator->device(), "'");
  return generator;
}

Ref<Generator> new_generator(Device device) {
  return Ref<Generator>::adopt(new Generator(device_or_default(device), kFixedSeed));
}

}  // namespace dt
