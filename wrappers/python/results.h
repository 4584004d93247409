/* Handles that calls give, as tensors. A part of tensor_type.c. */
#ifndef DUMBTORCH_PYTHON_RESULTS_H
#define DUMBTORCH_PYTHON_RESULTS_H

static PyObject* adopt(PyObject* module, PyObject* args) {
  PyTypeObject* type;
  long long handle;
  PyObject* same = NULL;
  (void)module;
  if (!PyArg_ParseTuple(args, "OL|O!", &type, &handle, base_type, &same)) return NULL;
  if (!PyType_Check((PyObject*)type) || !PyType_IsSubtype(type, base_type)) {
    dt_tensor_release((dt_tensor*)(intptr_t)handle);
    return PyErr_Format(PyExc_TypeError, "adopt: not a type of tensors");
  }
  PyObject* const out = adopt_handle(type, (dt_tensor*)(intptr_t)handle);
  if (out && same && ((TensorBase*)same)->base) keep_base(out, same);
  return out;
}

static PyObject* wrap(PyObject* module, PyObject* handle) {
  (void)module;
  const int64_t bits = int64_of(handle);
  if (bits == -1 && PyErr_Occurred()) return NULL;
  return adopt_handle(tensor_type, (dt_tensor*)(intptr_t)bits);
}

static PyObject* wrap_handle(dt_tensor* handle) {
  return adopt_handle(tensor_type, handle);
}

/* What wrap makes of a handle, or the tensor where both are the same. Otherwise it may be a view of
 * the tensor. */
static PyObject* wrap_beside(dt_tensor* handle, PyObject* tensor) {
  int32_t same = 0;
  dt_tensor* base = NULL;
  if (!handle || !PyObject_TypeCheck(tensor, base_type) ||
      dt_tensor_is_same(handle, handle_of(tensor), &same)) {
    return wrap_handle(handle);
  }
  if (!same) {
    if (dt_tensor_base(handle, &base) || !base) return wrap_handle(handle);
    dt_tensor_release(base);
    return adopt_view(handle, tensor);
  }
  dt_tensor_release(handle);
  Py_INCREF(tensor);
  return tensor;
}

static PyObject* wrap_or(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  (void)module;
  if (n != 2) return PyErr_Format(PyExc_TypeError, "wrap_or: a handle and a tensor");
  const int64_t bits = int64_of(args[0]);
  if (bits == -1 && PyErr_Occurred()) return NULL;
  return wrap_beside((dt_tensor*)(intptr_t)bits, args[1]);
}

static PyObject* take_tensors(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  (void)module;
  int64_t count = 0;
  const int64_t bits = n > 0 ? int64_of(args[0]) : 0;
  dt_tensor_list* const list = (dt_tensor_list*)(intptr_t)bits;
  if (PyErr_Occurred()) return NULL;
  if (dt_tensor_list_len(list, &count)) return raise_last_error();
  PyObject* const given = n > 1 ? PySequence_Tuple(args[1]) : PyTuple_New(0);
  const Py_ssize_t givens = given ? PyTuple_Size(given) : 0;
  PyObject* out = given ? PyTuple_New((Py_ssize_t)count) : NULL;
  for (Py_ssize_t i = 0; out && i < count; i++) {
    dt_tensor* handle = NULL;
    PyObject* x = givens ? PyTuple_GetItem(given, i % givens) : Py_None;
    if (dt_tensor_list_get(list, i, &handle)) {
      x = raise_last_error();
    } else {
      x = handle ? wrap_beside(handle, x) : Py_BuildValue("");
    }
    if (!x || PyTuple_SetItem(out, i, x)) Py_CLEAR(out);
  }
  Py_XDECREF(given);
  dt_tensor_list_release(list);
  return out;
}

#endif
