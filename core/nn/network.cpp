#include "core/nn/network.h"

#include <algorithm>

#include "core/nn/decoder_block.h"
#include "core/nn/layers.h"
#include "core/ops/attention.gen.h"
#include "core/ops/autocast/autocast.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"

namespace dt {

Ref<Module> sequential(const std::vector<Ref<Module>>& children,
                       const std::vector<std::string>& names) {
  Ref<Module> made = make_sequential();
  for (size_t i = 0; i < children.size(); ++i)
    made->register_module(names.empty() ? std::to_string(i) : names[i], children[i]);
  return made;
}

namespace {

Ref<Module> fill(const Ref<Module>& made, int64_t count, const MakeModule& make,
                 const std::string& prefix) {
  for (int64_t i = 0; i < count; ++i) made->register_module(prefix + std::to_string(i), make(i));
  return made;
}

}  // namespace

Ref<Module> sequential(int64_t count, const MakeModule& make, const std::string& prefix) {
  return fill(make_sequential(), count, make, prefix);
}

Ref<Module> module_list(int64_t count, const MakeModule& make) {
  return fill(make_container("ModuleList"), count, make, "");
}

int64_t past(Caches caches) {
  return caches.empty() ? 0 : caches[0]->length();
}

Tensor places(Caches caches, int64_t count, Device device) {
  if (!caches.empty() && caches[0]->place().defined()) return caches[0]->place();
  const int64_t before = past(caches);
  return arange(before, before + count, 1, {}, device);
}

Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, double dropout,
              Caches caches) {
  const int64_t before = past(caches), time = query.size(-2);
  if (caches.empty())
    return autocast::scaled_dot_product_attention(query, key, value, {}, dropout, true);
  const auto [keys, values] = caches[0]->update(key, value);
  Tensor mask = caches[0]->seen();
  // Of several tokens after others, each sees what was there before it.
  if (!mask.defined() && before > 0 && time > 1)
    mask = tril(ones({time, before + time}, kMaskDType, query.device()), before);
  return autocast::scaled_dot_product_attention(query, keys, values, mask, dropout, before == 0);
}

Tensor decoder_block(Caches caches, const Tensor& x, int64_t heads, const Tensor& norm1_weight,
                     const Tensor& norm1_bias, const Tensor& qkv_weight, const Tensor& qkv_bias,
                     const Tensor& out_weight, const Tensor& out_bias, const Tensor& norm2_weight,
                     const Tensor& norm2_bias, const Tensor& up_weight, const Tensor& up_bias,
                     const Tensor& down_weight, const Tensor& down_bias) {
  const double eps = NnLayerNormOptions().eps;  // the norms of a block are told none
  return decoder_block(caches[0], x,
                       {heads,
                        {norm1_weight, norm1_bias},
                        {qkv_weight, qkv_bias},
                        {out_weight, out_bias},
                        {norm2_weight, norm2_bias},
                        {up_weight, up_bias},
                        {down_weight, down_bias},
                        eps});
}

// A child may be told to train while others are not.
static bool is_training(const Module& module) {
  if (module.training()) return true;
  for (int64_t i = 0; i < module.child_count(); ++i) {
    if (is_training(*module.child(i))) return true;
  }
  return false;
}

Tensor forward_with(Module& module, const Tensor& x, Caches caches) {
  auto* cached = dynamic_cast<CachedModule*>(&module);
  const bool follows = !caches.empty() && caches[0]->place().defined();
  if (cached && follows && !is_training(module) && !is_autocasting()) {
    const Tensor y = cached->step(x, caches);
    if (y.defined()) return y;
  }
  return cached ? cached->forward_cached({x}, caches) : module.forward({x});
}

Tensor chain(const Module& modules, const Tensor& x, Caches caches) {
  const int64_t count = modules.child_count();
  DT_CHECK(caches.empty() || caches.size() == count, kValueError, "expected ", count,
           " caches, one for each block, but got ", caches.size());
  Tensor y = x;
  for (int64_t i = 0; i < count; ++i)
    y = forward_with(*modules.child(i), y, caches.empty() ? caches : Caches(&caches[i], 1));
  return y;
}

std::string without_prefix(const std::string& name, const std::string& prefix,
                           const std::vector<std::string>& ignored) {
  const auto ends_with = [&](const std::string& end) {
    return name.size() >= end.size() &&
           name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  if (std::any_of(ignored.begin(), ignored.end(), ends_with)) return "";
  return name.compare(0, prefix.size(), prefix) == 0 ? name.substr(prefix.size()) : name;
}

std::pair<Tensor, std::vector<Tensor>> first_and_rest(const std::vector<Tensor>& all) {
  return {all[0], {all.begin() + 1, all.end()}};
}

std::vector<Tensor> joined(const Tensor& first, TensorList rest) {
  std::vector<Tensor> all = {first};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace dt
