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
  dtt_begin(f, i);
}

void dtf_end(frame* f) {
  dtt_end(f);
}

void dtf_refuse(frame* f, int32_t i) {
  char message[200], text[32];
  const dtt_item* item = f->function->args + i;
  if (f->status) return;
  snprintf(message, sizeof message, "%s: %s must be %s", f->function->name, item->name,
           dtt_expected(item, text));
  f->status = dt_error_set(DT_STATUS_TYPE_ERROR, message);
}

void dtf_give_object(frame* f, int32_t i, void* handle) {
  const dtt_item* item = f->function->args + i;
  if (item->kind == DTT_SCALAR) dtf_refuse(f, i);
  f->args[item->cell].p = handle;
  if (item->kind == DTT_OPERAND) f->args[item->cell + 1].i = 0;
}

static int32_t kind_of(any* a) {
  if (a->type == CFI_type_int32_t || a->type == CFI_type_int64_t) return DT_SCALAR_KIND_INT;
  if (a->type == CFI_type_float || a->type == CFI_type_double) return DT_SCALAR_KIND_FLOAT;
  return DT_SCALAR_KIND_BOOL;
}

/* An element's bits: those of an integer, a double or the address of text. */
static int64_t bits_at(frame* f, any* a, const char* at) {
  dtt_cell cell = {0};
  size_t length = a->elem_len;
  if (a->type == CFI_type_int32_t) return *(const int32_t*)at;
  if (a->type == CFI_type_int64_t || a->type == CFI_type_double) return *(const int64_t*)at;
  if (a->type == CFI_type_float) {
    cell.f = (double)*(const float*)at;
  } else if (a->type == CFI_type_char) { /* text ends before its blanks, as names of files do */
    cell.p = memcpy(dtt_lend(f, (int64_t)length), at, length);
    while (length > 0 && at[length - 1] == ' ') ((char*)cell.p)[--length] = 0;
  } else { /* a logical of any kind */
    cell.i = *at != 0;
  }
  return cell.i;
}

void dtf_give(frame* f, int32_t i, any* a) {
  const dtt_item* item = f->function->args + i;
  dtt_cell* at = f->args + item->cell;
  const int is_integer = kind_of(a) == DT_SCALAR_KIND_INT && a->rank == item->is_list;
  if (item->kind == DTT_I64 && !is_integer) {
    dtf_refuse(f, i);
  } else if (item->is_list) {
    dtt_give_list(f, item, at, a->dim[0].extent);
    for (int64_t k = 0; k < at[1].i; k++)
      dtt_give_entry(item, at, k, bits_at(f, a, (char*)a->base_addr + k * a->dim[0].sm));
  } else if (item->kind == DTT_BYTES) {
    memcpy(dtt_give_list(f, item, at, (int64_t)a->elem_len), a->base_addr, a->elem_len);
  } else if (item->kind == DTT_STR) {
    at->i = bits_at(f, a, a->base_addr);
  } else if (item->kind == DTT_DEVICE) {
    const char* text = (char*)bits_at(f, a, a->base_addr);
    dt_device_type type = 0;
    if (!f->status) f->status = dt_device_from_text(text, &type, &at[1].i);
    at->i = type;
  } else {
    dtt_give_number(item, at, kind_of(a), bits_at(f, a, a->base_addr));
  }
}

/* ---- what comes out */

/* A list of texts becomes one of pairs of cells. */
static void take(frame* f, const dtt_item* item, const dtt_cell* from, dtt_cell* to) {
  const dtt_cell *texts = from[0].p, number = from[1];
  if (item->is_list && item->kind == DTT_STR) {
    dtt_cell* pairs = dtt_lend(f, number.i * 2 * (int64_t)sizeof *pairs);
    to[0].p = pairs, to[1] = number;
    for (int64_t k = 0; k < number.i; k++, pairs += 2) {
      pairs[0] = texts[k], pairs[1].i = (int64_t)strlen(texts[k].p);
    }
  } else if (item->kind == DTT_DEVICE) {
    char* text = dtt_lend(f, 32);
    to[1].i = dtt_name_device(from, text);
    to[0].p = text;
  } else if (item->kind == DTT_SCALAR) { /* of any kind, as a double */
    to[0].f = from[0].i == DT_SCALAR_KIND_FLOAT ? from[2].f : (double)from[1].i;
  } else {
    to[0] = from[0], to[1] = number;
  }
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

/* Tensors: a list or one. */
void dtf_give_back(frame* f, void* const* handles, int64_t n) {
  f->results[0].p = f->callback->results->is_list ? (void*)handles : *handles;
  f->results[1].i = n;
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
