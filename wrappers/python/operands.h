/* What generated functions ask of each argument, of each call: the numbers that the C API takes for
 * it. A part of tensor_type.c. */
#ifndef DUMBTORCH_PYTHON_OPERANDS_H
#define DUMBTORCH_PYTHON_OPERANDS_H

/* Adds an entry to a tuple, in which NULL is an exception that has been raised. */
static void put_entry(PyObject** tuple, Py_ssize_t i, PyObject* entry) {
  if (*tuple && (!entry || PyTuple_SetItem(*tuple, i, entry))) Py_CLEAR(*tuple);
}

/* kind, i and f, from entry `at` of a tuple on. */
static PyObject* put_number(PyObject* tuple, Py_ssize_t at, const Operand* number) {
  put_entry(&tuple, at, PyLong_FromLong((long)number->kind));
  put_entry(&tuple, at + 1, PyLong_FromLongLong(number->i));
  put_entry(&tuple, at + 2, PyFloat_FromDouble(number->f));
  return tuple;
}

static PyObject* scalar_parts(PyObject* module, PyObject* x) {
  (void)module;
  Operand number;
  const int good = read_operand(x, &number);
  if (good < 0) return NULL;
  if (!good || number.handle) return PyObject_CallFunctionObjArgs(general_scalar, x, NULL);
  return put_number(PyTuple_New(3), 0, &number);
}

static PyObject* operand_parts(PyObject* module, PyObject* x) {
  (void)module;
  Operand operand;
  const int good = read_operand(x, &operand);
  if (good < 0) return NULL;
  if (!good) return PyObject_CallFunctionObjArgs(general_operand, x, NULL);
  PyObject* out = PyTuple_New(4);
  put_entry(&out, 0, PyLong_FromLongLong((long long)(intptr_t)operand.handle));
  return put_number(out, 1, &operand);
}

/* Whether all entries are Python's integers: cffi cuts other numbers to integers. A bool is one
 * behind another, as in PyTorch. */
static int are_plain_ints(PyObject* list) {
  const int is_tuple = PyTuple_Check(list);
  const Py_ssize_t count = is_tuple ? PyTuple_Size(list) : PyList_Size(list);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* const x = is_tuple ? PyTuple_GetItem(list, i) : PyList_GetItem(list, i);
    if (i ? !PyLong_Check(x) : !PyLong_CheckExact(x)) return 0;
  }
  return 1;
}

static PyObject* plain_ints(PyObject* module, PyObject* x) {
  (void)module;
  return PyBool_FromLong((PyTuple_Check(x) || PyList_Check(x)) && are_plain_ints(x));
}

/* A tuple of integers as it is; of one integer as many as there are dimensions. */
static PyObject* int_list(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  (void)module;
  if (n != 2) return PyErr_Format(PyExc_TypeError, "int_list: integers and a count");
  PyObject* const x = args[0];
  if (PyTuple_CheckExact(x) && are_plain_ints(x)) {
    Py_INCREF(x);
    return x;
  }
  const Py_ssize_t count = PyLong_CheckExact(x) ? PyLong_AsSsize_t(args[1]) : 0;
  if (count == -1 && PyErr_Occurred()) return NULL;
  if (count <= 0) return PyObject_CallFunctionObjArgs(general_ints, x, args[1], NULL);
  PyObject* const out = PyTuple_New(count);
  for (Py_ssize_t i = 0; out && i < count; i++) {
    Py_INCREF(x);
    PyTuple_SetItem(out, i, x);
  }
  return out;
}

static PyObject* same_shape(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  (void)module;
  int64_t a[DT_TENSOR_MAX_DIMS], b[DT_TENSOR_MAX_DIMS], na = 0, nb = 0;
  if (n != 2 || !PyObject_TypeCheck(args[0], base_type) || !PyObject_TypeCheck(args[1], base_type))
    return PyErr_Format(PyExc_TypeError, "same_shape: not two tensors");
  if (dt_tensor_shape(handle_of(args[0]), a, DT_TENSOR_MAX_DIMS, &na) ||
      dt_tensor_shape(handle_of(args[1]), b, DT_TENSOR_MAX_DIMS, &nb))
    return raise_last_error();
  return PyBool_FromLong(na == nb && !memcmp(a, b, (size_t)na * sizeof *a));
}

#endif
