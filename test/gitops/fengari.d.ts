/** Types of the parts of fengari that tests use: the package has none. */
declare module 'fengari' {
  type LuaState = { readonly lua: unique symbol };
  type LuaString = Uint8Array;
  interface Lua {
    readonly LUA_OK: number;
    readonly LUA_TSTRING: number;
    readonly LUA_TNUMBER: number;
    readonly LUA_TBOOLEAN: number;
    readonly LUA_TTABLE: number;
    lua_setglobal(state: LuaState, name: LuaString): void;
    lua_pushnil(state: LuaState): void;
    lua_pushstring(state: LuaState, text: LuaString): void;
    lua_pushnumber(state: LuaState, value: number): void;
    lua_pushinteger(state: LuaState, value: number): void;
    lua_pushboolean(state: LuaState, value: boolean): void;
    lua_createtable(state: LuaState, list: number, keys: number): void;
    lua_settable(state: LuaState, at: number): void;
    lua_next(state: LuaState, at: number): number;
    lua_pop(state: LuaState, count: number): void;
    lua_type(state: LuaState, at: number): number;
    lua_absindex(state: LuaState, at: number): number;
    lua_tostring(state: LuaState, at: number): LuaString;
    lua_tonumber(state: LuaState, at: number): number;
    lua_toboolean(state: LuaState, at: number): number | boolean;
  }
  const fengari: {
    readonly lua: Lua;
    readonly lauxlib: { luaL_newstate(): LuaState; luaL_dostring(state: LuaState, text: LuaString): number };
    readonly lualib: { luaL_openlibs(state: LuaState): void };
    to_luastring(text: string): LuaString;
    to_jsstring(text: LuaString): string;
  };
  export default fengari;
}
