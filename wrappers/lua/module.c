/* The Lua module: its tables, metatables and operators, made of the generated lists. */
#include <string.h>

#include "runtime.h"

/* Several kinds of Lua differ here: 5.1 and LuaJIT have no luaL_setfuncs. */
static void set_functions(lua_State* L, const luaL_Reg* functions) {
  for (; functions->name; functions++) {
    lua_pushcfunction(L, functions->func);
    lua_setfield(L, -2, functions->name);
  }
}

/* ---- metatables */

static const dtl_kind* kind_of_upvalue(lua_State* L) {
  return (const dtl_kind*)lua_touserdata(L, lua_upvalueindex(1));
}

static int collect(lua_State* L) {
  void** box = (void**)luaL_checkudata(L, 1, kind_of_upvalue(L)->class);
  void* handle = *box;
  *box = NULL;
  kind_of_upvalue(L)->release(handle);
  return 0;
}

/* object.name: a method, or the value of a property. Upvalues: kind, methods, properties. A
 * tensor's other keys are indices. */
static int index(lua_State* L) {
  const int may_be_index = kind_of_upvalue(L) == &dtl_kind_tensor;
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  if (!lua_isnil(L, -1)) return 1;
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(3));
  if (lua_isnil(L, -1) && may_be_index && dtl_is_index(L, 2)) {
    lua_settop(L, 2);
    return dtl_get_index(L);
  }
  if (lua_isnil(L, -1)) {
    return luaL_error(L, "a %s has no field '%s'", kind_of_upvalue(L)->name,
                      lua_isstring(L, 2) ? lua_tostring(L, 2) : luaL_typename(L, 2));
  }
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

/* object.name = value calls the method set_name, or name_ where a tensor has that. */
static int new_index(lua_State* L) {
  const char *name, *form;
  if (kind_of_upvalue(L) == &dtl_kind_tensor && dtl_is_index(L, 2)) return dtl_put_index(L);
  name = luaL_checkstring(L, 2);
  for (form = "set_%s\0%s_\0"; *form; form += strlen(form) + 1) {
    lua_pushfstring(L, form, name);
    lua_rawget(L, lua_upvalueindex(2));
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 0);
    return 0;
  }
  return luaL_error(L, "a %s has no field '%s' to set", kind_of_upvalue(L)->name, name);
}

static int is_tensor(lua_State* L, int slot) {
  int same;
  if (!lua_isuserdata(L, slot) || !lua_getmetatable(L, slot)) return 0;
  luaL_getmetatable(L, dtl_kind_tensor.class);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

/* a + b. Upvalues: the function, and the one for exchanged operands. */
static int operate(lua_State* L) {
  int tensor_first = is_tensor(L, 1);
  lua_settop(L, 2);
  if (!tensor_first) {
    if (lua_isnil(L, lua_upvalueindex(2)))
      return luaL_error(L, "the first operand must be a tensor");
    lua_insert(L, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(tensor_first ? 1 : 2));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* -a, ~a, and a module's a(...). Lua passes the operand of a unary operator twice. */
static int operate_alone(lua_State* L) {
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

static void set_operators(lua_State* L, const dtl_operator* operators) {
  for (; operators->event; operators++) {
    const char* event = operators->event;
    if (!strcmp(event, "__call")) {
      lua_pushcfunction(L, operators->function);
    } else if (!strcmp(event, "__unm") || !strcmp(event, "__bnot")) {
      lua_pushcfunction(L, operators->function);
      lua_pushcclosure(L, operate_alone, 1);
    } else {
      lua_pushcfunction(L, operators->function);
      if (operators->reflected) {
        lua_pushcfunction(L, operators->reflected);
      } else {
        lua_pushnil(L);
      }
      lua_pushcclosure(L, operate, 2);
    }
    lua_setfield(L, -2, event);
  }
}

/* a == b in Lua has to be true or false: whether both are one tensor. */
static int same(lua_State* L) {
  void** a = (void**)luaL_checkudata(L, 1, dtl_kind_tensor.class);
  void** b = (void**)luaL_checkudata(L, 2, dtl_kind_tensor.class);
  int32_t is_same = 0;
  dtl_check(L, dt_tensor_is_same((dt_tensor*)*a, (dt_tensor*)*b, &is_same));
  lua_pushboolean(L, is_same);
  return 1;
}

static int tensor_text(lua_State* L) {
  void** box = (void**)luaL_checkudata(L, 1, dtl_kind_tensor.class);
  dt_bytes** text = (dt_bytes**)dtl_new(L, &dtl_kind_bytes);
  dtl_check(L, dt_tensor_to_string((dt_tensor*)*box, text));
  dtl_take_bytes(L);
  return 1;
}

/* The number of rows: #x is x:size(0). */
static int tensor_length(lua_State* L) {
  void** box = (void**)luaL_checkudata(L, 1, dtl_kind_tensor.class);
  int64_t n = 0;
  dtl_check(L, dt_tensor_size((dt_tensor*)*box, 0, &n));
  lua_pushinteger(L, (lua_Integer)n);
  return 1;
}

static void make_class(lua_State* L, const dtl_class* class) {
  static const luaL_Reg of_tensors[] = {
      {"__eq", same}, {"__tostring", tensor_text}, {"__len", tensor_length}, {NULL, NULL}};
  static const char* const ends[] = {"__gc", "__close"};
  int i;
  luaL_newmetatable(L, class->kind->class);
  lua_pushstring(L, class->kind->name);
  lua_setfield(L, -2, "__name");
  for (i = 0; i < 2; i++) {
    lua_pushlightuserdata(L, (void*)class->kind);
    lua_pushcclosure(L, collect, 1);
    lua_setfield(L, -2, ends[i]);
  }
  lua_pushlightuserdata(L, (void*)class->kind);
  lua_newtable(L);
  set_functions(L, class->methods);
  if (class->kind == &dtl_kind_tensor) set_functions(L, dtl_data_methods);
  lua_pushvalue(L, -2);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, new_index, 2);
  lua_setfield(L, -4, "__newindex");
  lua_newtable(L);
  set_functions(L, class->properties);
  lua_pushcclosure(L, index, 3);
  lua_setfield(L, -2, "__index");
  set_operators(L, class->operators);
  if (class->kind == &dtl_kind_tensor) set_functions(L, of_tensors);
  lua_pop(L, 1);
}

/* ---- namespaces */

/* Pushes the table at a path like "nn.utils" below the one on top of the stack, making it if new.
 */
static void push_namespace(lua_State* L, const char* path) {
  lua_pushvalue(L, -1);
  while (*path) {
    const char* dot = strchr(path, '.');
    size_t n = dot ? (size_t)(dot - path) : strlen(path);
    lua_pushlstring(L, path, n);
    lua_rawget(L, -2);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_newtable(L);
      lua_pushlstring(L, path, n);
      lua_pushvalue(L, -2);
      lua_rawset(L, -4);
    }
    lua_remove(L, -2);
    path += n + (dot ? 1 : 0);
  }
}

__attribute__((visibility("default"))) int luaopen_dumbtorch(lua_State* L);

int luaopen_dumbtorch(lua_State* L) {
  const dtl_class* class;
  const dtl_namespace* space;
  const dtl_enum* dtype;
  for (class = dtl_classes; class->kind; class ++) make_class(L, class);
  lua_newtable(L);
  for (space = dtl_namespaces; space->path; space++) {
    push_namespace(L, space->path);
    set_functions(L, space->functions);
    lua_pop(L, 1);
  }
  set_functions(L, dtl_data_functions);
  for (dtype = dtl_enum_dtype; dtype->name; dtype++) {
    lua_pushstring(L, dtype->name);
    lua_setfield(L, -2, dtype->name);
  }
  push_namespace(L, "nn");
  set_functions(L, dtl_nn_functions);
  lua_getfield(L, -2, "functional");
  lua_setfield(L, -2, "functional");
  lua_pop(L, 1);
  return 1;
}
