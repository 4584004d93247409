// The plugin loads on any machine. Where CUDA cannot be used it says why, in words; where it can,
// its table is complete.
#include <cstring>
#include <set>
#include <string>

#include "tests/cuda/check.h"
#include "tests/cuda/plugin.h"

namespace {

struct Names : dt_registry {
  std::set<std::string> names;

  Names() {
    add = [](dt_registry* self, const char* op, dt_kernel* kernel, dt_workspace*) {
      CHECK(kernel != nullptr);
      CHECK(static_cast<Names*>(self)->names.insert(op).second);  // no op twice
    };
  }
};

void check_refusal(int32_t devices, const dt_fault& fault) {
  CHECK(devices == 0);
  const char* const reasons[] = {"the CUDA driver library libcuda.so.1 was not found (",
                                 "no CUDA-capable device is detected",
                                 "the NVIDIA driver is too old: it supports CUDA "};
  bool is_known = false;
  for (const char* reason : reasons) is_known = is_known || std::strstr(fault.message, reason);
  CHECK(is_known);
  std::printf("no CUDA here: %s\n", fault.message);
}

// Every op that core has a kernel for, as it is declared now.
void check_table(const dt_backend& table) {
  CHECK(table.abi == DT_KERNEL_ABI && table.struct_size == sizeof(dt_backend));
  CHECK(std::strcmp(table.name, "cuda") == 0);
  const void* const* entries = reinterpret_cast<const void* const*>(&table.add_kernels);
  const void* const* end = reinterpret_cast<const void* const*>(&table + 1);
  for (; entries != end; ++entries) CHECK(*entries != nullptr);

  const dt_signature expected[] = {
#define DT_OP(name, hash) {#name, hash},
#include "kernels/ops.def"
#include "kernels/pointwise.def"
#undef DT_OP
  };
  constexpr int32_t n = sizeof(expected) / sizeof(expected[0]);
  CHECK(table.n_signatures == n);
  Names registered;
  table.add_kernels(&registered);
  for (int32_t i = 0; i < n && i < table.n_signatures; ++i) {
    CHECK(std::strcmp(table.signatures[i].op, expected[i].op) == 0);
    CHECK(table.signatures[i].hash == expected[i].hash);
    if (registered.names.count(expected[i].op)) continue;
    ++test::failures;
    std::printf("the plugin has no kernel for %s\n", expected[i].op);
  }
}

}  // namespace

int main() {
  dt_fault fault = {};
  dt_backend_open_function* open = test::open_plugin(&fault);
#ifndef DT_CUDA_PLUGIN
  return test::skip(fault.message);
#endif
  CHECK(open != nullptr);
  if (!open) std::printf("%s\n", fault.message);
  int32_t devices = -1;
  const dt_backend* table = open ? open(&devices, &fault) : nullptr;
  if (table) {
    CHECK(devices > 0);
    check_table(*table);
  } else if (open) {
    check_refusal(devices, fault);
  }
  return test::finish();
}
