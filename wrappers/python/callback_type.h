/* Callback: a Python function that the library keeps, and how the garbage collector sees it.
 *
 * The collector cannot look into the library: a hook that refers to its own tensor would live for
 * ever. So the tensor object that a function was given for remembers it and, while nothing else
 * keeps the function, shows it to the collector as its own.
 *
 * One collection asks an object several times and must get one answer, although other threads may
 * compute, without the interpreter's lock, on the tensor meanwhile. So the answer is found once per
 * collection and kept. gc.callbacks says when a collection begins and ends; outside of one, nothing
 * is shown.
 */
#ifndef DUMBTORCH_PYTHON_CALLBACK_TYPE_H
#define DUMBTORCH_PYTHON_CALLBACK_TYPE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "dumbtorch.h"

typedef struct {
  PyObject_HEAD PyObject* function; /* NULL once the library has dropped it */
  dt_tensor* tensor;                /* the handle through which it was given, */
  int64_t node;                     /* and the node that it lives with; 0: a leaf */
  uint64_t judged;                  /* the collection that `shown` is about */
  int shown;
} Callback;

static PyTypeObject* callback_type;

/* The collections so far, and whether one is going on. The interpreter's lock guards them. */
static uint64_t collections;
static int collecting;

static PyObject* on_collection(PyObject* module, PyObject* args) {
  const char* phase;
  PyObject* info;
  (void)module;
  if (!PyArg_ParseTuple(args, "sO", &phase, &info)) return NULL;
  collecting = !strcmp(phase, "start");
  if (collecting) collections++;
  Py_RETURN_NONE;
}

/* Whether only `tensor` keeps the function: then it is the tensor's to show. */
static int is_shown(Callback* c, dt_tensor* tensor) {
  if (!collecting || !c->function) return 0;
  if (c->judged != collections) {
    int64_t node = 0;
    const int alone = dt_tensor_sole_owner(tensor, &node);
    c->shown = alone && c->tensor == tensor && (c->node == 0 || c->node == node);
    c->judged = collections;
  }
  return c->shown;
}

static int traverse_callbacks(PyObject* list, dt_tensor* tensor, visitproc visit, void* arg) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
    Callback* const c = (Callback*)PyList_GetItem(list, i);
    if (is_shown(c, tensor)) Py_VISIT(c->function);
  }
  return 0;
}

static void clear_callbacks(PyObject* list, dt_tensor* tensor) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
    PyObject* const item = PyList_GetItem(list, i);
    Py_INCREF(item); /* what the function's end runs may change the list */
    Callback* const c = (Callback*)item;
    if (is_shown(c, tensor)) Py_CLEAR(c->function);
    Py_DECREF(item);
  }
}

/* A list for a tensor's callbacks. What it holds is shown by the tensor, not by the list, which
 * the collector therefore must neither see nor clear. */
static PyObject* new_callback_list(void) {
  PyObject* list = PyList_New(0);
  if (list) PyObject_GC_UnTrack(list);
  return list;
}

/* Adds a callback, in the place of one that was dropped if there is one. */
static int add_callback(PyObject* list, dt_tensor* tensor, PyObject* item) {
  Callback* const c = (Callback*)item;
  c->tensor = tensor;
  (void)dt_tensor_sole_owner(tensor, &c->node);
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
    if (((Callback*)PyList_GetItem(list, i))->function) continue;
    Py_INCREF(item);
    return PyList_SetItem(list, i, item);
  }
  return PyList_Append(list, item);
}

/* ---- the type */

static PyObject* callback_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* function;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "O", &function)) return NULL;
  Callback* self = (Callback*)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  Py_INCREF(function);
  self->function = function;
  return (PyObject*)self;
}

static void callback_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(((Callback*)self)->function);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject* callback_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* function = ((Callback*)self)->function;
  if (!function) return PyErr_Format(PyExc_RuntimeError, "the function was dropped");
  Py_INCREF(function); /* it may drop itself */
  PyObject* result = PyObject_Call(function, args, kwargs);
  Py_DECREF(function);
  return result;
}

static PyObject* callback_drop(PyObject* self, PyObject* unused) {
  (void)unused;
  Py_CLEAR(((Callback*)self)->function);
  Py_RETURN_NONE;
}

static PyMethodDef kCallbackMethods[] = {
    {"drop", callback_drop, METH_NOARGS, "Lets go of the function: nobody will call it again."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kCallbackSlots[] = {
    {Py_tp_new, callback_new},
    {Py_tp_dealloc, callback_dealloc},
    {Py_tp_call, callback_call},
    {Py_tp_methods, kCallbackMethods},
    {0, NULL},
};

/* Not known to the collector: whoever holds a Callback does not show its function. */
static PyType_Spec kCallbackSpec = {
    .name = "dumbtorch._tensor_type.Callback",
    .basicsize = sizeof(Callback),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = kCallbackSlots,
};

#endif
