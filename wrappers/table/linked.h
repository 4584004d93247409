/* A call's frame for languages that link to functions of C, but cannot include what is inline. They
 * declare these from here; addresses and frames are what they make of them. */
#ifndef DUMBTORCH_LINKED_H
#define DUMBTORCH_LINKED_H

#include "wrappers/table/array.h"

/* Another handle of the object, where every variable has its own. That of an object which is gone
 * stays what it is: calls will say so. 0: there is no other one. */
int64_t dtf_alias(void* handle) {
  void* other = NULL;
  const dt_status status = handle ? dt_handle_alias(handle, &other) : DT_STATUS_OK;
  return (int64_t)(status == DT_STATUS_HANDLE ? handle : other);
}

void dtf_begin(dtt_frame* f, int32_t i) {
  dtt_begin(f, dtt_functions[i]);
}

void dtf_refuse(dtt_frame* f, int32_t i) {
  dtt_refuse_kind(f, dtt_wanted(f, i), NULL);
}

/* A tensor where a number may stand too. */
void dtf_give_tensor(dtt_frame* f, int32_t i, void* handle) {
  const dtt_item* item = f->function->args + i;
  const dtt_given v = {DTT_HANDLE, {.p = handle}, 0, &dtt_handle_tensor, NULL};
  dtt_give(f, item, &v, f->given + item->cell);
}

int32_t dtf_run(dtt_frame* f) {
  return dtt_call(f);
}

/* The bytes of a text that was taken, in a list of the longest one. A device becomes its text. */
int64_t dtf_longest(dtt_frame* f, int32_t i) {
  const dtt_item* item = dtt_item_taken(f, i);
  dtt_cell* at = f->taken + 2 * i;
  int64_t longest = 0, k;
  char text[32];
  if (item->kind == DTT_DEVICE) {
    k = dtt_name_device(at, text);
    at[0].p = dtt_copy(f, text, k);
    at[1].i = f->status ? 0 : k;
  }
  if (!item->is_list) return at[1].i;
  for (k = 0; k < at[1].i; k++) {
    const int64_t n = ((const dtt_cell*)at[0].p)[2 * k + 1].i;
    if (n > longest) longest = n;
  }
  return longest;
}

void dtf_give_back(dtt_frame* f) {
  if (!f->status) f->status = dtt_give_back(f);
}

void dtf_end(dtt_frame* f) {
  dtt_end(f);
}

/* ---- callbacks: the language has one procedure for all, which is told the name of the kind; user
 * data is the address of the user's, which nobody has to free */

void dtf_dispatch(const char* name, int64_t length, dtt_frame* f); /* the language's */

dt_status dtt_run(dtt_frame* f) {
  dtf_dispatch(f->callback->name, (int64_t)strlen(f->callback->name), f);
  return (dt_status)f->status;
}

void dtt_drop(void* user_data) {
  (void)user_data;
}

#endif
