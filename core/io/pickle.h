// The pickles in PyTorch's checkpoints: opcodes of protocol 2 that make containers, and names from
// a fixed list. Whatever else a pickle says is an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dims.h"
#include "core/base/dtype.h"

namespace dt {

// A tensor as the pickle describes it.
struct PickledTensor {
  std::string storage;  // the key of its record
  DType dtype = DType::kDefault;
  int64_t storage_numel = 0;
  int64_t offset = 0;
  Dims sizes, strides;
  bool requires_grad = false;
};

struct NamedPickle {
  std::string name;
  PickledTensor tensor;
};

// The tensors of the pickled containers, in their order; `what` begins sentences.
std::vector<NamedPickle> read_state_dict(std::string_view pickle, const std::string& what);

// The pickle of an OrderedDict.
std::string write_state_dict(const std::vector<NamedPickle>& entries);

}  // namespace dt
