// The source of random numbers. Numbers are a function of (seed, counter): the generator only hands
// out ranges of counters, so a draw needs no lock, runs on any number of threads and can be
// repeated (dropout's gradient does).
#pragma once

#include <mutex>

#include "core/tensor/tensor.h"

namespace dt {

class Generator : public RefCounted {
 public:
  // Where a draw begins: at counter state[1] + advance of the sequence of seed state[0].
  struct Draw {
    Tensor state;  // int64 {seed, offset} on the device. Never changed: another seed makes another
                   // tensor
    int64_t advance;
  };

  Generator(Device device, int64_t seed);
  static void destroy(Generator* g) { delete g; }

  void manual_seed(int64_t seed);
  int64_t seed() const;
  // int64 [2]: the seed and the next counter.
  Tensor get_state() const;
  void set_state(const Tensor& state);
  // Takes counters enough for `elements` random elements of any kind.
  Draw reserve(int64_t elements);

 private:
  void restart(int64_t seed, int64_t offset);

  Device device_;
  mutable std::mutex mutex_;
  Tensor state_;
  int64_t seed_ = 0, offset_ = 0, advance_ = 0;
};

// The process's generator, used when none is given. It begins at an unpredictable seed.
const Ref<Generator>& default_generator();
Ref<Generator> new_generator(Device device);

}  // namespace dt
