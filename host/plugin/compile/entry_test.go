// SPDX-License-Identifier: MIT

//go:build unix

package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
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
		c, log := newCompiler(dir)
		if answer, err := run(t, c, large("guest").On(abi.ExportAccept, asm.I32(1))).accept(2); err != nil || answer != 1 {
			t.Errorf("%d, %v", answer, err)
		}
		return log
	}
	full, empty := t.TempDir(), t.TempDir()
	load(full)
	configured(t, wazero.NewRuntimeConfigInterpreter)
	load(full)
	if files := cached(t, full); len(files) != 3 {
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
		c, _ := newCompiler(dir)
		return run(t, c, g).name(t)
	}
	load(large("b"))
	b, a := entryIn(dir, large("b")), entryIn(dir, large("a"))
	text, err := os.ReadFile(filepath.Join(b, factsFile))
	if err != nil {
		t.Fatal(err)
	}
	var found facts
	if err := json.Unmarshal(text, &found); err != nil || found.Version != version() {
		t.Fatalf("%s: %v", text, err)
	}
	found.Version = "1 another"
	if text, err = json.Marshal(found); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a, factsFile)
	if err := errors.Join(os.CopyFS(a, os.DirFS(b)), os.WriteFile(path, text, 0o600), os.Remove(path+sumSuffix), seal(a)); err != nil {
		t.Fatal(err)
	}
	if name := load(large("a")); name != "a" {
		t.Errorf("running is %q", name)
	}
}

// A module's rewritten bytes are of use to the compiler only.
func TestCompiler_KeepsNoBytes(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		for _, g := range []*asm.Guest{answering(), large("guest")} {
			c, _ := newCompiler(dir)
			if r := run(t, c, g); r.Metered.Wasm != nil {
				t.Errorf("in %q: %d bytes", dir, len(r.Metered.Wasm))
			}
		}
	}
}

// An entry without code is of no use, and its skeleton is not even compiled.
func TestOpenEntry_WithoutCode_IsNotUsed(t *testing.T) {
	dir := t.TempDir()
	if err := fillEntry(t.Context(), large("guest").Wasm(), dir, fuel.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, codeDir)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // compiling would say so
	if _, err := openEntry(ctx, dir, fuel.DefaultLimits().MemoryPages); !errors.Is(err, errNoCode) {
		t.Error(err)
	}
}

// Whoever finds a file that he did not write gives it no checksum: it may be a skeleton's code, compiled by a host with another processor.
func TestCache_MarkUsed_SealsNothing(t *testing.T) {
	c, err := openCache(t.TempDir(), cacheBytes, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	entry := c.entry("module")
	if err := os.WriteFile(filepath.Join(entry, "another's"), []byte("code"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.markUsed(entry)
	if files, err := filesOf(entry); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
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
		c, log := newCompiler(t.TempDir())
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
		if files := cached(t, c.cache.dir); len(files) != 3 || log.Len() > 0 {
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
	if err := os.WriteFile(filepath.Join(killed, skeletonFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := newCompiler(dir)
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
	good, full := t.TempDir(), t.TempDir()
	if err := fillEntry(t.Context(), wasm, good, limits); err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir(filepath.Join(good, codeDir))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	whole := filepath.Join(full, wholeDir)
	if err := errors.Join(os.Mkdir(whole, 0o700), os.Symlink("/proc", filepath.Join(whole, folders[0].Name()))); err != nil { // no file can be made there
		t.Fatal(err)
	}
	times := configured(t, wazero.NewRuntimeConfig)
	err = fillEntry(t.Context(), wasm, full, limits)
	if !errors.Is(err, errNotKept) || errors.Is(err, plugin.ErrNotWasm) || *times != 1 {
		t.Errorf("compiled %d times: %v", *times, err)
	}
}

// Nor is what lies beside the code: a small module, which this process compiles, loads all the same.
func TestCompiler_FillHere_CannotBeKept_IsLogged(t *testing.T) {
	c, log := newCompiler(t.TempDir())
	for _, file := range []string{skeletonFile, factsFile} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, file), 0o700); err != nil { // no file can be made there
			t.Fatal(err)
		}
		log.Reset()
		filled, err := c.fillHere(t.Context(), newGuest("guest").Wasm(), dir)
		if filled || err != nil || !strings.Contains(log.String(), file) {
			t.Errorf("%s: %v, %v: %s", file, filled, err, log)
		}
	}
}
