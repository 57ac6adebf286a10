// SPDX-License-Identifier: MIT

package plugin

import (
	"slices"

	"github.com/penstock/penstock/host/plugin/plugintest"
	"github.com/penstock/penstock/plugins/abi"
)

// The words of plugintest, short: most of a test here is a guest's code.
type guestModule = plugintest.Guest

var (
	newGuest  = plugintest.New
	i32       = plugintest.I32
	i64c      = plugintest.I64
	local     = plugintest.Local
	global    = plugintest.Global
	setGlobal = plugintest.SetGlobal
	poke      = plugintest.Poke
	pokeF     = plugintest.PokeF
	when      = plugintest.When

	drop        = plugintest.Drop
	unreachable = plugintest.Unreachable
	ret         = plugintest.Return
	add         = plugintest.Add
	eq          = plugintest.Equal
	load        = plugintest.Load
	store       = plugintest.Store
	store64     = plugintest.Store64
	grow        = plugintest.GrowMemory
	forever     = plugintest.Forever
)

// Where the test guests keep things.
const (
	atManifest = 8
	atScratch  = 4096
	atBuffer   = 8192
)

// plain is a guest with a name and nothing else in its manifest.
func plain() *guestModule { return newGuest(`{"name":"guest"}`) }

// wasiCall is the code of a call of a WASI function.
func wasiCall(g *guestModule, name string) []byte {
	f := wasi[slices.IndexFunc(wasi, func(f wasiFunction) bool { return f.name == name })]
	return g.CallOf(abi.Signature{Name: wasiModule + "." + name, Params: names(wasiTypes(f.params)), Results: names(wasiTypes(f.results))})
}

// returnsLong tells whether a host function's result is an i64.
func returnsLong(name string) bool {
	i := slices.IndexFunc(abi.Imports, func(s abi.Signature) bool { return s.Name == name })
	return abi.Imports[i].Results[0] == "i64"
}
