#include "core/nn/module.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/io/safetensors.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/runtime/context.h"

namespace dt {

Tensor Module::forward(TensorList) {
  fail(Code::kNotImplemented, "Module [", kind_, "] is missing the required \"forward\" function");
}

void Module::check_inputs(TensorList inputs, int64_t least, int64_t most) const {
  const int64_t given = inputs.size();
  const int64_t wanted = given < least ? least : most;
  DT_CHECK(given >= least && given <= most, kTypeError, kind_, ".forward takes ", wanted,
           wanted == 1 ? " input" : " inputs", ", but ", given, given == 1 ? " was" : " were",
           " given");
  for (int64_t i = 0; i < least; ++i)
    DT_CHECK(inputs[i].defined(), kTypeError, kind_, ".forward: input ", i, " is missing");
}

Tensor forward(Module& module, const Tensor& input, const Tensor& target) {
  return target.defined() ? module.forward({input, target}) : module.forward({input});
}

// Visits this module and everything below it, children after their parent.
template <class Visit>
void Module::walk(const std::string& prefix, const Visit& visit) const {
  visit(prefix, *this);
  for (const auto& [name, child] : children_) child->walk(prefix + name + ".", visit);
}

void Module::train(bool mode) {
  training_ = mode;
  for (auto& [name, child] : children_) child->train(mode);
}

// A tensor that has several names (tied weights, a module that is used twice) is listed once, under
// the first: an optimizer must not step it twice.
Module::NamedTensors Module::named_state(bool buffers) const {
  NamedTensors list;
  std::set<const TensorImpl*> seen;
  walk("", [&](const std::string& prefix, const Module& m) {
    for (const State& s : m.state_) {
      if (s.buffer != buffers || !s.tensor.defined()) continue;
      if (seen.insert(s.tensor.impl()).second) list.emplace_back(prefix + s.name, s.tensor);
    }
  });
  return list;
}

Module::NamedTensors Module::named_parameters() const {
  return named_state(false);
}

Module::NamedTensors Module::named_buffers() const {
  return named_state(true);
}

Module::NamedTensors Module::state_dict() const {
  NamedTensors list;
  walk("", [&](const std::string& prefix, const Module& m) {
    for (const bool buffers : {false, true}) {
      for (const State& s : m.state_) {
        if (s.buffer == buffers && s.tensor.defined()) list.emplace_back(prefix + s.name, s.tensor);
      }
    }
  });
  return list;
}

namespace {

// What does not fit between a module and a state dict, as PyTorch says it.
struct Misfits {
  std::string missing, unexpected;  // lists of keys
  std::string sizes;

  static void list(std::string& keys, const std::string& key) {
    keys += text(keys.empty() ? "" : ", ", '"', key, '"');
  }
  void compare_sizes(const std::string& key, const Tensor& own, const Tensor& given) {
    if (own.sizes() == given.sizes()) return;
    sizes += text("\n\tsize mismatch for ", key, ": copying a param with shape torch.Size(",
                  given.sizes(), ") from checkpoint, the shape in current model is torch.Size(",
                  own.sizes(), ").");
  }
  std::string all() const {
    const auto line = [](const char* what, const std::string& keys) {
      return keys.empty() ? "" : text("\n\t", what, " key(s) in state_dict: ", keys, ". ");
    };
    return line("Missing", missing) + line("Unexpected", unexpected) + sizes;
  }
};

}  // namespace

void Module::load_state_dict(const std::vector<std::string>& published, TensorList tensors,
                             bool strict) {
  DT_CHECK(static_cast<int64_t>(published.size()) == tensors.size(), kValueError, "got ",
           published.size(), " names and ", tensors.size(), " tensors");
  std::vector<std::string> names;
  std::unordered_map<std::string, size_t> place_of;  // where each name comes first
  for (const std::string& name : published) {
    names.push_back(own_name(name));
    place_of.emplace(names.back(), names.size() - 1);
  }
  Misfits misfits;
  std::vector<bool> used(names.size());
  std::vector<std::pair<Tensor, Tensor>> loads;
  for (const auto& [key, own] : state_dict()) {
    const auto found = place_of.find(key);
    if (found == place_of.end()) {
      if (strict) Misfits::list(misfits.missing, key);
      continue;
    }
    const size_t i = found->second;
    used[i] = true;
    misfits.compare_sizes(key, own, tensors[i]);
    loads.emplace_back(own, tensors[i]);
  }
  for (size_t i = 0; strict && i < names.size(); ++i) {
    if (!used[i] && !names[i].empty()) Misfits::list(misfits.unexpected, names[i]);
  }
  const std::string problems = misfits.all();
  DT_CHECK(problems.empty(), kRuntimeError, "Error(s) in loading state_dict for ", kind_, ":",
           problems);
  const GradMode no_grad(false);
  for (auto& [own, value] : loads) copy_(own, value);
}

void Module::save(const std::string& path) const {
  const auto [names, tensors] = unzip(state_dict());
  save_safetensors(path, names, tensors);
}

void Module::load(const std::string& path, bool strict) {
  const auto [names, tensors] = load_safetensors(path);
  load_state_dict(names, tensors, strict);
}

void Module::to(Device device, DType dtype) {
  DT_CHECK(
      dtype == DType::kDefault || is_floating(dtype), kTypeError,
      "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=", dtype);
  const GradMode no_grad(false);
  for (const auto& [name, x] : state_dict()) {
    const Tensor data = x.detach();
    x.set_data(dt::to(data, device, is_floating(x.dtype()) ? dtype : DType::kDefault));
    const Tensor grad = x.grad();
    if (grad.defined()) x.set_grad(dt::to(grad, device, dtype));
  }
}

void Module::zero_grad(bool set_to_none) {
  const GradMode no_grad(false);
  for (const auto& [name, x] : named_parameters()) {
    const Tensor grad = x.grad();
    if (grad.defined()) x.set_grad(set_to_none ? Tensor() : zeros_like(grad));
  }
}

void Module::requires_grad_(bool value) {
  for (const auto& [name, x] : named_parameters()) x.set_requires_grad(value);
}

void Module::take_name(const std::string& name) {
  DT_CHECK(!name.empty() && name.find('.') == std::string::npos, kValueError, "'", name,
           "' cannot be a name: it must not be empty or contain \".\"");
  DT_CHECK(names_.insert(name).second, kValueError, "attribute '", name, "' already exists");
}

void Module::add_state(const std::string& name, const Tensor& x, bool buffer) {
  take_name(name);
  state_.push_back({name, x, buffer});
}

void Module::register_parameter(const std::string& name, const Tensor& x) {
  if (x.defined()) {
    DT_CHECK(x.is_leaf(), kValueError, "Cannot assign non-leaf Tensor to parameter '", name, "'");
    x.set_requires_grad(true);
  }
  add_state(name, x, false);
}

void Module::register_buffer(const std::string& name, const Tensor& x) {
  add_state(name, x, true);
}

// What is nobody's child lies below no other module: so a stack of any depth, built from either
// end, is not searched again for each of its layers.
bool Module::holds(const Module* m) const {
  if (this == m) return true;
  if (!m->is_child_) return false;
  for (const auto& [name, child] : children_) {
    if (child->holds(m)) return true;
  }
  return false;
}

void Module::add_child(const std::string& name, const Ref<Module>& child) {
  children_.emplace_back(name, child);
  child->is_child_ = true;
}

void Module::register_module(const std::string& name, const Ref<Module>& child) {
  DT_CHECK(!child->holds(this), kValueError, "a module cannot contain itself");
  take_name(name);
  add_child(name, child);
}

const Ref<Module>& Module::child(int64_t i) const {
  DT_CHECK(i >= 0 && i < child_count(), kIndexError, "index ", i, " is out of range: ", kind_,
           " has ", child_count(), " children");
  return children_[i].second;
}

Module& Module::child(const std::string& name) const {
  for (const auto& [other, c] : children_) {
    if (other == name) return *c;
  }
  fail(Code::kInternal, kind_, " has no child '", name, "'");
}

bool Module::has_child(const std::string& name) const {
  return std::any_of(children_.begin(), children_.end(),
                     [&](const auto& entry) { return entry.first == name; });
}

const Module::State* Module::find(const std::string& name) const {
  const size_t dot = name.find('.');
  if (dot != std::string::npos) return child(name.substr(0, dot)).find(name.substr(dot + 1));
  for (const State& s : state_) {
    if (s.name == name) return &s;
  }
  fail(Code::kInternal, kind_, " has no tensor '", name, "'");
}

const Tensor& Module::tensor(const std::string& name) const {
  return find(name)->tensor;
}

void Module::share(const std::string& name, const std::string& source) {
  const_cast<State*>(find(name))->tensor = tensor(source);
}

void Module::each(const std::string& kind, const std::function<void(const Module&)>& visit) const {
  walk("", [&](const std::string&, const Module& m) {
    if (m.kind_ == kind) visit(m);
  });
}

// What has been copied, by what it is a copy of.
struct Module::Copies {
  std::map<const Module*, Ref<Module>> modules;
  std::map<const TensorImpl*, Tensor> tensors;
  std::map<const Storage*, Ref<Storage>> memory;  // that buffers look at

  const Tensor& of(const Tensor& x, bool buffer);

 private:
  const Ref<Storage>& memory_of(const Tensor& x);
};

Ref<Module> Module::clone() const {
  const GradMode no_grad(false);
  Copies copies;
  return clone_once(copies);
}

// All bytes of it, not those alone that x looks at.
const Ref<Storage>& Module::Copies::memory_of(const Tensor& x) {
  Ref<Storage>& copy = memory[x.storage().get()];
  if (copy) return copy;
  const DType byte = kDTypeOf<uint8_t>;
  const int64_t size = x.storage()->bytes();
  const Tensor all(Ref<TensorImpl>::adopt(new TensorImpl(x.storage(), 0, {size}, {1}, byte)));
  copy = dt::clone(all).storage();
  return copy;
}

// deepcopy gives each parameter memory of its own, but buffers a copy of the memory that they look
// at, which several may share.
const Tensor& Module::Copies::of(const Tensor& x, bool buffer) {
  Tensor& copy = tensors[x.impl()];
  if (!x.defined() || copy.defined()) return copy;
  DT_CHECK(
      x.is_leaf(), kRuntimeError,
      "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
      "at the moment.");
  copy = buffer ? Tensor(Ref<TensorImpl>::adopt(
                      new TensorImpl(memory_of(x), x.offset(), x.sizes(), x.strides(), x.dtype())))
                : dt::clone(x.detach());
  copy.set_requires_grad(x.requires_grad());
  return copy;
}

Ref<Module> Module::clone_once(Copies& copies) const {
  Ref<Module>& copy = copies.modules[this];
  if (copy) return copy;
  copy = Ref<Module>::adopt(another());
  copy->kind_ = kind_;
  copy->training_ = training_;
  copy->names_ = names_;
  for (const State& s : state_)
    copy->state_.push_back({s.name, copies.of(s.tensor, s.buffer), s.buffer});
  for (const auto& [name, child] : children_) copy->add_child(name, child->clone_once(copies));
  return copy;
}

Tensor norm_relu(Module& norm, Module& relu, const Tensor& x, const Tensor& addend) {
  if (const double limit = relu.relu_limit()) {
    const Tensor y = norm.forward_relu(x, addend, limit);
    if (y.defined()) return y;
  }
  const Tensor y = norm.forward({x});
  return relu.forward({addend.defined() ? add(y, addend) : y});
}

// A layer and what follows it, by one kernel. Undefined: there is none.
static Tensor forward_both(Module& layer, const Module& next, const Tensor& x) {
  Tensor y;
  if (next.activation() != Activation::kDefault) y = layer.forward_activated(x, next.activation());
  if (!y.defined() && next.relu_limit() > 0) y = layer.forward_relu(x, Tensor(), next.relu_limit());
  return y;
}

Tensor Sequential::forward(TensorList inputs) {
  check_inputs(inputs, 1, 1);
  Tensor x = inputs[0];
  for (int64_t i = 0; i < child_count();) i += run_from(i, &x);
  return x;
}

int64_t Sequential::run_from(int64_t i, Tensor* x) {
  if (i + 1 < child_count()) {
    const Tensor y = forward_both(*child(i), *child(i + 1), *x);
    if (y.defined()) {
      *x = y;
      return 2;
    }
  }
  *x = child(i)->forward({*x});
  return 1;
}

namespace {

class Container final : public Module {
 public:
  explicit Container(const std::string& kind) : Module(kind) {}

 private:
  Module* another() const override { return new Container(*this); }
};

}  // namespace

Ref<Module> make_container(const std::string& kind) {
  return Ref<Module>::adopt(new Container(kind));
}
Ref<Module> make_sequential() {
  return Ref<Module>::adopt(new Sequential);
}

void sequential_append(const Ref<Module>& sequential, const Ref<Module>& child) {
  auto* s = dynamic_cast<Sequential*>(sequential.get());
  DT_CHECK(s, kTypeError, "expected a Sequential, got a ", sequential->kind());
  s->append(child);
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> unzip(const Module::NamedTensors& named) {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  for (const auto& [name, x] : named) {
    names.push_back(name);
    tensors.push_back(x);
  }
  return {names, tensors};
}

}  // namespace dt
