/* x[index] and x[index] = value. An index is one item, or a table of them, one for each dimension:
 *
 *   2, -1             one place, counted from 0 or from the end
 *   "1:3", "::2"      a slice, as Python writes it
 *   {1, 3}, {0, n, 2} a slice by numbers {start, stop, step}, inside of a table of items only;
 *                     false stands for a bound that is left open
 *   "..."             all dimensions that no other item names
 *   "None"            a new dimension of size 1
 *   a tensor          integer positions, or a mask of bools
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

enum { kMaxItems = 64, kMaxDims = 16 };

/* ---- items */

typedef enum item_kind { kPlace, kSlice, kRest, kNewDim, kTensor } item_kind;

typedef struct item {
  item_kind kind;
  int64_t place;     /* of kPlace */
  int64_t bounds[3]; /* of kSlice: start, stop, step */
  int has_bound[3];  /* whether they are given */
  dt_tensor* tensor; /* of kTensor; Lua's table keeps it alive */
  int64_t dims;      /* how many of the tensor's dimensions the item stands for */
} item;

static int is_slice_text(const char* text) {
  return strchr(text, ':') != NULL || !strcmp(text, "...") || !strcmp(text, "None");
}

/* Whether a key of x[key] is an index, and no name of a field. */
int dtl_is_index(lua_State* L, int slot) {
  if (lua_type(L, slot) == LUA_TSTRING) return is_slice_text(lua_tostring(L, slot));
  return 1;
}

static int bad_item(lua_State* L, int slot) {
  if (lua_type(L, slot) == LUA_TSTRING)
    return luaL_error(L, "'%s' is no index: expected \"start:stop:step\", \"...\" or \"None\"",
                      lua_tostring(L, slot));
  return luaL_error(
      L,
      "only integers, slices (\"1:3\" or {1, 3}), \"...\", \"None\" and tensors are "
      "valid indices (got %s)",
      lua_type(L, slot) == LUA_TNUMBER ? "a number with a fraction" : luaL_typename(L, slot));
}

/* "1:3": up to three numbers between colons, each of which may be missing. */
static void read_text(lua_State* L, int slot, item* it) {
  const char* p = lua_tostring(L, slot);
  int i;
  it->kind = !strcmp(p, "...") ? kRest : !strcmp(p, "None") ? kNewDim : kSlice;
  if (it->kind != kSlice) return;
  it->dims = 1;
  for (i = 0; i < 3; i++) {
    char* end;
    it->bounds[i] = (int64_t)strtoll(p, &end, 10);
    it->has_bound[i] = end != p;
    for (p = end; isspace((unsigned char)*p);) p++;
    if (*p != ':' || i == 2) break;
    p++;
  }
  if (*p || !strchr(lua_tostring(L, slot), ':')) bad_item(L, slot);
}

/* {start, stop, step} in a slot of the stack. */
static void read_bounds(lua_State* L, int slot, item* it) {
  int i;
  it->kind = kSlice;
  it->dims = 1;
  if (lua_rawlen(L, slot) > 3) luaL_error(L, "a slice has at most three numbers");
  for (i = 0; i < 3; i++) {
    lua_rawgeti(L, slot, i + 1);
    if (lua_toboolean(L, -1)) { /* neither nil nor false */
      if (!dtl_integer_at(L, lua_gettop(L), &it->bounds[i]))
        luaL_error(L, "slice indices must be integers or false");
      it->has_bound[i] = 1;
    }
    lua_pop(L, 1);
  }
}

/* A 0-dim tensor of integers is one place; a mask stands for as many dimensions as it has. */
static void read_tensor(lua_State* L, dt_tensor* tensor, item* it) {
  int64_t dims = 0;
  dt_dtype dtype = 0;
  dtl_check(L, dt_tensor_dim(tensor, &dims));
  dtl_check(L, dt_tensor_dtype(tensor, &dtype));
  it->kind = kTensor;
  it->tensor = tensor;
  it->dims = dtype == DT_DTYPE_BOOL ? dims : 1;
  if (dims == 0 && (dtype == DT_DTYPE_INT64 || dtype == DT_DTYPE_INT32)) {
    dt_scalar_kind kind;
    double f;
    it->kind = kPlace;
    dtl_check(L, dt_tensor_item(tensor, &kind, &it->place, &f));
  }
}

static void read_item(lua_State* L, int slot, int may_be_table, item* it) {
  dt_tensor* tensor = dtl_tensor_at(L, slot);
  memset(it, 0, sizeof *it);
  if (tensor) {
    read_tensor(L, tensor, it);
  } else if (lua_type(L, slot) == LUA_TSTRING) {
    read_text(L, slot, it);
  } else if (may_be_table && lua_istable(L, slot)) {
    read_bounds(L, slot, it);
  } else if (dtl_integer_at(L, slot, &it->place)) {
    it->kind = kPlace;
    it->dims = 1;
  } else {
    bad_item(L, slot);
  }
}

/* The items of the key in slot 2; how many. */
static int read_items(lua_State* L, item* items) {
  int i, n, rests = 0;
  if (!lua_istable(L, 2)) {
    read_item(L, 2, 0, items);
    return 1;
  }
  n = (int)lua_rawlen(L, 2);
  if (n > kMaxItems) luaL_error(L, "an index has at most %d items", kMaxItems);
  for (i = 0; i < n; i++) {
    lua_rawgeti(L, 2, i + 1);
    read_item(L, lua_gettop(L), 1, &items[i]);
    rests += items[i].kind == kRest;
    lua_pop(L, 1);
  }
  if (rests > 1) luaL_error(L, "an index can only have a single ellipsis (\"...\")");
  return n;
}

/* ---- the view that the plain items make, and the tensors for what is left */

typedef struct indexed {
  dt_tensor* view;              /* owned by a userdata on the stack */
  int64_t dim;                  /* the dimension of the view that the next item is for */
  dt_tensor* tensors[kMaxDims]; /* at the dimensions that they replace; NULL elsewhere */
  int64_t n;
  int has_tensors;
} indexed;

static void keep_dims(lua_State* L, indexed* x, int64_t count) {
  if (x->n + count > kMaxDims) luaL_error(L, "too many indices");
  for (; count > 0; count--, x->dim++) x->tensors[x->n++] = NULL;
}

static void select_place(lua_State* L, indexed* x, int64_t place, int position) {
  int64_t size = 0;
  dt_tensor** out = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
  dtl_check(L, dt_tensor_size(x->view, x->dim, &size));
  if (place < -size || place >= size)
    luaL_error(L, "index %d is out of bounds for dimension %d with size %d", (int)place, position,
               (int)size);
  dtl_check(L, dt_select(x->view, x->dim, place, out));
  x->view = *out;
}

static void apply_item(lua_State* L, indexed* x, const item* it, int64_t left_over, int position) {
  dt_tensor** out;
  switch (it->kind) {
    case kPlace:
      select_place(L, x, it->place, position);
      return;
    case kRest:
      keep_dims(L, x, left_over);
      return;
    case kTensor:
      if (x->n == kMaxDims) luaL_error(L, "too many indices");
      x->tensors[x->n++] = it->tensor;
      x->dim += it->dims;
      x->has_tensors = 1;
      return;
    case kNewDim:
      out = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
      dtl_check(L, dt_unsqueeze(x->view, x->dim, out));
      break;
    default:
      if (it->has_bound[2] && it->bounds[2] <= 0) luaL_error(L, "step must be greater than zero");
      out = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
      dtl_check(L, dt_slice(x->view, x->dim, it->has_bound[0] ? &it->bounds[0] : NULL,
                            it->has_bound[1] ? &it->bounds[1] : NULL,
                            it->has_bound[2] ? it->bounds[2] : 1, out));
  }
  x->view = *out;
  keep_dims(L, x, 1);
}

/* A view of the tensor's own sizes: what an index gives that leaves everything out. */
static void push_same(lua_State* L, dt_tensor* tensor) {
  int64_t sizes[kMaxDims], n = 0;
  dt_tensor** out = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
  dtl_check(L, dt_tensor_shape(tensor, sizes, kMaxDims, &n));
  dtl_check(L, dt_view(tensor, sizes, n, out));
}

/* Applies the key in slot 2 to the tensor in slot 1. The view is on top of the stack. */
static indexed apply(lua_State* L) {
  item items[kMaxItems];
  indexed x;
  int64_t dims = 0, used = 0;
  int i, n = read_items(L, items);
  memset(&x, 0, sizeof x);
  x.view = dtl_tensor_at(L, 1);
  dtl_check(L, dt_tensor_dim(x.view, &dims));
  for (i = 0; i < n; i++) used += items[i].dims;
  if (dims == 0 && used > 0)
    luaL_error(L, "invalid index of a 0-dim tensor. Use x:item() to convert it to a number");
  if (used > dims) luaL_error(L, "too many indices for tensor of dimension %d", (int)dims);
  push_same(L, x.view);
  x.view = dtl_tensor_at(L, lua_gettop(L));
  for (i = 0; i < n; i++) apply_item(L, &x, &items[i], dims - used, i);
  return x;
}

/* ---- reading and writing */

int dtl_get_index(lua_State* L) {
  const indexed x = apply(L);
  if (x.has_tensors) {
    dt_tensor** out = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
    dtl_check(L, dt_index(x.view, x.tensors, x.n, out));
  }
  return 1;
}

/* PyTorch lets a value have more dimensions than its target if the first ones are of size 1. */
static dt_tensor* without_leading_ones(lua_State* L, dt_tensor* value, int64_t dims) {
  int64_t sizes[kMaxDims], n = 0, extra = 0;
  dt_tensor** out;
  dtl_check(L, dt_tensor_shape(value, sizes, kMaxDims, &n));
  while (n - extra > dims && sizes[extra] == 1) extra++;
  if (!extra) return value;
  out = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
  dtl_check(L, dt_reshape(value, sizes + extra, n - extra, out));
  return *out;
}

static void put_at_tensors(lua_State* L, const indexed* x, dtl_operand value) {
  dt_tensor* values = value.tensor;
  if (values) {
    values = without_leading_ones(L, values, 0);
  } else {
    dt_dtype dtype = 0;
    dt_device_type type = 0;
    int64_t index = 0;
    dt_tensor** out = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
    dtl_check(L, dt_tensor_dtype(x->view, &dtype));
    dtl_check(L, dt_tensor_device(x->view, &type, &index));
    dtl_check(L, dt_scalar_tensor(value.number.kind, value.number.i, value.number.f, dtype, type,
                                  index, 0, out));
    values = *out;
  }
  dtl_check(L, dt_index_put_(x->view, x->tensors, x->n, values, 0));
}

int dtl_put_index(lua_State* L) {
  static const char* const names[] = {"tensor", "index", "value", NULL};
  dtl_call c = {L, "tensor[index] = value", names};
  const dtl_operand value = dtl_read_operand(&c, 3);
  const indexed x = apply(L);
  int64_t dims = 0;
  if (x.has_tensors) {
    put_at_tensors(L, &x, value);
  } else if (value.tensor) {
    dtl_check(L, dt_tensor_dim(x.view, &dims));
    dtl_check(L, dt_copy_(x.view, without_leading_ones(L, value.tensor, dims), 0));
  } else {
    dtl_check(L, dt_fill_(x.view, NULL, value.number.kind, value.number.i, value.number.f));
  }
  return 0;
}
