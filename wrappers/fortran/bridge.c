/* What Fortran calls and cannot say by itself: the table of functions, arrays of any rank,
 * callbacks. The generator declares the functions dtf_... to
 * Fortran by their lines here; addresses are integers there.
 *
 * All that comes out, results and what a callback is given, lies in the frame's args, two cells
 * each: a handle, a number, or an address and how much is there. */
#include <ISO_Fortran_binding.h>

#include "wrappers/table/frame.h"
#include "wrappers/table/functions.gen.c"

typedef dtt_frame frame;
typedef const CFI_cdesc_t any;

/* ---- objects: every variable has a handle of its own */

/* A handle whose object is gone stays what it is: calls will say so. 0: there is no other one. */
int64_t dtf_alias(void* handle) {
  void* other = NULL;
  const dt_status status = handle ? dt_handle_alias(handle, &other) : DT_STATUS_OK;
  return (int64_t)(status == DT_STATUS_HANDLE ? handle : other);
}

void dtf_release(void* handle) {
  dt_handle_release(handle);
}

/* ---- arguments: the compiler sees to their types, but for integers and for what may be a tensor
 */

void dtf_begin(frame* f, int32_t i) {
  dtt_begin(f, dtt_functions[i]);
}

void dtf_end(frame* f) {
  dtt_end(f);
}

void dtf_refuse(frame* f, int32_t i) {
  dtt_refuse_kind(f, f->function->args + i, NULL);
}

/* An element. An integer is an address where no number is meant. */
static dtt_given given(frame* f, const dtt_item* item, any* a, const char* at) {
  const int is_number = item->kind <= DTT_F64 && item->kind != DTT_TENSOR;
  dtt_given v = {is_number ? DTT_I64 : item->kind, {0}, (int64_t)a->elem_len, item->of, NULL};
  if (a->type == CFI_type_int32_t) {
    v.value.i = *(const int32_t*)at;
  } else if (a->type == CFI_type_int64_t) {
    v.value.i = *(const int64_t*)at;
  } else if (a->type == CFI_type_float || a->type == CFI_type_double) {
    v.kind = DTT_F64;
    v.value.f = a->type == CFI_type_float ? (double)*(const float*)at : *(const double*)at;
  } else if (a->type == CFI_type_char) { /* text ends before its blanks, as names of files do */
    v.kind = DTT_STR;
    while (item->kind != DTT_BYTES && v.n > 0 && at[v.n - 1] == ' ') v.n--;
    v.value.p = dtt_copy(f, at, v.n);
  } else { /* a logical of any kind */
    v.kind = DTT_BOOL;
    v.value.i = *at != 0;
  }
  return v;
}

void dtf_give(frame* f, int32_t i, any* a) {
  const dtt_item* item = f->function->args + i;
  dtt_cell* at = f->args + item->cell;
  if (a->rank != item->is_list) {
    dtf_refuse(f, i);
  } else if (!item->is_list) {
    const dtt_given v = given(f, item, a, a->base_addr);
    dtt_give(f, item, &v, at);
  } else {
    dtt_give_list(f, item, at, a->dim[0].extent);
    for (int64_t k = 0; k < at[1].i; k++) {
      const dtt_given v = given(f, item, a, (char*)a->base_addr + k * a->dim[0].sm);
      dtt_give_listed(f, item, &v, at, k);
    }
  }
}

/* A tensor where a number may stand too. */
void dtf_give_tensor(frame* f, int32_t i, void* handle) {
  const dtt_item* item = f->function->args + i;
  const dtt_given v = {DTT_HANDLE, {.p = handle}, 0, &dtt_handle_tensor, NULL};
  dtt_give(f, item, &v, f->args + item->cell);
}

/* ---- what comes out */

/* Lists, texts and their lengths stay; a number of any kind is a double, an enum its number. */
static void take(frame* f, const dtt_item* item, const dtt_cell* from, dtt_cell* to) {
  const dtt_given v = dtt_taken(f, item, from);
  const dtt_cell number = from[1];
  to[0] = item->is_list || item->kind == DTT_ENUM ? from[0] : v.value;
  to[1].i = item->is_list ? number.i : v.n;
  if (item->kind == DTT_SCALAR && v.kind != DTT_F64) to[0].f = (double)v.value.i;
}

int32_t dtf_run(frame* f) {
  const dt_status status = dtt_call(f);
  const dtt_item* item = f->function->results;
  memset(f->args, 0, sizeof f->args);
  for (int32_t i = 0; !status && i < f->function->n_results; i++, item++)
    take(f, item, f->results + item->cell, f->args + 2 * i);
  return status;
}

/* The last error's. */
void dtf_message(dtt_cell* out) {
  const char* text = dt_error_message();
  out[0].p = (void*)text, out[1].i = (int64_t)strlen(text);
}

/* ---- arrays: (i, j, ...) keeps its sizes, and its order in memory becomes strides */

static dt_dtype dtype_of(any* a) {
  static const struct {
    CFI_type_t type;
    dt_dtype dtype;
  } known[] = {{CFI_type_float, DT_DTYPE_FLOAT32}, {CFI_type_double, DT_DTYPE_FLOAT64},
               {CFI_type_int64_t, DT_DTYPE_INT64}, {CFI_type_int32_t, DT_DTYPE_INT32},
               {CFI_type_int16_t, DT_DTYPE_INT16}, {CFI_type_int8_t, DT_DTYPE_INT8}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (known[k].type == a->type) return known[k].dtype;
  return 0;
}

/* A tensor that looks at the array. */
static dt_status look(any* a, dt_tensor** out) {
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

int32_t dtf_from_array(frame* f, any* a) {
  dt_tensor* view = NULL;
  dt_status status = look(a, &view);
  f->args[0].p = NULL;
  if (!status) status = dt_clone(view, DT_MEMORY_FORMAT_PRESERVE, (dt_tensor**)&f->args[0].p);
  dt_tensor_release(view);
  return status;
}

int32_t dtf_to_array(void* x, any* a) {
  dt_tensor* view = NULL;
  int64_t size[CFI_MAX_RANK], n = 0;
  dt_status status = dt_tensor_shape(x, size, CFI_MAX_RANK, &n);
  int same = n == a->rank;
  for (int i = 0; same && i < n; i++) same = size[i] == a->dim[i].extent;
  if (!status && !same)
    status = dt_error_set(DT_STATUS_VALUE_ERROR, "the array has not the tensor's shape");
  if (!status) status = look(a, &view);
  if (!status) status = dt_copy_(view, x, 0);
  dt_tensor_release(view);
  return status;
}

/* ---- callbacks: user data is the address of the user's procedure, which nobody has to free */

/* Of tensors, a list or one. */
void dtf_give_back(frame* f, any* handles) {
  void** first = handles->base_addr;
  f->results[0].p = f->callback->results->is_list ? (void*)first : *first;
  f->results[1].i = handles->dim[0].extent;
  f->status = dtt_give_back(f);
}

void dtf_dispatch(const char* name, int64_t length, frame* f); /* dumbtorch.gen.f90 */

static dt_status dispatch(frame* f) {
  const dtt_item* item = f->callback->args;
  for (int32_t i = 0; i < f->callback->n_args; i++, item++)
    take(f, item, f->args + 2 * i, f->args + 2 * i);
  dtf_dispatch(f->callback->name, (int64_t)strlen(f->callback->name), f);
  return (dt_status)f->status;
}

dt_status dtt_run(const dtt_callback* callback, void* user_data, const dtt_cell* args,
                  dtt_cell* results) {
  return dtt_answer(callback, user_data, args, results, dispatch);
}

void dtt_drop(void* user_data) {
  (void)user_data;
}
