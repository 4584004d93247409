// The part of dumbtorch.hpp that is written by hand and uses its functions: tensors from C++ data
// and back, indexing, grad mode, logging. Include dumbtorch.hpp, not this file.
#pragma once

#include <ostream>

namespace dumbtorch {

// ---- data

// A tensor with a copy of the numbers, row-major: tensor<float>({1, 2, 3, 4}, {2, 2}).
template <class T>
Tensor tensor(const T* data, int64_t count, const Ints& size) {
  dt_tensor* out = nullptr;
  const auto dtype = static_cast<dt_dtype>(detail::DTypeOf<T>::value);
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
  detail::check(dt_from_data(data, bytes, size.data(), size.size(), dtype, 0, 0, &out));
  return Tensor(out);
}

template <class T>
Tensor tensor(std::initializer_list<T> values, const Ints& size) {
  return tensor(values.begin(), static_cast<int64_t>(values.size()), size);
}

template <class T>
Tensor tensor(const std::vector<T>& values, const Ints& size) {
  return tensor(values.data(), static_cast<int64_t>(values.size()), size);
}

// std::vector<bool> has no array inside.
inline Tensor tensor(const std::vector<bool>& values, const Ints& size) {
  return from_bools(values, size);
}

template <class T>
Tensor tensor(const std::vector<T>& values) {
  return tensor(values, {static_cast<int64_t>(values.size())});
}

// A tensor that looks at memory of the caller's, row-major. `drop` runs when no tensor needs it.
template <class T>
Tensor from_blob(T* data, const Ints& size, std::function<void()> drop = nullptr) {
  int64_t bytes = sizeof(T);
  for (int64_t i = 0; i < size.size(); ++i) bytes *= size.data()[i];
  using Drop = std::function<void()>;
  const auto run = [](void* user_data) {
    const detail::DropScope scope;
    (*static_cast<Drop*>(user_data))();
    detail::drop<Drop>(user_data);
  };
  const auto dtype = static_cast<dt_dtype>(detail::DTypeOf<T>::value);
  dt_tensor* out = nullptr;
  void (*dropper)(void*) = drop ? +run : nullptr;
  detail::check(dt_from_blob(data, bytes, size.data(), size.size(), nullptr, 0, dtype, 0, 0,
                             detail::box(std::move(drop)), dropper, &out));
  return Tensor(out);
}

// A `DLManagedTensorVersioned *` that shares the tensor's memory; its consumer calls its deleter.
inline void* to_dlpack(const Tensor& tensor) {
  void* out = nullptr;
  detail::check(dt_to_dlpack(tensor.handle(), &out));
  return out;
}

// A tensor that shares the memory of a `DLManagedTensorVersioned`, which it takes over.
inline Tensor from_dlpack(void* managed) {
  dt_tensor* out = nullptr;
  detail::check(dt_from_dlpack(managed, &out));
  return Tensor(out);
}

// All elements, row-major, converted to T.
template <class T>
std::vector<T> to_vector(const Tensor& tensor) {
  const Tensor converted = tensor.to(detail::DTypeOf<T>::value);
  // std::vector<bool> has no array inside.
  using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  std::vector<Element> values(static_cast<size_t>(converted.numel()));
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(Element));
  detail::check(dt_tensor_read(converted.handle(), values.data(), bytes));
  if constexpr (std::is_same_v<T, bool>) {
    return std::vector<T>(values.begin(), values.end());
  } else {
    return values;
  }
}

inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << (tensor.defined() ? tensor.to_string() : "Tensor()");
}

// ---- indexing: at(x, 0, Slice(1, 3), Ellipsis, None, mask), or at(x, "0, 1:3, ..., None, ?",
// {mask})

struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
  Slice() = default;
  Slice(std::optional<int64_t> from, std::optional<int64_t> to, int64_t by = 1)
      : start(from), stop(to), step(by) {}
};

struct NoneIndex {};
struct EllipsisIndex {};
inline constexpr NoneIndex None{};
inline constexpr EllipsisIndex Ellipsis{};

namespace detail {

// The items of an index as the library wants them: text, and the tensors that it mentions.
class Subscript {
 public:
  template <class... Items>
  explicit Subscript(const Items&... items) {
    (add(items), ...);
  }
  const std::string& text() const { return text_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  void put(const std::string& item) { text_ += (text_.empty() ? "" : ",") + item; }
  void add(int64_t place) { put(std::to_string(place)); }
  void add(const Slice& s) {
    const auto bound = [](std::optional<int64_t> b) { return b ? std::to_string(*b) : ""; };
    put(bound(s.start) + ":" + bound(s.stop) + ":" + std::to_string(s.step));
  }
  void add(NoneIndex) { put("None"); }
  void add(EllipsisIndex) { put("..."); }
  void add(const std::string& items) { put(items); }
  void add(const Tensor& tensor) {
    put("?");
    tensors_.push_back(tensor);
  }

  std::string text_;
  std::vector<Tensor> tensors_;
};

template <class Item>
using IsItem = std::enable_if_t<!std::is_convertible_v<Item, std::string>>;

}  // namespace detail

// input[indices] of Python: a view where all indices are numbers, slices, None and Ellipsis.
template <class First, class... Rest, class = detail::IsItem<First>>
Tensor at(const Tensor& input, const First& first, const Rest&... rest) {
  const detail::Subscript index(first, rest...);
  return at(input, index.text(), index.tensors());
}

// input[indices] = value of Python.
template <class First, class... Rest, class = detail::IsItem<First>>
void set_at(const Tensor& input, const Operand& value, const First& first, const Rest&... rest) {
  const detail::Subscript index(first, rest...);
  set_at(input, index.text(), value, index.tensors());
}

// ---- modules

namespace nn {

// A module that runs others one after another.
inline Module Sequential(std::initializer_list<Module> modules) {
  const Module sequential = Sequential();
  for (const Module& module : modules) sequential.append(module);
  return sequential;
}

}  // namespace nn

// ---- settings

// No operation is recorded for backward while this object lives: `NoGrad guard;`.
class NoGrad {
 public:
  NoGrad() : before_(is_grad_enabled()) { set_grad_enabled(false); }
  ~NoGrad() {
    // Setting a flag cannot fail, and a destructor could not say so.
    if (dt_set_grad_enabled(before_)) return;
  }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

// Ops run in the dtype of their policy while this object lives: `Autocast
// guard(DeviceType::kCpu);`.
class Autocast {
 public:
  explicit Autocast(DeviceType device_type, std::optional<DType> dtype = std::nullopt,
                    bool enabled = true, std::optional<bool> cache_enabled = std::nullopt) {
    autocast_begin(device_type, dtype, enabled, cache_enabled);
  }
  ~Autocast() {
    // Ending what began cannot fail.
    if (dt_autocast_end()) return;
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
};

// A context of one's own: grad mode, defaults, generator.
inline Context new_context() {
  dt_context* out = nullptr;
  detail::check(dt_context_new(&out));
  return Context(out);
}

// The context is in force on this thread while this object lives.
class UseContext {
 public:
  explicit UseContext(const Context& context) {
    detail::check(dt_context_swap(context.handle(), &before_));
  }
  ~UseContext() {
    dt_context* ended = nullptr;
    if (dt_context_swap(before_, &ended) == DT_STATUS_OK) dt_context_release(ended);
    dt_context_release(before_);
  }
  UseContext(const UseContext&) = delete;
  UseContext& operator=(const UseContext&) = delete;

 private:
  dt_context* before_ = nullptr;
};

}  // namespace dumbtorch
