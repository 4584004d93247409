/* One call of a function of the table, or one of a callback: its cells, and the memory that is lent
 * to it.
 *
 * `given` is what the language gives, a call's arguments or a callback's result, in the cells of
 * the table. `taken` is what it takes, a call's results or a callback's arguments, two cells each:
 *
 *   a handle, a number of any kind but    scalar    the number, its dt_scalar_kind
 *   text, a list   address, how much      device    its type, its index
 *
 * Texts in a list are two cells each. Addresses are lent; handles are the language's own. */
#ifndef DUMBTORCH_FRAME_H
#define DUMBTORCH_FRAME_H

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "wrappers/table/table.h"

typedef struct dtt_room {
  struct dtt_room* next;
  int64_t data[];
} dtt_room;

enum { DTT_FEW = 16 }; /* numbers, that need no memory of their own */

typedef struct dtt_frame {
  const dtt_function* function;
  dtt_room* lent;
  const char* message; /* of the call that failed: the thread may fail again, or another go on */
  int64_t status;      /* of what failed first: an argument that was refused, memory that ran out */
  const dtt_callback* callback;
  uintptr_t user_data;
  dtt_cell taken[2 * DTT_MAX_RESULTS], few[DTT_FEW], given[DTT_MAX_CELLS];
} dtt_frame;

static inline void dtt_begin(dtt_frame* f, const dtt_function* function) {
  memset(f, 0, offsetof(dtt_frame, few));
  f->function = function;
  if (function->n_cells) memcpy(f->given, function->initial, function->n_cells * sizeof *f->given);
}

/* Zeros, one byte more than asked for: text ends with it, and an empty list has an address. NULL,
 * and the frame's status, if memory runs out. */
static inline void* dtt_lend(dtt_frame* f, int64_t bytes) {
  dtt_room* room = (dtt_room*)calloc(1, sizeof *room + (size_t)bytes + 1);
  if (!room) {
    if (!f->status) f->status = dt_error_set(DT_STATUS_OUT_OF_MEMORY, "out of memory");
    return NULL;
  }
  room->next = f->lent;
  f->lent = room;
  return room->data;
}

/* The same for n elements. More than can be counted is more than there is. */
static inline void* dtt_lend_each(dtt_frame* f, int64_t n, int64_t bytes) {
  int64_t all;
  return dtt_lend(f, __builtin_mul_overflow(n, bytes, &all) ? INT64_MAX : all);
}

/* A copy that lives as long as the frame; no text at all if memory runs out. */
static inline void* dtt_copy(dtt_frame* f, const void* bytes, int64_t n) {
  void* room = dtt_lend(f, n);
  return room ? memcpy(room, bytes, (size_t)n) : (void*)"";
}

/* A frame that does not lie in memory of the language's: what runs may point into it. */
static inline dtt_frame* dtt_new(int64_t i) {
  dtt_frame* f = (dtt_frame*)malloc(sizeof *f);
  if (!f) abort();
  dtt_begin(f, dtt_functions[i]);
  return f;
}

static inline void dtt_end(dtt_frame* f) {
  while (f->lent) {
    dtt_room* next = f->lent->next;
    free(f->lent);
    f->lent = next;
  }
}

static inline void dtt_delete(dtt_frame* f) {
  dtt_end(f);
  free(f);
}

/* Room for the entries of a list or for bytes; none are to be given where it is NULL. */
static inline void* dtt_give_list(dtt_frame* f, const dtt_item* item, dtt_cell* at, int64_t n) {
  at[0].p = dtt_lend(f, item->kind == DTT_BYTES ? n : 8 * n);
  at[1].i = at[0].p ? n : 0;
  return at[0].p;
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

/* What item i of what is given must be. */
static inline const dtt_item* dtt_wanted(const dtt_frame* f, int32_t i) {
  return (f->callback ? f->callback->results : f->function->args) + i;
}

/* ---- values whose kind is known while the program runs */

typedef struct dtt_given {
  dtt_kind kind; /* a BOOL, I64, F64, STR, HANDLE, CALLBACK or NOTHING; what else there is fits
                    nowhere */
  dtt_cell value;
  int64_t n;            /* the bytes of a text, behind which is a zero */
  const dtt_handle* of; /* the kind of a handle */
  const char* word;     /* what a sentence calls it, or NULL */
} dtt_given;

/* The first refusal is the one that is told. */
static inline void dtt_refuse(dtt_frame* f, const char* format, ...) {
  const char* name = f->function ? f->function->name : f->callback->name;
  char message[300];
  const int n = snprintf(message, sizeof message, "%.60s: ", name);
  va_list values;
  if (f->status) return;
  va_start(values, format);
  vsnprintf(message + n, sizeof message - (size_t)n, format, values);
  va_end(values);
  f->status = dt_error_set(DT_STATUS_TYPE_ERROR, message);
}

/* A language that checks types before has no word for the wrong one. */
static inline void dtt_refuse_kind(dtt_frame* f, const dtt_item* item, const char* word) {
  char text[32];
  const char* expected = dtt_expected(item, text);
  if (word) dtt_refuse(f, "'%s' must be %s, not %s", item->name, expected, word);
  if (!word) dtt_refuse(f, "'%s' must be %s", item->name, expected);
}

/* C reads text up to the first zero: one inside would make another text of it. */
static inline void dtt_refuse_null(dtt_frame* f, const dtt_item* item) {
  dtt_refuse(f, "'%s' has an embedded null character", item->name);
}

/* Text stays what it is, or names a value of an enum or a device. */
static inline void dtt_give_text(dtt_frame* f, const dtt_item* item, const dtt_given* v,
                                 dtt_cell* at) {
  const char* text = (const char*)v->value.p;
  dt_device_type type = 0;
  *at = v->value;
  if (item->kind == DTT_BYTES) {
    at[1].i = v->n;
  } else if (strlen(text) != (size_t)v->n) {
    dtt_refuse_null(f, item);
  } else if (item->kind == DTT_ENUM) {
    const dtt_value* value = ((const dtt_enum*)item->of)->values;
    while (value->name && strcmp(value->name, text)) value++;
    if (!value->name) dtt_refuse(f, "'%s' has no value '%s'", item->name, text);
    at->i = value->number;
  } else if (item->kind == DTT_DEVICE) {
    if (!f->status) f->status = dt_device_from_text(text, &type, &at[1].i);
    at->i = type;
  }
}

/* Which dt_scalar_kind a number is; 0: it is none. */
static inline int dtt_scalar_kind(dtt_kind kind) {
  if (kind == DTT_BOOL) return DT_SCALAR_KIND_BOOL;
  if (kind == DTT_I64) return DT_SCALAR_KIND_INT;
  return kind == DTT_F64 ? DT_SCALAR_KIND_FLOAT : 0;
}

/* Writes a value, or an entry of a list, into its cells; 0 if it does not fit there. */
static inline int dtt_fits(dtt_frame* f, const dtt_item* item, const dtt_given* v, dtt_cell* at) {
  const int scalar = dtt_scalar_kind(v->kind);
  const int is_tensor = v->kind == DTT_HANDLE && v->of == &dtt_handle_tensor;
  dtt_cell number = v->value;
  int fits;
  switch (item->kind) {
    case DTT_OPERAND:
      at[0] = v->value, at[1].i = 0;
      if (is_tensor) return 1;
      /* fall through */
    case DTT_SCALAR:
      if (scalar) dtt_give_number(item, at, scalar, number.i);
      return scalar != 0;
    case DTT_F64:
      if (v->kind == DTT_I64) number.f = (double)number.i;
      dtt_give_number(item, at, 0, number.i);
      return v->kind == DTT_F64 || v->kind == DTT_I64;
    case DTT_I64:
    case DTT_BOOL:
      dtt_give_number(item, at, 0, number.i);
      return v->kind == item->kind;
    case DTT_STR:
    case DTT_BYTES:
    case DTT_DEVICE:
      if (v->kind == DTT_STR) dtt_give_text(f, item, v, at);
      return v->kind == DTT_STR;
    case DTT_ENUM:
      if (v->kind == DTT_STR) dtt_give_text(f, item, v, at);
      if (v->kind == DTT_ENUM) *at = v->value;
      return v->kind == DTT_STR || v->kind == DTT_ENUM;
    default:
      fits = v->kind == item->kind && (item->kind != DTT_HANDLE || v->of == item->of);
      fits |= item->kind == DTT_TENSOR && is_tensor;
      if (fits) *at = v->value;
      return fits;
  }
}

static inline void dtt_give(dtt_frame* f, const dtt_item* item, const dtt_given* v, dtt_cell* at) {
  if (item->is_list || !dtt_fits(f, item, v, at)) dtt_refuse_kind(f, item, v->word);
}

/* Entry k of a list that dtt_give_list has made room for. */
static inline void dtt_give_listed(dtt_frame* f, const dtt_item* item, const dtt_given* v,
                                   dtt_cell* at, int64_t k) {
  dtt_item one = *item;
  dtt_cell cell[4];
  one.is_optional = 0;
  if (!dtt_fits(f, &one, v, cell))
    dtt_refuse_kind(f, item, v->word);
  else
    dtt_give_entry(item, at, k, cell->i);
}

/* ---- the call */

/* Where a list or a text came out as a handle: what is behind it. */
static inline dt_status dtt_open(dtt_frame* f, const dtt_item* item, void* carrier, dtt_cell* at) {
  dtt_cell* entry;
  const void* bytes = NULL;
  const char* text = NULL;
  dt_status status;
  int64_t i, n = 0;
  if (!item->is_list) {
    status = dt_bytes_data((dt_bytes*)carrier, &bytes, &at[1].i);
    if (!status) at->p = dtt_copy(f, bytes, at[1].i);
  } else if (item->kind == DTT_TENSOR) {
    status = dt_tensor_list_len((dt_tensor_list*)carrier, &n);
    if (!status) dtt_give_list(f, item, at, n);
    for (i = 0; !status && i < at[1].i; i++)
      status = dt_tensor_list_get((dt_tensor_list*)carrier, i, (dt_tensor**)at->p + i);
  } else {
    status = dt_string_list_len((dt_string_list*)carrier, &n);
    at->p = entry = (dtt_cell*)dtt_lend(f, 16 * n);
    at[1].i = entry ? n : 0;
    for (i = 0; !status && i < at[1].i; i++, entry += 2) {
      status = dt_string_list_get((dt_string_list*)carrier, i, &text);
      if (status) break;
      entry[1].i = (int64_t)strlen(text);
      entry[0].p = dtt_copy(f, text, entry[1].i);
    }
  }
  dt_handle_release(carrier);
  return status ? status : (dt_status)f->status;
}

static inline int dtt_is_numbers(const dtt_item* item) {
  return item->is_list && (item->kind == DTT_I64 || item->kind == DTT_F64);
}

/* A result, from the table's cells to those of what is taken. */
static inline dt_status dtt_settle(dtt_frame* f, const dtt_item* item, const dtt_cell* from,
                                   dtt_cell* at) {
  if (item->kind == DTT_STR || (item->is_list && item->kind == DTT_TENSOR))
    return dtt_open(f, item, from->p, at);
  at[0] = from[0];
  if (dtt_is_numbers(item)) at[1] = from[2];
  if (item->kind == DTT_DEVICE) at[1] = from[1];
  if (item->kind == DTT_SCALAR) {
    at[0] = from[from->i == DT_SCALAR_KIND_FLOAT ? 2 : 1];
    at[1] = from[0];
  }
  return DT_STATUS_OK;
}

/* What was taken, as one of the kinds that a language knows. Names of devices and enums are text.
 */
static inline dtt_given dtt_taken(dtt_frame* f, const dtt_item* item, const dtt_cell* at) {
  dtt_given v = {(dtt_kind)item->kind, at[0], 0, (const dtt_handle*)item->of, NULL};
  if (item->kind == DTT_SCALAR) {
    v.kind = at[1].i == DT_SCALAR_KIND_FLOAT ? DTT_F64
             : at[1].i == DT_SCALAR_KIND_INT ? DTT_I64
                                             : DTT_BOOL;
  } else if (item->kind == DTT_TENSOR) {
    v.kind = DTT_HANDLE, v.of = &dtt_handle_tensor;
  } else if (item->kind == DTT_STR) {
    v.n = at[1].i;
  } else if (item->kind == DTT_DEVICE) {
    char text[32];
    const int n = dtt_name_device(at, text);
    v.kind = DTT_STR, v.value.p = dtt_copy(f, text, n), v.n = f->status ? 0 : n;
  } else if (item->kind == DTT_ENUM) {
    const char* name = dtt_value_name((const dtt_enum*)item->of, at->i, NULL);
    v.kind = name ? DTT_STR : DTT_I64;
    if (name) v.value.p = (void*)name, v.n = (int64_t)strlen(name);
  }
  return v;
}

/* A long list of numbers is asked for twice: the first call says how many there are. */
static inline dt_status dtt_call(dtt_frame* f) {
  const dtt_item *item = f->function->results, *end = item + f->function->n_results;
  const int is_numbers = item < end && dtt_is_numbers(item);
  dtt_cell results[DTT_MAX_RESULTS], *at = f->taken;
  dt_status status = (dt_status)f->status;
  const char* message;
  memset(results, 0, sizeof results);
  if (is_numbers) results[0].p = f->few, results[1].i = DTT_FEW;
  if (!status) status = f->function->call(f->given, results);
  if (is_numbers && !status && results[2].i > DTT_FEW) {
    dtt_give_list(f, item, results, results[2].i);
    status = f->status ? (dt_status)f->status : f->function->call(f->given, results);
  }
  for (; !status && item < end; item++, at += 2)
    status = dtt_settle(f, item, results + item->cell, at);
  if (status) {
    memset(f->taken, 0, sizeof f->taken);
    message = dt_error_message();
    f->message = (const char*)dtt_copy(f, message, (int64_t)strlen(message));
    if (!*f->message) f->message = "out of memory";
  }
  return status;
}

static inline dt_status dtt_live_handles(const char* kind, int64_t* count) {
  *count = dt_live_handles(kind);
  return DT_STATUS_OK;
}

/* ---- operators: both operands have four cells */

static inline dt_status dtt_apply(const dtt_function* function, const dtt_cell* x,
                                  const dtt_cell* other, dtt_cell* result) {
  dtt_cell args[DTT_MAX_CELLS];
  memcpy(args, function->initial, function->n_cells * sizeof *args);
  args[0] = *x;
  if (other) memcpy(args + function->args[1].cell, other, 4 * sizeof *other);
  return function->call(args, result);
}

/* x OP other by `forward`; number OP x by one function after the other: f(x, number) where there is
 * one, g(f(x), number) where there are two, h(g(f(x), number), x) where there are three. */
static inline dt_status dtt_operate(const dtt_function* forward,
                                    const dtt_function* const* reflected, const dtt_cell* a,
                                    dtt_cell* result) {
  const dtt_cell* x = a + 4;
  dtt_cell made = *x, next;
  dt_status status = DT_STATUS_OK;
  int i;
  if (a->p) return dtt_apply(forward, a, a + 4, result);
  for (i = 0; !status && reflected[i]; i++) {
    const dtt_cell* other = i == 2 ? x : i == 1 || !reflected[1] ? a : NULL;
    next.p = NULL;
    status = dtt_apply(reflected[i], &made, other, &next);
    if (i) dt_tensor_release((dt_tensor*)made.p);
    made = next;
  }
  *result = made;
  return status;
}

/* For collectors that want to know what a pointer points to, a handle is a number. */
static inline void dtt_release(uint64_t handle) {
  dt_handle_release((void*)(uintptr_t)handle);
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
  return status ? status : (dt_status)f->status;
}

/* What the language gives, its own tensors: the library gets others. */
static inline dt_status dtt_give_back(dtt_frame* f) {
  const dtt_item* item = f->callback->results;
  dtt_cell* at = f->given;
  if (item->is_list)
    return dt_tensor_list_new((dt_tensor* const*)at->p, at[1].i, (dt_tensor_list**)&at->p);
  if (item->kind == DTT_TENSOR && at->p)
    return dt_tensor_alias((dt_tensor*)at->p, (dt_tensor**)&at->p);
  return DT_STATUS_OK;
}

/* What the library calls, with the callback's cells. */
static inline dt_status dtt_answer(const dtt_callback* callback, void* user_data,
                                   const dtt_cell* args, dtt_cell* results) {
  dtt_frame f;
  dt_status status = DT_STATUS_OK;
  int32_t i;
  memset(&f, 0, sizeof f);
  f.callback = callback;
  f.user_data = (uintptr_t)user_data;
  for (i = 0; !status && i < callback->n_args; i++)
    status = dtt_keep(&f, callback->args + i, args + callback->args[i].cell, f.taken + 2 * i);
  if (!status) status = dtt_run(&f);
  if (!status && callback->n_results) *results = f.given[0];
  dtt_end(&f);
  return status;
}

#endif
