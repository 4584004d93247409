/* Hand-written part of the module dumbtorch._native: what the generated shims need, and shims for
 * the functions of the C API that are not of the uniform shape. Their declarations for cffi are in
 * native.cdef. */
#ifndef DUMBTORCH_PYTHON_NATIVE_H
#define DUMBTORCH_PYTHON_NATIVE_H

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "dumbtorch.h"
#include "objects.h"

/* ---- what cffi's calls take
 *
 * cffi takes all that has a number for a bool, and cuts it to an integer: `keepdim=2`, `dim=True`,
 * a tensor or a NumPy number of floats. PyTorch refuses these. */

static _Bool bool_of(PyObject* x) {
  if (!PyBool_Check(x)) PyErr_SetString(PyExc_TypeError, "expected a bool");
  return x != Py_False;
}

static int is_set(PyObject* x, const char* name) {
  PyObject* const value = PyObject_GetAttrString(x, name);
  const int set = value && PyObject_IsTrue(value) == 1;
  Py_XDECREF(value);
  PyErr_Clear();
  return set;
}

static int64_t int_of(PyObject* x) {
  if (PyLong_CheckExact(x)) return int64_of(x);
  PyObject* const index = PyBool_Check(x) ? NULL : PyNumber_Index(x);
  if (!index) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected an int, not a bool");
    return -1;
  }
  const int64_t value = int64_of(index);
  Py_DECREF(index);
  return value;
}

/* A tensor that has dimensions, or a gradient, is no number. */
static double float_of(PyObject* x) {
  const int is_plain = PyFloat_Check(x) || PyLong_Check(x);
  if (is_plain || !(is_set(x, "requires_grad") || is_set(x, "ndim"))) return PyFloat_AsDouble(x);
  PyErr_SetString(PyExc_TypeError, "expected a float");
  return -1;
}

/* A tensor crosses as the object that it is: to ask it for its handle, as a number, and to make an
 * object of a number would take longer than the rest of its way. */
static const TensorFunctions* tensor_functions(void) {
  static const TensorFunctions* functions = NULL;
  if (!functions) functions = PyCapsule_Import(TENSOR_FUNCTIONS, 0);
  return functions;
}

static int64_t tensor_of(PyObject* x) {
  const TensorFunctions* const functions = tensor_functions();
  if (!functions) return -1;
  if (PyObject_TypeCheck(x, functions->type)) return (int64_t)(intptr_t)((TensorBase*)x)->handle;
  PyErr_SetString(PyExc_TypeError, "expected a Tensor");
  return -1;
}

static int64_t optional_tensor_of(PyObject* x) {
  return x == Py_None ? 0 : tensor_of(x);
}

typedef int64_t tensor_handle, optional_tensor;

/* ---- what cffi's calls give
 *
 * A call that has failed raises here, where nothing of Python's has run since: a finalizer or a
 * signal handler may make calls of its own, whose errors would take the place of this one. */

typedef int64_t new_tensor, handle_result, optional_result, int_result, count_result;
typedef int32_t status_result, bool_result, enum_result;

static PyObject* raise_error(void) {
  const TensorFunctions* const functions = tensor_functions();
  return functions ? functions->raise() : NULL;
}

static PyObject* from_new_tensor(int64_t handle) {
  const TensorFunctions* const functions = tensor_functions();
  if (!functions) return NULL;
  return handle ? functions->wrap((dt_tensor*)(intptr_t)handle) : functions->raise();
}

static PyObject* from_status(int32_t status) {
  if (status) return raise_error();
  Py_RETURN_NONE;
}

static PyObject* from_bool(int32_t x) {
  return x < 0 ? raise_error() : PyBool_FromLong(x);
}

static PyObject* from_enum(int32_t x) {
  return x ? PyLong_FromLong(x) : raise_error();
}

static PyObject* int_or_raise(int64_t x, int failed) {
  return failed ? raise_error() : PyLong_FromLongLong(x);
}

static PyObject* from_double(double x) {
  return x != x && dt_error_code() ? raise_error() : PyFloat_FromDouble(x);
}

#undef _cffi_to_c__Bool
#define _cffi_to_c__Bool bool_of
#undef _cffi_to_c_double
#define _cffi_to_c_double float_of

/* Integers of these two types cross. cffi's own macros ask for a dozen, at each of 4000 places, and
 * the module would take half as long again to compile. */
#undef _cffi_to_c_int
#define _cffi_to_c_int(x, type) _cffi_to_c_##type(x)
#define _cffi_to_c_int32_t _cffi_to_c_i32
#define _cffi_to_c_int64_t int_of
#define _cffi_to_c_tensor_handle tensor_of
#define _cffi_to_c_optional_tensor optional_tensor_of
#undef _cffi_from_c_int
#define _cffi_from_c_int(x, type) _cffi_from_c_##type(x)
#define _cffi_from_c_int32_t PyLong_FromLong
#define _cffi_from_c_int64_t PyLong_FromLongLong
#define _cffi_from_c_new_tensor from_new_tensor
#define _cffi_from_c_status_result from_status
#define _cffi_from_c_bool_result from_bool
#define _cffi_from_c_enum_result from_enum
#define _cffi_from_c_handle_result(x) int_or_raise(x, !(x))
#define _cffi_from_c_optional_result(x) int_or_raise(x, (x) == 1)
#define _cffi_from_c_count_result(x) int_or_raise(x, (x) < 0)
#define _cffi_from_c_int_result(x) int_or_raise(x, (x) == INT64_MIN && dt_error_code())
#undef _cffi_from_c_double
#define _cffi_from_c_double from_double

/* A number that comes out of a call. */
typedef struct {
  int32_t kind;
  int64_t i;
  double f;
} py_scalar;

/* ---- calls of Python functions
 *
 * The library outlives the interpreter: handlers of C's atexit may call it, and with it Python
 * functions that it still has. And when the interpreter ends, it ends the threads that wait for it
 * with pthread_exit, which would unwind the library's frames below the function: such a thread
 * waits for the end of the process instead, as all do from Python 3.14 on. */

static int python_runs(void) {
  return PyGILState_GetThisThreadState() || Py_IsInitialized();
}

static void wait_for_exit(void* unused) {
  (void)unused;
  for (;;) pause();
}

static dt_status python_has_ended(void) {
  return dt_error_set(DT_STATUS_CALLBACK, "the Python function cannot run: Python has ended");
}

#define CALL_PYTHON(call)                      \
  do {                                         \
    pthread_cleanup_push(wait_for_exit, NULL); \
    call;                                      \
    pthread_cleanup_pop(0);                    \
  } while (0)

/* What Python keeps alive for the library, by number. */
static void py_on_drop(int64_t id);
static void on_drop(void* user_data) {
  if (python_runs()) CALL_PYTHON(py_on_drop((int64_t)(intptr_t)user_data));
}

/* ---- lists and text */

/* Lists that may be absent: Python gives the count -1. One that is there has an address. */
static const void* list_or_null(const void* list, int64_t n) {
  static const int64_t nothing = 0;
  return n < 0 ? NULL : list ? list : &nothing;
}
static int64_t list_count(int64_t n) {
  return n < 0 ? 0 : n;
}

/* Another handle of what one stands for. */
static handle_result py_alias(int64_t handle) {
  dt_tensor* out = NULL;
  (void)!dt_tensor_alias((dt_tensor*)(intptr_t)handle, &out);
  return (int64_t)(intptr_t)out;
}

static count_result py_bytes_data(int64_t bytes, const char** data) {
  const void* address = NULL;
  int64_t n = 0;
  if (dt_bytes_data((dt_bytes*)(intptr_t)bytes, &address, &n)) return -1;
  *data = (const char*)address;
  return n;
}

static const char* py_string_list_get(int64_t list, int64_t index) {
  const char* out = NULL;
  (void)!dt_string_list_get((dt_string_list*)(intptr_t)list, index, &out);
  return out;
}

/* ---- memory */

static handle_result py_from_data(const void* data, int64_t data_n, const int64_t* size,
                                  int64_t size_n, int32_t dtype) {
  dt_tensor* out = NULL;
  (void)!dt_from_data(data, data_n, size, size_n, dtype, 0, 0, &out);
  return (int64_t)(intptr_t)out;
}

static handle_result py_from_blob(int64_t address, int64_t data_n, const int64_t* size,
                                  int64_t size_n, const int64_t* stride, int64_t stride_n,
                                  int32_t dtype, int64_t owner) {
  dt_tensor* out = NULL;
  (void)!dt_from_blob((void*)(intptr_t)address, data_n, size, size_n, stride, stride_n, dtype,
                      DT_DEVICE_TYPE_CPU, 0, (void*)(intptr_t)owner, on_drop, &out);
  return (int64_t)(intptr_t)out;
}

static status_result py_tensor_read(tensor_handle tensor, void* data, int64_t data_n) {
  return dt_tensor_read((dt_tensor*)(intptr_t)tensor, data, data_n);
}

#endif
