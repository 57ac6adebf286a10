// SPDX-License-Identifier: MIT

package stage

import (
	"encoding/binary"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

func TestMain(m *testing.M) {
	spawn.Run(compile.Child())
	goleak.VerifyTestMain(m)
}

// The words of package asm, short: most of a test here is a guest's code.
var (
	i32       = asm.I32
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
	load32      = asm.Load
	store       = asm.Store
	grow        = asm.GrowMemory
	forever     = asm.Forever
)

// use opens a stage of a new guest after a prompt.
func use(t testing.TB, g *asm.Guest, prompt ...scheduler.Token) *Stage {
	t.Helper()
	return useOf(t, hosttest.Load(t, hosttest.Open(t, load.New), g), plugin.RequestInfo{Seed: 7, MaxTokens: 50, ContextSize: 1000}, prompt...)
}

func useOf(t testing.TB, p *load.Plugin, r plugin.RequestInfo, prompt ...scheduler.Token) *Stage {
	t.Helper()
	s := must.Get(New(p, r))(t)
	must.Close(t, s)
	must.Do(t, s.Reset(prompt, len(prompt)))
	return s
}

// peek reads an i32 of a stage's guest.
func peek(s *Stage, at int) int32 { return int32(binary.LittleEndian.Uint32(s.instance.Memory()[at:])) }
