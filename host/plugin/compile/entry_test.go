// SPDX-License-Identifier: MIT

//go:build unix

package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
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

// entryIn is the entry of a guest in a folder.
func entryIn(dir string, g *asm.Guest) string {
	return filepath.Join(dir, entryName(sha256.Sum256(g.Wasm()), version(), fuel.DefaultLimits()))
}

// Where wazero interprets it does not look for code: it would run the skeleton. A child would compile for nothing there.
func TestCompiler_Interpreted_RunsNoSkeleton(t *testing.T) {
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
	if files := cached(t, full); len(files) != 1 {
		t.Errorf("%d files are left for where it compiles", len(files))
	}
	if log := load(empty); !strings.Contains(log.String(), errNotKept.Error()) {
		t.Errorf("nothing was said: %s", log.String())
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v: was there a child?", left, err)
	}
}

// What another program left under this one's name is made anew.
func TestCompiler_Cached_OfAnotherVersion_IsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	load := func(g *asm.Guest) string {
		c, _ := newCompiler(t, dir)
		return run(t, c, g).name(t)
	}
	load(large("b"))
	b, a := entryIn(dir, large("b")), entryIn(dir, large("a"))
	rewriteHead(t, b, a, func(h *head) { h.Version = "1 another" })
	if name := load(large("a")); name != "a" {
		t.Errorf("running is %q", name)
	}
}

// rewriteHead copies an entry with another head.
func rewriteHead(t *testing.T, from, to string, change func(*head)) {
	t.Helper()
	f, err := os.Open(filepath.Join(from, codeFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	h, err := readHead(f)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(f)
	change(h)
	text, err2 := json.Marshal(h)
	if err := errors.Join(err, err2, os.MkdirAll(to, 0o700), os.RemoveAll(filepath.Join(to, codeFile)),
		writeParts(filepath.Join(to, codeFile), prefixOf(text), text, rest)); err != nil {
		t.Fatal(err)
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

// Code under another key is of another processor or version of wazero. It is not used, and the skeleton is not compiled in its place.
func TestOpenEntry_WithoutCode_IsNotUsed(t *testing.T) {
	dir, pages := t.TempDir(), fuel.DefaultLimits().MemoryPages
	if err := fillEntry(t.Context(), large("guest").Wasm(), dir, fuel.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	rewriteHead(t, dir, dir, func(h *head) { h.Key[0]++ })
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // compiling would say so
	if _, err := openEntry(ctx, dir, pages); !errors.Is(err, errNoCode) {
		t.Error(err)
	}
	if left, err := filesOf(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// wazero's own cache is the store that it was given. If this fails with a new version of wazero, look at withStore: no code is kept.
func TestWithStore_WazeroAsksTheStore(t *testing.T) {
	var made collector
	code, err := newCode(t.Context(), newConfig(), large("guest").Wasm(), &made, fuel.DefaultLimits().MemoryPages)
	if err != nil {
		t.Fatal(err)
	}
	if err := code.Close(); err != nil || len(made.code) == 0 {
		t.Errorf("%d bytes of code, %v", len(made.code), err)
	}
}

// An entry that another host has filled in the meantime is taken, whether this one's child was done or not.
func TestCompiler_Obtain_AnotherHostWasQuicker_ItsEntryIsTaken(t *testing.T) {
	other := t.TempDir()
	wasm := large("guest").Wasm()
	if err := fillEntry(t.Context(), wasm, other, fuel.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	for _, done := range []bool{true, false} {
		c, log := newCompiler(t, t.TempDir())
		entry := c.cache.entry("module")
		code, err := c.obtain(t.Context(), wasm, entry, func(context.Context, []byte, string) (bool, error) {
			return done, os.CopyFS(entry, os.DirFS(other))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := code.Close(); err != nil {
			t.Error(err)
		}
		if files := cached(t, c.cache.dir); len(files) != 1 || log.Len() > 0 {
			t.Errorf("done %v: %v\n%s", done, slices.Collect(maps.Keys(files)), log.String())
		}
	}
}

// Nothing is left of a module that was refused, nor of a host that was killed. What another one is filling stays.
func TestCache_LeavesNothing(t *testing.T) {
	dir := t.TempDir()
	killed, release, err := atomicfile.MkdirTemp(dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
	fresh, release, err := atomicfile.MkdirTemp(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := os.WriteFile(filepath.Join(killed, codeFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
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

// A disk that takes no more is not the module's fault, and a child has no use for code that it cannot keep.
func TestFillEntry_CannotBeKept_CompilesOnce(t *testing.T) {
	wasm, limits := large("guest").Wasm(), fuel.DefaultLimits()
	full := t.TempDir()
	if err := os.Mkdir(filepath.Join(full, codeFile), 0o700); err != nil { // no file can be made there
		t.Fatal(err)
	}
	times := configured(t, wazero.NewRuntimeConfig)
	err := fillEntry(t.Context(), wasm, full, limits)
	if !errors.Is(err, errNotKept) || errors.Is(err, plugin.ErrNotWasm) || *times != 2 { // the module, and wazero was asked for a key
		t.Errorf("compiled %d times: %v", *times, err)
	}
}

// A small module, which this process compiles, loads all the same.
func TestCompiler_FillHere_CannotBeKept_IsLogged(t *testing.T) {
	c, log := newCompiler(t, t.TempDir())
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, codeFile), 0o700); err != nil { // no file can be made there
		t.Fatal(err)
	}
	filled, err := c.fillHere(t.Context(), newGuest("guest").Wasm(), dir)
	if filled || err != nil || !strings.Contains(log.String(), codeFile) {
		t.Errorf("%v, %v: %s", filled, err, log)
	}
}
