/* What both modules know of Python's objects. */
#ifndef DUMBTORCH_PYTHON_OBJECTS_H
#define DUMBTORCH_PYTHON_OBJECTS_H

#include <stdint.h>

#include "dumbtorch.h"

typedef struct {
  PyObject_HEAD dt_tensor* handle;
  PyObject* weak_references;
  PyObject* callbacks; /* a list of Callbacks: its hooks; NULL for most */
  PyObject* grad;      /* what x.grad gave last; NULL for most */
  PyObject* base;      /* of a view: what x._base gives, if the library agrees; or NULL */
  PyObject* dict;      /* attributes that programs set; NULL for most */
} TensorBase;

/* What _tensor_type lends _native, by a capsule of this name. */
typedef struct {
  PyTypeObject* type;                   /* TensorBase */
  PyObject* (*wrap)(dt_tensor* handle); /* a Tensor that owns it */
  PyObject* (*raise)(void);             /* NULL, with the last error raised */
} TensorFunctions;

#define TENSOR_FUNCTIONS "dumbtorch._tensor_type.functions"

/* -1 with an exception set if it is too large. PyLong_AsLongLong goes by way of bytes where there
 * are more than 30 bits, as handles have, which takes five times as long. */
static int64_t int64_of(PyObject* x) {
  return sizeof(long) == sizeof(int64_t) ? PyLong_AsLong(x) : PyLong_AsLongLong(x);
}

#endif
