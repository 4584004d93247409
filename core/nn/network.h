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
  // The same for one token, outside of training and autocast, where caches follow its place;
  // undefined if the forward is as good.
  virtual Tensor step(const Tensor&, Caches) { return Tensor(); }

  // How many tokens it looks at, and how many caches it takes, one for each block. Looking at none,
  // it cannot write.
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
// The places of `count` tokens behind them: [count], or where the caches follow one, that.
Tensor places(Caches caches, int64_t count, Device device);
// Attention of each token to itself and to those before it, in heads: [batch, heads, time,
// features].
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, double dropout,
              Caches caches);
// A token through a block that is pre-norm attention and two linear layers, by their weights and
// biases; the first cache is its own.
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

// A name of a published file, "" if it has one of these ends.
std::string without_prefix(const std::string& name, const std::string& prefix,
                           const std::vector<std::string>& ignored);

// The results of a module that has several: the first, and what is left.
std::pair<Tensor, std::vector<Tensor>> first_and_rest(const std::vector<Tensor>& all);
// An input with what else there is, for a module that takes a list.
std::vector<Tensor> joined(const Tensor& first, TensorList rest);

}  // namespace dt
