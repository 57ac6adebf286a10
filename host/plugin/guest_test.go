// SPDX-License-Identifier: MIT

package plugin

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/abi"
)

// guestModule writes a plugin, byte by byte. Functions with a name of the ABI get its type.
type guestModule struct {
	imports []abi.Signature // from module penstock, or from "module.name"
	funcs   []guestFunc
	data    []guestData
	pages   uint32
	globals int // mutable i32, all 0
	start   string
	omit    string // an export to leave out
	table   bool
}

type guestFunc struct {
	abi.Signature
	locals int // i32
	code   []byte
}

type guestData struct {
	at   int
	text string
}

// Where the test guests keep things.
const (
	atManifest = 8
	atScratch  = 4096
	atBuffer   = 8192
)

// newGuest is the least plugin: it describes itself.
func newGuest(manifest string) *guestModule {
	g := &guestModule{pages: 4}
	g.data = append(g.data, guestData{atManifest, manifest})
	g.on("penstock_abi_v1")
	g.on("penstock_describe", i32(atManifest), i32(len(manifest)), g.call("emit"))
	return g
}

// plain is a guest with a name and nothing else in its manifest.
func plain() *guestModule { return newGuest(`{"name":"guest"}`) }

// on adds an exported function.
func (g *guestModule) on(name string, code ...[]byte) *guestModule {
	return g.function(signature(abi.Exports, name), 4, code...)
}

func (g *guestModule) function(s abi.Signature, locals int, code ...[]byte) *guestModule {
	g.funcs = append(g.funcs, guestFunc{s, locals, slices.Concat(code...)})
	return g
}

func signature(list []abi.Signature, name string) abi.Signature {
	i := slices.IndexFunc(list, func(s abi.Signature) bool { return s.Name == name })
	if i < 0 {
		panic("no signature of " + name)
	}
	return list[i]
}

// call is the code of a call of a host function, which becomes an import.
func (g *guestModule) call(name string) []byte {
	i := slices.IndexFunc(g.imports, func(s abi.Signature) bool { return s.Name == name })
	if i < 0 {
		g.imports = append(g.imports, signature(abi.Imports, name))
		i = len(g.imports) - 1
	}
	return append([]byte{0x10}, leb(uint64(i))...)
}

// wasiCall is the same for a function of WASI.
func (g *guestModule) wasiCall(name string) []byte {
	i := slices.IndexFunc(wasi, func(f wasiFunction) bool { return f.name == name })
	s := abi.Signature{Name: wasiModule + "." + name, Params: names(wasiTypes(wasi[i].params)), Results: names(wasiTypes(wasi[i].results))}
	g.imports = append(g.imports, s)
	return append([]byte{0x10}, leb(uint64(len(g.imports)-1))...)
}

// Code.
var (
	end         = []byte{0x0b}
	drop        = []byte{0x1a}
	unreachable = []byte{0x00}
	ret         = []byte{0x0f}
	add         = []byte{0x6a}
	sub         = []byte{0x6b}
	eq          = []byte{0x46}
	store       = []byte{0x36, 2, 0}
	store64     = []byte{0x37, 3, 0}
	storeF      = []byte{0x38, 2, 0}
	load        = []byte{0x28, 2, 0}
	grow        = []byte{0x40, 0}
	forever     = []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x00}
	fill        = []byte{0xfc, 0x0b, 0}
)

func i32(n int) []byte       { return append([]byte{0x41}, sleb(int64(int32(n)))...) }
func i64c(n int64) []byte    { return append([]byte{0x42}, sleb(n)...) }
func local(n int) []byte     { return []byte{0x20, byte(n)} }
func setLocal(n int) []byte  { return []byte{0x21, byte(n)} }
func global(n int) []byte    { return []byte{0x23, byte(n)} }
func setGlobal(n int) []byte { return []byte{0x24, byte(n)} }
func f32c(x float32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0x43}, math.Float32bits(x))
}
func poke(at, n int) []byte          { return slices.Concat(i32(at), i32(n), store) }
func pokeF(at int, x float32) []byte { return slices.Concat(i32(at), f32c(x), storeF) }

// when runs code if the i32 on the stack is not 0.
func when(code ...[]byte) []byte {
	return slices.Concat([]byte{0x04, 0x40}, slices.Concat(code...), end)
}

// bindCode binds a buffer and drops the answer.
func (g *guestModule) bind(kind, ptr, size int) []byte {
	return slices.Concat(i32(kind), i32(ptr), i32(size), g.call("bind"), drop)
}

func leb(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func sleb(n int64) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if (n == 0 && c&0x40 == 0) || (n == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func text(s string) []byte { return append(leb(uint64(len(s))), s...) }

func section(id byte, items ...[]byte) []byte {
	body := append(leb(uint64(len(items))), slices.Concat(items...)...)
	return append([]byte{id}, append(leb(uint64(len(body))), body...)...)
}
