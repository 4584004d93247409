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
    Py_DECREF(self);
    return raise_last_error();
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
