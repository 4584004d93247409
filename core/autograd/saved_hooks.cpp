#include "core/autograd/saved_hooks.h"

#include "core/autograd/gradients.h"
#include "core/runtime/context.h"

namespace dt {

void push_saved_tensors_hooks(GradHook pack, GradHook unpack) {
  auto hooks = std::make_shared<const SavedHooks>(std::move(pack), std::move(unpack));
  context().saved_hooks.push_back(std::move(hooks));
}

void pop_saved_tensors_hooks() {
  auto& hooks = context().saved_hooks;
  DT_CHECK(!hooks.empty(), kRuntimeError, "no hooks of saved tensors are in force");
  const auto last = std::move(hooks.back());  // what it frees may run code of the user's
  hooks.pop_back();
}

// What pack computes is not recorded, so that it saves nothing itself.
Packed::Packed(std::shared_ptr<const SavedHooks> hooks, const Tensor& x)
    : hooks_(std::move(hooks)),
      edge_(gradient_edge(x)),
      sizes_(x.sizes()),
      strides_(x.strides()),
      dtype_(x.dtype()),
      device_(x.device()) {
  const GradMode mode(false);
  const int64_t version = x.version();
  kept_ = hooks_->pack(x);
  if (!kept_.defined()) kept_ = x;
  DT_CHECK(x.version() == version, kRuntimeError,
           "A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
           "pack hook can not be modified by in-place operations as this can lead to unexpected "
           "side-effects. Please open an issue if you need to perform in-place operations on the "
           "input to a pack hook.");
}

Ref<Packed> Packed::with_hooks(const Tensor& x) {
  const auto& hooks = context().saved_hooks;
  if (hooks.empty()) return Ref<Packed>();
  return Ref<Packed>::adopt(new Packed(hooks.back(), x));
}

// Backward functions and their kernels know the layout of what they saved.
Tensor Packed::unpack() const {
  const GradMode mode(false);
  Tensor x = hooks_->unpack(kept_);
  if (!x.defined()) x = kept_;
  DT_CHECK(x.sizes() == sizes_ && x.dtype() == dtype_ && x.device() == device_, kRuntimeError,
           "the unpack hook of a saved tensor gave back ", x.sizes(), " of ", type_word(x.dtype()),
           " on ", x.device(), ", not ", sizes_, " of ", type_word(dtype_), " on ", device_);
  return x.strides() == strides_ ? x.detach() : clone_strided(x, strides_);
}

}  // namespace dt
