/* Tensors from Lua tables and back, and the few functions that no other language has in this form.
 */
#include <string.h>

#include "runtime.h"

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

enum { kMaxDims = 16 };

/* ---- dt.tensor{{1, 2}, {3, 4}} */

typedef struct data {
  int64_t size[kMaxDims];
  int dims;
  int64_t count;
  dt_dtype dtype; /* bool, int64 or float64: the widest kind of number among the elements */
  double* reals;
  int64_t* ints;
  int64_t filled;
} data;

/* The shape follows from the first element of each level. The value is on top of the stack. */
static void find_shape(lua_State* L, data* d) {
  int levels = 0;
  d->dims = 0;
  d->count = 1;
  lua_pushvalue(L, -1);
  while (lua_istable(L, -1)) {
    if (d->dims == kMaxDims) luaL_error(L, "tensor: more than %d dimensions", kMaxDims);
    d->size[d->dims] = (int64_t)lua_rawlen(L, -1);
    d->count *= d->size[d->dims++];
    lua_rawgeti(L, -1, 1);
    levels++;
  }
  lua_pop(L, levels + 1);
}

static dt_dtype kind_of(lua_State* L) {
  if (lua_isboolean(L, -1)) return DT_DTYPE_BOOL;
#if LUA_VERSION_NUM >= 503
  if (lua_isinteger(L, -1)) return DT_DTYPE_INT64;
#else
  if ((double)(int64_t)lua_tonumber(L, -1) == lua_tonumber(L, -1)) return DT_DTYPE_INT64;
#endif
  return DT_DTYPE_FLOAT64;
}

static void add_element(lua_State* L, data* d) {
  dt_dtype kind;
  if (!lua_isboolean(L, -1) && lua_type(L, -1) != LUA_TNUMBER) {
    luaL_error(L, "tensor: an element is a %s", luaL_typename(L, -1));
  }
  kind = kind_of(L);
  if (kind == DT_DTYPE_FLOAT64 || (kind == DT_DTYPE_INT64 && d->dtype == DT_DTYPE_BOOL)) {
    d->dtype = kind;
  }
  d->reals[d->filled] = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : lua_tonumber(L, -1);
  d->ints[d->filled++] =
      kind == DT_DTYPE_INT64 ? (int64_t)lua_tointeger(L, -1) : lua_toboolean(L, -1);
}

static void add_elements(lua_State* L, data* d, int dim) {
  int64_t i;
  if (dim == d->dims) {
    add_element(L, d);
    return;
  }
  if (!lua_istable(L, -1) || (int64_t)lua_rawlen(L, -1) != d->size[dim]) {
    luaL_error(L, "tensor: expected %d elements at dimension %d", (int)d->size[dim], dim);
  }
  luaL_checkstack(L, LUA_MINSTACK, "tensor");
  for (i = 0; i < d->size[dim]; i++) {
    lua_rawgeti(L, -1, (int)i + 1);
    add_elements(L, d, dim + 1);
    lua_pop(L, 1);
  }
}

/* A new tensor of the elements, converted: real numbers to the default dtype if none is asked for.
 */
static void make_tensor(lua_State* L, data* d, dt_dtype wanted) {
  const void* elements = d->dtype == DT_DTYPE_FLOAT64 ? (const void*)d->reals : d->ints;
  dt_dtype given = d->dtype == DT_DTYPE_FLOAT64 ? DT_DTYPE_FLOAT64 : DT_DTYPE_INT64;
  dt_tensor** raw = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
  dt_tensor** out = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
  if (!wanted && d->dtype == DT_DTYPE_FLOAT64) dtl_check(L, dt_get_default_dtype(&wanted));
  if (!wanted) wanted = d->dtype;
  dtl_check(L, dt_from_data(elements, d->count * 8, d->size, d->dims, given, 0, 0, raw));
  dtl_check(L, dt_to(*raw, 0, 0, wanted, 0, 0, 0, out));
}

/* tensor(data, dtype, requires_grad) */
static int new_tensor(lua_State* L) {
  static const char* const names[] = {"data", "dtype", "requires_grad", NULL};
  dtl_call c = {L, "tensor", names};
  data d;
  dt_dtype wanted = 0;
  int32_t requires_grad = 0;
  memset(&d, 0, sizeof d);
  dtl_arguments(&c);
  if (!dtl_absent(&c, 2)) wanted = dtl_enum_value(&c, 2, dtl_enum_dtype);
  if (!dtl_absent(&c, 3)) requires_grad = dtl_bool(&c, 3);
  lua_pushvalue(L, 1);
  find_shape(L, &d);
  /* An empty tensor has float elements, as in PyTorch. */
  d.dtype = d.count ? DT_DTYPE_BOOL : DT_DTYPE_FLOAT64;
  d.reals = (double*)lua_newuserdata(L, (size_t)(d.count + 1) * sizeof(double));
  d.ints = (int64_t*)lua_newuserdata(L, (size_t)(d.count + 1) * sizeof(int64_t));
  lua_pushvalue(L, 1);
  if (d.count) add_elements(L, &d, 0);
  make_tensor(L, &d, wanted);
  if (requires_grad) {
    dtl_check(L, dt_tensor_requires_grad_(*(dt_tensor**)lua_touserdata(L, -1), 1));
  }
  return 1;
}

/* ---- x:tolist() */

static void push_element(lua_State* L, const data* d, int64_t i) {
  if (d->dtype == DT_DTYPE_FLOAT64) {
    lua_pushnumber(L, d->reals[i]);
  } else if (d->dtype == DT_DTYPE_BOOL) {
    lua_pushboolean(L, d->ints[i] != 0);
  } else {
    lua_pushinteger(L, (lua_Integer)d->ints[i]);
  }
}

static void push_elements(lua_State* L, data* d, int dim) {
  int64_t i;
  if (dim == d->dims) {
    push_element(L, d, d->filled++);
    return;
  }
  luaL_checkstack(L, LUA_MINSTACK, "tolist");
  lua_createtable(L, (int)d->size[dim], 0);
  for (i = 0; i < d->size[dim]; i++) {
    push_elements(L, d, dim + 1);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static int to_list(lua_State* L) {
  static const char* const names[] = {"self", NULL};
  dtl_call c = {L, "tolist", names};
  data d;
  dt_tensor *tensor, **wide;
  dt_dtype dtype = 0, read;
  int64_t n = 0;
  memset(&d, 0, sizeof d);
  dtl_arguments(&c);
  tensor = dtl_tensor(&c, 1);
  dtl_check(L, dt_tensor_shape(tensor, d.size, kMaxDims, &n));
  dtl_check(L, dt_tensor_numel(tensor, &d.count));
  dtl_check(L, dt_tensor_dtype(tensor, &dtype));
  d.dims = (int)n;
  d.dtype = dtype == DT_DTYPE_FLOAT32 ? DT_DTYPE_FLOAT64 : dtype;
  read = d.dtype == DT_DTYPE_FLOAT64 ? DT_DTYPE_FLOAT64 : DT_DTYPE_INT64;
  wide = (dt_tensor**)dtl_new(L, &dtl_kind_tensor);
  dtl_check(L, dt_to(tensor, 0, 0, read, 0, 0, 0, wide));
  d.reals = (double*)lua_newuserdata(L, (size_t)(d.count + 1) * 8);
  d.ints = (int64_t*)d.reals;
  dtl_check(L, dt_tensor_read(*wide, d.reals, d.count * 8));
  push_elements(L, &d, 0);
  return 1;
}

/* ---- modules */

/* nn.Sequential(a, b, c): the schema's constructor makes an empty one. */
static int sequential(lua_State* L) {
  int i, n = lua_gettop(L);
  dt_module** out = (dt_module**)dtl_new(L, &dtl_kind_module);
  dtl_check(L, dt_nn_sequential(out));
  for (i = 1; i <= n; i++) {
    void** child = (void**)luaL_checkudata(L, i, dtl_kind_module.class);
    dtl_check(L, dt_module_append(*out, (dt_module*)*child));
  }
  return 1;
}

/* ---- settings */

/* no_grad(f, ...): calls f without recording for backward and gives back its results. */
static int no_grad(lua_State* L) {
  int32_t before = 0;
  int failed;
  luaL_checktype(L, 1, LUA_TFUNCTION);
  dtl_check(L, dt_is_grad_enabled(&before));
  dtl_check(L, dt_set_grad_enabled(0));
  failed = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  dtl_check(L, dt_set_grad_enabled(before));
  return failed ? lua_error(L) : lua_gettop(L);
}

static int live_handles(lua_State* L) {
  lua_pushinteger(L, (lua_Integer)dt_live_handles(luaL_optstring(L, 1, NULL)));
  return 1;
}

const luaL_Reg dtl_data_functions[] = {
    {"tensor", new_tensor}, {"no_grad", no_grad}, {"live_handles", live_handles}, {NULL, NULL}};
const luaL_Reg dtl_data_methods[] = {{"tolist", to_list}, {NULL, NULL}};
const luaL_Reg dtl_nn_functions[] = {{"Sequential", sequential}, {NULL, NULL}};
