// What networks are written with: modules that are made of others, as the rows of models.toml say.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/nn/module.h"
#include "core/ops/generation/kv_cache.h"
#include "core/tensor/tensor.h"

namespace dt {

// Where the state of a network is made, and of what dtype.
struct StatePlace {
  Device device;
  DType dtype = DType::kDefault;
};

// One for each block of a language model, or none.
using Caches = Span<const Ref<KvCache>>;

// A module that may be told what was there before its input.
class CachedModule : public Module {
 public:
  explicit CachedModule(std::string kind) : Module(std::move(kind)) {}
  Tensor forward(TensorList inputs) override { return forward_cached(inputs, {}); }
  virtual Tensor forward_cached(TensorList inputs, Caches caches) = 0;
  // The same for one token, with caches that keep its place on the device, outside of training and
  // autocast. Undefined: the module has no faster way than the forward.
  virtual Tensor step(const Tensor&, Caches) { return Tensor(); }

  // How many tokens it looks at, 0 if it cannot write; and how many caches it takes, one for each
  // block.
  virtual int64_t context_size() const { return 0; }
  virtual int64_t cache_count() const { return 0; }
};

// `T` is a class of models.gen.cpp.
template <class T, class... Arguments>
Ref<Module> make(const StatePlace& place, const Arguments&... arguments) {
  return Ref<Module>::adopt(new T(place, arguments...));
}

// The i-th of a list of modules, 0, 1, ...
using MakeModule = std::function<Ref<Module>(int64_t i)>;

// Children are called 0, 1, ..., or as `names` says.
Ref<Module> sequential(const std::vector<Ref<Module>>& children,
                       const std::vector<std::string>& names = {});
Ref<Module> sequential(int64_t count, const MakeModule& make, const std::string& prefix = "");
Ref<Module> module_list(int64_t count, const MakeModule& make);

// How many tokens were there before.
int64_t past(Caches caches);
// The places of the next `count` tokens: [count]. Caches that keep a place on the device give that.
Tensor places(Caches caches, int64_t count, Device device);
// Attention of each token to itself and to those before it, in heads: [batch, heads, time,
// features].
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, double dropout,
              Caches caches);
// A token through a block of attention and two linear layers, each with a norm before it, given as
// weights and biases. The block's cache is the first.
Tensor decoder_block(Caches caches, const Tensor& x, int64_t heads, const Tensor& norm1_weight,
                     const Tensor& norm1_bias, const Tensor& qkv_weight, const Tensor& qkv_bias,
                     const Tensor& out_weight, const Tensor& out_bias, const Tensor& norm2_weight,
                     const Tensor& norm2_bias, const Tensor& up_weight, const Tensor& up_bias,
                     const Tensor& down_weight, const Tensor& down_bias);
// The forward of a module, with caches if it takes them.
Tensor forward_with(Module& module, const Tensor& x, Caches caches);
// Modules one after another, each with a cache of its own.
Tensor chain(const Module& modules, const Tensor& x, Caches caches);

inline Device device(const Tensor& x) {
  return x.device();
}

// A name of a published file without its prefix; "" if it ends with one of those to be ignored.
std::string without_prefix(const std::string& name, const std::string& prefix,
                           const std::vector<std::string>& ignored);

// The results of a module that has several: the first, and the rest.
std::pair<Tensor, std::vector<Tensor>> first_and_rest(const std::vector<Tensor>& all);
// The inputs of a module that takes a list: the first, and the rest.
std::vector<Tensor> joined(const Tensor& first, TensorList rest);

}  // namespace dt
