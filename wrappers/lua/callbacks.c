/* Lua functions that the library calls.
 *
 * They run on a Lua thread of their own, which lives as long as the Lua state: the coroutine that
 * registered a function may be gone when it is called. The library may drop a function while
 * another Lua state's call is running, so a dropped function's reference is only put on a list, and
 * given up by its own state when that next registers one. */
#include <stdlib.h>

#include "wrappers/lua/module.h"

typedef struct kept {
  struct state* owner;
  int reference;
  struct kept* next;
} kept;

typedef struct state {
  lua_State* thread; /* where callbacks run; NULL when the Lua state is closed */
  int64_t users;     /* the Lua state and its functions; the last one frees this */
  kept* dropped;
} state;

static char state_key, pending_key;

static void release(state* s) {
  if (__atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL) == 0) free(s);
}

static void forget(state* s, lua_State* L) {
  kept* k = __atomic_exchange_n(&s->dropped, NULL, __ATOMIC_ACQUIRE);
  while (k) {
    kept* next = k->next;
    if (L) luaL_unref(L, LUA_REGISTRYINDEX, k->reference);
    free(k);
    release(s);
    k = next;
  }
}

/* The Lua state is closed: its references are gone with it. */
static int close_state(lua_State* L) {
  state* s = *(state**)lua_touserdata(L, 1);
  if (!s) return 0;
  __atomic_store_n(&s->thread, NULL, __ATOMIC_RELEASE);
  forget(s, NULL);
  release(s);
  return 0;
}

/* The registry holds {userdata that closes the state, thread}. */
static state* get_state(lua_State* L) {
  state** box;
  lua_pushlightuserdata(L, &state_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (!lua_isnil(L, -1)) {
    lua_rawgeti(L, -1, 1);
    box = (state**)lua_touserdata(L, -1);
    lua_pop(L, 2);
    return *box;
  }
  lua_pushlightuserdata(L, &state_key);
  lua_createtable(L, 2, 0);
  box = (state**)lua_newuserdata(L, sizeof *box);
  *box = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, close_state);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawseti(L, -2, 1);
  *box = (state*)calloc(1, sizeof **box);
  if (!*box) luaL_error(L, "out of memory");
  (*box)->users = 1;
  (*box)->thread = lua_newthread(L);
  lua_rawseti(L, -2, 2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_pop(L, 1);
  return *box;
}

void* dtl_keep(lua_State* L, int slot) {
  state* s = get_state(L);
  kept* k;
  int reference;
  forget(s, L);
  lua_pushvalue(L, slot);
  reference = luaL_ref(L, LUA_REGISTRYINDEX);
  k = (kept*)calloc(1, sizeof *k);
  if (!k) {
    luaL_unref(L, LUA_REGISTRYINDEX, reference);
    luaL_error(L, "out of memory");
    return NULL;
  }
  k->owner = s;
  k->reference = reference;
  __atomic_add_fetch(&s->users, 1, __ATOMIC_RELAXED);
  return k;
}

void dtt_drop(void* user_data) {
  kept* k = (kept*)user_data;
  state* s = k ? k->owner : NULL;
  if (!k) return;
  if (!__atomic_load_n(&s->thread, __ATOMIC_ACQUIRE)) {
    free(k);
    release(s);
    return;
  }
  k->next = __atomic_load_n(&s->dropped, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&s->dropped, &k->next, k, 0, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
}

/* ---- calls */

typedef struct frame {
  const dtt_callback* callback;
  int reference;
  const dtt_cell* args;
  dtt_cell* results;
} frame;

/* What a function gave back belongs to Lua; the library gets a handle of its own. */
static void give(lua_State* L, const dtt_callback* callback, const dtt_item* item, dtt_cell* out) {
  dtt_cell cells[2];
  lua_replace(L, 1); /* the frame is not needed any more */
  lua_settop(L, 1);
  out->p = NULL;
  if (item->kind == DTT_BOOL) {
    out->i = lua_toboolean(L, 1);
  } else if (!lua_isnil(L, 1) || !item->is_optional) {
    dtl_read(L, callback->name, item, 1, cells);
    if (item->is_list) {
      dt_tensor* const* tensors = (dt_tensor* const*)cells[0].p;
      dtl_check(L, dt_tensor_list_new(tensors, cells[1].i, (dt_tensor_list**)&out->p));
    } else if (item->kind == DTT_TENSOR) {
      dtl_check(L, dt_tensor_alias((dt_tensor*)cells[0].p, (dt_tensor**)&out->p));
    } else {
      *out = cells[0];
    }
  }
}

static int body(lua_State* L) {
  const frame f = *(const frame*)lua_touserdata(L, 1);
  const dtt_callback* c = f.callback;
  int i;
  lua_rawgeti(L, LUA_REGISTRYINDEX, f.reference);
  for (i = 0; i < c->n_args; i++) dtl_lend(L, &c->args[i], f.args + c->args[i].cell);
  lua_call(L, c->n_args, c->n_results);
  if (c->n_results) give(L, c, c->results, f.results);
  return 0;
}

/* Keeps the error on top of the stack, so that it can be raised again as it is. */
static void keep_error(lua_State* L) {
  lua_pushlightuserdata(L, &pending_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

dt_status dtt_run(const dtt_callback* callback, void* user_data, const dtt_cell* args,
                  dtt_cell* results) {
  const kept* k = (const kept*)user_data;
  frame f = {callback, k->reference, args, results};
  lua_State* L = k->owner->thread;
  const char* message;
  dt_status status;
  if (!L || !lua_checkstack(L, LUA_MINSTACK)) {
    return dt_error_set(DT_STATUS_CALLBACK, "the Lua state cannot run a callback");
  }
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, &f);
  if (!lua_pcall(L, 1, 0, 0)) return DT_STATUS_OK;
  message = lua_tostring(L, -1);
  status = dt_error_set(DT_STATUS_CALLBACK, message ? message : "a Lua error that is no string");
  keep_error(L);
  return status;
}

static int nothing(lua_State* L) {
  (void)L;
  return 0;
}

void dtl_check(lua_State* L, dt_status status) {
  if (status == DT_STATUS_OK) return;
  /* If a callback has run, LuaJIT takes its thread for the running one until this one calls. */
  lua_pushcfunction(L, nothing);
  lua_call(L, 0, 0);
  if (status == DT_STATUS_CALLBACK) {
    lua_pushlightuserdata(L, &pending_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    if (!lua_isnil(L, -1)) {
      lua_pushnil(L);
      keep_error(L);
      lua_error(L);
    }
  }
  dtl_error(L, "%s", dt_error_message());
}
