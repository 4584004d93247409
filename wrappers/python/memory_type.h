/* Memory: a tensor's elements as Python's buffer protocol shows them, for NumPy. A part of
 * tensor_type.c. Tensors themselves are no buffers: what looks at their memory has been asked first
 * whether it may. */
#ifndef DUMBTORCH_PYTHON_MEMORY_TYPE_H
#define DUMBTORCH_PYTHON_MEMORY_TYPE_H

typedef struct {
  PyObject_HEAD dt_tensor* kept; /* a view of its own: the tensor may get other memory */
  char* data;
  Py_ssize_t shape[DT_TENSOR_MAX_DIMS], strides[DT_TENSOR_MAX_DIMS];
  Py_ssize_t itemsize, bytes;
  int ndim;
  char format[2];
} Memory;

static PyTypeObject* memory_type;

static int memory_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  Memory* const memory = (Memory*)self;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) { /* NumPy asks for everything */
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError, "a tensor's memory is shown with its strides");
    return -1;
  }
  Py_INCREF(self);
  *view = (Py_buffer){.buf = memory->data,
                      .obj = self,
                      .len = memory->bytes,
                      .itemsize = memory->itemsize,
                      .ndim = memory->ndim,
                      .format = memory->format,
                      .shape = memory->shape,
                      .strides = memory->strides};
  return 0;
}

static void memory_dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  if (((Memory*)self)->kept) dt_tensor_release(((Memory*)self)->kept);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* memory_of(tensor, code): `code` is what buffers call the elements. */
static PyObject* memory_of(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  (void)module;
  static char nothing[8];
  if (n != 2 || !PyObject_TypeCheck(args[0], base_type) || !PyUnicode_Check(args[1]))
    return PyErr_Format(PyExc_TypeError, "memory_of: not a tensor and a code");
  dt_tensor* const handle = handle_of(args[0]);
  int64_t sizes[DT_TENSOR_MAX_DIMS], strides[DT_TENSOR_MAX_DIMS], dims = 0, count = 0, width = 0;
  void* data = NULL;
  if (dt_tensor_shape(handle, sizes, DT_TENSOR_MAX_DIMS, &dims) ||
      dt_tensor_stride(handle, strides, DT_TENSOR_MAX_DIMS, &dims) ||
      dt_tensor_numel(handle, &count) || dt_tensor_element_size(handle, &width) ||
      dt_tensor_data_ptr(handle, &data))
    return raise_last_error();
  Memory* const self = (Memory*)PyType_GenericAlloc(memory_type, 0);
  if (!self) return NULL;
  if (dt_detach(handle, &self->kept)) {
    raise_last_error();
    Py_DECREF(self);
    return NULL;
  }
  self->data = data ? (char*)data : nothing;
  for (int64_t i = 0; i < dims; i++) {
    self->shape[i] = (Py_ssize_t)sizes[i];
    self->strides[i] = (Py_ssize_t)(strides[i] * width);
  }
  self->itemsize = (Py_ssize_t)width;
  self->bytes = (Py_ssize_t)(count * width);
  self->ndim = (int)dims;
  self->format[0] = (char)PyUnicode_ReadChar(args[1], 0);
  return (PyObject*)self;
}

/* ---- the other way: memory that Python has */

/* What elements of a buffer are; 0 if none of ours. */
static dt_dtype dtype_of_format(const char* format, Py_ssize_t width) {
  if (!format || !format[0] || format[1]) return 0;
  switch (format[0]) {
    case 'f':
      return DT_DTYPE_FLOAT32;
    case 'd':
      return DT_DTYPE_FLOAT64;
    case 'e':
      return DT_DTYPE_FLOAT16;
    case '?':
      return DT_DTYPE_BOOL;
    case 'B':
      return DT_DTYPE_UINT8;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return width == 8   ? DT_DTYPE_INT64
             : width == 4 ? DT_DTYPE_INT32
             : width == 2 ? DT_DTYPE_INT16
                          : DT_DTYPE_INT8;
  }
  return 0;
}

/* A drop for an object, which may run on any thread, and late. */
static void drop_object(void* object) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* const before = take_raised();
  Py_DECREF((PyObject*)object);
  put_back(before);
  PyGILState_Release(state);
}

static PyObject* from_view(PyObject* owner, const Py_buffer* view) {
  const dt_dtype dtype = dtype_of_format(view->format, view->itemsize);
  int64_t sizes[DT_TENSOR_MAX_DIMS], strides[DT_TENSOR_MAX_DIMS], last = 0;
  if (!dtype || view->ndim > DT_TENSOR_MAX_DIMS || !view->len) Py_RETURN_NONE;
  const int is_row_major = PyBuffer_IsContiguous(view, 'C');
  for (int d = 0; d < view->ndim; d++) {
    if (view->strides[d] < 0 || view->strides[d] % view->itemsize) Py_RETURN_NONE;
    /* NumPy gives strides of its own to dimensions of one element. */
    if (view->shape[d] == 1 && !is_row_major) Py_RETURN_NONE;
    sizes[d] = view->shape[d];
    strides[d] = view->strides[d] / view->itemsize;
    last += (sizes[d] - 1) * strides[d];
  }
  dt_tensor* out = NULL;
  Py_INCREF(owner);
  (void)!dt_from_blob(view->buf, (last + 1) * view->itemsize, sizes, view->ndim,
                      is_row_major ? NULL : strides, is_row_major ? 0 : view->ndim, dtype,
                      DT_DEVICE_TYPE_CPU, 0, owner, drop_object, &out);
  return adopt_handle(tensor_type, out);
}

/* from_memory(owner): a tensor on the memory that a buffer shows, None if it is not to be written
 * or has elements or strides that a tensor has not. */
static PyObject* from_memory(PyObject* module, PyObject* owner) {
  (void)module;
  Py_buffer view;
  if (PyObject_GetBuffer(owner, &view, PyBUF_RECORDS)) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  PyObject* const tensor = from_view(owner, &view);
  PyBuffer_Release(&view); /* the owner is kept, and with it its memory */
  return tensor;
}

static PyType_Slot kMemorySlots[] = {
    {Py_tp_dealloc, memory_dealloc},
    {Py_bf_getbuffer, memory_get_buffer},
    {0, NULL},
};

static PyType_Spec kMemorySpec = {
    .name = "dumbtorch._tensor_type.Memory",
    .basicsize = sizeof(Memory),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = kMemorySlots,
};

#endif
