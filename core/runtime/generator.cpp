#include "core/runtime/generator.h"

#include <random>

#include "core/runtime/context.h"

namespace dt {
namespace {

constexpr int64_t kFixedSeed = 67280421310721;  // PyTorch's seed of a new generator

// A counter gives 128 random bits. The widest draws take 64 of them.
constexpr int64_t kElementsPerCounter = 2;

int64_t unpredictable_seed() {
  std::random_device source;
  return static_cast<int64_t>(uint64_t{source()} << 32 | source());
}

}  // namespace

Generator::Generator(Device device, int64_t seed) : device_(device) {
  restart(seed, 0);
}

// A new tensor each time: nodes that will repeat a draw keep the old one.
void Generator::restart(int64_t seed, int64_t offset) {
  const Tensor state = make_empty({2}, DType::INT64, device_);
  state.data_as<int64_t>()[0] = seed;
  state.data_as<int64_t>()[1] = offset;
  const std::lock_guard<std::mutex> guard(mutex_);
  state_ = state;
  seed_ = seed;
  offset_ = offset;
  advance_ = 0;
}

void Generator::manual_seed(int64_t seed) {
  restart(seed, 0);
}

int64_t Generator::seed() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return seed_;
}

Tensor Generator::get_state() const {
  const Tensor state = make_empty({2}, DType::INT64, kCpu);
  const std::lock_guard<std::mutex> guard(mutex_);
  state.data_as<int64_t>()[0] = seed_;
  state.data_as<int64_t>()[1] = offset_ + advance_;
  return state;
}

void Generator::set_state(const Tensor& state) {
  const bool valid = state.dtype() == DType::INT64 && state.ndim() == 1 && state.numel() == 2;
  DT_CHECK(valid, kTypeError, "RNG state must be an int64 tensor of size [2], got ", state.dtype(),
           " ", state.sizes());
  const int64_t* values = state.data_as<int64_t>();
  restart(values[0], values[state.strides()[0]]);
}

Generator::Draw Generator::reserve(int64_t elements) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const Draw draw{state_, advance_};
  advance_ += elements / kElementsPerCounter + elements % kElementsPerCounter;
  return draw;
}

const Ref<Generator>& default_generator() {
  // Never freed: threads may draw while the process exits.
  static const auto* generator =
      new Ref<Generator>(Ref<Generator>::adopt(new Generator(kCpu, unpredictable_seed())));
  return *generator;
}

Ref<Generator> new_generator(Device device) {
  return Ref<Generator>::adopt(new Generator(device_or_default(device), kFixedSeed));
}

}  // namespace dt
