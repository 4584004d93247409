/* What Fortran calls and cannot say by itself: the table of functions, arrays of any rank,
 * callbacks. The generator declares the functions dtf_... to
 * Fortran by their lines here; addresses are integers there.
 *
 * All that comes out, results and what a callback is given, lies in the frame's args, two cells
 * each: a handle, a number, or an address and how much is there. */
#include <ISO_Fortran_binding.h>

#include "wrappers/table/array.h"
#include "wrappers/table/functions.gen.c"

typedef dtt_frame frame;
typedef const CFI_cdesc_t any;

_Static_assert(sizeof(frame) == 94 * sizeof(int64_t), "runtime.f90 declares the frame's words");

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

/* All kinds of logical are what is left. */
static dtt_array seen(any* a) {
  dtt_array v = {DTT_BOOL, (int64_t)a->elem_len, a->base_addr, ' ', a->rank, {0}, {0}};
  if (a->type == CFI_type_int8_t || a->type == CFI_type_int16_t || a->type == CFI_type_int32_t ||
      a->type == CFI_type_int64_t)
    v.kind = DTT_I64;
  else if (a->type == CFI_type_float || a->type == CFI_type_double)
    v.kind = DTT_F64;
  else if (a->type == CFI_type_char)
    v.kind = DTT_STR;
  for (int i = 0; i < a->rank; i++) v.size[i] = a->dim[i].extent, v.step[i] = a->dim[i].sm;
  return v;
}

void dtf_give(frame* f, int32_t i, any* a) {
  const dtt_array array = seen(a);
  dtt_give_array(f, i, &array);
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

/* ---- callbacks: user data is the address of the user's procedure, which nobody has to free */

/* Of tensors, a list or one. */
void dtf_give_back(frame* f, any* handles) {
  void** first = handles->base_addr;
  f->results[0].p = f->callback->results->is_list ? (void*)first : *first;
  f->results[1].i = handles->dim[0].extent;
  f->status = dtt_give_back(f);
}

void dtf_dispatch(const char* name, int64_t length, frame* f); /* dumbtorch.gen.f90 */

dt_status dtt_run(frame* f) {
  const dtt_item* item = f->callback->args;
  for (int32_t i = 0; i < f->callback->n_args; i++, item++)
    take(f, item, f->args + 2 * i, f->args + 2 * i);
  dtf_dispatch(f->callback->name, (int64_t)strlen(f->callback->name), f);
  return (dt_status)f->status;
}

void dtt_drop(void* user_data) {
  (void)user_data;
}
