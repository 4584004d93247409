/* What programs ask of a tensor often: shape, dtype, device, whether it wants a gradient, its only
 * number. A part of tensor_type.c. Arguments other than the usual ones go to the function of the
 * same name that `install` was given. */
#ifndef DUMBTORCH_PYTHON_ATTRIBUTES_H
#define DUMBTORCH_PYTHON_ATTRIBUTES_H

/* The method of that name with all that it takes. */
static PyObject* call_general(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t n,
                              PyObject* names) {
  const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  PyObject* const function = PyDict_GetItemString(methods, name);
  if (!function) return PyErr_Format(PyExc_AttributeError, "%s: no such method", name);
  PyObject* const tuple = PyTuple_New(n + 1);
  PyObject* const dict = named ? PyDict_New() : NULL;
  int failed = !tuple || (named && !dict);
  Py_INCREF(self);
  if (tuple) PyTuple_SetItem(tuple, 0, self);
  for (Py_ssize_t i = 0; !failed && i < n; i++) {
    Py_INCREF(args[i]);
    PyTuple_SetItem(tuple, i + 1, args[i]);
  }
  for (Py_ssize_t i = 0; !failed && i < named; i++)
    failed = PyDict_SetItem(dict, PyTuple_GetItem(names, i), args[n + i]) < 0;
  PyObject* const out = failed ? NULL : PyObject_Call(function, tuple, dict);
  if (!tuple) Py_DECREF(self);
  Py_XDECREF(tuple);
  Py_XDECREF(dict);
  return out;
}

static PyObject* tuple_of(const int64_t* numbers, int64_t n) {
  PyObject* tuple = PyTuple_New((Py_ssize_t)n);
  for (Py_ssize_t i = 0; tuple && i < n; i++) {
    PyObject* number = PyLong_FromLongLong(numbers[i]);
    if (!number || PyTuple_SetItem(tuple, i, number)) Py_CLEAR(tuple);
  }
  return tuple;
}

/* ---- properties */

static PyObject* get_shape(PyObject* self, void* unused) {
  (void)unused;
  int64_t sizes[DT_TENSOR_MAX_DIMS], n = 0;
  if (dt_tensor_shape(handle_of(self), sizes, DT_TENSOR_MAX_DIMS, &n)) return raise_last_error();
  PyObject* tuple = tuple_of(sizes, n);
  /* These are integers: Size.__new__ need not look at them. */
  const newfunc make = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
  PyObject* args = tuple ? PyTuple_Pack(1, tuple) : NULL;
  PyObject* shape = args ? make((PyTypeObject*)size_type, args, NULL) : NULL;
  Py_XDECREF(args);
  Py_XDECREF(tuple);
  return shape;
}

static PyObject* get_dtype(PyObject* self, void* unused) {
  (void)unused;
  dt_dtype number = 0;
  if (dt_tensor_dtype(handle_of(self), &number)) return raise_last_error();
  PyObject* key = PyLong_FromLong((long)number);
  PyObject* dtype = key ? PyObject_GetItem(dtypes, key) : NULL;
  Py_XDECREF(key);
  return dtype;
}

static PyObject* get_device(PyObject* self, void* unused) {
  (void)unused;
  dt_device_type type = 0;
  int64_t index = 0;
  if (dt_tensor_device(handle_of(self), &type, &index)) return raise_last_error();
  PyObject* number = PyLong_FromLongLong((long long)type << 32 | (index & 0xFFFFFFFF));
  PyObject* device = number ? PyObject_CallFunctionObjArgs(device_at, number, NULL) : NULL;
  Py_XDECREF(number);
  return device;
}

static PyObject* get_is_cuda(PyObject* self, void* unused) {
  (void)unused;
  dt_device_type type = 0;
  int64_t index = 0;
  if (dt_tensor_device(handle_of(self), &type, &index)) return raise_last_error();
  return PyBool_FromLong(type == DT_DEVICE_TYPE_CUDA);
}

typedef dt_status (*FlagCall)(dt_tensor* input, int32_t* out);
typedef dt_status (*CountCall)(dt_tensor* input, int64_t* out);

static PyObject* flag(PyObject* self, FlagCall call) {
  int32_t out = 0;
  if (call(handle_of(self), &out)) return raise_last_error();
  return PyBool_FromLong(out);
}

static PyObject* count(PyObject* self, CountCall call) {
  int64_t out = 0;
  if (call(handle_of(self), &out)) return raise_last_error();
  return PyLong_FromLongLong(out);
}

static PyObject* get_ndim(PyObject* self, void* unused) {
  (void)unused;
  return count(self, dt_tensor_dim);
}

static PyObject* get_is_leaf(PyObject* self, void* unused) {
  (void)unused;
  return flag(self, dt_tensor_is_leaf);
}

static PyObject* wants_gradient(PyObject* self, PyObject* unused) {
  (void)unused;
  return flag(self, dt_tensor_requires_grad);
}

/* ---- methods */

static PyObject* dim(PyObject* self, PyObject* unused) {
  (void)unused;
  return count(self, dt_tensor_dim);
}

static PyObject* numel(PyObject* self, PyObject* unused) {
  (void)unused;
  return count(self, dt_tensor_numel);
}

static PyObject* element_size(PyObject* self, PyObject* unused) {
  (void)unused;
  return count(self, dt_tensor_element_size);
}

static PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  if (names || n > 1) return call_general("size", self, args, n, names);
  if (!n || args[0] == Py_None) return get_shape(self, NULL);
  int64_t out = 0;
  const long long which = PyLong_CheckExact(args[0]) ? PyLong_AsLongLong(args[0]) : -1;
  if (which < 0) { /* not an integer, or counted from the end */
    PyErr_Clear();
    return call_general("size", self, args, n, names);
  }
  if (dt_tensor_size(handle_of(self), which, &out)) return raise_last_error();
  return PyLong_FromLongLong(out);
}

static PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  if (names || n) return call_general("stride", self, args, n, names);
  int64_t strides[DT_TENSOR_MAX_DIMS], dims = 0;
  if (dt_tensor_stride(handle_of(self), strides, DT_TENSOR_MAX_DIMS, &dims))
    return raise_last_error();
  return tuple_of(strides, dims);
}

static PyObject* is_contiguous(PyObject* self, PyObject* const* args, Py_ssize_t n,
                               PyObject* names) {
  if (names || n) return call_general("is_contiguous", self, args, n, names);
  int32_t out = 0;
  if (dt_tensor_is_contiguous(handle_of(self), DT_MEMORY_FORMAT_CONTIGUOUS, &out))
    return raise_last_error();
  return PyBool_FromLong(out);
}

/* What lies in memory as it should is its own copy. */
static PyObject* contiguous(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  int32_t is = 0;
  if (names || n || dt_tensor_is_contiguous(handle_of(self), DT_MEMORY_FORMAT_CONTIGUOUS, &is) ||
      !is) {
    return call_general("contiguous", self, args, n, names);
  }
  Py_INCREF(self);
  return self;
}

static PyObject* view(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  int64_t sizes[DT_TENSOR_MAX_DIMS];
  int plain = !names && n && n <= DT_TENSOR_MAX_DIMS;
  for (Py_ssize_t i = 0; plain && i < n; i++) {
    plain = PyLong_CheckExact(args[i]);
    if (plain) sizes[i] = PyLong_AsLongLong(args[i]);
    if (plain && sizes[i] == -1 && PyErr_Occurred()) plain = 0;
  }
  if (!plain) {
    PyErr_Clear();
    return call_general("view", self, args, n, names);
  }
  dt_tensor* out = NULL;
  (void)!dt_view(handle_of(self), sizes, n, &out);
  return adopt_view(out, self);
}

static const char kReversed[] =
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated "
    "and it will throw an error in a future release. Consider `x.mT` to transpose batches of "
    "matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a "
    "tensor.";

static const char kOfNumber[] =
    "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.";

/* By Python's warn_once, which knows what was warned of and set_warn_always. */
static int warn_once(const char* sentence) {
  PyObject* const module = PyImport_ImportModule("dumbtorch._warning");
  PyObject* const done =
      module ? PyObject_CallMethod(module, "warn_once", "ssi", sentence, sentence, 2) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

static PyObject* get_reversed(PyObject* self, void* unused) {
  (void)unused;
  int64_t dims[DT_TENSOR_MAX_DIMS], n = 0;
  dt_tensor* out = NULL;
  if (dt_tensor_dim(handle_of(self), &n)) return raise_last_error();
  const char* const odd = n == 2 ? NULL : n ? kReversed : kOfNumber;
  if (odd && warn_once(odd)) return NULL;
  for (int64_t i = 0; i < n; i++) dims[i] = n - 1 - i;
  (void)!dt_permute(handle_of(self), dims, n, &out);
  return adopt_view(out, self);
}

/* ---- gradient and base: one object for as long as the library has the same tensor there */

static void keep(PyObject** place, PyObject* x) {
  PyObject* const before = *place;
  Py_XINCREF(x);
  *place = x;
  Py_XDECREF(before);
}

/* The object of a tensor, taken over, if there is one: that in `place`, or a new one, kept there.
 */
static int object_of(dt_tensor* handle, PyObject** place, PyObject** out) {
  int32_t same = 0;
  if (handle && *place && !dt_tensor_is_same(handle, handle_of(*place), &same) && same) {
    dt_tensor_release(handle);
    Py_INCREF(*place);
    *out = *place;
    return 0;
  }
  *out = handle ? adopt_handle(tensor_type, handle) : NULL;
  if (handle && !*out) return -1;
  keep(place, *out);
  return 0;
}

static PyObject* get_base(PyObject* self, void* unused) {
  (void)unused;
  dt_tensor* handle = NULL;
  PyObject* base = NULL;
  if (dt_tensor_base(handle_of(self), &handle)) return raise_last_error();
  if (object_of(handle, &((TensorBase*)self)->base, &base)) return NULL;
  if (base) return base;
  Py_RETURN_NONE;
}

static const char kNoLeaf[] =
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information.";

/* Whether it is a part of a graph that keeps no gradient for it. */
static int is_of_a_result(PyObject* self) {
  int32_t is_leaf = 1, retains = 1;
  (void)!dt_tensor_is_leaf(handle_of(self), &is_leaf);
  if (!is_leaf) (void)!dt_tensor_retains_grad(handle_of(self), &retains);
  return !retains;
}

static PyObject* get_grad(PyObject* self, void* unused) {
  (void)unused;
  dt_tensor* handle = NULL;
  PyObject* grad = NULL;
  if (dt_tensor_grad(handle_of(self), &handle)) return raise_last_error();
  if (object_of(handle, &((TensorBase*)self)->grad, &grad)) return NULL;
  if (grad) return grad;
  if (is_of_a_result(self) && PyErr_WarnEx(PyExc_UserWarning, kNoLeaf, 1)) return NULL;
  Py_RETURN_NONE;
}

static int set_grad(PyObject* self, PyObject* value, void* unused) {
  (void)unused;
  PyObject* const grad = value == Py_None ? NULL : value;
  const int plain = !grad || PyObject_TypeCheck(grad, base_type);
  if (plain && !dt_tensor_set_grad(handle_of(self), grad ? handle_of(grad) : NULL)) {
    keep(&((TensorBase*)self)->grad, grad);
    return 0;
  }
  if (!plain) {
    PyObject* const name = PyObject_GetAttrString((PyObject*)Py_TYPE(value), "__name__");
    if (!name) return -1;
    PyErr_Format(PyExc_TypeError,
                 "assigned grad expected to be a Tensor or None but got grad of type %U", name);
    Py_DECREF(name);
    return -1;
  }
  PyObject* const done = call_general("set_grad", self, &value, 1, NULL); /* says what is wrong */
  Py_XDECREF(done);
  return done ? 0 : -1;
}

static PyObject* drop_grads(PyObject* module, PyObject* tensors) {
  (void)module;
  if (!PyList_Check(tensors)) return PyErr_Format(PyExc_TypeError, "drop_grads: not a list");
  for (Py_ssize_t i = 0; i < PyList_Size(tensors); i++) {
    PyObject* const x = PyList_GetItem(tensors, i);
    if (!PyObject_TypeCheck(x, base_type))
      return PyErr_Format(PyExc_TypeError, "drop_grads: not a tensor");
    if (set_grad(x, Py_None, NULL)) return NULL;
  }
  Py_RETURN_NONE;
}

/* Each becomes what the other was, but for its class and who refers to it. */
static PyObject* exchange(PyObject* module, PyObject* args) {
  PyObject *a, *b;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O!", base_type, &a, base_type, &b)) return NULL;
  TensorBase *const x = (TensorBase*)a, *const y = (TensorBase*)b;
  const TensorBase kept = *x;
  x->handle = y->handle, x->callbacks = y->callbacks, x->grad = y->grad, x->base = y->base,
  x->dict = y->dict;
  y->handle = kept.handle, y->callbacks = kept.callbacks, y->grad = kept.grad, y->base = kept.base,
  y->dict = kept.dict;
  Py_RETURN_NONE;
}

static PyObject* without_graph(PyObject* self, PyObject* unused) {
  (void)unused;
  dt_tensor* out = NULL;
  (void)!dt_tensor_data(handle_of(self), &out);
  return adopt_handle(tensor_type, out);
}

static PyObject* written(PyObject* self, dt_status status) {
  if (status) return raise_last_error();
  Py_INCREF(self);
  return self;
}

static PyObject* zero(PyObject* self, PyObject* unused) {
  (void)unused;
  dt_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = dt_zero_(handle_of(self));
  Py_END_ALLOW_THREADS;
  return written(self, status);
}

static PyObject* copy(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  if (names || n != 1 || !PyObject_TypeCheck(args[0], base_type))
    return call_general("copy_", self, args, n, names);
  dt_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = dt_copy_(handle_of(self), handle_of(args[0]), 0);
  Py_END_ALLOW_THREADS;
  return written(self, status);
}

/* ---- one number */

static PyObject* item(PyObject* self, PyObject* unused) {
  (void)unused;
  dt_tensor* const handle = handle_of(self);
  dt_scalar_kind kind = 0;
  int64_t i = 0;
  double f = 0.0;
  dt_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = dt_tensor_item(handle, &kind, &i, &f);
  Py_END_ALLOW_THREADS;
  if (status) return raise_last_error();
  if (kind == DT_SCALAR_KIND_FLOAT) return PyFloat_FromDouble(f);
  return kind == DT_SCALAR_KIND_INT ? PyLong_FromLongLong(i) : PyBool_FromLong(i != 0);
}

static PyObject* only_element(PyObject* self) {
  int64_t n = 0;
  if (dt_tensor_numel(handle_of(self), &n)) return raise_last_error();
  if (n == 1) return item(self, NULL);
  return PyErr_Format(PyExc_ValueError,
                      "only one element tensors can be converted to Python scalars");
}

static int slot_bool(PyObject* self) {
  int64_t n = 0;
  if (dt_tensor_numel(handle_of(self), &n)) {
    raise_last_error();
    return -1;
  }
  if (n != 1) {
    PyErr_Format(PyExc_RuntimeError, "Boolean value of Tensor with %s is ambiguous",
                 n ? "more than one value" : "no values");
    return -1;
  }
  PyObject* number = item(self, NULL);
  const int is = number ? PyObject_IsTrue(number) : -1;
  Py_XDECREF(number);
  return is;
}

static PyObject* slot_float(PyObject* self) {
  PyObject* number = only_element(self);
  PyObject* out = number ? PyNumber_Float(number) : NULL;
  Py_XDECREF(number);
  return out;
}

static PyObject* slot_int(PyObject* self) {
  PyObject* number = only_element(self);
  PyObject* out = number ? PyNumber_Long(number) : NULL;
  Py_XDECREF(number);
  return out;
}

static Py_ssize_t slot_length(PyObject* self) {
  int64_t dims = 0, n = 0;
  dt_tensor* const handle = handle_of(self);
  if (dt_tensor_dim(handle, &dims) || (dims && dt_tensor_size(handle, 0, &n))) {
    raise_last_error();
    return -1;
  }
  if (!dims) PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
  return dims ? (Py_ssize_t)n : -1;
}

#endif
