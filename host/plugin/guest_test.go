// SPDX-License-Identifier: MIT

package plugin

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// The words of package asm, short: most of a test here is a guest's code.
type guestModule = asm.Guest

var (
	newGuest  = asm.New
	i32       = asm.I32
	i64c      = asm.I64
	local     = asm.Local
	global    = asm.Global
	setGlobal = asm.SetGlobal
	poke      = asm.Poke
	pokeF     = asm.PokeF
	when      = asm.When

	drop        = asm.Drop
	unreachable = asm.Unreachable
	ret         = asm.Return
	add         = asm.Add
	eq          = asm.Equal
	load        = asm.Load
	store       = asm.Store
	store64     = asm.Store64
	grow        = asm.GrowMemory
	forever     = asm.Forever
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
