// What autocast is to do in a context, and the casts of weights that it keeps.
#pragma once

#include <atomic>
#include <vector>

#include "core/tensor/tensor.h"

namespace dt {

struct AutocastMode {
  bool enabled = false;
  DType dtype = DType::kDefault;  // the lower precision
};

struct AutocastModes {
  AutocastMode cpu{false, kDTypeOf<BFloat16>}, cuda{false, kDTypeOf<Float16>};
  bool cache_enabled = true;

  AutocastMode& of(DeviceType type) { return type == DeviceType::kCuda ? cuda : cpu; }
};

struct CastWeight {
  Tensor weight, cast;
  uint32_t version;  // the weight's when it was cast
};

struct Autocasting {
  // How many contexts have one: whoever may have to cast looks here first, which costs no look for
  // the context.
  static inline std::atomic<int64_t> count{0};

  Autocasting() { ++count; }
  ~Autocasting() { --count; }

  AutocastModes modes;
  std::vector<AutocastModes> around;  // of the regions that this one is in
  std::vector<CastWeight> weights;    // each one once
  bool paused = false;  // an op that has a policy runs: what it consists of is its own
};

}  // namespace dt
