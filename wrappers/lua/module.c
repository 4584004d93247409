/* The Lua module: calls every function of wrappers/table from Lua's stack, and Lua's functions from
 * the library. What is not about C is written in Lua, in prelude.lua.
 *
 * Lua's errors jump, and never over C++ frames: what runs in a call of the library runs under
 * lua_pcall. */
#include <lauxlib.h>
#include <lua.h>

#include "wrappers/lua/prelude.gen.h"

typedef lua_State dtt_state;
#include "wrappers/table/dynamic.h"
#include "wrappers/table/functions.gen.c"

#if LUA_VERSION_NUM < 503
#define lua_isinteger(L, slot) 0
#endif
#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

/* ---- what is found by an address: in the registry the state's own, and each kind's metatable; in
 * a metatable its kind. */

static const char keeper_key, module_key, kind_key;

static void get(lua_State* L, int table, const void* key) {
  lua_pushlightuserdata(L, (void*)key);
  lua_rawget(L, table);
}

/* Takes the value from the top of the stack. */
static void set(lua_State* L, int table, const void* key) {
  lua_pushlightuserdata(L, (void*)key);
  lua_insert(L, -2);
  lua_rawset(L, table);
}

/* ---- handles: a userdata holds one. */

static void** handle_at(lua_State* L, int slot, const dtt_handle** kind) {
  if (!lua_isuserdata(L, slot) || !lua_getmetatable(L, slot)) return NULL;
  get(L, lua_gettop(L), &kind_key);
  *kind = (const dtt_handle*)lua_touserdata(L, -1);
  lua_pop(L, 2);
  return *kind ? (void**)lua_touserdata(L, slot) : NULL;
}

/* A userdata that takes the handle. */
static void push_handle(lua_State* L, const dtt_handle* kind, void** handle) {
  void** box;
  if (dtt_collection_is_due(&dtt_pressed, (uint64_t)(intptr_t)*handle)) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    dtt_has_collected(&dtt_pressed);
  }
  box = (void**)lua_newuserdata(L, sizeof *box);
  *box = *handle;
  *handle = NULL;
  get(L, LUA_REGISTRYINDEX, kind);
  lua_setmetatable(L, -2);
}

static int collect(lua_State* L) {
  const dtt_handle* kind;
  void** box = handle_at(L, 1, &kind);
  if (!box) return 0;
  dt_handle_release(*box);
  *box = NULL;
  return 0;
}

/* ---- functions of Lua's */

static int close_state(lua_State* L) {
  dtt_sweep(L, (dtt_keeper*)lua_touserdata(L, 1), 1);
  return 0;
}

static dtt_keeper* dtt_keeper_of(lua_State* L) {
  dtt_keeper* keeper;
  get(L, LUA_REGISTRYINDEX, &keeper_key);
  keeper = (dtt_keeper*)lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (keeper) return keeper;
  keeper = (dtt_keeper*)lua_newuserdata(L, sizeof *keeper);
  memset(keeper, 0, sizeof *keeper);
  lua_newtable(L);
  lua_pushcfunction(L, close_state);
  lua_setfield(L, -2, "__gc");
  keeper->runner = lua_newthread(L);
  lua_rawseti(L, -2, 1);
  lua_setmetatable(L, -2);
  set(L, LUA_REGISTRYINDEX, &keeper_key);
  return keeper;
}

/* Of a frame; the upvalue is the user's function. */
static int run_callback(lua_State* L) {
  dtt_frame* f = (dtt_frame*)lua_touserdata(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  dtt_take_all(L, f);
  lua_call(L, f->callback->n_args, f->callback->n_results);
  if (f->callback->n_results) dtt_give_result(L, f, lua_gettop(L));
  return 0;
}

static int64_t dtt_keep_function(lua_State* L, int slot) {
  lua_pushvalue(L, slot);
  lua_pushcclosure(L, run_callback, 1);
  return luaL_ref(L, LUA_REGISTRYINDEX);
}

static void dtt_forget_function(lua_State* L, int64_t id) {
  luaL_unref(L, LUA_REGISTRYINDEX, (int)id);
}

static int dtt_is_same_state(lua_State* L, lua_State* other) {
  return lua_topointer(L, LUA_REGISTRYINDEX) == lua_topointer(other, LUA_REGISTRYINDEX);
}

/* An error would jump over the library: nothing asks Lua for memory but what lua_pcall runs. Its
 * caller, run_call, has a slot for what is raised. */
static const char* dtt_run_function(lua_State* L, dtt_frame* f, int64_t id, int has_caller) {
  const char* message;
  if (!lua_checkstack(L, LUA_MINSTACK)) return "the Lua state cannot run a callback";
  lua_rawgeti(L, LUA_REGISTRYINDEX, (int)id);
  lua_pushlightuserdata(L, f);
  if (!lua_pcall(L, 1, 0, 0)) return NULL;
  message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "a Lua error that is no string";
  has_caller ? lua_replace(L, 1) : lua_pop(L, 1);
  return message;
}

/* ---- from Lua's values to cells */

static const char* const dtt_nothing = "nil";

static const char* dtt_next_name(lua_State* L, int slot, int is_first, int* value) {
  if (is_first) lua_pushnil(L);
  if (!lua_next(L, slot)) return NULL;
  lua_insert(L, -2);
  *value = lua_gettop(L) - 1;
  return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
}

static dtt_given dtt_look(lua_State* L, const dtt_item* item, int slot) {
  const int type = lua_type(L, slot);
  dtt_given v = {DTT_POINTER, {0}, 0, NULL, lua_typename(L, type)};
  void** box = handle_at(L, slot, &v.of);
  if (box) {
    v.kind = DTT_HANDLE;
    v.value.p = *box;
    v.word = v.of->name;
  } else if (type == LUA_TBOOLEAN) {
    v.kind = DTT_BOOL;
    v.value.i = lua_toboolean(L, slot);
  } else if (lua_isinteger(L, slot)) {
    v.kind = DTT_I64;
    v.value.i = (int64_t)lua_tointeger(L, slot);
  } else if (type == LUA_TNUMBER) {
    dtt_look_at_real(&v, item, lua_tonumber(L, slot), LUA_VERSION_NUM < 503);
  } else if (type == LUA_TSTRING) {
    v.kind = DTT_STR;
    v.value.p = (void*)lua_tostring(L, slot);
    v.n = (int64_t)lua_rawlen(L, slot);
  } else if (type == LUA_TFUNCTION) {
    v.kind = DTT_CALLBACK;
  } else if (type == LUA_TNIL) {
    v.kind = DTT_NOTHING;
  }
  return v;
}

static int64_t dtt_count(lua_State* L, int slot) {
  return lua_istable(L, slot) ? (int64_t)lua_rawlen(L, slot) : -1;
}

static int dtt_entry(lua_State* L, int slot, int64_t k) {
  lua_rawgeti(L, slot, (int)k + 1);
  return lua_gettop(L);
}

static void dtt_leave(lua_State* L) {
  lua_pop(L, 1);
}

/* ---- from cells to Lua's values */

static void dtt_make(lua_State* L, const dtt_given* v, void** handle, int is_entry) {
  if (v->kind == DTT_HANDLE && v->value.p)
    push_handle(L, v->of, handle);
  else if (v->kind == DTT_HANDLE)
    is_entry ? lua_pushboolean(L, 0) : lua_pushnil(L); /* nil would end the list */
  else if (v->kind == DTT_STR)
    lua_pushlstring(L, (const char*)v->value.p, (size_t)v->n);
  else if (v->kind == DTT_F64)
    lua_pushnumber(L, v->value.f);
  else if (v->kind == DTT_I64)
    lua_pushinteger(L, (lua_Integer)v->value.i);
  else if (v->kind == DTT_BOOL)
    lua_pushboolean(L, v->value.i != 0);
  else
    lua_pushlightuserdata(L, v->value.p);
}

static void dtt_make_list(lua_State* L, int64_t n) {
  lua_createtable(L, (int)n, 0);
}

static void dtt_put(lua_State* L, int64_t k) {
  lua_rawseti(L, -2, (int)k + 1);
}

/* ---- calls */

enum { ROOM = 2 * DTT_MAX_ARGS + DTT_MAX_RESULTS + 64 }; /* arguments, results, lists in lists */

/* Pushes the library's sentence behind the place in the user's code, not in prelude.lua. It is
 * copied first: what Lua allocates may run finalizers, whose calls may fail. */
static int push_sentence(lua_State* L, dtt_frame* f) {
  const char* last = dt_error_message();
  const char* sentence = (const char*)dtt_copy(f, last, (int64_t)strlen(last));
  int level = 2; /* the caller of invoke */
  for (luaL_where(L, level); strstr(lua_tostring(L, -1), "dumbtorch/prelude.lua");) {
    lua_pop(L, 1);
    luaL_where(L, ++level);
  }
  lua_pushstring(L, *sentence ? sentence : "out of memory");
  lua_concat(L, 2);
  return 1;
}

/* Of a frame and the values for it. What a callback raises comes into the frame's slot, and out of
 * the call that ran it, as it was. */
static int run_call(lua_State* L) {
  dtt_frame* f = (dtt_frame*)lua_touserdata(L, 1);
  int top;
  luaL_checkstack(L, ROOM + LUA_MINSTACK, f->function->name);
  dtt_place(L, f, 2, lua_gettop(L) - 1);
  top = lua_gettop(L);
  dtt_call_values(L, f);
  if (f->status == DT_STATUS_CALLBACK && lua_touserdata(L, 1) != f) {
    lua_settop(L, 1);
    return lua_error(L);
  }
  if (f->status) return push_sentence(L, f);
  if (f->function->returns_first) lua_pushvalue(L, dtt_slots(f)[0]);
  return lua_gettop(L) - top;
}

/* The upvalues are run_call and the function. */
static int invoke(lua_State* L) {
  lua_State* const outer = dtt_running;
  dtt_call_given given;
  dtt_frame* f = &given.frame;
  int failed;
  dtt_begin(f, (const dtt_function*)lua_touserdata(L, lua_upvalueindex(2)));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_pushlightuserdata(L, f);
  lua_insert(L, 2);
  dtt_running = L;
  failed = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  dtt_running = outer;
  dtt_end_values(f);
  return failed || f->status ? lua_error(L) : lua_gettop(L);
}

/* ---- what prelude.lua makes the module of */

/* row(i): how, where and under which name users find a function of the table, and the function. */
static int push_row(lua_State* L) {
  const dtt_name* row = dtt_names + lua_tointeger(L, 1);
  lua_pushstring(L, row->how);
  lua_pushstring(L, row->where);
  lua_pushstring(L, row->name);
  if (!row->function) return 3;
  lua_pushcfunction(L, run_call);
  lua_pushlightuserdata(L, (void*)row->function);
  lua_pushcclosure(L, invoke, 2);
  return 4;
}

/* The metatables of all kinds, by name. */
static void push_metatables(lua_State* L) {
  const dtt_handle* const* kind;
  lua_newtable(L);
  for (kind = dtt_handles; *kind; kind++) {
    lua_newtable(L);
    lua_pushlightuserdata(L, (void*)*kind);
    set(L, lua_gettop(L) - 1, &kind_key);
    lua_pushvalue(L, -1);
    set(L, LUA_REGISTRYINDEX, *kind);
    lua_setfield(L, -2, (*kind)->name);
  }
}

/* Loaded again, it is the module that it was: what is in use goes on. */
__attribute__((visibility("default"))) int luaopen_dumbtorch(lua_State* L) {
  get(L, LUA_REGISTRYINDEX, &module_key);
  if (!lua_isnil(L, -1)) return 1;
  if (luaL_loadbuffer(L, prelude, sizeof prelude - 1, "=dumbtorch/prelude.lua")) lua_error(L);
  lua_pushcfunction(L, push_row);
  push_metatables(L);
  lua_pushcfunction(L, collect);
  lua_call(L, 3, 1);
  lua_pushvalue(L, -1);
  set(L, LUA_REGISTRYINDEX, &module_key);
  return 1;
}
