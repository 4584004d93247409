#include "core/nn/generate.h"

#include <algorithm>

#include "core/nn/network.h"
#include "core/ops/generation.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {

Tensor generate(const Ref<Module>& model, const Tensor& tokens, int64_t count, double temperature,
                std::optional<int64_t> top_k, std::optional<double> top_p,
                const Ref<Generator>& generator) {
  auto* writer = dynamic_cast<CachedModule*>(model.get());
  DT_CHECK(writer && writer->context_size() > 0, kTypeError,
           "expected a module that writes, such as a GPT2, but got a ", model->kind());
  DT_CHECK(tokens.ndim() == 2 && tokens.size(1) > 0, kValueError,
           "tokens must be [batch, time] with a token to go on from, but got ", tokens.sizes());
  DT_CHECK(count >= 0, kValueError, "count must not be negative, but got ", count);
  const GradMode no_grad(false);
  const int64_t context = writer->context_size();
  std::vector<Ref<KvCache>> caches;
  for (int64_t i = 0; i < writer->cache_count(); ++i) caches.push_back(KvCache::create(context));
  Tensor text = tokens;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t time = text.size(1), looked_at = std::min(time, context);
    if (time > context) {  // each token has another place than before
      for (const auto& cache : caches) cache->truncate(0);
    }
    const int64_t known = past(caches);
    const Tensor fresh = narrow(text, 1, time - looked_at + known, looked_at - known);
    const Tensor scores = select(writer->forward_cached({fresh}, caches), 1, -1);
    const Tensor next = sample_logits(scores, temperature, top_k, top_p, generator);
    text = cat({text, unsqueeze(next, 1)}, 1);
  }
  return text;
}

}  // namespace dt
