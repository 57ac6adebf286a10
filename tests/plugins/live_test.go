// SPDX-License-Identifier: MIT

package plugins

import (
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
)

const spliceAt, textAt = 8192, 8256

// replacing puts one token in the place of another, whenever that was chosen.
func replacing(from, to int) []byte {
	g := asm.New(`{"name":"replacing","hold":1}`)
	g.On(abi.ExportOpen, g.Bind(abi.BufferSplice, spliceAt, 16), asm.I32(0))
	return g.On(abi.ExportAccept, asm.Local(0), asm.I32(from), asm.Equal, asm.When(
		asm.Poke(spliceAt, 1), asm.Poke(spliceAt+4, 1), asm.Poke(spliceAt+8, to), asm.I32(2), asm.Return,
	), asm.I32(0)).Wasm()
}

// ending holds all text back and ends the answer at the third token, hiding what it held.
func ending() []byte {
	g := asm.New(`{"name":"ending"}`)
	g.Globals = 1
	count := [][]byte{asm.Global(0), asm.I32(1), asm.Add, asm.SetGlobal(0)}
	g.On(abi.ExportOpen, g.Bind(abi.BufferText, textAt, 256), asm.I32(0))
	return g.On(abi.ExportStop, append(count, asm.Global(0), asm.I32(1), asm.Equal, asm.When(asm.I32(0), asm.Return),
		asm.Global(0), asm.I32(3), asm.Equal, asm.When(asm.I32(2), asm.Return), asm.I32(3))...).Wasm()
}

func TestPlugins_Splice_TheClientNeverSeesIt(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": hosts.Always("always", 300), "b.wasm": replacing(300, 301)})
	want := strings.Repeat(hosts.Piece(t, 301), 5)
	if status, text, _ := hosts.Complete(t, h, `,"plugins":["always","replacing"]`); status != 200 || text != want {
		t.Errorf("%d %q, want %q", status, text, want)
	}
}

func TestPlugins_Stop_HidesWhatItHeld(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": hosts.Always("always", 300), "b.wasm": ending()})
	want := hosts.Piece(t, 300)
	if status, text, _ := hosts.Complete(t, h, `,"plugins":["always","ending"]`); status != 200 || text != want {
		t.Errorf("%d %q, want %q", status, text, want)
	}
}
