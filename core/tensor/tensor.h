// Tensor: a handle to a strided view of a storage, with what autograd needs to know about it.
//
// Copying a Tensor copies the handle. The arithmetic lives in core/ops: this header knows no op.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/base/device.h"
#include "core/base/dims.h"
#include "core/base/dtype.h"
#include "core/base/lock.h"
#include "core/base/pooled.h"
#include "core/base/ref.h"
#include "core/base/scalar.h"
#include "core/tensor/storage.h"

namespace dt {

class Node;
class Tensor;
struct TensorImpl;
class AccumulateGrad;  // autograd/accumulate.h
class GradSlot;        // autograd/grad_slot.h
struct HookCell;       // autograd/hooks.h
struct ViewInfo;       // autograd/view.h: which tensor this is a view of, and how it was made

// What the gradient engine knows about a tensor. Replaced under `lock`: threads may share a handle.
// Pointers own one reference.
struct Autograd {
  SpinLock lock;
  bool requires_grad = false;  // set by the user, on leaves
  int32_t output_index = 0;    // this tensor is output number `output_index` of `node`
  uint32_t rebased = 0;        // how often an in-place op replaced `node`: views compare it
  uint32_t relooked = 0;       // how often its shape was changed in place: likewise
  Node* node = nullptr;        // what made this tensor (grad_fn); null for leaves
  AccumulateGrad* accumulator = nullptr;  // where gradients of a leaf arrive; made when first used
  GradSlot* slot = nullptr;               // what .grad is in; made when first used
  std::unique_ptr<ViewInfo> view;
  std::weak_ptr<HookCell> retain_hook;  // of retain_grad

  Autograd();
  ~Autograd();
};

// A version counter that is not the storage's: what `x.data` changes is no change of x's.
struct VersionCell : RefCounted {
  std::atomic<uint32_t> value;
  explicit VersionCell(uint32_t start) : value(start) {}
  static void destroy(VersionCell* cell) { delete cell; }
};

struct TensorImpl : RefCounted, Pooled {
  Ref<Storage> storage;
  Ref<VersionCell> own_version;  // shared by its views; null: the storage counts
  int64_t offset = 0;            // of element [0, ..., 0], in elements
  int64_t numel = 0;
  DType dtype = DType::kDefault;
  bool contiguous = true;  // dense and row-major
  Dims sizes, strides;     // strides count elements
  Autograd autograd;
  TensorImpl* next_dead = nullptr;  // while it waits in `destroy`

  TensorImpl(Ref<Storage> storage, int64_t offset, const Dims& sizes, const Dims& strides,
             DType dtype);
  static void destroy(TensorImpl* impl);
};

enum class MemoryFormat : int32_t {
  kDefault = 0,
  kContiguous = 1,
  kPreserve = 2,
  kChannelsLast = 3
};

class Tensor {
 public:
  Tensor() = default;  // undefined: an absent optional argument
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  explicit operator bool() const = delete;  // neither "defined" nor "true": say which
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  int ndim() const { return impl_->sizes.size(); }
  const Dims& sizes() const { return impl_->sizes; }
  const Dims& strides() const { return impl_->strides; }
  int64_t size(int64_t dim) const;
  int64_t numel() const { return impl_->numel; }
  int64_t offset() const { return impl_->offset; }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->storage->device(); }
  bool is_contiguous(MemoryFormat format = MemoryFormat::kContiguous) const;
  int64_t item_bytes() const { return info(impl_->dtype).bytes; }
  const Ref<Storage>& storage() const { return impl_->storage; }

  // Address of element [0, ..., 0].
  void* data() const {
    return static_cast<char*>(impl_->storage->data()) + impl_->offset * item_bytes();
  }
  template <class T>
  T* data_as() const {
    return static_cast<T*>(data());
  }

  // ---- autograd (autograd/variable.cpp)
  bool requires_grad() const;  // takes part in a graph: set by the user or made from such a tensor
  const Tensor& set_requires_grad(bool value) const;
  bool is_leaf() const;
  Ref<Node> grad_fn() const;  // null for leaves
  Tensor grad() const;        // undefined when there is none
  void set_grad(const Tensor& grad) const;
  void retain_grad() const;
  bool retains_grad() const;  // false for leaves
  // Looks at other's memory from now on, as `x.data = other`; history and grad stay. The caller
  // makes sure that no other thread uses this tensor meanwhile.
  void set_data(const Tensor& other) const;
  // Has other's sizes, strides and place in memory from now on. Other's is the same storage, or the
  // caller knows what becomes of views.
  void set_look(const Tensor& other) const;
  Tensor detach() const;          // shares memory and version, not the graph
  const Tensor& detach_() const;  // leaves the graph itself
  Tensor detach_version() const;  // as `x.data`: shares the memory alone
  // How often it, its views and what it was detached from were changed in place: saved tensors
  // compare it (autograd/saved.h).
  uint32_t version() const { return version_counter().load(std::memory_order_relaxed); }
  void bump_version() const { version_counter().fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t>& version_counter() const {
    return impl_->own_version ? impl_->own_version->value : impl_->storage->version();
  }

  Ref<TensorImpl> impl_;
};

using TensorList = Span<const Tensor>;

// A tensor or a plain number: the second argument of most binary operators.
class Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(tensor), number_(0), is_number_(false) {}
  Operand(const Scalar& number) : number_(number), is_number_(true) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Operand(T number) : number_(number), is_number_(true) {}

  bool is_number() const { return is_number_; }
  const Tensor& tensor() const { return tensor_; }  // undefined for a number
  const Scalar& number() const { return number_; }

 private:
  Tensor tensor_;
  Scalar number_;
  bool is_number_;
};

// An operand that somebody else holds: the parameter type for lists of them, as Span is for other
// lists. It owns nothing: never store one.
class OperandRef {
 public:
  OperandRef(const Tensor& tensor) : tensor_(&tensor), number_(0) {}
  OperandRef(const Operand& x)
      : tensor_(x.is_number() ? nullptr : &x.tensor()), number_(x.number()) {}
  OperandRef(const Scalar& number) : number_(number) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  OperandRef(T number) : number_(number) {}
  operator Operand() const { return tensor_ ? Operand(*tensor_) : Operand(number_); }

  bool is_number() const { return !tensor_; }
  const Tensor& tensor() const { return *tensor_; }  // there is none for a number
  const Scalar& number() const { return number_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar number_;
};

// ---- making tensors without recording (tensor.cpp)

// Memory that is offered for such a tensor (ops/given_memory.h); null: there is none.
Ref<Storage> take_offered(const Dims& sizes, const Dims& strides, DType dtype, Device device);

// The bytes of so many elements, which a tensor of these sizes needs; refuses more than an int64
// can count.
int64_t count_bytes(IntList sizes, int64_t elements, DType dtype);
// Uninitialised, row-major. The dtype and device must not be kDefault.
Tensor make_empty(const Dims& sizes, DType dtype, Device device);
Tensor make_empty_strided(const Dims& sizes, const Dims& strides, DType dtype, Device device);
// Another look at the same storage, with no history: the caller records it (autograd/view.h).
Tensor make_alias(const Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset);

Dims channels_last_strides(IntList sizes);
bool is_dense(IntList sizes,
              IntList strides);  // non-overlapping, without holes, in any dimension order

}  // namespace dt
