#include "core/runtime/accelerator.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/base/error.h"

namespace dt {
namespace {

constexpr const char* kPluginFile = "libdumbtorch_cuda.so";

std::atomic<int32_t> flags{DT_FLAG_TF32_CONV};

// The folder of this library, or of the program that it is linked into, by its shortest name: the
// loader's may lead through others.
std::string own_folder() {
  Dl_info where;
  if (!dladdr(reinterpret_cast<void*>(&find_accelerator), &where) || !where.dli_fname) return "";
  const std::string path = where.dli_fname;
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  const std::string folder = path.substr(0, slash + 1);
  char* const shortest = realpath(folder.c_str(), nullptr);
  const std::string found = shortest ? std::string(shortest) + '/' : folder;
  std::free(shortest);
  return found;
}

bool has_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver) dlclose(driver);
  return driver != nullptr;
}

// DT_CUDA_PLUGIN names the file; otherwise it lies beside this library, or where the loader looks.
void* open_plugin(std::string& reason) {
  std::string tried;
  const auto open = [&](const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* said = library ? nullptr : dlerror();
    tried.append(said ? said : path.c_str()).append("; ");
    return library;
  };
  const char* named = std::getenv("DT_CUDA_PLUGIN");
  void* library = open(named ? named : own_folder() + kPluginFile);
  if (!library && !named) library = open(kPluginFile);
  if (!library && !named && !has_driver()) {  // a plugin would be of no use
    reason = "no NVIDIA driver was found on this machine (libcuda.so.1), and CUDA needs one";
  } else if (!library) {
    reason = "the CUDA plugin cannot be opened: " + tried +
             "docs/cuda.md says how it is built (make build CUDA=1)";
  }
  return library;
}

// Whether the plugin means the same as this library by an op.
struct CheckedRegistry : dt_registry {
  const dt_backend* backend;
  KernelTable* table;

  static void add_if_known(dt_registry* self, const char* op, dt_kernel* kernel,
                           dt_workspace* workspace) {
    auto* registry = static_cast<CheckedRegistry*>(self);
    for (int32_t i = 0; i < registry->backend->n_signatures; ++i) {
      const dt_signature& s = registry->backend->signatures[i];
      if (std::strcmp(s.op, op) != 0) continue;
      if (s.hash == op_signature(op)) registry->table->add(registry->table, op, kernel, workspace);
      return;
    }
  }
};

const dt_tool* find_tool(void* library) {
  auto* open = reinterpret_cast<dt_tool_open_function*>(dlsym(library, "dt_tool_open"));
  const dt_tool* tool = open ? open() : nullptr;
  return tool && tool->struct_size >= int64_t{sizeof(dt_tool)} ? tool : nullptr;
}

const Accelerator* load(std::string& reason) {
  void* library = open_plugin(reason);
  if (!library) return nullptr;
  auto* entry = reinterpret_cast<dt_backend_open_function*>(dlsym(library, "dt_backend_open"));
  if (!entry) {
    reason = std::string(kPluginFile) + " is no plugin of this library";
    return nullptr;
  }
  dt_fault fault = {};
  int32_t devices = 0;
  const dt_backend* backend = entry(&devices, &fault);
  if (!backend) {
    reason = fault.message;
    return nullptr;
  }
  if (backend->abi != DT_KERNEL_ABI || backend->struct_size < int64_t{sizeof(dt_backend)}) {
    reason = std::string(kPluginFile) + " belongs to another version of this library";
    return nullptr;
  }
  auto* a = new Accelerator{backend, devices, KernelTable(backend->name), find_tool(library)};
  CheckedRegistry registry{{CheckedRegistry::add_if_known}, backend, &a->kernels};
  backend->add_kernels(&registry);
  return a;
}

struct Loaded {
  std::string reason;
  const Accelerator* accelerator = load(reason);
};

// Never destroyed, like everything of the process's: calls work while it exits.
const Loaded& loaded() {
  static const Loaded& once = *new Loaded;
  return once;
}

}  // namespace

const Accelerator* find_accelerator(std::string* reason) {
  const Loaded& l = loaded();
  if (reason) *reason = l.reason;
  return l.accelerator;
}

const Accelerator& accelerator(Device device) {
  const Accelerator* a = loaded().accelerator;
  DT_CHECK(a, kRuntimeError, "device '", device, "' is not available: ", loaded().reason);
  DT_CHECK(device.index >= 0 && device.index < a->devices, kRuntimeError, "device '", device,
           "' is not available: this machine has ", a->devices, " CUDA device(s)");
  return *a;
}

void check_device(int32_t result, const dt_fault& fault) {
  const std::string op = fault.op ? std::string(fault.op) + ": " : "";
  switch (result) {
    case DT_KERNEL_OK:
      return;
    case DT_KERNEL_INDEX:
      fail(Code::kIndexError, op, "index ", fault.index,
           " is out of bounds for dimension with size ", fault.size);
    case DT_KERNEL_OUT_OF_MEMORY:
      fail(Code::kOutOfMemory, op, fault.message);
    default:
      fail(Code::kRuntimeError, op, fault.message);
  }
}

dt_memory device_memory(Device device) {
  dt_memory memory = {};
  if (device == kCpu) return memory;
  dt_fault fault = {};
  check_device(accelerator(device).backend->memory(device.index, &memory, &fault), fault);
  return memory;
}

int32_t kernel_flags() {
  return flags.load(std::memory_order_relaxed);
}

void set_kernel_flag(int32_t flag, bool on) {
  if (on)
    flags.fetch_or(flag);
  else
    flags.fetch_and(~flag);
}

}  // namespace dt
