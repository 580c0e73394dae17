import fengari from 'fengari';

const { lua, lauxlib, lualib, to_luastring: toLua, to_jsstring: toText } = fengari;
type State = ReturnType<typeof lauxlib.luaL_newstate>;

/**
 * Runs a Lua script of Argo CD with the object as the global `obj`, and gives back what it returns. Empty tables come
 * back as empty objects, as Argo CD itself cannot tell them from lists.
 */
export function runLua(script: string, obj: unknown): unknown {
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  push(state, obj);
  lua.lua_setglobal(state, toLua('obj'));
  if (lauxlib.luaL_dostring(state, toLua(script)) !== lua.LUA_OK) {
    throw new Error(toText(lua.lua_tostring(state, -1)));
  }
  return read(state, -1);
}

function push(state: State, value: unknown): void {
  if (value === null || value === undefined) lua.lua_pushnil(state);
  else if (typeof value === 'string') lua.lua_pushstring(state, toLua(value));
  else if (typeof value === 'number') lua.lua_pushnumber(state, value);
  else if (typeof value === 'boolean') lua.lua_pushboolean(state, value);
  else pushTable(state, value);
}

function pushTable(state: State, value: object): void {
  lua.lua_createtable(state, 0, 0);
  for (const [key, member] of Object.entries(value)) {
    if (Array.isArray(value)) lua.lua_pushinteger(state, Number(key) + 1);
    else lua.lua_pushstring(state, toLua(key));
    push(state, member);
    lua.lua_settable(state, -3);
  }
}

function read(state: State, at: number): unknown {
  switch (lua.lua_type(state, at)) {
    case lua.LUA_TSTRING:
      return toText(lua.lua_tostring(state, at));
    case lua.LUA_TNUMBER:
      return lua.lua_tonumber(state, at);
    case lua.LUA_TBOOLEAN:
      return Boolean(lua.lua_toboolean(state, at));
    case lua.LUA_TTABLE:
      return readTable(state, lua.lua_absindex(state, at));
    default:
      return undefined;
  }
}

function readTable(state: State, at: number): unknown {
  const entries: [string, unknown][] = [];
  let isList = true;
  lua.lua_pushnil(state);
  while (lua.lua_next(state, at) !== 0) {
    isList &&= lua.lua_type(state, -2) === lua.LUA_TNUMBER;
    entries.push([String(read(state, -2)), read(state, -1)]);
    lua.lua_pop(state, 1);
  }
  return isList && entries.length > 0 ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}
