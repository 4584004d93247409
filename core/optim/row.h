// What the generator knows about an optimizer: [optimizer.X] of the schema (optimizers.gen.cpp).
#pragma once

#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/span.h"

namespace dt {

// core/runtime/call.h
template <class Call>
struct Op;
struct OptimizerCall;

// The settings of a parameter group, in the row's order; truth values as 0 and 1.
using Settings = std::vector<double>;

// Of the scalars that are kept for each parameter, as PyTorch's: counts of steps, products.
constexpr DType kScalarDType = kDTypeOf<float>;

struct OptimizerRow {
  // What is kept for each parameter: a tensor like it, or a 0-d float32.
  struct State {
    const char* name;  // PyTorch's, in its state_dict
    bool is_scalar;
    bool (*exists)(const Settings& s);
    double (*initial)(const Settings& s);  // what it is filled with
  };

  struct Setting {
    const char* name;
    bool is_flag;
  };

  const char* name;  // "adam"
  const Op<OptimizerCall>& op;
  Span<const Setting> settings;  // the learning rate first
  Span<const State> states;
  bool reads_first;  // a parameter's first step differs from later ones
  void (*check)(const Settings& s);

  // The place of a setting. Throws if there is no such one.
  int index_of(const char* setting) const;
};

// The row of that name. Throws if there is none.
const OptimizerRow& optimizer_row(const std::string& name);

}  // namespace dt
