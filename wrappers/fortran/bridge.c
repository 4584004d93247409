/* What Fortran calls and cannot say by itself: arrays of any rank. The generator
 * declares to Fortran the functions that have a line of their own here and in linked.h; addresses
 * are integers there. */
#include <ISO_Fortran_binding.h>

#include "wrappers/table/functions.gen.c"
#include "wrappers/table/linked.h"

typedef const CFI_cdesc_t any;

_Static_assert(sizeof(dtt_frame) == 102 * sizeof(int64_t),
               "runtime.f90 declares the frame's words");

void dt_handle_release(void* handle);
size_t strlen(const char* text);

/* The compiler sees to the types of arguments, but for integers and for what may be a tensor. All
 * kinds of logical are what is left here. */
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

void dtf_give(dtt_frame* f, int32_t i, any* a) {
  dtt_give_array(f, i, (dtt_array[]){seen(a)});
}

void dtf_take(dtt_frame* f, int32_t i, any* a) {
  dtt_take_array(f, i, (dtt_array[]){seen(a)});
}
