// Devices other than the CPU. Their code is a plugin, libdumbtorch_cuda.so beside this library,
// that is opened when such a device is first mentioned and never unloaded.
#pragma once

#include <string>

#include "core/base/device.h"
#include "core/base/ref.h"
#include "core/runtime/kernel_table.h"
#include "kernels/tool.h"

namespace dt {

struct Accelerator {
  const dt_backend* backend;
  int32_t devices;
  KernelTable kernels;
  const dt_tool* tool;  // null: the plugin knows of none
};

// Null when there is none; `reason` then says why.
const Accelerator* find_accelerator(std::string* reason = nullptr);
// The device's plugin. Throws "device 'cuda:1' is not available: ..." if there is no such device.
const Accelerator& accelerator(Device device);

// Throws what a function of the table reported.
void check_device(int32_t result, const dt_fault& fault);

// What the memory of a device holds; zeros for the CPU, which the allocator counts.
dt_memory device_memory(Device device);

// Switches that hold for the whole process: bits DT_FLAG_... of kernels/abi.h.
int32_t kernel_flags();
void set_kernel_flag(int32_t flag, bool on);

}  // namespace dt
