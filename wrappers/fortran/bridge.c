/* What Fortran calls and cannot say by itself: the table of functions, arrays of any rank,
 * callbacks. The generator declares the functions to Fortran that have a line of their own here;
 * addresses are integers there. */
#include <ISO_Fortran_binding.h>

#include "wrappers/table/array.h"
#include "wrappers/table/functions.gen.c"

typedef dtt_frame frame;
typedef const CFI_cdesc_t any;

_Static_assert(sizeof(frame) == 102 * sizeof(int64_t), "runtime.f90 declares the frame's words");

/* ---- objects: every variable has a handle of its own */

/* A handle whose object is gone stays what it is: calls will say so. 0: there is no other one. */
int64_t dtf_alias(void* handle) {
  void* other = NULL;
  const dt_status status = handle ? dt_handle_alias(handle, &other) : DT_STATUS_OK;
  return (int64_t)(status == DT_STATUS_HANDLE ? handle : other);
}

void dt_handle_release(void* handle);

/* ---- arguments: the compiler sees to their types, but for integers and for what may be a tensor
 */

void dtf_begin(frame* f, int32_t i) {
  dtt_begin(f, dtt_functions[i]);
}

void dtf_end(frame* f) {
  dtt_end(f);
}

void dtf_refuse(frame* f, int32_t i) {
  dtt_refuse_kind(f, dtt_wanted(f, i), NULL);
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
  dtt_give(f, item, &v, f->given + item->cell);
}

/* ---- what comes out */

int32_t dtf_run(frame* f) {
  return dtt_call(f);
}

/* A device that was taken as its text. */
void dtf_name_device(frame* f, int32_t i) {
  dtt_cell* at = f->taken + 2 * i;
  char text[32];
  at[1].i = dtt_name_device(at, text);
  at[0].p = dtt_copy(f, text, at[1].i);
}

size_t strlen(const char* text);

/* ---- callbacks: user data is the address of the user's procedure, which nobody has to free */

void dtf_give_back(frame* f) {
  if (!f->status) f->status = dtt_give_back(f);
}

void dtf_dispatch(const char* name, int64_t length, frame* f); /* dumbtorch.gen.f90 */

dt_status dtt_run(frame* f) {
  dtf_dispatch(f->callback->name, (int64_t)strlen(f->callback->name), f);
  return (dt_status)f->status;
}

void dtt_drop(void* user_data) {
  (void)user_data;
}
