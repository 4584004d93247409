/* x[...] and x[...] = value by integers, slices, None and Ellipsis: views, made without a frame of
 * Python's. A part of tensor_type.c. What else stands in brackets, and what is refused, goes to
 * _indexing.py, which knows all of it and has the sentences. */
#ifndef DUMBTORCH_PYTHON_INDEXING_H
#define DUMBTORCH_PYTHON_INDEXING_H

/* The view so far. It is the tensor itself until a step was taken. */
typedef struct {
  dt_tensor* handle;
  int owned;
} Place;

static void leave(Place* place) {
  if (place->owned) dt_tensor_release(place->handle);
}

/* 1 if the step was taken: `*next` is what it gave. */
static int arrive(Place* place, dt_status status, dt_tensor* const* next) {
  if (status) return 0;
  leave(place);
  *place = (Place){*next, 1};
  return 1;
}

static int take_slice(Place* place, int64_t dim, PyObject* slice) {
  Py_ssize_t start, stop, step;
  int64_t size = 0;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) {
    PyErr_Clear();
    return 0;
  }
  if (step <= 0 || dt_tensor_size(place->handle, dim, &size)) return 0;
  /* All of a dimension is no view: what is written into it is written into x itself. */
  if (start == 0 && step == 1 && stop >= size) return 1;
  const int64_t from = start, to = stop;
  dt_tensor* next = NULL;
  return arrive(place, dt_slice(place->handle, dim, &from, &to, step, &next), &next);
}

static int take_integer(Place* place, int64_t dim, PyObject* integer) {
  const long long index = PyLong_AsLongLong(integer);
  if (index == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  dt_tensor* next = NULL;
  return arrive(place, dt_select(place->handle, dim, index, &next), &next);
}

/* How many dimensions a part of the brackets stands for; -1 if it is none of the plain ones. */
static int dims_of(PyObject* part) {
  if (PyLong_CheckExact(part) || Py_IS_TYPE(part, &PySlice_Type)) return 1;
  return part == Py_None || part == Py_Ellipsis ? 0 : -1;
}

/* One part, at dimension *dim of the view. */
static int take_part(Place* place, int64_t* dim, PyObject* part, int64_t skipped) {
  if (PyLong_CheckExact(part)) return take_integer(place, *dim, part);
  if (part == Py_Ellipsis) {
    *dim += skipped;
    return 1;
  }
  dt_tensor* next = NULL;
  const int taken = part == Py_None ? arrive(place, dt_unsqueeze(place->handle, *dim, &next), &next)
                                    : take_slice(place, *dim, part);
  *dim += 1;
  return taken;
}

/* Goes to x[index]. 0, and nothing is owned, if that is for Python. */
static int go_to(Place* place, PyObject* x, PyObject* index) {
  *place = (Place){handle_of(x), 0};
  const int is_tuple = PyTuple_Check(index);
  const Py_ssize_t n = is_tuple ? PyTuple_Size(index) : 1;
  int64_t ndim = 0, used = 0, dim = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    const int dims = dims_of(is_tuple ? PyTuple_GetItem(index, i) : index);
    if (dims < 0) return 0;
    used += dims;
  }
  if (dt_tensor_dim(place->handle, &ndim) || used > ndim) return 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* const part = is_tuple ? PyTuple_GetItem(index, i) : index;
    if (take_part(place, &dim, part, ndim - used)) continue;
    leave(place);
    return 0;
  }
  return 1;
}

static PyObject* slot_get(PyObject* self, PyObject* index) {
  Place place;
  dt_tensor* all = NULL;
  if (go_to(&place, self, index)) {
    if (place.owned) return adopt_view(place.handle, self);
    /* x[:] is a slice, whose gradient has memory of its own; x[...] and x[:, :] are not. */
    if (Py_IS_TYPE(index, &PySlice_Type) && !dt_slice(place.handle, 0, NULL, NULL, 1, &all))
      return adopt_view(all, self);
  }
  return PyObject_CallFunctionObjArgs(get_general, self, index, NULL);
}

/* Python's sentence about what failed is that of the whole assignment. */
static int put_by_python(PyObject* self, PyObject* index, PyObject* value) {
  PyErr_Clear();
  PyObject* const out = PyObject_CallFunctionObjArgs(put_general, self, index, value, NULL);
  Py_XDECREF(out);
  return out ? 0 : -1;
}

static int slot_put(PyObject* self, PyObject* index, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  Operand operand;
  Place place;
  if (read_operand(value, &operand) <= 0 || !go_to(&place, self, index))
    return put_by_python(self, index, value);
  int64_t dims = 0, dims_of_value = 0;
  dt_status status = 0;
  /* A value of more dimensions may have to lose those of size 1. */
  if (operand.handle) {
    status = dt_tensor_dim(operand.handle, &dims_of_value);
    if (!status) status = dt_tensor_dim(place.handle, &dims);
  }
  if (status || dims_of_value > dims) {
    leave(&place);
    return put_by_python(self, index, value);
  }
  Py_BEGIN_ALLOW_THREADS;
  status = operand.handle ? dt_copy_(place.handle, operand.handle, 0)
                          : dt_fill_(place.handle, NULL, operand.kind, operand.i, operand.f);
  Py_END_ALLOW_THREADS;
  leave(&place);
  return status ? put_by_python(self, index, value) : 0;
}

/* The same for C code that takes a tensor for a sequence. */
static PyObject* slot_get_item(PyObject* self, Py_ssize_t i) {
  PyObject* const index = PyLong_FromSsize_t(i);
  PyObject* const out = index ? slot_get(self, index) : NULL;
  Py_XDECREF(index);
  return out;
}

static int slot_put_item(PyObject* self, Py_ssize_t i, PyObject* value) {
  PyObject* const index = PyLong_FromSsize_t(i);
  const int failed = index ? slot_put(self, index, value) : -1;
  Py_XDECREF(index);
  return failed;
}

#endif
