// SPDX-License-Identifier: MIT

//go:build unix

package registry

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/tools/steadytest"
)

// bomb is a module that is slow to load, section by section. Its functions are the version, a
// describe that does nothing, and others.
type bomb struct {
	types, imports, functions, tables, globals, elements, data []byte // nil: none, or what fits the functions

	custom  []byte   // whole sections that stand first
	more    [][]byte // types besides () → ()
	others  int      // functions
	body    func(i int) []byte
	exports func(i int) []byte // of each other function; nil: none
}

func (b bomb) wasm() []byte {
	if b.types == nil {
		all := append([][]byte{{0x60, 0, 0}}, b.more...)
		b.types = vec(len(all), func(i int) []byte { return all[i] })
	}
	if b.functions == nil {
		b.functions = vec(2+b.others, func(int) []byte { return []byte{0} })
	}
	exports := slices.Concat(symbol("penstock_abi_v1"), []byte{0, 0}, symbol("penstock_describe"), []byte{0, 1}, symbol("memory"), []byte{2, 0})
	n := 3
	for i := 0; b.exports != nil && i < b.others; i++ {
		exports = append(exports, b.exports(i)...)
		n++
	}
	codes := vec(2+b.others, func(i int) []byte {
		code := []byte{0, 0x0b}
		if i >= 2 && b.body != nil {
			code = b.body(i - 2)
		}
		return append(leb(len(code)), code...)
	})
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), b.custom, section(1, b.types), section(2, b.imports), section(3, b.functions), section(4, b.tables),
		section(5, []byte{1, 0, 4}), section(6, b.globals), section(7, append(leb(n), exports...)), section(9, b.elements), section(10, codes), section(11, b.data))
}

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func vec(n int, item func(i int) []byte) []byte {
	b := leb(n)
	for i := range n {
		b = append(b, item(i)...)
	}
	return b
}

func section(id byte, body []byte) []byte {
	if body == nil {
		return nil
	}
	return slices.Concat([]byte{id}, leb(len(body)), body)
}

func symbol(name string) []byte { return append(leb(len(name)), name...) }

func repeated(n int, code ...byte) []byte { return bytes.Repeat(code, n) }

// straight is functions whose bodies are n times the same code.
func straight(others, n int, code ...byte) bomb {
	body := slices.Concat([]byte{0}, bytes.Repeat(code, n), []byte{0x0b})
	return bomb{others: others, body: func(int) []byte { return body }}
}

func signature(params, results int) []byte {
	return slices.Concat([]byte{0x60}, leb(params), repeated(params, 0x7e), leb(results), repeated(results, 0x7e))
}

// manyTypes are n types with as many parameters and results, all different.
func manyTypes(n, arity int) []byte {
	return vec(n, func(i int) []byte {
		if i == 0 {
			return signature(0, 0)
		}
		s := signature(arity, arity)
		for bit := range 11 {
			if i>>bit&1 == 1 {
				s[4+bit] = 0x7f
			}
		}
		return s
	})
}

// bombs are modules that kept a core busy for long, or look as if they might; the text is what
// their refusal must have.
func bombs() map[string]struct {
	bomb bomb
	text string
} {
	exporting := func(others, to int) bomb {
		return bomb{others: others, exports: func(i int) []byte { return slices.Concat(symbol(strconv.Itoa(i)), []byte{0}, leb(min(to, 2+i))) }}
	}
	manyLocals := slices.Concat([]byte{1}, leb(50_000), []byte{0x7e, 0x0b})
	someLocals := slices.Concat([]byte{1}, leb(9_000), []byte{0x7e, 0x0b})
	table := slices.Concat([]byte{0x02, 0x40, 0x41, 0, 0x0e}, leb(60_000), repeated(60_000, 0), []byte{0, 0x0b})
	var changing []byte
	for i := range 1000 {
		changing = slices.Concat(changing, []byte{0x20}, leb(i), []byte{0x42, 1, 0x7c, 0x21}, leb(i))
	}
	changing = slices.Concat([]byte{1}, leb(1000), []byte{0x7e}, bytes.Repeat(changing, 100), []byte{0x0b})
	wide := straight(1, 5_000, 0x10, 2, 0x10, 3).body(0)
	numbers := vec(1000, func(int) []byte { return []byte{0x7e, 1, 0x42, 0, 0x0b} })
	deep := slices.Concat([]byte{0}, repeated(19_000, 0x02, 0x40), repeated(19_000, 0x0b), []byte{0x0b})
	branches := repeated(3_000, 0x41, 1, 0x04, 0x40, 0x0b)
	keeping := func(values int) []byte { // sizes of the memory, added and stored after the branches
		return slices.Concat([]byte{0, 0x41, 0}, repeated(values, 0x3f, 0), branches, repeated(values-1, 0x6a), []byte{0x36, 2, 0, 0x0b})
	}
	reading := []byte{}
	for i := range 9_000 {
		reading = append(append(append(reading, 0x20), leb(i)...), 0x1a)
	}
	declared := slices.Concat([]byte{1}, leb(9_000), []byte{0x7e})
	readLate := slices.Concat(declared, branches, reading, []byte{0x0b})
	readInLoops := slices.Concat(declared, bytes.Repeat(slices.Concat([]byte{0x03, 0x40}, reading, []byte{0x0b}), 25), []byte{0x0b})
	looped := slices.Concat([]byte{0}, repeated(500, 0x03, 0x40), repeated(500, 0x0b), []byte{0x0b})
	same := func(code []byte) func(int) []byte { return func(int) []byte { return code } }
	return map[string]struct {
		bomb bomb
		text string
	}{
		"50,000 functions with 50,000 exports": {exporting(49_990, 1<<20), "exports"},
		"one function with 50,000 exports":     {exporting(49_990, 2), "exports"},
		"2,000 types of 2,000 values":          {bomb{types: manyTypes(2000, 1000)}, "types"},
		"1,000 types of 256 values":            {bomb{types: manyTypes(1000, 128)}, ""},
		"types that are too wide":              {bomb{types: manyTypes(10, 1000)}, "parameters"},
		"2 billion locals":                     {bomb{others: 40_000, body: same(manyLocals)}, "locals"},
		"360 million locals":                   {bomb{others: 40_000, body: same(someLocals)}, "in all functions"},
		"50,000 functions":                     {bomb{others: 49_990}, ""},
		"as many, and 1,000 globals":           {bomb{others: 49_990, globals: numbers}, ""},
		"49,000 imports":                       {bomb{imports: vec(49_000, func(int) []byte { return slices.Concat(symbol("penstock"), symbol("param"), []byte{0, 0}) })}, "imports"},
		"a long name":                          {bomb{imports: slices.Concat(leb(1), symbol("penstock"), symbol(strings.Repeat("x", 1<<20)), []byte{0, 0})}, "bytes of a name"},
		"3,000,000 custom sections":            {bomb{custom: repeated(3_000_000, 0, 2, 1, 'x')}, "custom sections"},
		"50,000 data segments":                 {bomb{data: vec(50_000, func(int) []byte { return []byte{0, 0x41, 0, 0x0b, 1, 'x'} })}, ""},
		"50,000 element segments": {bomb{tables: slices.Concat([]byte{1, 0x70, 0}, leb(60_000)),
			elements: vec(50_000, func(int) []byte { return []byte{0, 0x41, 0, 0x0b, 1, 0} })}, ""},
		"tables of 60,000 branches": {bomb{others: 1, body: same(slices.Concat([]byte{0}, bytes.Repeat(table, 12), []byte{0x0b}))}, "compiling"},
		"19,000 blocks in a block":  {bomb{others: 1, body: same(deep)}, "compiling"},
		"500 loops in a loop":       {bomb{others: 200, body: same(looped)}, "compiling"},
		"150,000 ifs":               {straight(1, 150_000, 0x41, 0, 0x04, 0x40, 0x0b), "compiling"},
		"200,000 calls":             {straight(8, 200_000, 0x10, 0), ""},
		"calls of 128 values": {bomb{others: 3, more: [][]byte{signature(0, 128), signature(128, 0)}, functions: []byte{5, 0, 0, 1, 2, 0}, body: func(i int) []byte {
			return [][]byte{{0, 0x00, 0x0b}, {0, 0x0b}, wide}[i]
		}}, "compiling"},
		"200,000 memory accesses":      {straight(1, 150_000, 0x41, 0, 0x28, 2, 0, 0x1a), "compiling"},
		"80,000 at a time":             {straight(16, 80_000, 0x41, 0, 0x28, 2, 0, 0x1a), ""},
		"truncations":                  {straight(16, 80_000, 0x43, 0, 0, 0, 0, 0xa8, 0x1a), ""},
		"divisions":                    {straight(16, 80_000, 0x42, 1, 0x42, 2, 0x7f, 0x1a), ""},
		"16 MB of additions":           {straight(16, 170_000, 0x42, 1, 0x42, 2, 0x7c, 0x1a), ""},
		"a deep stack":                 {bomb{others: 1, body: same(slices.Concat([]byte{0}, repeated(240_000, 0x41, 1), repeated(240_000, 0x1a), []byte{0x0b}))}, ""},
		"values that outlive branches": {bomb{others: 1, body: same(keeping(45_000))}, "compiling"},
		"fewer, in less than 64 KiB":   {bomb{others: 1, body: same(keeping(14_000))}, "compiling"},
		"locals read after branches":   {bomb{others: 1, body: same(readLate)}, "compiling"},
		"locals read in loops":         {bomb{others: 1, body: same(readInLoops)}, "compiling"},
		"locals that change":           {bomb{others: 1, body: same(changing)}, ""},
	}
}

// processorTime is what this process (syscall.RUSAGE_SELF) or the children that it has waited for
// have used of all cores.
func processorTime(who int) time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u) // it fails for a wrong pointer only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Whatever is uploaded costs a bounded amount of work, nearly none of it in the server itself, and
// leaves nothing behind. What the clock says to it depends on the machine. Of the modules that are
// refused only once they have computed for seconds, some are tried each day.
func TestRegistry_Upload_Bombs_CostLittle(t *testing.T) {
	const ownBound = 3 * time.Second // ten times what the worst takes, with the race detector too
	bound := plugin.DefaultLimits().Compile + time.Second
	l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) {
		o.Limits.Compile, o.CacheDir = plugin.DefaultLimits().Compile, t.TempDir()
	})
	all := bombs()
	var names, slow []string
	for name, c := range all {
		if c.text == "" || c.text == "compiling" {
			slow = append(slow, name)
		} else {
			names = append(names, name)
		}
	}
	slices.Sort(slow)
	for _, name := range append(names, steadytest.Some(t, slow, 4)...) {
		c := all[name]
		wasm := c.bomb.wasm()
		g, err := Open(context.Background(), l, Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		own, children := processorTime(syscall.RUSAGE_SELF), processorTime(syscall.RUSAGE_CHILDREN)
		_, _, err = g.Upload(context.Background(), wasm)
		g.uploads.Wait() // for what goes on with nobody waiting
		if err == nil || len(g.List()) > 0 {
			t.Errorf("%s: it is a plugin now", name)
		}
		if c.text != "" && (!errors.Is(err, plugin.ErrLimit) || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: got %v, want it to name %s", name, err, c.text)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		own, children = processorTime(syscall.RUSAGE_SELF)-own, processorTime(syscall.RUSAGE_CHILDREN)-children
		if own > ownBound || children > bound {
			t.Errorf("%s: the server has computed for %v and its child for %v", name, own, children)
		}
		t.Logf("%-36s %8d bytes, %5d ms of processor time and %5d ms of a child's: %.90v", name, len(wasm), own.Milliseconds(), children.Milliseconds(), err)
	}
}
