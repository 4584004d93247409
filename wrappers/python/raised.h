/* What a Python function has raised in a call of the library, until that call fails in turn. A part
 * of tensor_type.c. */
#ifndef DUMBTORCH_PYTHON_RAISED_H
#define DUMBTORCH_PYTHON_RAISED_H

static __thread PyObject* raised;

static PyObject* take_raised(void) {
  PyObject* const error = raised;
  raised = NULL;
  return error;
}

/* cffi calls keep_raised(type, error, traceback) when a Python function has raised: its result is
 * then that of a function that has failed. The error is set last, when nothing of Python's is left
 * to run before the library looks at it. */
static PyObject* keep_raised(PyObject* module, PyObject* args) {
  PyObject *type, *error, *traceback;
  (void)module;
  if (!PyArg_ParseTuple(args, "OOO", &type, &error, &traceback)) return NULL;
  PyObject* const name = PyObject_GetAttrString(type, "__name__");
  PyObject* const text = name ? PyUnicode_FromFormat("%U: %S", name, error) : NULL;
  const char* const words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  PyErr_Clear();
  Py_XDECREF(take_raised());
  Py_INCREF(error);
  raised = error;
  (void)!dt_error_set(DT_STATUS_CALLBACK, words ? words : "a Python function has raised");
  Py_XDECREF(text);
  Py_XDECREF(name);
  Py_RETURN_NONE;
}

/* A drop may run while an error is on its way. What calls of its own raise must not take that one's
 * place: it is taken before, and put back. */
static void put_back(PyObject* error) {
  PyObject* const left = take_raised();
  raised = error;
  Py_XDECREF(left);
}

/* drop_quietly(function, number): calls it, for a drop. */
static PyObject* drop_quietly(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  (void)module;
  if (n != 2) return PyErr_Format(PyExc_TypeError, "drop_quietly: a function and a number");
  PyObject* const before = take_raised();
  PyObject* const out = PyObject_CallFunctionObjArgs(args[0], args[1], NULL);
  put_back(before);
  return out;
}

#endif
