// SPDX-License-Identifier: MIT

//go:build unix

package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// configured has wazero configured in another way for a test, and returns how often it was.
func configured(t *testing.T, config func() wazero.RuntimeConfig) (times *int) {
	t.Helper()
	times = new(int)
	old := newConfig
	newConfig = func() wazero.RuntimeConfig { *times++; return config() }
	t.Cleanup(func() { newConfig = old })
	return times
}

// entryOf is a compiler's entry of a guest.
func entryOf(t *testing.T, c *Compiler, g *asm.Guest) string {
	t.Helper()
	if !c.cache.keepsCode(t.Context()) {
		t.Fatal("no code is kept")
	}
	return c.cache.entryPath(entryName(sha256.Sum256(g.Wasm()), c.cache.maker, c.limits))
}

// Where wazero interprets it does not look for code, and a child would compile for nothing.
func TestCompiler_Interpreted_StartsNoChild(t *testing.T) {
	load := func(dir string) *bytes.Buffer {
		t.Helper()
		c, log := newCompiler(t, dir)
		if answer, err := run(t, c, large("guest").On(abi.ExportAccept, asm.I32(1))).accept(2); err != nil || answer != 1 {
			t.Errorf("%d, %v", answer, err)
		}
		return log
	}
	full, empty := t.TempDir(), t.TempDir()
	load(full)
	configured(t, wazero.NewRuntimeConfigInterpreter)
	load(full)
	if files := cached(t, full); len(files) != 2 {
		t.Errorf("%d files are left for where it compiles", len(files))
	}
	if log := load(empty); !strings.Contains(log.String(), errNotKept.Error()) {
		t.Errorf("nothing was said: %s", log.String())
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v: was there a child?", left, err)
	}
}

// A module's rewritten bytes are of use to the compiler only.
func TestCompiler_KeepsNoBytes(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		for _, g := range []*asm.Guest{answering(), large("guest")} {
			c, _ := newCompiler(t, dir)
			if r := run(t, c, g); r.Metered.Wasm != nil {
				t.Errorf("in %q: %d bytes", dir, len(r.Metered.Wasm))
			}
		}
	}
}

// Another kind of processor, or version of wazero, has an entry of its own in the same folder.
func TestCompiler_Entry_NamesTheMaker(t *testing.T) {
	c, _ := newCompiler(t, t.TempDir())
	own := entryOf(t, c, large("guest"))
	if !strings.Contains(c.cache.maker, version()) || !strings.Contains(c.cache.maker, "wazero-") {
		t.Errorf("the maker is %q", c.cache.maker)
	}
	c.cache.maker += "another"
	if other := entryOf(t, c, large("guest")); other == own {
		t.Error("both are", own)
	}
}

// An entry that another host has filled in the meantime is taken, whether this one's child was
// done or not.
func TestCompiler_Obtain_AnotherHostWasQuicker_ItsEntryIsTaken(t *testing.T) {
	other := t.TempDir()
	wasm := large("guest").Wasm()
	must.Do(t, fillEntry(t.Context(), wasm, other, fuel.DefaultLimits()))
	for _, done := range []bool{true, false} {
		c, log := newCompiler(t, t.TempDir())
		entry := c.cache.entryPath("module")
		code := must.Get(c.obtain(t.Context(), wasm, entry, func(context.Context, []byte, string) (bool, error) {
			return done, os.CopyFS(entry, os.DirFS(other))
		}))(t)
		if err := code.Close(); err != nil {
			t.Error(err)
		}
		if files := cached(t, c.cache.dir); len(files) != 2 || log.Len() > 0 {
			t.Errorf("done %v: %v\n%s", done, slices.Collect(maps.Keys(files)), log.String())
		}
	}
}

// Nothing is left of a module that was refused, nor of a host that was killed. What another one is
// filling stays.
func TestCache_LeavesNothing(t *testing.T) {
	dir := t.TempDir()
	killed, release := must.Both(atomicfile.MkdirTemp(dir))(t)
	release()
	fresh, release := must.Both(atomicfile.MkdirTemp(dir))(t)
	defer release()
	must.Do(t, os.WriteFile(filepath.Join(killed, sumFile), nil, 0o600))
	c, _ := newCompiler(t, dir)
	for _, g := range []*asm.Guest{newGuest("guest"), large("guest")} {
		for _, code := range [][]byte{{0x7c}, {0xfe, 0}} { // an operand is missing; no such instruction
			if _, err := compile(t.Context(), c, g.On(abi.ExportOpen, code).Wasm()); err == nil {
				t.Error("it was compiled")
			}
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(fresh) {
		t.Errorf("%v, %v", left, err)
	}
}

// A disk that takes no more is not the module's fault, and a child has no use for code that it
// cannot keep.
func TestFillEntry_CannotBeKept_CompilesOnce(t *testing.T) {
	wasm, limits := large("guest").Wasm(), fuel.DefaultLimits()
	full := t.TempDir()
	if err := os.Mkdir(filepath.Join(full, sumFile), 0o700); err != nil { // no file can be made there
		t.Fatal(err)
	}
	times := configured(t, wazero.NewRuntimeConfig)
	err := fillEntry(t.Context(), wasm, full, limits)
	if !errors.Is(err, errNotKept) || errors.Is(err, plugin.ErrNotWasm) || *times != 1 {
		t.Errorf("compiled %d times: %v", *times, err)
	}
}

// Nor is a disk that takes no more while wazero writes.
func TestFillEntry_WazeroCannotWrite_CompilesOnce(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, codeDir), nil, 0o600); err != nil { // no folder can be made there
		t.Fatal(err)
	}
	err := fillEntry(t.Context(), large("guest").Wasm(), full, fuel.DefaultLimits())
	if !errors.Is(err, errNotKept) || errors.Is(err, plugin.ErrNotWasm) {
		t.Error(err)
	}
}

// A small module, which this process compiles, loads all the same.
func TestCompiler_FillHere_CannotBeKept_IsLogged(t *testing.T) {
	c, log := newCompiler(t, t.TempDir())
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, sumFile), 0o700); err != nil { // no file can be made there
		t.Fatal(err)
	}
	filled, err := c.fillHere(t.Context(), newGuest("guest").Wasm(), dir)
	if filled || err != nil || !strings.Contains(log.String(), sumFile) {
		t.Errorf("%v, %v: %s", filled, err, log)
	}
}
