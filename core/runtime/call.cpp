#include "core/runtime/call.h"

#include "core/runtime/context.h"
#include "core/runtime/graph.h"

namespace dt {
namespace {

// 0 for the CPU, 1 + i for a CUDA device. A graph that is being captured keeps the memory that it
// will read and write at each replay.
int32_t operand_device(const Tensor& t) {
  const Device d = t.device();
  if (d.type != DeviceType::kCuda) return 0;
  if (Graph* graph = context().graph) graph->keep(t.storage());
  return 1 + d.index;
}

void set_shape(dt_view* v, const int64_t* sizes, const int64_t* strides, int ndim) {
  v->ndim = ndim;
  for (int d = 0; d < ndim; ++d) {
    v->sizes[d] = sizes[d];
    v->strides[d] = strides[d];
  }
}

void set_memory(dt_view* v, const Tensor& t, void* data) {
  v->data = data;
  v->dtype = static_cast<int32_t>(t.dtype());
  v->immediate = 0;
  v->device = operand_device(t);
}

}  // namespace

View& View::operator=(const Tensor& t) {
  if (!t.defined()) {
    clear();
    return *this;
  }
  set_memory(this, t, t.data());
  set_shape(this, t.sizes().data(), t.strides().data(), t.ndim());
  return *this;
}

View& View::operator=(const View& other) {
  data = other.data;
  dtype = other.dtype;
  immediate = other.immediate;
  device = other.device;
  if (immediate) number = other.number;  // others have none
  set_shape(this, other.sizes, other.strides, other.ndim);
  return *this;
}

void View::show(const Tensor& t, IntList sizes, IntList strides, int64_t offset) {
  set_memory(this, t, static_cast<char*>(t.storage()->data()) + offset * t.item_bytes());
  set_shape(this, sizes.data(), strides.data(), static_cast<int>(sizes.size()));
}

View::View(const Scalar& value, DType type, IntList sizes) {
  data = nullptr;
  dtype = static_cast<int32_t>(type);
  immediate = 1;
  device = -1;
  if (is_floating(type))
    number.f = value.to_double();
  else
    number.i = is_bool(type) ? value.to_bool() : value.to_int64();
  set_shape(this, sizes.data(), Dims(static_cast<int>(sizes.size()), 0).data(),
            static_cast<int>(sizes.size()));
}

}  // namespace dt
