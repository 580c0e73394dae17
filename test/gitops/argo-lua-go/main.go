// argo-lua runs scripts as Argo CD runs them: on gopher-lua, with its package, base and table libraries
// and of os only time and date. It reads a JSON list of {script, obj} from stdin and writes what each script returned, as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
)

type call struct {
	Script string `json:"script"`
	Obj    any    `json:"obj"`
}

func main() {
	var calls []call
	if err := json.NewDecoder(os.Stdin).Decode(&calls); err != nil {
		fail(err)
	}
	returned := make([]any, len(calls))
	for i, one := range calls {
		value, err := run(one)
		if err != nil {
			fail(fmt.Errorf("script %d: %w", i, err))
		}
		returned[i] = value
	}
	if err := json.NewEncoder(os.Stdout).Encode(returned); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func run(one call) (any, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
		{lua.OsLibName, lua.OpenOs},
	} {
		call := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			return nil, err
		}
	}
	keepTimeAndDate(state)
	state.SetGlobal("obj", toLua(state, one.Obj))
	if err := state.DoString(one.Script); err != nil {
		return nil, err
	}
	return fromLua(state.Get(-1)), nil
}

// keepTimeAndDate takes everything else away from os, and lets scripts require it.
func keepTimeAndDate(state *lua.LState) {
	library := state.GetGlobal(lua.OsLibName).(*lua.LTable)
	safe := state.NewTable()
	for _, name := range []string{"time", "date"} {
		safe.RawSetString(name, library.RawGetString(name))
	}
	state.SetGlobal(lua.OsLibName, safe)
	state.PreloadModule(lua.OsLibName, func(inner *lua.LState) int {
		inner.Push(safe)
		return 1
	})
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch typed := value.(type) {
	case string:
		return lua.LString(typed)
	case float64:
		return lua.LNumber(typed)
	case bool:
		return lua.LBool(typed)
	case []any:
		table := state.NewTable()
		for _, member := range typed {
			table.Append(toLua(state, member))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, member := range typed {
			table.RawSetString(key, toLua(state, member))
		}
		return table
	default:
		return lua.LNil
	}
}

func fromLua(value lua.LValue) any {
	switch typed := value.(type) {
	case lua.LString:
		return string(typed)
	case lua.LNumber:
		return float64(typed)
	case lua.LBool:
		return bool(typed)
	case *lua.LTable:
		return fromTable(typed)
	default:
		return nil
	}
}

func fromTable(table *lua.LTable) any {
	if length := table.Len(); length > 0 {
		list := make([]any, 0, length)
		for i := 1; i <= length; i++ {
			list = append(list, fromLua(table.RawGetInt(i)))
		}
		return list
	}
	object := map[string]any{}
	table.ForEach(func(key, member lua.LValue) { object[key.String()] = fromLua(member) })
	return object
}
