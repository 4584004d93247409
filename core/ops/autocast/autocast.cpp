#include "core/ops/autocast/autocast.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/ops/copy.h"
#include "core/runtime/autocast.h"

namespace dt {
namespace {

Autocasting& autocasting() {
  Context& c = context();
  if (!c.autocasting) c.autocasting = std::make_unique<Autocasting>();
  return *c.autocasting;
}

void update(Context& c) {
  const Autocasting& a = *c.autocasting;
  c.is_autocasting = !a.paused && (a.modes.cpu.enabled || a.modes.cuda.enabled);
}

AutocastMode& mode_of(DeviceType device_type) {
  return autocasting().modes.of(device_type);
}

bool is_lower_precision(DType dtype) {
  return dtype == kDTypeOf<Float16> || dtype == kDTypeOf<BFloat16>;
}

constexpr const char* kBannedSentence =
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using "
    "torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast.";

bool is_weight(const Tensor& x) {
  return x.dtype() == kDTypeOf<float> && x.requires_grad() && x.is_leaf() &&
         !x.impl()->autograd.view;
}

// A weight that many ops use is cast once in a region; a graph of it is made also where nothing is
// recorded, for those after it that are.
Tensor cast_weight(Autocasting& a, const Tensor& x, DType dtype) {
  const auto is_x = [&](const CastWeight& kept) { return kept.weight.is_same(x); };
  auto kept = std::find_if(a.weights.begin(), a.weights.end(), is_x);
  if (kept == a.weights.end()) kept = a.weights.insert(kept, CastWeight{x, {}, 0});
  if (!kept->cast.defined() || kept->cast.dtype() != dtype || kept->version != x.version()) {
    const GradMode recording(true);
    kept->cast = to_dtype(x, dtype);
    kept->version = x.version();
  }
  return kept->cast;
}

}  // namespace

void autocast_begin(DeviceType device_type, DType dtype, bool enabled,
                    std::optional<bool> cache_enabled) {
  DT_CHECK(!enabled || dtype == DType::kDefault || is_lower_precision(dtype), kRuntimeError,
           "autocast supports the dtypes bfloat16 and float16, got ", dtype);
  Autocasting& a = autocasting();
  a.around.push_back(a.modes);
  AutocastMode& mode = a.modes.of(device_type);
  mode.enabled = enabled;
  if (dtype != DType::kDefault) mode.dtype = dtype;
  a.modes.cache_enabled = cache_enabled.value_or(a.modes.cache_enabled);
  update(context());
}

void autocast_end() {
  Autocasting& a = autocasting();
  DT_CHECK(!a.around.empty(), kRuntimeError, "there is no region that began");
  a.modes = a.around.back();
  a.around.pop_back();
  if (a.around.empty()) a.weights.clear();
  update(context());
}

bool is_autocast_enabled(DeviceType device_type) {
  return mode_of(device_type).enabled;
}

void set_autocast_enabled(DeviceType device_type, bool enabled) {
  mode_of(device_type).enabled = enabled;
  update(context());
}

DType get_autocast_dtype(DeviceType device_type) {
  return mode_of(device_type).dtype;
}

void set_autocast_dtype(DeviceType device_type, DType dtype) {
  mode_of(device_type).dtype = dtype;
}

bool is_autocast_cache_enabled() {
  return autocasting().modes.cache_enabled;
}

void set_autocast_cache_enabled(bool enabled) {
  autocasting().modes.cache_enabled = enabled;
}

void clear_autocast_cache() {
  autocasting().weights.clear();
}

// What one call's operands are cast by, and their casts.
struct Casts::Held {
  Context& context;  // which does not cast meanwhile
  DeviceType device = DeviceType::kCpu;
  DType lower = DType::kDefault;
  DType to = DType::kDefault;      // what operands become
  DType result = DType::kDefault;  // what a result becomes
  std::vector<Tensor> casts = {};

  bool is_eligible(const Tensor& x) const {
    return x.defined() && is_floating(x.dtype()) && x.dtype() != kDTypeOf<double> &&
           x.device().type == device;
  }
  // The widest dtype of the operands that are cast.
  DType promoted() const {
    DType widest = lower;
    for (const Tensor& x : casts) {
      if (!is_eligible(x) || x.dtype() == lower) continue;
      DT_CHECK(x.dtype() == kDTypeOf<float>, kRuntimeError,
               "Unexpected floating ScalarType in at::autocast::prioritize");
      widest = kDTypeOf<float>;
    }
    return widest;
  }
  void follow(CastPolicy policy) {
    DT_CHECK(policy != CastPolicy::kBanned, kRuntimeError, kBannedSentence);
    if (policy == CastPolicy::kFp32SetOptDtype) {
      if (is_eligible(casts[0])) result = kDTypeOf<float>;
      return;
    }
    to = policy == CastPolicy::kLowerPrecisionFp ? lower
         : policy == CastPolicy::kPromote        ? promoted()
                                                 : kDTypeOf<float>;
    const bool widens_itself = policy == CastPolicy::kFp32Result && is_eligible(casts[0]);
    if (widens_itself) result = to;
    for (size_t i = widens_itself ? 1 : 0; i < casts.size(); ++i) {
      if (is_eligible(casts[i]) && casts[i].dtype() != to) casts[i] = cast(casts[i]);
    }
  }
  Tensor cast(const Tensor& x) const {
    Autocasting& a = autocasting();
    const bool keep = a.modes.cache_enabled && to == lower && is_weight(x);
    return keep ? cast_weight(a, x, to) : to_dtype(x, to);
  }
};

void Casts::start(CastPolicies policies, const Tensor** operands, size_t n, TensorList* lists,
                  size_t m) {
  Context& c = context();
  Autocasting& a = *c.autocasting;
  std::unique_ptr<Held> held(new Held{c});
  for (size_t i = 0; i < n; ++i) held->casts.push_back(*operands[i]);
  for (size_t i = 0; i < m; ++i)
    held->casts.insert(held->casts.end(), lists[i].begin(), lists[i].end());
  bool has_cpu = false, has_cuda = false;
  for (const Tensor& x : held->casts) {
    if (x.defined()) (x.device() == kCpu ? has_cpu : has_cuda) = true;
  }
  const bool is_cuda = has_cuda && a.modes.cuda.enabled;
  if (!is_cuda && !(has_cpu && a.modes.cpu.enabled)) return;
  const CastPolicy policy = is_cuda ? policies.cuda : policies.cpu;
  if (policy == CastPolicy::kNone) return;
  held->device = is_cuda ? DeviceType::kCuda : DeviceType::kCpu;
  held->lower = a.modes.of(held->device).dtype;
  held->follow(policy);
  const Tensor* next = held->casts.data();
  for (size_t i = 0; i < n; ++i) operands[i] = next++;
  for (size_t i = 0; i < m; ++i) {
    lists[i] = {next, lists[i].size()};
    next += lists[i].size();
  }
  held_ = held.release();
  a.paused = true;
  update(c);
}

void Casts::finish() {
  Context& c = held_->context;
  delete held_;
  c.autocasting->paused = false;
  update(c);
}

DType Casts::dtype(DType given) const {
  return held_ && given == DType::kDefault ? held_->result : given;
}

Operand cast_operand(const Operand& x, const Tensor& cast) {
  return x.is_number() ? x : Operand(cast);
}

namespace {

Tensor cast_alone(const Tensor& x, CastPolicies policies) {
  if (!is_autocasting()) return x;
  const Tensor* operands[] = {&x};
  const Casts casts(policies, operands);
  return *operands[0];
}

}  // namespace

Tensor cast_to_fp32(const Tensor& x) {
  return cast_alone(x, {CastPolicy::kFp32, CastPolicy::kFp32});
}

Tensor cast_on_cpu(const Tensor& x) {
  return cast_alone(x, {CastPolicy::kFp32, CastPolicy::kNone});
}

}  // namespace dt
