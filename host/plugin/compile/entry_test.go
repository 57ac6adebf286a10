// SPDX-License-Identifier: MIT

//go:build unix

package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
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
	return c.cache.entry(entryName(sha256.Sum256(g.Wasm()), c.cache.maker, c.limits))
}

// Where wazero interprets it does not look for code: it would run the skeleton. A child would
// compile for nothing there.
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

// What another program left under this one's name is made anew.
func TestCompiler_Cached_OfAnotherVersion_IsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	c, _ := newCompiler(t, dir)
	run(t, c, large("b"))
	b, a := entryOf(t, c, large("b")), entryOf(t, c, large("a"))
	if err := os.CopyFS(a, os.DirFS(b)); err != nil {
		t.Fatal(err)
	}
	rewriteHead(t, a, func(h *head) { h.Version = "1 another" })
	if name := run(t, c, large("a")).name(t); name != "a" {
		t.Errorf("running is %q", name)
	}
}

// rewriteHead gives an entry another head.
func rewriteHead(t *testing.T, entry string, change func(*head)) {
	t.Helper()
	path := filepath.Join(entry, headFile)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, skeleton, err := readHead(file)
	if err != nil {
		t.Fatal(err)
	}
	change(h)
	text, err := json.Marshal(h)
	if err := errors.Join(err, os.Remove(path), writeParts(path, prefixOf(text, skeleton), text, skeleton)); err != nil {
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

// Code under another name is of another processor or version of wazero, which then compiles the
// skeleton. That is never run.
func TestOpenEntry_WithoutCode_IsNotUsed(t *testing.T) {
	for name, move := range map[string]func(code string) string{
		"of another module or processor": func(code string) string {
			return filepath.Join(filepath.Dir(code), strings.Repeat("0", 2*sha256.Size))
		},
		"of another version": func(code string) string {
			return filepath.Join(filepath.Dir(filepath.Dir(code)), "wazero-v0.0.1-cpu-os", filepath.Base(code))
		},
	} {
		dir := t.TempDir()
		if err := fillEntry(t.Context(), large("guest").Wasm(), dir, fuel.DefaultLimits()); err != nil {
			t.Fatal(err)
		}
		code, err := onlyFile(filepath.Join(dir, codeDir))
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(move(code)), 0o700), os.Rename(code, move(code))); err != nil {
			t.Fatal(err)
		}
		if _, err := openEntry(t.Context(), dir, fuel.DefaultLimits().MemoryPages); !errors.Is(err, errNoCode) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := filesOf(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}
}

// If wazero throws the code away and writes its own in its place, as for a file of another version
// under this one's name, that is noticed.
func TestOpenEntry_WrittenAnew_IsNotUsed(t *testing.T) {
	dir := t.TempDir()
	if err := fillEntry(t.Context(), large("guest").Wasm(), dir, fuel.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	path, err := onlyFile(filepath.Join(dir, codeDir))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	code[len("WAZEVO")+1]++ // the first byte of the version
	if err := os.WriteFile(path, code, 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := sumOf(bytes.NewReader(code))
	if err != nil {
		t.Fatal(err)
	}
	rewriteHead(t, dir, func(h *head) { h.Code = sum })
	if _, err := openEntry(t.Context(), dir, fuel.DefaultLimits().MemoryPages); !errors.Is(err, errNoCode) {
		t.Error(err)
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
		if files := cached(t, c.cache.dir); len(files) != 2 || log.Len() > 0 {
			t.Errorf("done %v: %v\n%s", done, slices.Collect(maps.Keys(files)), log.String())
		}
	}
}

// Nothing is left of a module that was refused, nor of a host that was killed. What another one is
// filling stays.
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
	if err := os.WriteFile(filepath.Join(killed, headFile), nil, 0o600); err != nil {
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

// A disk that takes no more is not the module's fault, and a child has no use for code that it
// cannot keep.
func TestFillEntry_CannotBeKept_CompilesOnce(t *testing.T) {
	wasm, limits := large("guest").Wasm(), fuel.DefaultLimits()
	full := t.TempDir()
	if err := os.Mkdir(filepath.Join(full, headFile), 0o700); err != nil { // no file can be made there
		t.Fatal(err)
	}
	times := configured(t, wazero.NewRuntimeConfig)
	err := fillEntry(t.Context(), wasm, full, limits)
	if !errors.Is(err, errNotKept) || errors.Is(err, plugin.ErrNotWasm) || *times != 2 { // the module, and its skeleton
		t.Errorf("compiled %d times: %v", *times, err)
	}
}

// Nor is a disk that takes no more while wazero writes.
func TestFillEntry_WazeroCannotWrite_CompilesOnce(t *testing.T) {
	for _, name := range []string{"made", codeDir} {
		full := t.TempDir()
		if err := os.WriteFile(filepath.Join(full, name), nil, 0o600); err != nil { // no folder can be made there
			t.Fatal(err)
		}
		err := fillEntry(t.Context(), large("guest").Wasm(), full, fuel.DefaultLimits())
		if !errors.Is(err, errNotKept) || errors.Is(err, plugin.ErrNotWasm) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A small module, which this process compiles, loads all the same.
func TestCompiler_FillHere_CannotBeKept_IsLogged(t *testing.T) {
	c, log := newCompiler(t, t.TempDir())
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, headFile), 0o700); err != nil { // no file can be made there
		t.Fatal(err)
	}
	filled, err := c.fillHere(t.Context(), newGuest("guest").Wasm(), dir)
	if filled || err != nil || !strings.Contains(log.String(), headFile) {
		t.Errorf("%v, %v: %s", filled, err, log)
	}
}
