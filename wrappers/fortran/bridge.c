/* What Fortran calls and cannot say by itself: the table of functions, objects that several
 * variables hold, arrays of any rank, callbacks. runtime.f90 declares it. */
#include <ISO_Fortran_binding.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrappers/table/frame.h"
#include "wrappers/table/functions.gen.c"

/* ---- calls */

typedef dtt_frame frame;

void dtf_begin(frame* f, int32_t i) {
  dtt_begin(f, i);
}

void dtf_end(frame* f) {
  dtt_end(f);
}

dt_status dtf_run(frame* f) {
  return dtt_call(f);
}

/* ---- arguments: the compiler sees to their types, but for integers and for what may be a tensor
 */

void dtf_refuse(frame* f, int32_t i, const char* wanted) {
  char message[200];
  const dtt_item* item = f->function->args + i;
  if (f->status) return;
  snprintf(message, sizeof message, "%s: %s must be %s", f->function->name, item->name, wanted);
  f->status = dt_error_set(DT_STATUS_TYPE_ERROR, message);
}

void dtf_give_handle(frame* f, int32_t i, void* handle) {
  const dtt_item* item = f->function->args + i;
  if (item->kind == DTT_SCALAR) dtf_refuse(f, i, "a number");
  f->args[item->cell].p = handle;
  if (item->kind == DTT_OPERAND) f->args[item->cell + 1].i = 0;
}

void dtf_give_number(frame* f, int32_t i, int32_t kind, int64_t bits) {
  const dtt_item* item = f->function->args + i;
  if (item->kind == DTT_I64 && kind != DT_SCALAR_KIND_INT) dtf_refuse(f, i, "an integer");
  dtt_give_number(item, f->args + item->cell, kind, bits);
}

/* The name of a file, as all text but bytes, ends before the blanks, as it does in open(). */
static char* text_of(frame* f, const char* text, int64_t length) {
  char* copy = dtt_lend(f, length);
  memcpy(copy, text, (size_t)length);
  while (length > 0 && copy[length - 1] == ' ') copy[--length] = 0;
  return copy;
}

void dtf_give_text(frame* f, int32_t i, const char* text, int64_t length) {
  const dtt_item* item = f->function->args + i;
  dtt_cell* at = f->args + item->cell;
  dt_device_type type = 0;
  int64_t index = 0;
  switch ((dtt_kind)item->kind) {
    case DTT_BYTES:
      at[1].i = length;
      at[0].p = memcpy(dtt_lend(f, length), text, (size_t)length);
      return;
    case DTT_DEVICE:
      if (!f->status) f->status = dt_device_from_text(text_of(f, text, length), &type, &index);
      at[0].i = type, at[1].i = index;
      return;
    case DTT_STR:
      at[0].p = text_of(f, text, length);
      return;
    default:
      dtf_refuse(f, i, "a tensor or a number");
  }
}

/* Room for a list; what is not integers where they are wanted is refused (`integers`: they are). */
void* dtf_give_list(frame* f, int32_t i, int64_t n, int32_t integers) {
  const dtt_item* item = f->function->args + i;
  dtt_cell* at = f->args + item->cell;
  if ((item->kind == DTT_I64) != integers) dtf_refuse(f, i, "a list of integers");
  at[0].p = dtt_lend(f, 8 * n);
  at[1].i = n;
  return at[0].p;
}

void dtf_put_text(frame* f, char** list, int64_t i, const char* text, int64_t length) {
  list[i] = text_of(f, text, length);
}

/* ---- objects: a handle, and how many variables share it
 *
 * A variable that the compiler has copied bit by bit may outlive the object. So what it points to
 * is never freed, only used again for another object, and the handle says whether it is still the
 * same. */

typedef struct shared {
  void* handle;
  const dtt_handle* of;
  int64_t variables;
  struct shared* next; /* of the unused ones */
} shared;

static shared* unused;
static char is_locked;

static shared* exchange(shared* given) {
  shared* taken = NULL;
  while (__atomic_test_and_set(&is_locked, __ATOMIC_ACQUIRE)) {
  }
  if (given) {
    given->next = unused;
    unused = given;
  } else if (unused) {
    taken = unused;
    unused = taken->next;
  }
  __atomic_clear(&is_locked, __ATOMIC_RELEASE);
  return taken;
}

static shared* hold(void* handle, const dtt_handle* of) {
  shared* s = NULL;
  if (!handle) return s;
  s = exchange(NULL);
  if (!s) s = malloc(sizeof *s);
  if (!s) abort();
  *s = (shared){handle, of, 1, NULL};
  return s;
}

shared* dtf_hold(const frame* f, int32_t result, int32_t cell) {
  return hold(f->results[cell].p, f->function->results[result].of);
}

shared* dtf_tensor(void* handle) {
  return hold(handle, &dtt_handle_tensor);
}

void* dtf_handle(const shared* s) {
  return s ? s->handle : NULL;
}

/* Another variable has it; NULL if the object is gone. */
shared* dtf_share(shared* s, const void* handle) {
  if (!s || s->handle != handle) return NULL;
  __atomic_add_fetch(&s->variables, 1, __ATOMIC_RELAXED);
  return s;
}

void dtf_release(shared* s, const void* handle) {
  if (!s || s->handle != handle) return;
  if (__atomic_sub_fetch(&s->variables, 1, __ATOMIC_ACQ_REL)) return;
  s->of->release(s->handle);
  s->handle = NULL;
  exchange(s);
}

/* The name of a device: two cells become its address and length. */
void dtf_name_device(frame* f, int32_t cell) {
  dtt_cell* at = f->results + cell;
  const dtt_value* v = dtt_device_types.values;
  char* text = dtt_lend(f, 32);
  while (v->name && v->number != at[0].i) v++;
  if (v->name) strcpy(text, v->name);
  if (at[0].i == DT_DEVICE_TYPE_CUDA && at[1].i >= 0)
    sprintf(text + strlen(text), ":%lld", (long long)at[1].i);
  at[0].p = text;
  at[1].i = (int64_t)strlen(text);
}

/* The last error's. */
const char* dtf_message(int64_t* length) {
  const char* message = dt_error_message();
  *length = (int64_t)strlen(message);
  return message;
}

/* ---- arrays: (i, j, ...) keeps its sizes, and its order in memory becomes strides */

static dt_dtype dtype_of(const CFI_cdesc_t* a) {
  switch (a->type) {
    case CFI_type_float:
      return DT_DTYPE_FLOAT32;
    case CFI_type_double:
      return DT_DTYPE_FLOAT64;
    case CFI_type_int64_t:
      return DT_DTYPE_INT64;
    case CFI_type_int32_t:
      return DT_DTYPE_INT32;
    case CFI_type_int16_t:
      return DT_DTYPE_INT16;
    case CFI_type_int8_t:
      return DT_DTYPE_INT8;
  }
  return 0;
}

/* A tensor that looks at the array. */
static dt_status look(const CFI_cdesc_t* a, dt_tensor** out) {
  int64_t size[CFI_MAX_RANK], stride[CFI_MAX_RANK], last = 0;
  const dt_dtype dtype = dtype_of(a);
  if (!dtype)
    return dt_error_set(DT_STATUS_TYPE_ERROR,
                        "an array is of real32, real64 or integers to be a tensor");
  for (int i = 0; i < a->rank; i++) {
    size[i] = a->dim[i].extent;
    stride[i] = a->dim[i].sm / (int64_t)a->elem_len;
    if (size[i] <= 0) last = -1;
    if (last >= 0) last += (size[i] - 1) * stride[i];
  }
  return dt_from_blob(a->base_addr, (last + 1) * (int64_t)a->elem_len, size, a->rank, stride,
                      a->rank, dtype, DT_DEVICE_TYPE_CPU, 0, NULL, NULL, out);
}

dt_status dtf_from_array(const CFI_cdesc_t* a, shared** out) {
  dt_tensor *view = NULL, *copy = NULL;
  dt_status status = look(a, &view);
  if (!status) status = dt_clone(view, DT_MEMORY_FORMAT_PRESERVE, &copy);
  dt_tensor_release(view);
  *out = hold(copy, &dtt_handle_tensor);
  return status;
}

dt_status dtf_to_array(dt_tensor* x, const CFI_cdesc_t* a) {
  dt_tensor *view = NULL, *detached = NULL;
  int64_t size[CFI_MAX_RANK], n = 0;
  dt_status status = dt_tensor_shape(x, size, CFI_MAX_RANK, &n);
  int same = n == a->rank;
  if (status) return status;
  for (int i = 0; same && i < n; i++) same = size[i] == a->dim[i].extent;
  if (!same) return dt_error_set(DT_STATUS_VALUE_ERROR, "the array has not the tensor's shape");
  status = look(a, &view);
  if (!status) status = dt_detach(x, &detached);
  if (!status) status = dt_copy_(view, detached, 0);
  dt_tensor_release(detached);
  dt_tensor_release(view);
  return status;
}

/* ---- callbacks: user data is the address of the user's procedure, which nobody has to free */

shared* dtf_lend(void* handle) {
  dt_tensor* out = NULL;
  if (!handle || dt_tensor_alias(handle, &out)) return NULL;
  return hold(out, &dtt_handle_tensor);
}

/* A handle of its own for the library. */
void* dtf_give_back(void* handle) {
  dt_tensor* out = NULL;
  return handle && !dt_tensor_alias(handle, &out) ? out : NULL;
}

void* dtf_give_back_list(void* const* tensors, int64_t n) {
  dt_tensor_list* out = NULL;
  return dt_tensor_list_new((dt_tensor* const*)tensors, n, &out) ? NULL : out;
}

void dtf_dispatch(const char* name, void* user, const dtt_cell* args,
                  dtt_cell* results); /* dumbtorch.gen.f90 */

dt_status dtt_run(const dtt_callback* callback, void* user_data, const dtt_cell* args,
                  dtt_cell* results) {
  dtf_dispatch(callback->name, user_data, args, results);
  return 0;
}

void dtt_drop(void* user_data) {
  (void)user_data;
}
