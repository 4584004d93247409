/* into(out, function, ...): what a function gives, in the tensor `out`. A part of tensor_type.c.
 * Where that is possible the library computes it in out's memory; else it is copied. What is rare,
 * and what is refused, is _out.py's. */
#ifndef DUMBTORCH_PYTHON_OUT_H
#define DUMBTORCH_PYTHON_OUT_H

#define MOST_INPUTS 64

/* The tensors that a function is called with. */
typedef struct {
  dt_tensor* handles[MOST_INPUTS];
  int64_t n;
} Inputs;

/* Notes the tensors in an argument. 0 if they are too many. */
static int note_inputs(Inputs* inputs, PyObject* x) {
  if (PyObject_TypeCheck(x, base_type)) {
    if (inputs->n == MOST_INPUTS) return 0;
    inputs->handles[inputs->n++] = handle_of(x);
    return 1;
  }
  const int is_tuple = PyTuple_Check(x);
  const Py_ssize_t n = is_tuple ? PyTuple_Size(x) : PyList_Check(x) ? PyList_Size(x) : 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!note_inputs(inputs, is_tuple ? PyTuple_GetItem(x, i) : PyList_GetItem(x, i))) return 0;
  }
  return 1;
}

static int is_called(PyObject* name, const char* text) {
  return !PyUnicode_CompareWithASCIIString(name, text);
}

/* The same for arguments with names. 0 also where a device is given. */
static int note_options(Inputs* inputs, PyObject* options) {
  PyObject *name, *value;
  Py_ssize_t at = 0;
  while (options && PyDict_Next(options, &at, &name, &value)) {
    if (is_called(name, "device") || !note_inputs(inputs, value)) return 0;
  }
  return 1;
}

/* 1 if the function may be called as it is: then dt_out_finish has to be. */
static int offer(PyObject* out, PyObject* args, PyObject* options) {
  Inputs inputs = {.n = 0};
  int32_t ready = 0;
  return PyObject_TypeCheck(out, base_type) && note_inputs(&inputs, args) &&
         note_options(&inputs, options) &&
         !dt_out_offer(handle_of(out), inputs.handles, inputs.n, &ready) && ready;
}

/* What has still to be written of a result, which is given away; NULL if all of it is in `out`, or
 * with an exception set. */
static PyObject* written_into(PyObject* out, PyObject* result) {
  const int is_tensor = result && PyObject_TypeCheck(result, base_type);
  dt_tensor* const handle = is_tensor ? handle_of(result) : NULL;
  dt_tensor* left = NULL;
  dt_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = dt_out_finish(handle_of(out), handle, &left);
  Py_END_ALLOW_THREADS;
  if (result && !is_tensor) return result;
  if (result && status) raise_last_error();
  Py_XDECREF(result);
  if (result && status) return NULL;
  return left ? adopt_handle(tensor_type, left) : NULL;
}

static PyObject* into(PyObject* module, PyObject* given, PyObject* options) {
  (void)module;
  const Py_ssize_t n = PyTuple_Size(given);
  if (n < 2) return PyErr_Format(PyExc_TypeError, "into: a tensor, a function and its arguments");
  PyObject* const out = PyTuple_GetItem(given, 0);
  PyObject* const function = PyTuple_GetItem(given, 1);
  PyObject* const args = PyTuple_GetSlice(given, 2, n);
  if (!args) return NULL;
  PyObject* result;
  if (offer(out, args, options)) {
    /* What the collector's finalizers allocate shall not be offered out's memory. */
    const int collects = PyGC_Disable();
    result = written_into(out, PyObject_Call(function, args, options));
    if (collects) PyGC_Enable();
  } else {
    PyObject* const names = options ? options : Py_None;
    result = PyObject_CallFunctionObjArgs(compute_for, out, function, args, names, NULL);
  }
  PyObject* done = NULL;
  if (PyErr_Occurred()) {
    Py_XDECREF(result);
  } else if (result) {
    done = PyObject_CallFunctionObjArgs(finish_out, out, function, args, result, NULL);
    Py_DECREF(result);
  } else {
    Py_INCREF(out);
    done = out;
  }
  Py_DECREF(args);
  return done;
}

#endif
