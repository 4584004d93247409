#include "core/nn/generate.h"

#include <algorithm>

#include "core/nn/network.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/generation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"
#include "core/runtime/graph.h"

namespace dt {
namespace {

// Recording costs as much as some tokens, and pays from so many on.
constexpr int64_t kWorthRecording = 16;

// A model that writes, and what it has read.
struct Writer {
  CachedModule& model;
  double temperature;
  std::optional<int64_t> top_k;
  std::optional<double> top_p;
  const Ref<Generator>& generator;
  std::vector<Ref<KvCache>> caches;

  int64_t context() const { return model.context_size(); }

  // The tokens behind [batch, time] of them, [batch, 1].
  Tensor next(const Tensor& tokens) const {
    const Tensor scores = select(model.forward_cached({tokens}, caches), 1, -1);
    return unsqueeze(sample_logits(scores, temperature, top_k, top_p, generator), 1);
  }

  // Reads of a text [batch, time] what it has not read, or the end of one that is too long.
  Tensor read(const Tensor& text) const {
    const int64_t time = text.size(1), looked_at = std::min(time, context());
    if (time > context()) {  // each token has another place than before
      for (const auto& cache : caches) cache->truncate(0);
    }
    const int64_t known = past(caches);
    return next(narrow(text, 1, time - looked_at + known, looked_at - known));
  }

  // How many of `wanted` tokens a recorded step may write behind a text of which all but the last
  // token has been read. Numbers that a caller's own generator draws are not recorded.
  int64_t recordable(const Tensor& text, int64_t wanted) const {
    const int64_t known = past(caches), count = std::min(wanted, context() - known);
    const bool can = text.device().type == DeviceType::kCuda && !dt::context().graph &&
                     !generator && known > 0 && known == text.size(1) - 1;
    return can && count >= kWorthRecording ? count : 0;
  }

  // The same step again and again, with its place in memory on the device: the first one for real,
  // since libraries choose their ways then, the others as one launch each. [batch, count]
  Tensor write_recorded(const Tensor& text, int64_t count) const {
    const Device device = text.device();
    const int64_t known = past(caches), capacity = caches[0]->capacity();
    const Tensor token = clone(narrow(text, 1, known, 1)),
                 columns = arange(0, capacity, 1, {}, device);
    const Tensor place = full({1}, known, kIndexDType, device);
    const Tensor written = make_empty({text.size(0), capacity}, text.dtype(), device);
    const auto step = [&] {
      const Tensor seen = unsqueeze(le(columns, place), 0);
      for (const auto& cache : caches) cache->follow(place, seen);
      copy_(token, next(token));
      index_copy_(written, 1, place, token);
      add_(place, 1);
    };
    step();
    const Ref<Graph> graph = Ref<Graph>::adopt(new Graph(device));
    graph->begin();
    step();
    graph->end();
    for (int64_t i = 1; i < count; ++i) graph->replay();
    for (const auto& cache : caches) cache->settle(known + count);
    return narrow(written, 1, known, count);
  }
};

}  // namespace

Tensor generate(const Ref<Module>& model, const Tensor& tokens, int64_t count, double temperature,
                std::optional<int64_t> top_k, std::optional<double> top_p,
                const Ref<Generator>& generator) {
  auto* cached = dynamic_cast<CachedModule*>(model.get());
  DT_CHECK(cached && cached->context_size() > 0, kTypeError,
           "expected a module that writes, such as a GPT2, but got a ", model->kind());
  DT_CHECK(tokens.ndim() == 2 && tokens.size(1) > 0, kValueError,
           "tokens must be [batch, time] with a token to go on from, but got ", tokens.sizes());
  DT_CHECK(count >= 0, kValueError, "count must not be negative, but got ", count);
  const GradMode no_grad(false);
  Writer writer = {*cached, temperature, top_k, top_p, generator, {}};
  for (int64_t i = 0; i < cached->cache_count(); ++i)
    writer.caches.push_back(KvCache::create(cached->context_size()));
  Tensor text = tokens;
  for (int64_t left = count; left > 0; left = tokens.size(1) + count - text.size(1)) {
    const int64_t recordable = writer.recordable(text, left);
    text = cat({text, recordable ? writer.write_recorded(text, recordable) : writer.read(text)}, 1);
  }
  return text;
}

}  // namespace dt
