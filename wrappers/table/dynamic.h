/* For languages that learn a value's kind while they run: how arguments are read, and results made,
 * by a few words of the language's own, which it defines behind this header.
 *
 * `L` is the language's state, of a type that it names `dtt_state` before it includes this. A slot
 * is where it finds a value, such as a place on its stack. */
#ifndef DUMBTORCH_DYNAMIC_H
#define DUMBTORCH_DYNAMIC_H

#include "wrappers/table/frame.h"

/* A value that stands for itself; `item` says what is asked for. */
static dtt_given dtt_look(dtt_state* L, const dtt_item* item, int slot);
/* The word for what is not given. */
static const char* const dtt_nothing;
/* The next name in a list that has names for its entries, and the slot of the entry, until there
 * are no more. Both are left where they are. */
static const char* dtt_next_name(dtt_state* L, int slot, int is_first, int* value);
/* How many entries without names a list has; -1: the value is none. */
static int64_t dtt_count(dtt_state* L, int slot);
/* A slot for an entry of a list, until it is let go of. */
static int dtt_entry(dtt_state* L, int slot, int64_t k);
static void dtt_leave(dtt_state* L);
/* Makes a value: of `v`, which takes the handle at its place, or a list of n. An entry is made
 * behind its list, and put into it. */
static void dtt_make(dtt_state* L, const dtt_given* v, void** handle, int is_entry);
static void dtt_make_list(dtt_state* L, int64_t n);
static void dtt_put(dtt_state* L, int64_t k);
/* Keeps the user's function in a slot, and forgets it. */
static int64_t dtt_keep_function(dtt_state* L, int slot);
static void dtt_forget_function(dtt_state* L, int64_t id);
/* Runs it: it takes what the frame has, by dtt_take_all, and gives its result, by dtt_give_result.
 * What it raises is for the call that has led here, if there is one, and its text is returned. */
static const char* dtt_run_function(dtt_state* L, dtt_frame* f, int64_t id, int has_caller);
/* Whether two share what they keep, such as threads of one state. */
static int dtt_is_same_state(dtt_state* L, dtt_state* other);

static __thread dtt_pressure dtt_pressed;
static __thread dtt_state* dtt_running; /* what is in a call of the library */

/* A real number. A whole one is an integer where integers are asked for, or where the language has
 * but reals. */
static inline void dtt_look_at_real(dtt_given* v, const dtt_item* item, double f, int only_reals) {
  const int fits = f >= -9223372036854775808.0 && f < 9223372036854775808.0;
  v->kind = DTT_F64;
  v->value.f = f;
  if (!fits || (double)(int64_t)f != f || !(only_reals || item->kind == DTT_I64)) return;
  v->kind = DTT_I64;
  v->value.i = (int64_t)f;
}

static const dtt_item dtt_whole = {"index", NULL, DTT_I64, 0, 0, 0, 0, 0, 0};

static inline int dtt_is_absent(dtt_state* L, int slot) {
  return dtt_look(L, &dtt_whole, slot).kind == DTT_NOTHING;
}

/* Absent, or false, which stands for it where absence cannot be said. */
static inline int dtt_is_off(const dtt_given* v) {
  return v->kind == DTT_NOTHING || (v->kind == DTT_BOOL && !v->value.i);
}

/* The last argument may hold others by name. */
static inline int dtt_holds_names(dtt_state* L, int slot) {
  int value;
  if (dtt_count(L, slot) || !dtt_next_name(L, slot, 1, &value)) return 0;
  dtt_leave(L); /* the name */
  dtt_leave(L);
  return 1;
}

/* How many entries a list has; -1: the value is none, or its entries have names. */
static inline int64_t dtt_length(dtt_state* L, int slot) {
  const int64_t n = dtt_count(L, slot);
  return !n && dtt_holds_names(L, slot) ? -1 : n;
}

typedef struct dtt_call_given {
  dtt_frame frame;
  int slots[DTT_MAX_ARGS]; /* of the arguments; 0: not given */
} dtt_call_given;

static inline int* dtt_slots(dtt_frame* f) {
  return ((dtt_call_given*)f)->slots;
}

/* ---- indices: x[i], x[i, 1:3, mask] as the text that the library reads, and the tensors in it */

static inline const char* dtt_join(dtt_frame* f, const char* a, const char* b) {
  const size_t n = strlen(a), m = strlen(b);
  char* text = (char*)dtt_lend(f, (int64_t)(n + m));
  if (!text) return "";
  memcpy(text, a, n);
  memcpy(text + n, b, m);
  return text;
}

static inline const char* dtt_number_text(dtt_frame* f, int64_t number) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)number);
  return dtt_join(f, text, "");
}

/* {start, stop, step}; what is absent, or false, leaves a bound open. */
static inline const char* dtt_slice(dtt_state* L, dtt_frame* f, int slot, int64_t n) {
  const char* text = n < 2 ? ":" : "";
  int64_t i;
  if (n > 3) dtt_refuse(f, "a slice has at most three numbers");
  for (i = n - 1; i >= 0 && !f->status; i--) {
    const dtt_given v = dtt_look(L, &dtt_whole, dtt_entry(L, slot, i));
    const int is_open = dtt_is_off(&v);
    dtt_leave(L);
    if (!is_open && v.kind != DTT_I64) dtt_refuse(f, "slice indices must be integers");
    if (i < n - 1) text = dtt_join(f, ":", text);
    if (!is_open) text = dtt_join(f, dtt_number_text(f, v.value.i), text);
  }
  return text;
}

static inline const char* dtt_key_part(dtt_state* L, dtt_frame* f, int slot, int is_alone,
                                       dtt_cell* tensors) {
  const dtt_given v = dtt_look(L, &dtt_whole, slot);
  const int64_t n = is_alone ? -1 : dtt_length(L, slot);
  const char* got = v.kind == DTT_F64 ? "a number with a fraction" : v.word;
  if (n >= 0) return dtt_slice(L, f, slot, n);
  if (v.kind == DTT_I64) return dtt_number_text(f, v.value.i);
  if (v.kind == DTT_STR && strlen((const char*)v.value.p) == (size_t)v.n)
    return (const char*)v.value.p;
  if (v.kind == DTT_HANDLE && v.of == &dtt_handle_tensor) {
    ((void**)tensors->p)[tensors[1].i++] = v.value.p;
    return "?";
  }
  dtt_refuse(f,
             "only integers, slices (\"1:3\" or a list of two), \"...\", \"None\" and tensors are "
             "valid indices (got %s)",
             got);
  return "";
}

/* A key is one item or a list of them. The function's last argument takes its tensors. */
static inline void dtt_give_key(dtt_state* L, dtt_frame* f, int slot, dtt_cell* at) {
  const dtt_item* last = f->function->args + f->function->n_args - 1;
  dtt_cell* tensors = f->given + last->cell;
  const int64_t n = dtt_length(L, slot), room = n < 0 ? 1 : n;
  const char* text = n < 0 ? NULL : "";
  int64_t i;
  if (!dtt_give_list(f, last, tensors, room)) return;
  tensors[1].i = 0;
  if (n < 0) text = dtt_key_part(L, f, slot, 1, tensors);
  for (i = 0; i < n && !f->status; i++) {
    const char* part = dtt_key_part(L, f, dtt_entry(L, slot, i), 0, tensors);
    dtt_leave(L);
    text = dtt_join(f, i ? dtt_join(f, text, ",") : text, part);
  }
  at->p = (void*)text;
}

/* ---- functions of the user's: two own what is kept of one, the library and the language's state,
 * which may be closed before. Any thread of the system may drop one; the state forgets it later. */

typedef struct dtt_kept {
  struct dtt_kept* next;
  int64_t id;    /* of the function in the language */
  void* runner;  /* what runs it in the language; NULL when the state is closed */
  int is_let_go; /* by one of the two; the other one frees this */
} dtt_kept;

typedef struct dtt_keeper {
  dtt_kept* first;
  int64_t until_swept;
  void* runner; /* of the functions to come */
} dtt_keeper;

/* The state has one. */
static dtt_keeper* dtt_keeper_of(dtt_state* L);

static inline void dtt_let_go(dtt_kept* k) {
  if (__atomic_exchange_n(&k->is_let_go, 1, __ATOMIC_ACQ_REL)) free(k);
}

void dtt_drop(void* user_data) {
  if (user_data) dtt_let_go((dtt_kept*)user_data);
}

/* Forgets the functions that the library has dropped, or all; returns how many are left. */
static inline int64_t dtt_sweep(dtt_state* L, dtt_keeper* keeper, int is_closing) {
  dtt_kept** at = &keeper->first;
  int64_t left = 0;
  while (*at) {
    dtt_kept* k = *at;
    if (!is_closing && !__atomic_load_n(&k->is_let_go, __ATOMIC_ACQUIRE)) {
      at = &k->next;
      left++;
      continue;
    }
    *at = k->next;
    dtt_forget_function(L, k->id);
    __atomic_store_n(&k->runner, NULL, __ATOMIC_RELEASE);
    dtt_let_go(k);
  }
  return left;
}

/* The user data of a function that the state keeps from now on. */
static inline dtt_kept* dtt_user_data(dtt_state* L, dtt_frame* f, int slot) {
  dtt_keeper* keeper = dtt_keeper_of(L);
  const int64_t id = dtt_keep_function(L, slot);
  dtt_kept* k = (dtt_kept*)calloc(1, sizeof *k);
  if (!k) {
    dtt_forget_function(L, id);
    f->status = dt_error_set(DT_STATUS_OUT_OF_MEMORY, "out of memory");
    return NULL;
  }
  if (keeper->until_swept-- <= 0) keeper->until_swept = dtt_sweep(L, keeper, 0);
  k->id = id;
  k->runner = keeper->runner;
  k->next = keeper->first;
  keeper->first = k;
  return k;
}

/* ---- arguments */

/* A list, or one number for several equal ones. An entry that is absent, or false, is an absent
 * tensor. */
static inline void dtt_give_entries(dtt_state* L, dtt_frame* f, const dtt_item* item, int slot,
                                    dtt_cell* at) {
  const dtt_given one = dtt_look(L, item, slot);
  const int is_alone = item->count && (one.kind == DTT_I64 || one.kind == DTT_F64);
  const int64_t n = is_alone ? item->count : dtt_length(L, slot);
  int64_t i;
  if (n < 0) {
    dtt_refuse_kind(f, item, one.word);
    return;
  }
  dtt_give_list(f, item, at, n);
  for (i = 0; i < at[1].i; i++) {
    const int entry = is_alone ? slot : dtt_entry(L, slot, i);
    const dtt_given v = dtt_look(L, item, entry);
    if (!item->entries_are_optional || !dtt_is_off(&v)) dtt_give_listed(f, item, &v, at, i);
    if (!is_alone) dtt_leave(L);
  }
}

/* What is absent is at its default; false says so where the default is a number. */
static inline void dtt_give_value(dtt_state* L, dtt_frame* f, const dtt_item* item, int slot,
                                  dtt_cell* at) {
  dtt_given v;
  if (!slot) return;
  if (dtt_is_absent(L, slot) && (item->is_optional || !item->is_required)) return;
  if (item->is_list) {
    dtt_give_entries(L, f, item, slot, at);
    return;
  }
  v = dtt_look(L, item, slot);
  if (item->kind == DTT_SCALAR && item->is_optional && at->i && dtt_is_off(&v))
    at->i = 0;
  else if (item->kind == DTT_STR && v.kind != DTT_STR && !strcmp(item->name, "index"))
    dtt_give_key(L, f, slot, at);
  else if (item->kind == DTT_CALLBACK && v.kind == DTT_CALLBACK)
    at->p = dtt_user_data(L, f, slot);
  else
    dtt_give(f, item, &v, at);
  if (item->kind == DTT_DEVICE) dtt_note_device(&dtt_pressed, at[0].i, at[1].i);
}

static inline void dtt_give_arguments(dtt_state* L, dtt_frame* f) {
  const dtt_item *item = f->function->args, *end = item + f->function->n_args;
  const int* slot = dtt_slots(f);
  for (; item < end && !f->status; item++, slot++) {
    dtt_cell* at = f->given + item->cell;
    dtt_give_value(L, f, item, *slot, at);
  }
}

/* The user data of callbacks belongs to the library when it has been called. */
static inline void dtt_leave_callbacks(dtt_frame* f, int is_called) {
  const dtt_item *item = f->function->args, *end = item + f->function->n_args;
  for (; item < end; item++) {
    if (item->kind != DTT_CALLBACK) continue;
    if (!is_called) dtt_drop(f->given[item->cell].p);
    f->given[item->cell].p = NULL;
  }
}

/* A name that is a word of the language's own is given with an underscore: end_. */
static inline int dtt_is_named(const dtt_item* item, const char* name) {
  const size_t n = strlen(item->name);
  return !strncmp(item->name, name, n) && (!name[n] || (name[n] == '_' && !name[n + 1]));
}

/* Whether the value in a slot is what an overload is told by: no number that stands where this one
 * has a tensor and the next one a number. */
static inline int dtt_tells(dtt_state* L, const dtt_function* function, int slot) {
  const dtt_given v = dtt_look(L, &dtt_whole, slot);
  const int is_number = v.kind == DTT_I64 || v.kind == DTT_F64, at = function->told_by;
  if (is_number && function->args[at].kind == DTT_TENSOR) return function->next->n_args <= at;
  return v.kind != DTT_NOTHING;
}

/* Finds the function that n values are meant for, from slot `first` on, and their places. */
static inline void dtt_place(dtt_state* L, dtt_frame* f, int first, int n) {
  const char* names[DTT_MAX_ARGS];
  int values[DTT_MAX_ARGS], *slots = dtt_slots(f), n_names = 0, i, k, at;
  const dtt_function* function = f->function;
  const int table = n && dtt_holds_names(L, first + n - 1) ? first + --n : 0;
  while (table && n_names < DTT_MAX_ARGS &&
         (names[n_names] = dtt_next_name(L, table, !n_names, &values[n_names])))
    n_names++;
  for (; function->next; function = function->next) {
    int is_told = function->told_by < n && dtt_tells(L, function, first + function->told_by);
    for (k = 0; k < n_names; k++)
      is_told |= dtt_is_named(&function->args[function->told_by], names[k]);
    if (is_told) break;
  }
  dtt_begin(f, function);
  if (n > function->n_args) {
    dtt_refuse(f, "takes at most %d arguments, not %d", function->n_args, n);
    return;
  }
  for (i = 0; i < function->n_args; i++) slots[i] = i < n ? first + i : 0;
  for (k = 0; k < n_names; k++) {
    for (at = 0; at < function->n_args && !dtt_is_named(&function->args[at], names[k]);) at++;
    if (at == function->n_args)
      dtt_refuse(f, "there is no argument named '%s'", names[k]);
    else if (slots[at] && !dtt_is_absent(L, slots[at]))
      dtt_refuse(f, "'%s' is given twice", names[k]);
    else
      slots[at] = values[k];
  }
  for (i = 0; i < function->n_args; i++)
    if (!slots[i] && function->args[i].is_required && !function->args[i].is_optional)
      dtt_refuse_kind(f, function->args + i, dtt_nothing);
}

/* ---- results */

/* Makes the value of a result, or of what a callback is given. */
static inline void dtt_take(dtt_state* L, dtt_frame* f, const dtt_item* item, dtt_cell* at) {
  const int cells = item->kind == DTT_STR ? 2 : 1;
  dtt_cell* entry = (dtt_cell*)at->p;
  dtt_given v;
  int64_t i;
  if (!item->is_list) {
    v = dtt_taken(f, item, at);
    dtt_make(L, &v, &at->p, 0);
    return;
  }
  dtt_make_list(L, at[1].i);
  for (i = 0; i < at[1].i; i++, entry += cells) {
    v = dtt_taken(f, item, entry);
    dtt_make(L, &v, &entry->p, 1);
    dtt_put(L, i);
  }
}

/* The items of what is taken, and their number. */
static inline const dtt_item* dtt_items(const dtt_frame* f, int* n) {
  *n = f->callback ? f->callback->n_args : f->function ? f->function->n_results : 0;
  return f->callback ? f->callback->args : f->function ? f->function->results : NULL;
}

/* Makes the results, or what a callback is given. */
static inline void dtt_take_all(dtt_state* L, dtt_frame* f) {
  int n, i;
  const dtt_item* item = dtt_items(f, &n);
  for (i = 0; i < n && !f->status; i++) dtt_take(L, f, item + i, f->taken + 2 * i);
}

/* What the language has not taken, because it ran out of memory meanwhile. */
static inline void dtt_release_rest(dtt_frame* f) {
  dtt_cell* at = f->taken;
  int n, i;
  const dtt_item* item = dtt_items(f, &n);
  for (; n--; item++, at += 2) {
    void** handles = item->is_list ? (void**)at->p : &at->p;
    const int count = item->is_list ? (int)at[1].i : 1;
    if (item->kind != DTT_TENSOR && item->kind != DTT_HANDLE) continue;
    for (i = 0; i < count; i++) dt_handle_release(handles[i]);
  }
}

/* ---- lists in lists, in and out */

typedef struct dtt_nest {
  int64_t size[64], n_sizes, n;
  int64_t bools, reals; /* how many of the n elements */
  dtt_given* elements;
} dtt_nest;

/* The sizes, by the first entry of each level. */
static inline void dtt_measure(dtt_state* L, int slot, dtt_nest* nest) {
  const int64_t n = dtt_length(L, slot);
  if (n < 0 || nest->n_sizes == 64) return;
  nest->size[nest->n_sizes++] = n;
  if (!n) return;
  dtt_measure(L, dtt_entry(L, slot, 0), nest);
  dtt_leave(L);
}

static inline void dtt_read_nest(dtt_state* L, dtt_frame* f, int slot, int64_t dim,
                                 dtt_nest* nest) {
  static const dtt_item any = {"data", NULL, DTT_SCALAR, 0, 0, 0, 0, 1, 0};
  const int64_t n = dtt_length(L, slot);
  const dtt_given v = dtt_look(L, &any, slot);
  int64_t i;
  if (f->status) return;
  if (dim == nest->n_sizes) {
    if (!dtt_scalar_kind(v.kind)) dtt_refuse(f, "an element is a %s", n < 0 ? v.word : "list");
    nest->bools += v.kind == DTT_BOOL;
    nest->reals += v.kind == DTT_F64;
    nest->elements[nest->n++] = v;
    return;
  }
  if (n < 0) dtt_refuse(f, "expected a list at dim %d (got %s)", (int)dim, v.word);
  if (n != nest->size[dim])
    dtt_refuse(f, "expected sequence of length %d at dim %d (got %d)", (int)nest->size[dim],
               (int)dim, (int)n);
  for (i = 0; i < n; i++) {
    dtt_read_nest(L, f, dtt_entry(L, slot, i), dim + 1, nest);
    dtt_leave(L);
  }
}

/* The elements into a list: of truth values, whole numbers or reals, what fits them all. */
static inline void dtt_read_elements(dtt_state* L, dtt_frame* f, int slot, dtt_nest* nest,
                                     dtt_item* item, dtt_cell* at) {
  int64_t i, n = 1;
  dtt_measure(L, slot, nest);
  for (i = 0; i < nest->n_sizes; i++)
    if (__builtin_mul_overflow(n, nest->size[i], &n)) n = INT64_MAX;
  nest->elements = (dtt_given*)dtt_lend_each(f, n, sizeof *nest->elements);
  if (f->status) return;
  dtt_read_nest(L, f, slot, 0, nest); /* where n is 0, too: not every list need be empty */
  if (n && !nest->reals) item->kind = nest->bools == n ? DTT_BOOL : DTT_I64;
  dtt_give_list(f, item, at, n);
  for (i = 0; i < n && !f->status; i++) {
    dtt_given* v = nest->elements + i;
    if (v->kind == DTT_BOOL && item->kind != DTT_BOOL) v->kind = DTT_I64;
    dtt_give_listed(f, item, v, at, i);
  }
}

/* torch.tensor(data, dtype, requires_grad, device). Numbers go through the widest dtype of their
 * kind where another one is asked for. */
static inline dt_status dtt_from_lists(dtt_state* L, dtt_frame* f, dt_tensor** out) {
  dtt_nest nest = {{0}, 0, 0, 0, 0, NULL};
  const dtt_item* args = f->function->args;
  const dtt_cell *dtype = f->given + args[1].cell, *wants_grad = f->given + args[2].cell,
                 *device = f->given + args[3].cell;
  const dt_device_type type = (dt_device_type)device[0].i;
  const int64_t index = device[1].i, *size = nest.size, *n_sizes = &nest.n_sizes;
  dtt_item item = {"data", NULL, DTT_F64, 0, 1, 0, 0, 1, 0};
  dt_status status = DT_STATUS_OK;
  dt_tensor* made = NULL;
  dtt_cell at[2];
  int i;
  for (i = 1; i < f->function->n_args; i++)
    dtt_give_value(L, f, args + i, dtt_slots(f)[i], f->given + args[i].cell);
  dtt_read_elements(L, f, dtt_slots(f)[0], &nest, &item, at);
  if (f->status) return (dt_status)f->status;
  if (item.kind == DTT_BOOL)
    status = dt_from_bools((int32_t*)at->p, at[1].i, size, *n_sizes, type, index, out);
  else if (item.kind == DTT_I64)
    status = dt_from_ints((int64_t*)at->p, at[1].i, size, *n_sizes, 0, type, index, 0, out);
  else
    status = dt_from_numbers((double*)at->p, at[1].i, size, *n_sizes,
                             dtype->i ? DT_DTYPE_FLOAT64 : 0, type, index, 0, out);
  if (!status && dtype->i) {
    made = *out;
    status = dt_to(made, 0, 0, (dt_dtype)dtype->i, 0, 0, 0, out);
    dt_tensor_release(made);
  }
  if (!status && wants_grad->i) status = dt_tensor_requires_grad_(*out, 1);
  return status;
}

static inline const dtt_cell* dtt_make_nest(dtt_state* L, dtt_kind kind, const dtt_cell* from,
                                            const int64_t* size, int64_t n_sizes) {
  const dtt_given v = {kind, n_sizes ? (dtt_cell){0} : *from, 0, NULL, NULL};
  int64_t i;
  if (!n_sizes) {
    dtt_make(L, &v, NULL, 0);
    return from + 1;
  }
  dtt_make_list(L, *size);
  for (i = 0; i < *size; i++) {
    from = dtt_make_nest(L, kind, from, size + 1, n_sizes - 1);
    dtt_put(L, i);
  }
  return from;
}

/* x.tolist(): makes the lists. */
static inline dt_status dtt_to_lists(dtt_state* L, dtt_frame* f) {
  int64_t size[DT_TENSOR_MAX_DIMS], n_sizes = 0, n = 1, i;
  dtt_kind kind = DTT_F64;
  dtt_cell* cells;
  dt_tensor* x;
  dt_dtype dtype = 0;
  dt_status status = DT_STATUS_OK;
  int is_real;
  dtt_give_arguments(L, f);
  x = (dt_tensor*)f->given[0].p;
  if (!f->status) status = dt_tensor_shape(x, size, DT_TENSOR_MAX_DIMS, &n_sizes);
  if (!f->status && !status) status = dt_tensor_dtype(x, &dtype);
  for (i = 0; i < n_sizes; i++) n *= size[i];
  cells = (dtt_cell*)dtt_lend_each(f, n, sizeof *cells);
  if (f->status || status) return status ? status : (dt_status)f->status;
  is_real = strstr(dtt_value_name(&dtt_dtypes, dtype, ""), "float") != NULL;
  if (!is_real) kind = dtype == DT_DTYPE_BOOL ? DTT_BOOL : DTT_I64;
  if (is_real) status = dt_to_numbers(x, &cells->f, n, &n);
  if (!is_real) status = dt_to_ints(x, &cells->i, n, &n);
  if (!status) dtt_make_nest(L, kind, cells, size, n_sizes);
  return status;
}

/* Calls with the values that have their places, and makes the results. */
static inline void dtt_call_values(dtt_state* L, dtt_frame* f) {
  if (f->status) return;
  if (f->function == &dtt_tolist) {
    f->status = dtt_to_lists(L, f);
  } else if (f->function == &dtt_tensor) {
    f->status = dtt_from_lists(L, f, (dt_tensor**)&f->taken->p);
  } else {
    dtt_give_arguments(L, f);
    if (f->status) return;
    f->status = dtt_call(f);
    dtt_leave_callbacks(f, 1);
  }
  dtt_take_all(L, f);
}

/* Gives back what the call has, also if an error of the language's has left it. */
static inline void dtt_end_values(dtt_frame* f) {
  dtt_release_rest(f);
  if (f->function) dtt_leave_callbacks(f, 0);
  dtt_end(f);
  f->function = NULL;
}

/* ---- callbacks */

/* What the function gives belongs to the language; the library gets another handle. Where a truth
 * value is asked for, any value has one. */
static inline void dtt_give_result(dtt_state* L, dtt_frame* f, int slot) {
  const dtt_item* item = f->callback->results;
  const dtt_given v = dtt_look(L, item, slot);
  if (item->kind == DTT_BOOL)
    f->given->i = !dtt_is_off(&v);
  else
    dtt_give_value(L, f, item, slot, f->given);
  if (!f->status) f->status = dtt_give_back(f);
}

/* On the caller's thread. Where that is none of the function's state, it is a call of the program
 * around the language, and the state has a thread for it. */
dt_status dtt_run(dtt_frame* f) {
  const dtt_kept* kept = (const dtt_kept*)f->user_data;
  dtt_state* const caller = dtt_running;
  dtt_state* L = (dtt_state*)__atomic_load_n(&kept->runner, __ATOMIC_ACQUIRE);
  const char* message = "the state of the function is closed";
  if (L && caller && dtt_is_same_state(L, caller)) L = caller;
  dtt_running = NULL;
  if (L) message = dtt_run_function(L, f, kept->id, L == caller);
  dtt_running = caller;
  if (!message) return (dt_status)f->status;
  dtt_release_rest(f);
  return dt_error_set(DT_STATUS_CALLBACK, message);
}

#endif
