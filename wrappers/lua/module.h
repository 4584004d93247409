/* What the two files of the Lua module share. */
#ifndef DUMBTORCH_LUA_MODULE_H
#define DUMBTORCH_LUA_MODULE_H

#include <lauxlib.h>
#include <lua.h>

#include "wrappers/table/table.h"

/* Pushes an empty userdata and gives the place where a dt call may put the handle. */
void** dtl_new(lua_State* L, const dtt_handle* kind);
/* Raises a failed call's error. A Lua error that came through a callback is raised as it was. */
void dtl_check(lua_State* L, dt_status status);
/* luaL_error, which names the place in the user's code, not in prelude.lua. */
int dtl_error(lua_State* L, const char* format, ...);
/* The cells of the value in a slot; an error names the function and the item. */
void dtl_read(lua_State* L, const char* function, const dtt_item* item, int slot, dtt_cell* out);
/* Pushes what the library gives a callback. */
void dtl_lend(lua_State* L, const dtt_item* item, const dtt_cell* cells);
/* The function in a slot as a callback's user data: the next thing must be the dt call. */
void* dtl_keep(lua_State* L, int slot);

#endif
