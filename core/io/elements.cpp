#include "core/io/elements.h"

#include "core/io/json.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"

namespace dt {

Tensor plain(const Tensor& x) {
  return on_host(contiguous(x));
}

void check_bools(const Tensor& x, const std::string& name) {
  if (!is_bool(x.dtype())) return;
  const auto* p = x.data_as<uint8_t>();
  for (int64_t i = 0; i < x.numel(); ++i)
    DT_CHECK(p[i] <= 1, kIo, "tensor '", name, "' has a bool that is neither 0 nor 1");
}

void check_name(const std::string& name) {
  DT_CHECK(is_utf8(name) && name.find('\0') == std::string::npos, kIo,
           "the name of a tensor is no text in UTF-8");
}

}  // namespace dt
