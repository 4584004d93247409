/* Tensors from nested lists of Python's numbers, and such lists from tensors. A part of
 * tensor_type.c. */
#ifndef DUMBTORCH_PYTHON_NUMBER_LISTS_H
#define DUMBTORCH_PYTHON_NUMBER_LISTS_H

/* ---- from lists: what is no list or tuple of equal lengths and plain numbers goes to
 * _creation.py, which has the sentences */

typedef struct {
  int64_t sizes[DT_TENSOR_MAX_DIMS], n; /* the shape that the first entries say */
  int64_t count;
  int has_float, has_int, has_bool;
} Numbers;

static int is_list(PyObject* x) {
  return PyList_CheckExact(x) || PyTuple_CheckExact(x);
}

static Py_ssize_t list_size(PyObject* list) {
  return PyList_CheckExact(list) ? PyList_Size(list) : PyTuple_Size(list);
}

static PyObject* list_entry(PyObject* list, Py_ssize_t i) {
  return PyList_CheckExact(list) ? PyList_GetItem(list, i) : PyTuple_GetItem(list, i);
}

/* Whether all entries below fit the shape and are plain numbers, whose kinds it notes. */
static int look(Numbers* numbers, PyObject* x, int64_t depth) {
  if (depth == numbers->n) {
    const int is_float = PyFloat_CheckExact(x), is_int = PyLong_CheckExact(x);
    const int is_bool = PyBool_Check(x);
    numbers->has_float |= is_float;
    numbers->has_int |= is_int;
    numbers->has_bool |= is_bool;
    return is_float || is_int || is_bool;
  }
  if (!is_list(x) || list_size(x) != numbers->sizes[depth]) return 0;
  for (Py_ssize_t i = 0; i < numbers->sizes[depth]; i++)
    if (!look(numbers, list_entry(x, i), depth + 1)) return 0;
  return 1;
}

enum { MOST_NUMBERS = 1 << 28 };

static int measure(Numbers* numbers, PyObject* data) {
  numbers->count = 1;
  while (is_list(data)) {
    const Py_ssize_t size = list_size(data);
    if (numbers->n == DT_TENSOR_MAX_DIMS || !size) return 0;
    numbers->sizes[numbers->n++] = size;
    numbers->count *= size;
    /* Lists may share their entries, and be a tensor that no memory holds. */
    if (size > MOST_NUMBERS || numbers->count > MOST_NUMBERS) return 0;
    data = list_entry(data, 0);
  }
  return 1;
}

/* Writes the numbers below as a dtype's, and returns where the next goes; NULL with an exception.
 */
static char* write_numbers(const Numbers* numbers, PyObject* x, int64_t depth, dt_dtype dtype,
                           char* out) {
  if (depth < numbers->n) {
    for (Py_ssize_t i = 0; out && i < numbers->sizes[depth]; i++)
      out = write_numbers(numbers, list_entry(x, i), depth + 1, dtype, out);
    return out;
  }
  if (dtype == DT_DTYPE_BOOL) {
    *out = x == Py_True;
    return out + 1;
  }
  if (dtype == DT_DTYPE_INT64) {
    const int64_t value = PyLong_AsLongLong(x);
    memcpy(out, &value, sizeof value);
    return value == -1 && PyErr_Occurred() ? NULL : out + sizeof value;
  }
  const double value = PyFloat_AsDouble(x);
  if (value == -1 && PyErr_Occurred()) return NULL;
  if (dtype == DT_DTYPE_FLOAT64) {
    memcpy(out, &value, sizeof value);
    return out + sizeof value;
  }
  const float rounded = (float)value;
  memcpy(out, &rounded, sizeof rounded);
  return out + sizeof rounded;
}

/* from_lists(data, float_dtype): a tensor of the dtype that the kinds of the numbers give, None for
 * what is not plain. */
static PyObject* from_lists(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  (void)module;
  const long floats = n == 2 ? PyLong_AsLong(args[1]) : 0;
  if (floats != DT_DTYPE_FLOAT32 && floats != DT_DTYPE_FLOAT64) Py_RETURN_NONE;
  Numbers numbers = {{0}, 0, 0, 0, 0, 0};
  if (!measure(&numbers, args[0]) || !look(&numbers, args[0], 0)) Py_RETURN_NONE;
  const int is_int = numbers.has_int && !numbers.has_float;
  const dt_dtype dtype = is_int              ? DT_DTYPE_INT64
                         : numbers.has_float ? (dt_dtype)floats
                                             : DT_DTYPE_BOOL;
  char few[512];
  char* const memory = numbers.count <= 64 ? few : malloc(8 * (size_t)numbers.count);
  if (!memory) return PyErr_NoMemory();
  char* const end = write_numbers(&numbers, args[0], 0, dtype, memory);
  dt_tensor* out = NULL;
  if (end) {
    (void)!dt_from_data(memory, end - memory, numbers.sizes, numbers.n, dtype, 0, 0, &out);
  }
  if (memory != few) free(memory);
  if (end) return adopt_handle(tensor_type, out);
  PyErr_Clear(); /* a number beyond the dtype */
  Py_RETURN_NONE;
}

/* ---- to lists */

#define READ(TYPE, CONVERT)           \
  {                                   \
    TYPE value;                       \
    memcpy(&value, at, sizeof value); \
    return CONVERT(value);            \
  }

/* `code` is what memoryview calls the elements. */
static PyObject* number_at(const char* at, char code) {
  switch (code) {
    case 'f':
      READ(float, PyFloat_FromDouble);
    case 'd':
      READ(double, PyFloat_FromDouble);
    case 'q':
      READ(int64_t, PyLong_FromLongLong);
    case 'i':
      READ(int32_t, PyLong_FromLong);
    case 'h':
      READ(int16_t, PyLong_FromLong);
    case 'b':
      READ(int8_t, PyLong_FromLong);
    case 'B':
      READ(uint8_t, PyLong_FromLong);
    default:
      return PyBool_FromLong(*at);
  }
}

static PyObject* lists_of(const char** at, int64_t width, char code, const int64_t* sizes,
                          int64_t dims) {
  PyObject* list = PyList_New((Py_ssize_t)sizes[0]);
  for (Py_ssize_t i = 0; list && i < sizes[0]; i++) {
    PyObject* entry;
    if (dims > 1) {
      entry = lists_of(at, width, code, sizes + 1, dims - 1);
    } else {
      entry = number_at(*at, code);
      *at += width;
    }
    if (!entry || PyList_SetItem(list, i, entry)) Py_CLEAR(list);
  }
  return list;
}

/* to_lists(tensor, code), of a tensor that has dimensions */
static PyObject* to_lists(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  (void)module;
  if (n != 2 || !PyObject_TypeCheck(args[0], base_type) || !PyUnicode_Check(args[1]))
    return PyErr_Format(PyExc_TypeError, "to_lists: not a tensor and a code");
  dt_tensor* const handle = handle_of(args[0]);
  int64_t sizes[DT_TENSOR_MAX_DIMS], dims = 0, count = 0, width = 0;
  if (dt_tensor_shape(handle, sizes, DT_TENSOR_MAX_DIMS, &dims) ||
      dt_tensor_numel(handle, &count) || dt_tensor_element_size(handle, &width))
    return raise_last_error();
  char few[512];
  const size_t bytes = (size_t)(count * width);
  char* const memory = bytes <= sizeof few ? few : malloc(bytes);
  if (!memory) return PyErr_NoMemory();
  dt_status status = 0;
  Py_BEGIN_ALLOW_THREADS;
  if (bytes) status = dt_tensor_read(handle, memory, (int64_t)bytes);
  Py_END_ALLOW_THREADS;
  const char* at = memory;
  const char code = (char)PyUnicode_ReadChar(args[1], 0);
  PyObject* const out =
      status || !dims ? raise_last_error() : lists_of(&at, width, code, sizes, dims);
  if (memory != few) free(memory);
  return out;
}

#endif
