// How a language model writes.
#pragma once

#include <optional>

#include "core/nn/module.h"
#include "core/runtime/generator.h"

namespace dt {

// [batch, time] and `count` more tokens.
Tensor generate(const Ref<Module>& model, const Tensor& tokens, int64_t count, double temperature,
                std::optional<int64_t> top_k, std::optional<double> top_p,
                const Ref<Generator>& generator);

}  // namespace dt
