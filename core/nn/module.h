// Modules: named parameters, buffers and children, with a forward. PyTorch's nn.Module for C, C++,
// Lua and other languages; Python's own classes have the same names and the same state-dict keys.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/enums.h"
#include "core/tensor/tensor.h"

namespace dt {

class Module : public RefCounted {
 public:
  using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

  explicit Module(std::string kind) : kind_(std::move(kind)) {}
  virtual ~Module() = default;
  static void destroy(Module* m) { delete m; }

  // Most modules take one input; losses take more: the target, or what is compared. One that may
  // be left out is undefined, or not in the list.
  virtual Tensor forward(TensorList inputs);
  // All that it computes: of most modules one tensor.
  virtual std::vector<Tensor> forward_outputs(TensorList inputs) { return {forward(inputs)}; }
  // What the module applies to each element, if a layer before it may do so in its place; kDefault:
  // no such thing.
  virtual Activation activation() const { return Activation::kDefault; }
  // forward, then the activation, by one kernel. Undefined: the module has no such kernel.
  virtual Tensor forward_activated(const Tensor&, Activation) { return Tensor(); }
  // The largest result of a relu, maybe infinity; 0: the module is none.
  virtual double relu_limit() const { return 0; }
  // relu(forward(x) + addend) with a largest result. Undefined: the module cannot do it at once.
  virtual Tensor forward_relu(const Tensor&, const Tensor& /*addend*/, double /*limit*/) {
    return Tensor();
  }

  const std::string& kind() const { return kind_; }  // "Linear"
  bool training() const { return training_; }
  void train(bool mode);

  // "0.weight": the names of children, joined by dots, then the tensor's own. A tensor with several
  // names is listed once.
  NamedTensors named_parameters() const;
  NamedTensors named_buffers() const;
  // Parameters, then buffers, then the same of each child: the order of PyTorch's state_dict. Here
  // a tensor with several names has an entry for each.
  NamedTensors state_dict() const;
  // Copies the values in. With `strict`, every key must be there and no other. Nothing is changed
  // if a check fails.
  void load_state_dict(const std::vector<std::string>& names, TensorList tensors, bool strict);
  // The state dict as a safetensors file.
  void save(const std::string& path) const;
  void load(const std::string& path, bool strict);

  // Converts floating point state. The tensors stay the same objects, so optimizers keep working.
  void to(Device device, DType dtype);
  void zero_grad(bool set_to_none);
  void requires_grad_(bool value);

  void register_parameter(const std::string& name, const Tensor& x);
  void register_buffer(const std::string& name, const Tensor& x);
  void register_module(const std::string& name, const Ref<Module>& child);
  int64_t child_count() const { return static_cast<int64_t>(children_.size()); }
  const Ref<Module>& child(int64_t i) const;
  Module& child(const std::string& name) const;
  bool has_child(const std::string& name) const;

  // The parameter or buffer of a name as state_dict has it; and that it is another one's from now
  // on.
  const Tensor& tensor(const std::string& name) const;
  void share(const std::string& name, const std::string& source);
  // Visits this module and all below it of a class, in the order of the state dict.
  void each(const std::string& kind, const std::function<void(const Module&)>& visit) const;
  // The own name of what a published file calls `name`; "": it means nothing here.
  virtual std::string own_name(const std::string& name) const { return name; }

  // A copy of it and of all below it that shares nothing with them. Like deepcopy's, it has no
  // gradients; what has several names here has them there, and buffers that share memory here do so
  // there.
  Ref<Module> clone() const;

 protected:
  // For `another`. What a module holds is given to the copy by `clone`: so this is little code in
  // each class, and cannot fail.
  Module(const Module&) noexcept : RefCounted() {}
  // A module of the same class and settings that holds nothing: new Class(*this).
  virtual Module* another() const = 0;
  // The state of a layer, in the order of its row; undefined where a setting leaves it out.
  const Tensor& state(int i) const { return state_[i].tensor; }
  // Refuses fewer inputs than `least`, or more than `most`, of which the first are needed.
  void check_inputs(TensorList inputs, int64_t least, int64_t most) const;

 private:
  struct State {
    std::string name;
    Tensor tensor;
    bool buffer;
  };

  struct Copies;
  Ref<Module> clone_once(Copies& copies) const;
  NamedTensors named_state(bool buffers) const;
  // Refuses what cannot be a name, or is one here already.
  void take_name(const std::string& name);
  void add_state(const std::string& name, const Tensor& x, bool buffer);
  void add_child(const std::string& name, const Ref<Module>& child);
  bool holds(const Module* m) const;
  const State* find(const std::string& name) const;
  template <class Visit>
  void walk(const std::string& prefix, const Visit& visit) const;

  std::string kind_;
  bool training_ = true;
  bool is_child_ = false;  // of whatever module
  std::vector<State> state_;
  std::vector<std::pair<std::string, Ref<Module>>> children_;
  std::unordered_set<std::string> names_;  // of state and children, to be found at once
};

// A module that computes several tensors. The first is what `forward` gives.
class ManyOutputs : public Module {
 public:
  explicit ManyOutputs(std::string kind) : Module(std::move(kind)) {}
  Tensor forward(TensorList inputs) override { return forward_outputs(inputs)[0]; }
  std::vector<Tensor> forward_outputs(TensorList inputs) override = 0;
};

// Applies a module to an input and, unless it is undefined, a target.
Tensor forward(Module& module, const Tensor& input, const Tensor& target);

// relu(norm(x) + addend), at once where the modules can.
Tensor norm_relu(Module& norm, Module& relu, const Tensor& x, const Tensor& addend = Tensor());

// Runs its children one after another.
class Sequential final : public Module {
 public:
  Sequential() : Module("Sequential") {}
  Tensor forward(TensorList inputs) override;
  void append(const Ref<Module>& child) { register_module(std::to_string(child_count()), child); }

 private:
  Module* another() const override { return new Sequential(*this); }
  // Runs child i, and the next one with it where one kernel does both. Returns how many ran.
  int64_t run_from(int64_t i, Tensor* x);
};

// One that holds state and children, and has no forward of its own.
Ref<Module> make_container(const std::string& kind);
Ref<Module> make_sequential();
void sequential_append(const Ref<Module>& sequential, const Ref<Module>& child);

// Lists as the C API gives them back: names and tensors apart.
std::tuple<std::vector<std::string>, std::vector<Tensor>> unzip(const Module::NamedTensors& named);

}  // namespace dt
