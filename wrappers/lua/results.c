/* Results: from the C API's types to values of Lua; and the memory that Lua does not see. */
#include <string.h>

#include "runtime.h"

/* ---- memory
 *
 * To Lua's collector a tensor is a few bytes, whatever lies behind it. So every so often the
 * library is asked how much tensors hold, and a full collection runs when that has doubled since
 * the last. */

enum { kTensorsBetweenLooks = 64 };
static const int64_t kSmallestLimit = (int64_t)64 << 20;

enum { kDevices = 64 };

typedef struct dtl_pressure {
  int64_t new_tensors, limit;
  uint64_t devices; /* a bit for each GPU that was named: others are not asked, which would wake
                       them up */
} dtl_pressure;

static int64_t allocated_on(dt_device_type type, int64_t index) {
  int64_t allocated = 0, reserved = 0, peak = 0;
  if (dt_memory_stats(type, index, &allocated, &reserved, &peak)) return 0;
  return allocated;
}

static int64_t allocated_bytes(const dtl_pressure* p) {
  int64_t sum = allocated_on(DT_DEVICE_TYPE_CPU, 0), i;
  for (i = 0; i < kDevices; i++) {
    if (p->devices >> i & 1) sum += allocated_on(DT_DEVICE_TYPE_CUDA, i);
  }
  return sum;
}

static dtl_pressure* pressure(lua_State* L) {
  static char key;
  dtl_pressure* p;
  lua_pushlightuserdata(L, &key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  p = (dtl_pressure*)lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (p) return p;
  lua_pushlightuserdata(L, &key);
  p = (dtl_pressure*)lua_newuserdata(L, sizeof *p);
  p->new_tensors = 0;
  p->limit = kSmallestLimit;
  p->devices = 0;
  lua_rawset(L, LUA_REGISTRYINDEX);
  return p;
}

static void collect_under_pressure(lua_State* L) {
  dtl_pressure* p = pressure(L);
  if (++p->new_tensors % kTensorsBetweenLooks || allocated_bytes(p) < p->limit) return;
  lua_gc(L, LUA_GCCOLLECT, 0);
  p->limit = 2 * allocated_bytes(p);
  if (p->limit < kSmallestLimit) p->limit = kSmallestLimit;
}

void dtl_note_device(lua_State* L, dtl_device device) {
  if (device.type != DT_DEVICE_TYPE_CUDA || device.index >= kDevices) return;
  pressure(L)->devices |= (uint64_t)1 << device.index;
}

/* ---- handles */

void* dtl_new(lua_State* L, const dtl_kind* kind) {
  void** box;
  luaL_checkstack(L, LUA_MINSTACK, "too many results");
  if (kind == &dtl_kind_tensor) collect_under_pressure(L);
  box = (void**)lua_newuserdata(L, sizeof *box);
  *box = NULL;
  luaL_getmetatable(L, kind->class);
  lua_setmetatable(L, -2);
  return box;
}

void dtl_nil_if_empty(lua_State* L) {
  void** box = (void**)lua_touserdata(L, -1);
  if (*box) return;
  lua_pop(L, 1);
  lua_pushnil(L);
}

void dtl_take_tensors(lua_State* L) {
  dt_tensor_list* list = *(dt_tensor_list**)lua_touserdata(L, -1);
  int64_t i, n = 0;
  dtl_check(L, dt_tensor_list_len(list, &n));
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    dtl_check(L, dt_tensor_list_get(list, i, (dt_tensor**)dtl_new(L, &dtl_kind_tensor)));
    if (!*(void**)lua_touserdata(L, -1)) { /* an absent entry */
      lua_pop(L, 1);
      lua_pushboolean(L, 0);
    }
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_remove(L, -2);
}

void dtl_take_bytes(lua_State* L) {
  dt_bytes* bytes = *(dt_bytes**)lua_touserdata(L, -1);
  const void* data = NULL;
  int64_t n = 0;
  dtl_check(L, dt_bytes_data(bytes, &data, &n));
  lua_pushlstring(L, (const char*)data, (size_t)n);
  lua_remove(L, -2);
}

void dtl_take_strings(lua_State* L) {
  dt_string_list* list = *(dt_string_list**)lua_touserdata(L, -1);
  int64_t i, n = 0;
  dtl_check(L, dt_string_list_len(list, &n));
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    const char* text = NULL;
    dtl_check(L, dt_string_list_get(list, i, &text));
    lua_pushstring(L, text);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_remove(L, -2);
}

/* ---- values */

void dtl_push_enum(lua_State* L, int32_t number, const dtl_enum* values) {
  for (; values->name; values++) {
    if (values->number == number) {
      lua_pushstring(L, values->name);
      return;
    }
  }
  lua_pushinteger(L, number); /* a value that is newer than this module */
}

void dtl_push_device(lua_State* L, dt_device_type type, int64_t index) {
  if (type == DT_DEVICE_TYPE_CPU) {
    lua_pushliteral(L, "cpu");
  } else {
    lua_pushfstring(L, "cuda:%d", (int)index);
  }
}

void dtl_push_number(lua_State* L, dt_scalar_kind kind, int64_t i, double f) {
  if (kind == DT_SCALAR_KIND_BOOL) {
    lua_pushboolean(L, i != 0);
  } else if (kind == DT_SCALAR_KIND_INT) {
    lua_pushinteger(L, (lua_Integer)i);
  } else {
    lua_pushnumber(L, f);
  }
}

void dtl_push_ints(lua_State* L, const int64_t* values, int64_t n) {
  int64_t i;
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)values[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

void dtl_push_reals(lua_State* L, const double* values, int64_t n) {
  int64_t i;
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    lua_pushnumber(L, values[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
}
