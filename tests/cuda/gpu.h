// Device 0 for tests that need a GPU: arrays on it, and the two kernels that they run, y = -y and
// y[i] = x[index[i]]. It talks to the plugin's table alone.
#pragma once

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda/check.h"
#include "tests/cuda/plugin.h"

namespace test {

class Gpu : dt_registry {
 public:
  const dt_backend* table = nullptr;
  int32_t devices = 0;
  dt_fault fault = {};

  Gpu() {
    add = [](dt_registry* self, const char* op, dt_kernel* kernel, dt_workspace* workspace) {
      static_cast<Gpu*>(self)->kernels_[op] = {kernel, workspace};
    };
    dt_backend_open_function* open = open_plugin(&fault);
    if (open) table = open(&devices, &fault);
    if (table) table->add_kernels(this);
  }

  // The code's name is in the failure's line; the driver's words follow.
  bool ok(int32_t code) {
    if (code != DT_KERNEL_OK) std::printf("code %d: %s\n", code, fault.message);
    return code == DT_KERNEL_OK;
  }

  void* get(int64_t bytes, void* stream = nullptr) {
    void* block = nullptr;
    CHECK(ok(table->allocate(0, bytes, stream, &block, &fault)));
    return block;
  }
  void drop(void* block) { table->release(0, block); }

  template <class T>
  T* upload(const std::vector<T>& numbers) {
    const int64_t bytes = static_cast<int64_t>(numbers.size() * sizeof(T));
    T* block = static_cast<T*>(get(bytes));
    CHECK(ok(table->copy(block, 0, numbers.data(), -1, bytes, nullptr, 1, &fault)));
    return block;
  }
  template <class T>
  std::vector<T> download(const T* block, size_t n, void* stream = nullptr) {
    std::vector<T> numbers(n);
    const int64_t bytes = static_cast<int64_t>(n * sizeof(T));
    CHECK(ok(table->copy(numbers.data(), -1, block, 0, bytes, stream, 1, &fault)));
    return numbers;
  }

  int32_t negate(float* y, int64_t n, void* stream = nullptr) {
    const dt_view view = vector_of(y, DT_FLOAT32, n);
    const int64_t compute = DT_FLOAT32;
    return run("neg", {view}, {view}, compute, stream);
  }
  int32_t select(float* y, const float* x, int64_t x_size, const int64_t* index, int64_t n) {
    const std::vector<dt_view> in = {vector_of(const_cast<float*>(x), DT_FLOAT32, x_size),
                                     vector_of(const_cast<int64_t*>(index), DT_INT64, n)};
    return run("index_select", {vector_of(y, DT_FLOAT32, n)}, in, 0, nullptr);
  }

 private:
  struct Kernel {
    dt_kernel* run;
    dt_workspace* workspace;
  };

  static dt_view vector_of(void* data, int32_t dtype, int64_t n) {
    dt_view v = {};
    v.data = data;
    v.dtype = dtype;
    v.ndim = 1;
    v.device = 1;
    v.sizes[0] = n;
    v.strides[0] = 1;
    return v;
  }

  int32_t run(const char* op, const std::vector<dt_view>& out, const std::vector<dt_view>& in,
              int64_t attribute, void* native) {
    const auto found = kernels_.find(op);
    CHECK(found != kernels_.end());
    if (found == kernels_.end()) return DT_KERNEL_UNSUPPORTED;
    dt_stream stream = {};
    stream.fault = &fault;
    stream.native = native;
    dt_call call = {};
    call.op = found->first.c_str();
    call.n_out = static_cast<int32_t>(out.size());
    call.n_in = static_cast<int32_t>(in.size());
    call.n_ints = 1;
    call.out = out.data();
    call.in = in.data();
    call.ints = &attribute;
    const int64_t bytes = found->second.workspace ? found->second.workspace(&stream, &call) : 0;
    if (bytes > 0) call.workspace = get(bytes, native);
    const int32_t code = found->second.run(&stream, &call);
    drop(call.workspace);
    return code;
  }

  std::map<std::string, Kernel> kernels_;
};

}  // namespace test
