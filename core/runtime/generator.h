// The source of random numbers. Numbers are a function of (seed, counter): the generator only hands
// out ranges of counters, so a draw needs no lock, runs on any number of threads and can be
// repeated (dropout's gradient does).
#pragma once

#include <vector>

#include "core/base/lock.h"
#include "core/tensor/tensor.h"

namespace dt {

class Generator : public RefCounted {
 public:
  // Where a draw begins: at counter state[1] + advance of the sequence of seed state[0].
  struct Draw {
    Tensor state;  // int64 {seed, offset} on the device. Never changed while draws refer to it
                   // (another seed makes another tensor), except by the replays of a graph
    int64_t advance;
  };
  // A place in a sequence: what the next draw begins with.
  struct Position {
    int64_t seed = 0, counter = 0;
    bool operator==(const Position& o) const { return seed == o.seed && counter == o.counter; }
  };

  Generator(Device device, int64_t seed);
  static void destroy(Generator* g) { delete g; }

  Device device() const { return device_; }
  void manual_seed(int64_t seed);
  int64_t seed() const;
  Position position() const;
  // int64 [2] on the CPU: the seed and the next counter.
  Tensor get_state() const;
  void set_state(const Tensor& state);
  // Takes counters enough for `elements` random elements of any kind.
  Draw reserve(int64_t elements);

  // While a step is captured, draws count from a state tensor of the graph's own. `end_capture`
  // tells how many counters one replay takes; each replay then takes them by `skip`.
  Tensor begin_capture();
  int64_t end_capture();
  void skip(int64_t counters);

 private:
  void restart(int64_t seed, int64_t offset);

  const Device device_;
  mutable SpinLock lock_;
  Tensor state_;
  int64_t seed_ = 0, offset_ = 0, advance_ = 0;
  Tensor captured_;  // undefined: nothing is being captured
  int64_t captured_advance_ = 0;
};

// The generators that are used when none is given: one for each device, made when it is first used,
// all of one seed.
class DefaultGenerators : public RefCounted {
 public:
  DefaultGenerators();  // the seed is unpredictable
  static void destroy(DefaultGenerators* g) { delete g; }

  Ref<Generator> get(Device device);
  void seed_all(int64_t seed);

 private:
  Ref<Generator> find(size_t index);  // of a GPU; null: not made yet

  const Ref<Generator> cpu_;
  SpinLock lock_;
  std::vector<Ref<Generator>> cuda_;
};

// Whether the context in force has default generators of its own. All others share the process's.
bool has_own_generators();
// Gives it some, unless it has; or lets go of them.
void set_own_generators(bool mode);

// The default generator of the context in force.
Ref<Generator> default_generator(Device device = kCpu);
// Seeds those of all devices.
void seed_all(int64_t seed);
// `generator`, which must be of the device, or the device's default one.
Ref<Generator> generator_or_default(const Ref<Generator>& generator, Device device);
Ref<Generator> new_generator(Device device);

// An int64 tensor {seed, counter} on a device.
Tensor random_state(Generator::Position position, Device device);

}  // namespace dt
