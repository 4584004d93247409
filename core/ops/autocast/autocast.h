// Autocast: an op that a program calls runs in the dtype that the policy of its row names. The
// functions of autocast.gen.h cast their operands and call the ones of the same name in dt, which
// know nothing of it; backward calls those.
#pragma once

#include <cstddef>
#include <optional>

#include "core/runtime/autocast.h"
#include "core/runtime/context.h"
#include "core/tensor/tensor.h"

namespace dt {

// A region in which ops of a device are cast, or are not; kDefault is the dtype of the region
// around it.
void autocast_begin(DeviceType device_type, DType dtype, bool enabled,
                    std::optional<bool> cache_enabled);
void autocast_end();

// The innermost region's.
bool is_autocast_enabled(DeviceType device_type);
void set_autocast_enabled(DeviceType device_type, bool enabled);
DType get_autocast_dtype(DeviceType device_type);
void set_autocast_dtype(DeviceType device_type, DType dtype);
bool is_autocast_cache_enabled();
void set_autocast_cache_enabled(bool enabled);
void clear_autocast_cache();

inline bool is_autocasting() {
  return Autocasting::count.load(std::memory_order_relaxed) && context().is_autocasting;
}

// PyTorch's words for what becomes of operands; see docs/schema.md.
enum class CastPolicy : uint8_t {
  kNone,
  kLowerPrecisionFp,
  kFp32,
  kFp32Result,
  kFp32SetOptDtype,
  kPromote,
  kBanned
};

struct CastPolicies {
  CastPolicy cpu, cuda;
};

// What the operands of one call become where ops are cast: it makes the pointers and lists point to
// their casts, which live as long as it does. Meanwhile the context does not cast.
class Casts {
 public:
  template <size_t n>
  Casts(CastPolicies policies, const Tensor* (&operands)[n]) {
    start(policies, operands, n, nullptr, 0);
  }
  template <size_t n, size_t m>
  Casts(CastPolicies policies, const Tensor* (&operands)[n], TensorList (&lists)[m]) {
    start(policies, operands, n, lists, m);
  }
  template <size_t m>
  Casts(CastPolicies policies, TensorList (&lists)[m]) {
    start(policies, nullptr, 0, lists, m);
  }
  ~Casts() {
    if (held_) finish();
  }
  Casts(const Casts&) = delete;

  // The dtype of a result, which is `given` if the caller has chosen one.
  DType dtype(DType given) const;

 private:
  struct Held;
  void start(CastPolicies policies, const Tensor** operands, size_t n, TensorList* lists, size_t m);
  void finish();

  Held* held_ = nullptr;  // null: nothing is cast
};

// A number as it is, a tensor as its cast.
Operand cast_operand(const Operand& x, const Tensor& cast);

// An operand of a function that is several of PyTorch's, of which this one has the policy fp32: on
// every device, or on the CPU alone.
Tensor cast_to_fp32(const Tensor& x);
Tensor cast_on_cpu(const Tensor& x);

}  // namespace dt
