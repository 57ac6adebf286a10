// SPDX-License-Identifier: MIT

package hosttest

import (
	"context"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// Where the guests of tests keep things.
const (
	AtManifest = 8
	AtScratch  = 4096
	AtBuffer   = 8192
)

// Plain is a guest with a name and nothing else in its manifest.
func Plain() *asm.Guest { return asm.New(`{"name":"guest"}`) }

// Warmed counts its initialisations and warm-ups in a global and in memory, and shows them at
// AtScratch in open.
func Warmed() *asm.Guest {
	g := Plain()
	g.Globals = 1
	g.On(abi.ExportInitialize, asm.Global(0), asm.I32(1), asm.Add, asm.SetGlobal(0))
	g.On(abi.ExportWarm, asm.Global(0), asm.I32(10), asm.Add, asm.SetGlobal(0), asm.Poke(3<<16, 77), asm.I32(1), asm.GrowMemory, asm.Drop,
		asm.Poke(4<<16+8, 78), asm.I32(0))
	return g.On(abi.ExportOpen, asm.I32(AtScratch), asm.Global(0), asm.Store, asm.I32(0))
}

// Load loads a guest as a plugin, and releases it when the test ends.
func Load[Plugin interface{ Release() }](t testing.TB, l interface {
	Load(ctx context.Context, wasm []byte) (Plugin, error)
}, g *asm.Guest) Plugin {
	t.Helper()
	p, err := l.Load(context.Background(), g.Wasm())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}
