/* One call of a function of the table, or one of a callback, for languages whose wrappers are
 * printed (Go, Fortran): its cells, and the memory that is lent to it. */
#ifndef DUMBTORCH_FRAME_H
#define DUMBTORCH_FRAME_H

#include <stdlib.h>
#include <string.h>

#include "wrappers/table/table.h"

typedef struct dtt_room {
  struct dtt_room* next;
  int64_t data[];
} dtt_room;

typedef struct dtt_frame {
  const dtt_function* function;
  dtt_room* lent;
  const char* message; /* of the call that failed: the thread may fail again, or another go on */
  int64_t status;      /* of the first argument that the language refused */
  const dtt_callback* callback;
  uintptr_t user_data;
  dtt_cell args[DTT_MAX_CELLS], results[DTT_MAX_RESULTS];
} dtt_frame;

/* Functions are in the order of the plan. */
static inline void dtt_begin(dtt_frame* f, int64_t i) {
  const dtt_function* function = dtt_functions[i];
  memset(f, 0, sizeof *f);
  f->function = function;
  if (function->n_cells) memcpy(f->args, function->initial, function->n_cells * sizeof *f->args);
}

/* Zeros, one byte more than asked for: text ends with it, and an empty list has an address. */
static inline void* dtt_lend(dtt_frame* f, int64_t bytes) {
  dtt_room* room = (dtt_room*)calloc(1, sizeof *room + (size_t)bytes + 1);
  if (!room) abort();
  room->next = f->lent;
  f->lent = room;
  return room->data;
}

static inline void dtt_end(dtt_frame* f) {
  while (f->lent) {
    dtt_room* next = f->lent->next;
    free(f->lent);
    f->lent = next;
  }
}

/* Room for the entries of a list or for bytes. */
static inline void* dtt_give_list(dtt_frame* f, const dtt_item* item, dtt_cell* at, int64_t n) {
  at[1].i = n;
  return at[0].p = dtt_lend(f, item->kind == DTT_BYTES ? n : 8 * n);
}

/* The bits of a number, an address. */
static inline void dtt_give_entry(const dtt_item* item, dtt_cell* at, int64_t k, int64_t bits) {
  if (item->kind == DTT_BOOL) {
    ((int32_t*)at->p)[k] = (int32_t)bits;
  } else {
    ((int64_t*)at->p)[k] = bits;
  }
}

/* `kind` is a dt_scalar_kind; a real number has the bits of a double. */
static inline void dtt_give_number(const dtt_item* item, dtt_cell* at, int32_t kind, int64_t bits) {
  if (item->kind == DTT_OPERAND) (at++)->p = NULL;
  if (item->kind == DTT_OPERAND || item->kind == DTT_SCALAR) {
    at[0].i = kind, at[1].i = bits, at[2].i = bits;
    return;
  }
  if (item->is_optional && item->kind != DTT_ENUM) (at++)->i = 1;
  at->i = bits;
}

/* Where a list or a text came out as a handle: what is behind it. The cells become the address of
 * entries or bytes, which are lent, and their number. Tensors are the caller's. */
static inline dt_status dtt_open(dtt_frame* f, const dtt_item* item) {
  dtt_cell* at = f->results + item->cell;
  void* carrier = at->p;
  const void* bytes = NULL;
  const char* text = NULL;
  dt_status status;
  int64_t i;
  if (!item->is_list) {
    status = dt_bytes_data((dt_bytes*)carrier, &bytes, &at[1].i);
    if (!status) at->p = memcpy(dtt_lend(f, at[1].i), bytes, (size_t)at[1].i);
  } else if (item->kind == DTT_TENSOR) {
    status = dt_tensor_list_len((dt_tensor_list*)carrier, &at[1].i);
    at->p = dtt_lend(f, 8 * at[1].i);
    for (i = 0; !status && i < at[1].i; i++)
      status = dt_tensor_list_get((dt_tensor_list*)carrier, i, (dt_tensor**)at->p + i);
  } else {
    status = dt_string_list_len((dt_string_list*)carrier, &at[1].i);
    at->p = dtt_lend(f, 8 * at[1].i);
    for (i = 0; !status && i < at[1].i; i++) {
      status = dt_string_list_get((dt_string_list*)carrier, i, &text);
      if (!status) ((char**)at->p)[i] = strcpy((char*)dtt_lend(f, (int64_t)strlen(text)), text);
    }
  }
  ((const dtt_handle*)item->of)->release(carrier);
  return status;
}

static inline int dtt_is_numbers(const dtt_item* item) {
  return item->is_list && (item->kind == DTT_I64 || item->kind == DTT_F64);
}

/* A list of numbers is asked for twice: the first call says how many there are. */
static inline dt_status dtt_call(dtt_frame* f) {
  const dtt_item *item = f->function->results, *end = item + f->function->n_results;
  dt_status status = (dt_status)f->status;
  const char* message;
  if (!status) status = f->function->call(f->args, f->results);
  if (!status && item < end && dtt_is_numbers(item)) {
    f->results[0].p = dtt_lend(f, f->results[2].i * 8);
    f->results[1] = f->results[2];
    status = f->function->call(f->args, f->results);
  }
  for (; !status && item < end; item++)
    if (item->kind == DTT_STR || (item->is_list && item->kind == DTT_TENSOR))
      status = dtt_open(f, item);
  if (status) {
    memset(f->results, 0, sizeof f->results);
    message = dt_error_message();
    f->message = strcpy((char*)dtt_lend(f, (int64_t)strlen(message)), message);
  }
  return status;
}

/* For collectors that want to know what a pointer points to, a handle is a number. */
static inline void dtt_release(const dtt_handle* of, uint64_t handle) {
  if (handle) of->release((void*)(uintptr_t)handle);
}

/* ---- callbacks */

/* What the library lends becomes the language's: tensors are handles of its own, text has a length.
 */
static inline dt_status dtt_keep(dtt_frame* f, const dtt_item* item, const dtt_cell* lent,
                                 dtt_cell* at) {
  dt_tensor* const* from = (dt_tensor* const*)(item->is_list ? lent->p : lent);
  const int64_t n = item->is_list ? lent[1].i : 1;
  dt_status status = DT_STATUS_OK;
  int64_t i;
  *at = *lent;
  if (item->kind == DTT_STR) at[1].i = (int64_t)strlen((const char*)lent->p);
  if (item->is_list) dtt_give_list(f, item, at, n);
  for (i = 0; item->kind == DTT_TENSOR && !status && i < n; i++)
    if (from[i]) status = dt_tensor_alias(from[i], (dt_tensor**)(item->is_list ? at->p : at) + i);
  return status;
}

/* What the language gives in f->results, its own tensors: the library gets others. */
static inline dt_status dtt_give_back(dtt_frame* f) {
  const dtt_item* item = f->callback->results;
  dtt_cell* at = f->results;
  if (item->is_list)
    return dt_tensor_list_new((dt_tensor* const*)at->p, at[1].i, (dt_tensor_list**)&at->p);
  if (item->kind == DTT_TENSOR && at->p)
    return dt_tensor_alias((dt_tensor*)at->p, (dt_tensor**)&at->p);
  return DT_STATUS_OK;
}

/* Runs `body`, for which each argument has two cells in f->args. */
static inline dt_status dtt_answer(const dtt_callback* callback, void* user_data,
                                   const dtt_cell* args, dtt_cell* results,
                                   dt_status (*body)(dtt_frame* f)) {
  dtt_frame f;
  dt_status status = DT_STATUS_OK;
  int32_t i;
  memset(&f, 0, sizeof f);
  f.callback = callback;
  f.user_data = (uintptr_t)user_data;
  for (i = 0; !status && i < callback->n_args; i++)
    status = dtt_keep(&f, callback->args + i, args + callback->args[i].cell, f.args + 2 * i);
  if (!status) status = body(&f);
  if (!status && callback->n_results) *results = f.results[0];
  dtt_end(&f);
  return status;
}

#endif
