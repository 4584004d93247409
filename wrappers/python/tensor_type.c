/* dumbtorch._tensor_type: the part of Tensor where nanoseconds count, on Python's stable ABI.
 *
 * TensorBase owns one handle, gives it back when it dies, and holds the operators: `a + b` goes
 * from the interpreter to the C API without a Python frame in between. So do an optimizer's step
 * and what generated functions ask of an argument. Everything else is Python over cffi. Operators
 * handle tensors and Python numbers; for other operands, and after an error, they call the
 * functions that `install` was given.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#include "callback_type.h"
#include "dumbtorch.h"
#include "objects.h"
#include "raised.h"

/* An operand as the C API takes it. */
typedef struct {
  dt_tensor* handle;
  dt_scalar_kind kind;
  int64_t i;
  double f;
} Operand;

/* One interpreter imports the module once: init refuses a second time, so these are set once. */
static PyTypeObject* base_type;
static PyTypeObject* tensor_type; /* dumbtorch.Tensor: what operators return */
static PyObject* size_type;       /* dumbtorch.Size: what shapes are */
static PyObject* dtypes;          /* a dict: number -> dumbtorch.dtype */
static PyObject* make_error;      /* (code, message) -> the exception for a call that has failed */
static PyObject* fallback;        /* (name, a, b) -> the result for operands that are rare */
static PyObject* methods;         /* a dict: what takes all arguments of a method of that name */
static PyObject* device_at;       /* (number) -> dumbtorch.device */
static PyObject* get_general;     /* (x, index) -> x[index] */
static PyObject* put_general;     /* (x, index, value): x[index] = value */
static PyObject* compute_for;     /* (out, function, args, options) -> what is to be in out */
static PyObject* finish_out;      /* (out, function, results) -> out, with the results in it */
static PyObject* general_scalar;  /* (x) -> what read_scalar gives of it */
static PyObject* general_operand; /* (x) -> what read_operand gives of it */
static PyObject* general_ints;    /* (x, count) -> what int_list gives of it */

/* ---- objects and errors */

static dt_tensor* handle_of(PyObject* tensor) {
  return ((TensorBase*)tensor)->handle;
}

static PyObject* error_of(dt_status code, const char* message) {
  PyObject* const number = PyLong_FromLong((long)code);
  PyObject* const text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  PyObject* const error =
      number && text ? PyObject_CallFunctionObjArgs(make_error, number, text, NULL) : NULL;
  Py_XDECREF(number);
  Py_XDECREF(text);
  return error;
}

/* Right after the call that has failed: code of Python's that runs between both, a finalizer say,
 * may make calls whose errors take the place of this one. */
static PyObject* raise_last_error(void) {
  const dt_status code = dt_error_code();
  PyObject* error = code == DT_STATUS_CALLBACK ? take_raised() : NULL;
  if (!error) error = error_of(code, dt_error_message());
  if (!error) return NULL;
  if (PyObject_SetAttrString(error, "_of_library", Py_True)) PyErr_Clear();
  PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

/* A new object of a type derived from TensorBase. Takes the handle over, also on failure. */
static PyObject* adopt_handle(PyTypeObject* type, dt_tensor* handle) {
  if (!handle) return raise_last_error();
  TensorBase* self = (TensorBase*)PyType_GenericAlloc(type, 0);
  if (!self) {
    dt_tensor_release(handle);
    return NULL;
  }
  self->handle = handle;
  return (PyObject*)self;
}

/* `view` looks at the tensor of `x`, or of what `x` looks at. The library's view holds the
 * library's tensor in any case: here the one object holds the other. */
static void keep_base(PyObject* view, PyObject* x) {
  PyObject* const before = ((TensorBase*)x)->base;
  ((TensorBase*)view)->base = before ? before : x;
  Py_INCREF(((TensorBase*)view)->base);
}

static PyObject* adopt_view(dt_tensor* handle, PyObject* x) {
  PyObject* const view = adopt_handle(tensor_type, handle);
  if (view) keep_base(view, x);
  return view;
}

static int base_traverse(PyObject* self, visitproc visit, void* arg) {
  PyObject* const callbacks = ((TensorBase*)self)->callbacks;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((TensorBase*)self)->grad);
  Py_VISIT(((TensorBase*)self)->base);
  Py_VISIT(((TensorBase*)self)->dict);
  return callbacks ? traverse_callbacks(callbacks, handle_of(self), visit, arg) : 0;
}

static int base_clear(PyObject* self) {
  PyObject* const callbacks = ((TensorBase*)self)->callbacks;
  if (callbacks) clear_callbacks(callbacks, handle_of(self));
  Py_CLEAR(((TensorBase*)self)->grad);
  Py_CLEAR(((TensorBase*)self)->base);
  Py_CLEAR(((TensorBase*)self)->dict);
  return 0;
}

/* An exception may be on its way through here: what owns the memory, an array say, is dropped by
 * Python code, which must not see it. */
static void base_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject *error, *value, *traceback;
  PyErr_Fetch(&error, &value, &traceback);
  PyObject_GC_UnTrack(self);
  if (((TensorBase*)self)->weak_references) PyObject_ClearWeakRefs(self);
  Py_CLEAR(((TensorBase*)self)->callbacks);
  Py_CLEAR(((TensorBase*)self)->grad);
  Py_CLEAR(((TensorBase*)self)->base);
  Py_CLEAR(((TensorBase*)self)->dict);
  dt_tensor_release(handle_of(self));
  PyObject_GC_Del(self);
  Py_DECREF(type);
  PyErr_Restore(error, value, traceback);
}

/* Equality compares elements, so the hash is that of the object. */
static Py_hash_t base_hash(PyObject* self) {
  return (Py_hash_t)((uintptr_t)self >> 4);
}

/* 1 if the operators take the object as it is, 0 if not, -1 with an exception set. */
static int read_operand(PyObject* o, Operand* out) {
  *out = (Operand){NULL, 0, 0, 0.0};
  if (PyObject_TypeCheck(o, base_type)) {
    out->handle = handle_of(o);
    return 1;
  }
  if (PyFloat_Check(o)) {
    out->kind = DT_SCALAR_KIND_FLOAT;
    out->f = PyFloat_AsDouble(o);
    return 1;
  }
  if (PyLong_Check(o)) {
    out->kind = PyBool_Check(o) ? DT_SCALAR_KIND_BOOL : DT_SCALAR_KIND_INT;
    out->i = PyLong_AsLongLong(o);
    if (out->i != -1 || !PyErr_Occurred()) return 1;
    PyErr_Clear();
    out->kind = DT_SCALAR_KIND_UINT;
    out->i = (int64_t)PyLong_AsUnsignedLongLong(o);
    return PyErr_Occurred() ? -1 : 1;
  }
  return 0;
}

static PyObject* call_fallback(const char* name, PyObject* a, PyObject* b) {
  return PyObject_CallFunction(fallback, "sOO", name, a, b);
}

/* ---- operators: operators.gen.h has the calls, this makes slots of them */

#include "operators.gen.h"

typedef dt_status (*BinaryCall)(const Operand* a, const Operand* b, dt_tensor** out);
typedef dt_status (*UnaryCall)(dt_tensor* a, dt_tensor** out);

/* A binary operator's calls. `reflected` takes its operands in Python's order too. */
typedef struct {
  const char* name;
  BinaryCall call;
  int numbers;          /* whether the right operand may be a number */
  BinaryCall reflected; /* for a number on the left; NULL if `fallback` sees to that */
} Binary;

static PyObject* binary(const Binary* op, PyObject* a, PyObject* b) {
  Operand x, y;
  const int good_x = read_operand(a, &x);
  const int good_y = good_x > 0 ? read_operand(b, &y) : good_x;
  if (good_y < 0) return NULL;
  BinaryCall call = NULL;
  if (good_y && x.handle && (y.handle || op->numbers)) call = op->call;
  if (good_y && !x.handle) call = op->reflected;
  if (!call) return call_fallback(op->name, a, b);
  dt_tensor* out = NULL;
  Py_BEGIN_ALLOW_THREADS;
  (void)!call(&x, &y, &out);
  Py_END_ALLOW_THREADS;
  return adopt_handle(tensor_type, out);
}

static PyObject* inplace(const char* name, BinaryCall call, PyObject* a, PyObject* b) {
  Operand x, y;
  const int good_y = read_operand(b, &y);
  if (good_y < 0 || read_operand(a, &x) < 0) return NULL;
  if (!good_y) return call_fallback(name, a, b);
  dt_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = call(&x, &y, NULL);
  Py_END_ALLOW_THREADS;
  if (status) return raise_last_error();
  Py_INCREF(a);
  return a;
}

static PyObject* unary(UnaryCall call, PyObject* a) {
  dt_tensor* const handle = handle_of(a);
  dt_tensor* out = NULL;
  Py_BEGIN_ALLOW_THREADS;
  (void)!call(handle, &out);
  Py_END_ALLOW_THREADS;
  return adopt_handle(tensor_type, out);
}

#define BINARY_SLOT(NAME, NUMBERS, REFLECTED)                               \
  static PyObject* slot_##NAME(PyObject* a, PyObject* b) {                  \
    static const Binary kBinary = {#NAME, call_##NAME, NUMBERS, REFLECTED}; \
    return binary(&kBinary, a, b);                                          \
  }
#define INPLACE_SLOT(NAME)                                 \
  static PyObject* slot_##NAME(PyObject* a, PyObject* b) { \
    return inplace(#NAME, call_##NAME, a, b);              \
  }
#define UNARY_SLOT(NAME)                      \
  static PyObject* slot_##NAME(PyObject* a) { \
    return unary(call_##NAME, a);             \
  }

DT_BINARY_OPERATORS(BINARY_SLOT)
DT_INPLACE_OPERATORS(INPLACE_SLOT)
DT_UNARY_OPERATORS(UNARY_SLOT)

/* Python's power is ternary; pow(a, b, modulus) exists for integers alone. */
static PyObject* slot_ternary_pow(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return slot_pow(a, b);
}

static PyObject* slot_ternary_ipow(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return slot_ipow(a, b);
}

static PyObject* slot_compare(PyObject* a, PyObject* b, int operation) {
  switch (operation) {
    case Py_LT:
      return slot_lt(a, b);
    case Py_LE:
      return slot_le(a, b);
    case Py_EQ:
      return slot_eq(a, b);
    case Py_NE:
      return slot_ne(a, b);
    case Py_GT:
      return slot_gt(a, b);
    default:
      return slot_ge(a, b);
  }
}

/* ---- what is asked for often, x[...], and numbers from and to Python */

#include "attributes.h"
#include "indexing.h"
#include "memory_type.h"
#include "number_lists.h"
#include "operands.h"
#include "optimizer_step.h"
#include "out.h"
#include "results.h"

/* ---- DLPack: a capsule owns the managed tensor until a consumer renames it */

/* The start of DLManagedTensorVersioned (dlpack.h 1.0): all that this file needs to know. */
typedef struct ManagedTensor {
  uint32_t version_major, version_minor;
  void* context;
  void (*deleter)(struct ManagedTensor* self);
} ManagedTensor;

#define CAPSULE_NAME "dltensor_versioned"
#define USED_CAPSULE_NAME "used_dltensor_versioned"

static void capsule_destroy(PyObject* capsule) {
  ManagedTensor* managed = NULL;
  if (PyCapsule_IsValid(capsule, CAPSULE_NAME))
    managed = PyCapsule_GetPointer(capsule, CAPSULE_NAME);
  if (managed && managed->deleter) managed->deleter(managed);
}

static PyObject* to_capsule(PyObject* module, PyObject* tensor) {
  (void)module;
  if (!PyObject_TypeCheck(tensor, base_type)) {
    return PyErr_Format(PyExc_TypeError, "to_capsule: not a tensor");
  }
  void* managed = NULL;
  if (dt_to_dlpack(handle_of(tensor), &managed)) return raise_last_error();
  PyObject* capsule = PyCapsule_New(managed, CAPSULE_NAME, capsule_destroy);
  if (!capsule) ((ManagedTensor*)managed)->deleter(managed);
  return capsule;
}

static PyObject* from_capsule(PyObject* module, PyObject* capsule) {
  (void)module;
  void* managed = PyCapsule_GetPointer(capsule, CAPSULE_NAME);
  if (!managed) return NULL;
  dt_tensor* out = NULL;
  if (dt_from_dlpack(managed, &out)) return raise_last_error();
  PyObject* tensor = adopt_handle(tensor_type, out);
  /* The library owns the memory now, whether or not the object could be made. */
  PyCapsule_SetName(capsule, USED_CAPSULE_NAME);
  return tensor;
}

/* ---- the module */

/* own(tensor, callback): the library was given the Callback for this tensor. */
static PyObject* own(PyObject* module, PyObject* args) {
  PyObject *tensor, *callback;
  (void)module;
  if (!PyArg_ParseTuple(args, "OO", &tensor, &callback)) return NULL;
  if (!PyObject_TypeCheck(tensor, base_type) || !PyObject_TypeCheck(callback, callback_type)) {
    return PyErr_Format(PyExc_TypeError, "own: not a tensor and a Callback");
  }
  TensorBase* const self = (TensorBase*)tensor;
  if (!self->callbacks) self->callbacks = new_callback_list();
  if (!self->callbacks || add_callback(self->callbacks, self->handle, callback)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* install(PyObject* module, PyObject* args) {
  PyObject* type;
  (void)module;
  if (tensor_type) return PyErr_Format(PyExc_RuntimeError, "install: called twice");
  if (!PyArg_ParseTuple(args, "OOOOOOOOOOOOOO", &type, &size_type, &dtypes, &make_error, &fallback,
                        &methods, &device_at, &get_general, &put_general, &compute_for, &finish_out,
                        &general_scalar, &general_operand, &general_ints))
    return NULL;
  Py_INCREF(args); /* and with it all that is in it */
  tensor_type = (PyTypeObject*)type;
  Py_RETURN_NONE;
}

static PyMemberDef kMembers[] = {
    {"_h", T_LONGLONG, offsetof(TensorBase, handle), READONLY, "The handle, as a number."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorBase, weak_references), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorBase, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef kProperties[] = {
    {"shape", get_shape, NULL, "The sizes of all dimensions.", NULL},
    {"ndim", get_ndim, NULL, "Number of dimensions.", NULL},
    {"dtype", get_dtype, NULL, "Element type.", NULL},
    {"device", get_device, NULL, "Where the elements are.", NULL},
    {"is_cuda", get_is_cuda, NULL, "Whether the elements are on a GPU.", NULL},
    {"is_leaf", get_is_leaf, NULL, "Whether no operation that is recorded made it.", NULL},
    {"T", get_reversed, NULL, "The tensor with its dimensions reversed.", NULL},
    {"grad", get_grad, set_grad, "The gradient that backward has added up, or None.", NULL},
    {"_base", get_base, NULL, "What a view is a view of, or None.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* A method that takes positions and names. */
#define WORDS(FUNCTION) (PyCFunction)(void (*)(void)) FUNCTION, METH_FASTCALL | METH_KEYWORDS

static PyMethodDef kMethods[] = {
    {"item", item, METH_NOARGS, "The only element as a Python number."},
    {"dim", dim, METH_NOARGS, "Number of dimensions."},
    {"numel", numel, METH_NOARGS, "Number of elements."},
    {"nelement", numel, METH_NOARGS, "Number of elements."},
    {"element_size", element_size, METH_NOARGS, "Bytes of an element."},
    {"_wants_gradient", wants_gradient, METH_NOARGS, "What requires_grad says."},
    {"size", WORDS(size), "The shape, or the size of one dimension."},
    {"stride", WORDS(stride), "The strides, or that of one dimension, in elements."},
    {"is_contiguous", WORDS(is_contiguous),
     "Whether the elements lie row-major, or in that order."},
    {"contiguous", WORDS(contiguous), "The tensor itself if it is contiguous, or a copy that is."},
    {"_without_graph", without_graph, METH_NOARGS,
     "The memory without the graph. Assigning makes the tensor look at other memory."},
    {"zero_", zero, METH_NOARGS, "Fills the tensor with 0."},
    {"copy_", WORDS(copy), "Copies src into the tensor."},
    {"view", WORDS(view), "The same elements in another shape, without a copy."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kSlots[] = {
    {Py_tp_dealloc, base_dealloc},
    {Py_tp_traverse, base_traverse},
    {Py_tp_clear, base_clear},
    {Py_tp_hash, base_hash},
    {Py_tp_richcompare, slot_compare},
    {Py_tp_members, kMembers},
    {Py_tp_getset, kProperties},
    {Py_tp_methods, kMethods},
    {Py_mp_length, slot_length},
    {Py_sq_length, slot_length},
    {Py_mp_subscript, slot_get},
    {Py_mp_ass_subscript, slot_put},
    {Py_sq_item, slot_get_item},
    {Py_sq_ass_item, slot_put_item},
    {Py_nb_bool, slot_bool},
    {Py_nb_float, slot_float},
    {Py_nb_int, slot_int},
    {Py_nb_add, slot_add},
    {Py_nb_subtract, slot_sub},
    {Py_nb_multiply, slot_mul},
    {Py_nb_true_divide, slot_truediv},
    {Py_nb_floor_divide, slot_floordiv},
    {Py_nb_remainder, slot_mod},
    {Py_nb_power, slot_ternary_pow},
    {Py_nb_matrix_multiply, slot_matmul},
    {Py_nb_and, slot_and},
    {Py_nb_or, slot_or},
    {Py_nb_xor, slot_xor},
    {Py_nb_lshift, slot_lshift},
    {Py_nb_rshift, slot_rshift},
    {Py_nb_negative, slot_neg},
    {Py_nb_absolute, slot_abs},
    {Py_nb_invert, slot_invert},
    {Py_nb_inplace_add, slot_iadd},
    {Py_nb_inplace_subtract, slot_isub},
    {Py_nb_inplace_multiply, slot_imul},
    {Py_nb_inplace_true_divide, slot_itruediv},
    {Py_nb_inplace_floor_divide, slot_ifloordiv},
    {Py_nb_inplace_remainder, slot_imod},
    {Py_nb_inplace_power, slot_ternary_ipow},
    {Py_nb_inplace_and, slot_iand},
    {Py_nb_inplace_or, slot_ior},
    {Py_nb_inplace_xor, slot_ixor},
    {Py_nb_inplace_lshift, slot_ilshift},
    {Py_nb_inplace_rshift, slot_irshift},
    {0, NULL},
};

static PyType_Spec kSpec = {
    .name = "dumbtorch._tensor_type.TensorBase",
    .basicsize = sizeof(TensorBase),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = kSlots,
};

#define FAST(FUNCTION) (PyCFunction)(void (*)(void)) FUNCTION, METH_FASTCALL

static PyMethodDef kFunctions[] = {
    {"install", install, METH_VARARGS, "Takes what Python has for this file: called once."},
    {"wrap", wrap, METH_O, "wrap(handle): a Tensor that owns it; 0 raises the last error."},
    {"wrap_or", FAST(wrap_or),
     "wrap_or(handle, tensor): the tensor if the handle is its, or wrap."},
    {"adopt", adopt, METH_VARARGS,
     "adopt(type, handle, tensor): wrap for a type derived from Tensor; the handle's tensor may "
     "say "
     "of what object it is a view."},
    {"take_tensors", FAST(take_tensors),
     "take_tensors(list, given=()): its entries, each by wrap_or with those given, in turns."},
    {"read_scalar", scalar_parts, METH_O, "read_scalar(x): (kind, i, f) of a number."},
    {"read_operand", operand_parts, METH_O,
     "read_operand(x): (handle, kind, i, f) of a tensor or a number."},
    {"int_list", FAST(int_list), "int_list(x, count): a list; one integer stands for `count`."},
    {"plain_ints", plain_ints, METH_O, "plain_ints(x): whether it is a list of Python's integers."},
    {"same_shape", FAST(same_shape), "same_shape(a, b): whether two tensors have the same sizes."},
    {"optimizer_step", FAST(optimizer_step),
     "optimizer_step(name, params, first, state, kept, settings, unless): see its file."},
    {"rate_device", rate_device, METH_O,
     "rate_device(params): the GPU of the first that steps on one, or None."},
    {"from_lists", FAST(from_lists), "from_lists(data, float_dtype): a Tensor, None if not plain."},
    {"to_lists", FAST(to_lists), "to_lists(tensor, code): its elements as nested lists."},
    {"memory_of", FAST(memory_of), "memory_of(tensor, code): its elements as a buffer."},
    {"from_memory", from_memory, METH_O, "from_memory(array): a Tensor on it, None if not plain."},
    {"drop_grads", drop_grads, METH_O, "drop_grads(tensors): x.grad = None for each in a list."},
    {"exchange", exchange, METH_VARARGS, "exchange(a, b): each becomes what the other was."},
    {"into", (PyCFunction)(void (*)(void))into, METH_VARARGS | METH_KEYWORDS,
     "into(out, function, ...): what the function gives, written into `out`."},
    {"own", own, METH_VARARGS, "own(tensor, callback): the library keeps it for this tensor."},
    {"on_collection", on_collection, METH_VARARGS, "For gc.callbacks."},
    {"keep_raised", keep_raised, METH_VARARGS, "For cffi, where a Python function has raised."},
    {"drop_quietly", FAST(drop_quietly),
     "drop_quietly(function, number): calls it, and what Python functions have raised is kept."},
    {"to_capsule", to_capsule, METH_O, "A DLPack capsule that shares the tensor's memory."},
    {"from_capsule", from_capsule, METH_O, "A Tensor that shares a DLPack capsule's memory."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_tensor_type",
    .m_size = -1,
    .m_methods = kFunctions,
};

static PyTypeObject* add_type(PyObject* module, const char* name, PyType_Spec* spec) {
  PyObject* type = PyType_FromSpec(spec);
  if (type && PyModule_AddObjectRef(module, name, type) < 0) Py_CLEAR(type);
  return (PyTypeObject*)type;
}

static int add_functions(PyObject* module) {
  static TensorFunctions functions = {NULL, wrap_handle, raise_last_error};
  functions.type = base_type;
  PyObject* const capsule = PyCapsule_New(&functions, TENSOR_FUNCTIONS, NULL);
  const int failed = !capsule || PyModule_AddObjectRef(module, "functions", capsule) < 0;
  Py_XDECREF(capsule);
  return failed;
}

PyMODINIT_FUNC PyInit__tensor_type(void) {
  if (base_type) {
    PyErr_SetString(PyExc_ImportError, "dumbtorch can be imported by one interpreter per process");
    return NULL;
  }
  PyObject* module = PyModule_Create(&kModule);
  if (!module) return NULL;
  base_type = add_type(module, "TensorBase", &kSpec);
  callback_type = base_type ? add_type(module, "Callback", &kCallbackSpec) : NULL;
  memory_type = callback_type ? add_type(module, "Memory", &kMemorySpec) : NULL;
  if (!memory_type || add_functions(module)) Py_CLEAR(module);
  return module;
}
