/* The part of dt.h that is written by hand and uses its functions: tensors from C data and back,
 * numbers, text. Include dt.h, not this file. */
#ifndef DT_EXTRA_H
#define DT_EXTRA_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A new tensor with a copy of the elements at data: row-major, bytes long in all. */
static inline dt_tensor* T_from_data(const void* data, int64_t bytes, T_Dims size, dt_dtype dtype) {
  dt_tensor* result = NULL;
  if (T_stopped_()) return NULL;
  T_check(dt_from_data(data, bytes, size.p, size.n, dtype, 0, 0, &result));
  return T_own_tensor_(result);
}

/* T_FLOATS(T_DIMS(2, 2), 1, 2, 3, 4): a float32 tensor of these numbers; T_LONGS: int64. */
#define T_FLOATS(size, ...)                                                                \
  T_from_data((const float[]){__VA_ARGS__}, (int64_t)sizeof((float[]){__VA_ARGS__}), size, \
              DT_DTYPE_FLOAT32)
#define T_LONGS(size, ...)                                                                     \
  T_from_data((const int64_t[]){__VA_ARGS__}, (int64_t)sizeof((int64_t[]){__VA_ARGS__}), size, \
              DT_DTYPE_INT64)

/* T_BOOLS(T_DIMS(2), 1, 0): a bool tensor of these truth values. */
#define T_BOOLS(dims, ...) T_from_bools(T_FLAGS(__VA_ARGS__), .size = dims)

/* A tensor that looks at memory of the caller's, which must outlive it. Row-major. */
static inline dt_tensor* T_from_blob(void* data, int64_t bytes, T_Dims size, dt_dtype dtype) {
  dt_tensor* result = NULL;
  if (T_stopped_()) return NULL;
  T_check(dt_from_blob(data, bytes, size.p, size.n, NULL, 0, dtype, 0, 0, NULL, NULL, &result));
  return T_own_tensor_(result);
}

/* Copies all elements, row-major, into data: exactly their number times their size in bytes. */
static inline dt_status T_read(dt_tensor* self, void* data, int64_t bytes) {
  if (!T_stopped_()) T_check(dt_tensor_read(self, data, bytes));
  return T_status();
}

/* The other way round: the tensor's elements become those at data. */
static inline dt_status T_write(dt_tensor* self, const void* data, int64_t bytes) {
  if (!T_stopped_()) T_check(dt_tensor_write(self, data, bytes));
  return T_status();
}

/* The only element of a tensor as a double (NAN after an error) or an integer (0). */
static inline double T_item_double(dt_tensor* self) {
  T_Number n = T_item(self);
  if (!n.kind) return NAN;
  return n.kind == DT_SCALAR_KIND_FLOAT ? n.f : (double)n.i;
}

static inline int64_t T_item_int(dt_tensor* self) {
  T_Number n = T_item(self);
  return n.kind == DT_SCALAR_KIND_FLOAT ? (int64_t)n.f : n.i;
}

/* The characters of text that a function gave back; "" after an error. */
static inline const char* T_text(dt_bytes* bytes) {
  const void* data = NULL;
  int64_t n = 0;
  if (T_stopped_() || !T_check(dt_bytes_data(bytes, &data, &n))) return "";
  return (const char*)data;
}

/* Prints a tensor to stdout as PyTorch does. */
static inline void T_print(dt_tensor* self) {
  T_SCOPE {
    puts(T_text(T_to_string(self)));
  }
}

/* ---- lists and modules */

/* The tensors of a list as an argument; the handles belong to the innermost scope. */
static inline T_Tensors T_entries(dt_tensor_list* list) {
  T_Tensors all = {NULL, 0};
  int64_t i, n = T_tensor_list_len(list);
  dt_tensor** handles = (dt_tensor**)malloc((size_t)(n + 1) * sizeof *handles);
  if (!handles) T_fail_(DT_STATUS_OUT_OF_MEMORY, "T_entries: out of memory");
  if (!handles) return all;
  for (i = 0; i < n; i++) handles[i] = T_tensor_list_get(list, i);
  all.p = (dt_tensor* const*)T_own_(handles, free);
  all.n = all.p ? n : 0;
  return all;
}

/* The tensor at the place that a name has in a list of names. Such pairs of lists come from
 * T_load_safetensors and the T_module_named functions. */
static inline dt_tensor* T_tensor_list_get_named(dt_string_list* names, dt_tensor_list* tensors,
                                                 const char* name) {
  int64_t i, n = T_string_list_len(names);
  for (i = 0; i < n; i++) {
    const char* found = NULL;
    if (!T_check(dt_string_list_get(names, i, &found))) return NULL;
    if (!strcmp(found, name)) return T_tensor_list_get(tensors, i);
  }
  if (!T_stopped_())
    T_fail_(DT_STATUS_INDEX_ERROR, "T_tensor_list_get_named: there is no such name");
  return NULL;
}

/* T_SEQUENTIAL(a, b, c): a module that runs others one after another. */
#define T_SEQUENTIAL(...) \
  T_sequential_((dt_module* const[]){__VA_ARGS__}, T_COUNT_(dt_module*, __VA_ARGS__))
static inline dt_module* T_sequential_(dt_module* const* modules, int64_t n) {
  int64_t i;
  dt_module* result = T_nn_sequential();
  for (i = 0; i < n; i++) T_module_append(result, modules[i]);
  return T_stopped_() ? NULL : result;
}

#ifdef __cplusplus
}
#endif

/* For programs that define it before the include, and use these letters for nothing else. */
#ifdef DT_SHORT_NAMES
#define D T_DIMS
#define L T_LIST
#define N T_NUM
#endif

#endif
