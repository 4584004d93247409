#include "core/autograd/saved.h"

#include <mutex>

#include "core/autograd/record.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// PyTorch's type of a tensor: "torch.FloatTensor", but "CPUBoolType".
std::string tensor_type(const Tensor& x) {
  const bool on_cpu = x.device().type == DeviceType::kCpu;
  if (is_bool(x.dtype())) return on_cpu ? "CPUBoolType" : "CUDABoolType";
  return std::string(on_cpu ? "torch." : "torch.cuda.") + type_word(x.dtype()) + "Tensor";
}

// "Exp" for ExpBackward0, "Max1" for MaxBackward1.
std::string function_of(const Node& node) {
  std::string name = node.name;
  const size_t end = name.rfind("Backward");
  if (end == std::string::npos) return name;
  const std::string number = name.substr(end + 8);
  return name.substr(0, end) + (number == "0" ? "" : number);
}

std::string origin(const Node* maker, int output_index) {
  if (!maker) return "";
  return ", which is output " + std::to_string(output_index) + " of " + function_of(*maker) + ",";
}

// Whether a node has made x. Saving is frequent: is_leaf would share the node to say so.
bool is_derived(const Tensor& x) {
  Autograd& a = x.impl()->autograd;
  const std::lock_guard<SpinLock> guard(a.lock);
  return a.node != nullptr;
}

}  // namespace

Saved Saved::input(const Tensor& x) {
  Saved s;
  if (!x.defined()) return s;
  s.packed_ = Packed::make(x);
  if (!s.packed_) {
    s.tensor_ = x;
    s.version_ = x.version();
    if (is_derived(x)) s.output_index_ = kDerived;
  }
  return s;
}

Saved Saved::place(const Tensor& x) {
  Saved s;
  s.tensor_ = x;
  s.output_index_ = kPlace;
  return s;
}

Saved Saved::output(const Tensor& y, int index) {
  Saved s = input(y.detach());
  s.output_index_ = index;
  return s;
}

Tensor Saved::unpack(Node* owner) const {
  const Tensor x = packed_->unpack();
  const Edge& edge = packed_->edge();
  if (output_index_ < 0) {
    if (edge.defined()) set_history(x, edge.node, edge.index);
  } else if (grad_enabled()) {
    set_history(x, Ref<Node>::share(owner), output_index_);
  }
  return x;
}

Tensor Saved::get(Node* owner) const {
  if (packed_) return unpack(owner);
  if (!tensor_.defined()) return tensor_;
  if (output_index_ != kPlace && tensor_.version() != version_) fail_changed(owner);
  if (!grad_enabled()) return tensor_;
  DT_CHECK(output_index_ != kDerived || tensor_.requires_grad(), kRuntimeError,
           "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
           "This is not supported, please use out-of-place `.detach()` instead");
  if (output_index_ < 0) return tensor_;
  Tensor y = tensor_.detach();  // a fresh alias: the kept one must not lead back to its own node
  set_history(y, Ref<Node>::share(owner), output_index_);
  return y;
}

// In anomaly mode PyTorch points at the traceback that it has printed; here there is none.
void Saved::fail_changed(const Node* owner) const {
  const bool is_input = output_index_ < 0;
  const Ref<Node> maker = is_input ? tensor_.grad_fn() : Ref<Node>();
  const int index = is_input ? tensor_.impl()->autograd.output_index : output_index_;
  const char* hint =
      " Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
      "with torch.autograd.set_detect_anomaly(True, check_nan=False).";
  fail(Code::kRuntimeError,
       "one of the variables needed for gradient computation has been modified by an inplace "
       "operation: [",
       tensor_type(tensor_), " ", tensor_.sizes(), "]",
       origin(is_input ? maker.get() : owner, index), " is at version ", tensor_.version(),
       "; expected version ", version_, " instead.", context().anomaly_enabled ? "" : hint);
}

}  // namespace dt
