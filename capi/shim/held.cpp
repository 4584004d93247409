// How much memory objects keep in use, for collectors that see no more than their handles.
#include <set>

#include "capi/shim/guard.h"
#include "capi/shim/handles.h"

namespace dt::capi {
namespace {

// Views share a storage, which counts once.
class Held {
 public:
  void add(const Tensor& x) {
    if (!x.defined() || !seen_.insert(x.storage().get()).second) return;
    bytes_ += x.storage()->bytes();
  }
  void add(const std::vector<Tensor>& tensors) {
    for (const Tensor& x : tensors) add(x);
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::set<const void*> seen_;
  int64_t bytes_ = 0;
};

// ---- what there is to count, by the class of the object

int64_t held_by(const Tensor& x) {
  return x.storage()->bytes();
}

int64_t held_by(const std::vector<Tensor>& tensors) {
  Held held;
  held.add(tensors);
  return held.bytes();
}

int64_t held_by(const std::string& bytes) {
  return static_cast<int64_t>(bytes.size());
}

int64_t held_by(const std::vector<std::string>& list) {
  int64_t sum = 0;
  for (const std::string& text : list) sum += held_by(text);
  return sum;
}

int64_t held_by(const Ref<Module>& module) {
  Held held;
  for (const auto& entry : module->state_dict()) held.add(entry.second);
  return held.bytes();
}

int64_t held_by(const Ref<Optimizer>& optimizer) {
  Held held;
  for (int64_t i = 0; i < optimizer->group_count(); ++i) {
    for (const ParamState& state : optimizer->group(i).params) {
      held.add(state.param);
      held.add(state.slots);
      held.add(state.master);
    }
  }
  return held.bytes();
}

int64_t held_by(const Ref<LrScheduler>& scheduler) {
  return held_by(scheduler->optimizer());
}

int64_t held_by(const Ref<TensorDataset>& dataset) {
  return held_by(dataset->tensors());
}

int64_t held_by(const Ref<DataLoader>& loader) {
  return held_by(loader->dataset());
}

int64_t held_by(const Ref<KvCache>& cache) {
  return held_by(std::vector<Tensor>{cache->keys(), cache->values()});
}

// The rest is small, or not the handle's.
template <class Object>
int64_t held_by(const Object&) {
  return 0;
}

template <class C>
int64_t held_behind(uint64_t handle) {
  const Pin<C> pin(reinterpret_cast<C*>(handle), "handle");
  return held_by(*pin);
}

#define DT_HELD(C) held_behind<C>,
constexpr int64_t (*kHeld[])(uint64_t) = {nullptr, DT_HANDLE_KINDS(DT_HELD)};
#undef DT_HELD

}  // namespace
}  // namespace dt::capi

int64_t dt_handle_nbytes(void* handle) noexcept {
  using namespace dt::capi;
  const uint32_t kind = kind_of(bits(handle));
  try {
    return kind == 0 ? 0 : kHeld[kind](bits(handle));
  } catch (...) {
    return 0;
  }
}
