// SPDX-License-Identifier: MIT

//go:build unix

package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// large is a guest that is left to a child.
func large(name string) *asm.Guest {
	return newGuest(name).Function(abi.Signature{}, 0, bytes.Repeat([]byte{0x01}, worthAChild)) // nop
}

// filled lets a child fill a folder, and returns how many files are there then.
func filled(ctx context.Context, t *testing.T, wasm []byte) (files int, made bool, err error) {
	t.Helper()
	dir := t.TempDir()
	c, _ := newCompiler(t, "")
	made, err = c.compileInChild(ctx, wasm, dir)
	return len(cached(t, dir)), made, err
}

func TestCompileInChild_FillsAFolder(t *testing.T) {
	const files = 2 // the checksum and the code
	if n, made, err := filled(t.Context(), t, answering().Wasm()); err != nil || !made || n != files {
		t.Fatalf("%d files, %v, %v", n, made, err)
	}
	undescribed := large("guest") // which is for package guest to refuse
	undescribed.Omit = abi.ExportDescribe
	if n, made, err := filled(t.Context(), t, undescribed.Wasm()); err != nil || !made || n != files {
		t.Errorf("without an export: %d files, %v, %v", n, made, err)
	}
}

// A program whose main does not begin with Main fills the cache itself, and finds there what it
// left.
func TestCompiler_WithoutChild_KeepsCode(t *testing.T) {
	canStartChild.Store(false)
	defer canStartChild.Store(true)
	c, log := newCompiler(t, t.TempDir())
	run(t, c, large("guest"))
	before := cached(t, c.cache.dir)
	run(t, c, large("guest"))
	if after := cached(t, c.cache.dir); len(before) != 2 || !maps.EqualFunc(before, after, bytes.Equal) || log.Len() > 0 {
		t.Errorf("%d files, then %d; %s", len(before), len(after), log)
	}
}

// A client's module is compiled as if the server had never seen it, in a child unless it is light,
// and leaves nothing in the cache. Its code comes into memory only if there is room for it.
func TestCompiler_CompileAnew_KnowsNothing(t *testing.T) {
	c, log := newCompiler(t, t.TempDir())
	known := large("guest").Wasm()
	run(t, c, large("guest"))
	before := cached(t, c.cache.dir)
	for name, wasm := range map[string][]byte{"known": known, "new": large("other").Wasm(), "light": newGuest("light").Wasm()} {
		var size int64
		code, err := c.CompileAnew(t.Context(), wasm, func(bytes int64) error { size = bytes; return nil })
		if err != nil {
			t.Fatal(name, err)
		}
		if err := code.Close(); err != nil || size == 0 {
			t.Errorf("%s: %d bytes of code, %v", name, size, err)
		}
		full := errors.New("full")
		if _, err := c.CompileAnew(t.Context(), wasm, func(int64) error { return full }); !errors.Is(err, full) {
			t.Errorf("%s without room: %v", name, err)
		}
	}
	if after := cached(t, c.cache.dir); !maps.EqualFunc(before, after, bytes.Equal) || log.Len() > 0 {
		t.Errorf("%d files, then %d; %s", len(before), len(after), log)
	}
	canStartChild.Store(false)
	defer canStartChild.Store(true)
	if _, err := c.CompileAnew(t.Context(), known, func(int64) error { return nil }); !errors.Is(err, plugin.ErrLimit) {
		t.Errorf("without a child: %v", err)
	}
}

// A child refuses a module in the words that compiling it in the process has.
func TestCompileInChild_Refuses_AsTheProcess(t *testing.T) {
	body := func(code ...[]byte) []byte { return large("guest").On(abi.ExportOpen, code...).Wasm() }
	for name, c := range map[string]struct {
		wasm []byte
		want error
	}{
		"types":  {body([]byte{0x7c}), plugin.ErrNotWasm}, // adds, but there is nothing on the stack
		"cut":    {large("guest").Wasm()[:worthAChild], plugin.ErrNotWasm},
		"index":  {body(asm.SetGlobal(9)), plugin.ErrNotWasm},
		"opcode": {body([]byte{0xfe, 0}), plugin.ErrUnsupported},
		"work":   {body(bytes.Repeat([]byte{0x03, 0x40}, 6000), bytes.Repeat([]byte{0x0b}, 6000), asm.I32(0)), plugin.ErrLimit},
		"memory": {func() []byte { g := large("guest"); g.Pages = 2000; return g.Wasm() }(), plugin.ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			inProcess, _ := newCompiler(t, "")
			inChild, _ := newCompiler(t, t.TempDir())
			_, here := compile(t.Context(), inProcess, c.wasm)
			_, child := compile(t.Context(), inChild, c.wasm)
			if !errors.Is(here, c.want) || !errors.Is(child, c.want) || here.Error() != child.Error() {
				t.Errorf("in the process: %v\nin a child: %v", here, child)
			}
			if _, _, err := filled(t.Context(), t, c.wasm); err == nil {
				t.Error("the child said nothing")
			}
		})
	}
}

// slow is a module that takes two seconds to compile.
func slow() []byte {
	g := newGuest("guest")
	for range 16 {
		g.Function(abi.Signature{}, 0, bytes.Repeat([]byte{0x42, 1, 0x42, 2, 0x7f, 0x1a}, 80_000)) // pushes two numbers, divides, drops
	}
	return g.Wasm()
}

// A child that takes too long is killed, and its work is not done again here.
func TestCompileInChild_Late_IsKilled(t *testing.T) {
	c, _ := newCompiler(t, t.TempDir())
	c.bounds.Time = 300 * time.Millisecond
	wasm := slow()
	if _, err := compile(t.Context(), c, wasm); !errors.Is(err, plugin.ErrLimit) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, made, err := filled(ctx, t, wasm); !errors.Is(err, context.Canceled) || made {
		t.Errorf("made %v, %v", made, err)
	}
	if left, err := filepath.Glob(filepath.Join(c.cache.dir, ".writing*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// The code in a module's entry is run as it is, and not compiled again: here it is another's. Under
// other limits, and for another program, a module has other entries.
func TestCompiler_Cached_NothingIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	first, _ := newCompiler(t, dir)
	a, b := large("guest").On(abi.ExportAccept, asm.I32(1)), large("guest").On(abi.ExportAccept, asm.I32(2))
	run(t, first, a)
	run(t, first, b)
	path := func(g *asm.Guest) string {
		return must.Get(onlyFile(filepath.Join(entryOf(t, first, g), codeDir)))(t)
	}
	err := os.Rename(path(b), path(a))
	must.Do(t, errors.Join(err, os.Rename(filepath.Join(entryOf(t, first, b), sumFile), filepath.Join(entryOf(t, first, a), sumFile))))
	for _, tc := range []struct {
		want   int32
		change func(*fuel.Limits)
	}{
		{2, func(*fuel.Limits) {}},
		{1, func(l *fuel.Limits) { l.MemoryPages-- }},
	} {
		c, _ := newCompiler(t, dir, tc.change)
		if got, err := run(t, c, a).accept(0); got != tc.want || err != nil {
			t.Errorf("%d, %v, want %d", got, err, tc.want)
		}
	}
}

// Code that wazero does not take for this processor or its own version is made anew, and in the end
// kept in its place.
func TestCompiler_Cached_CodeOfAnother_IsMadeAnew(t *testing.T) {
	c, _ := newCompiler(t, t.TempDir())
	g := large("guest").On(abi.ExportAccept, asm.I32(1))
	load := func() {
		t.Helper()
		if answer, err := run(t, c, g).accept(2); err != nil || answer != 1 {
			t.Errorf("%d, %v", answer, err)
		}
	}
	load()
	dir := filepath.Join(entryOf(t, c, g), codeDir)
	code, err := onlyFile(dir)
	must.Do(t, errors.Join(err, os.Rename(code, filepath.Join(filepath.Dir(code), strings.Repeat("0", 2*sha256.Size)))))
	load()
	load()
	if now, err := onlyFile(dir); err != nil || now != code {
		t.Errorf("kept is %s, %v, want %s", now, err, code)
	}
}

// A server whose program was replaced while it runs starts the new one, which may rewrite
// otherwise: that does nothing.
func TestRunChild_OfAnotherProgram_DoesNothing(t *testing.T) {
	dir := t.TempDir()
	order := compileOrder{Dir: dir, Version: "1 another", Limits: fuel.DefaultLimits(), Bounds: bounds{time.Minute, mostMemory}}
	end := runChild(t.Context(), large("guest").Wasm(), order)
	if end.code != exitFailed || !strings.Contains(end.stderr, "1 another") || len(cached(t, dir)) != 0 {
		t.Errorf("%+v, %d files", end, len(cached(t, dir)))
	}
}

// A child has none of the server's keys: it compiles what others wrote.
func TestChildEnvironment_HasNoSecrets(t *testing.T) {
	t.Setenv("PENSTOCK_SERVER_ADMIN_KEY", "secret")
	t.Setenv("HF_TOKEN", "secret")
	t.Setenv("LD_LIBRARY_PATH", "/needed")
	if env := childEnvironment(); strings.Contains(strings.Join(env, "\n"), "secret") || !slices.Contains(env, "LD_LIBRARY_PATH=/needed") {
		t.Errorf("%q", env)
	}
}

// A child that could not do it is told of, once and not at length.
func TestCompileInChild_Fails_IsLogged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	c, log := newCompiler(t, "")
	if made, err := c.compileInChild(t.Context(), large("guest").Wasm(), filepath.Join(file, strings.Repeat("x", 200))); made || err != nil {
		t.Errorf("made %v, %v", made, err)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "code=3") ||
		!strings.Contains(text, errNotKept.Error()) || len(text) > 500 {
		t.Error(text)
	}
}

// A child that takes too much memory or processor time says so itself, and only the module is
// refused.
func TestCompileInChild_Bounds_RefuseTheModule(t *testing.T) {
	wasm := slow()
	for name, c := range map[string]struct {
		bounds bounds
		want   string
	}{
		"memory":         {bounds{time.Hour, 64 << 20}, "compiling takes more than 64 MiB of memory; make the module smaller"},
		"processor time": {bounds{500 * time.Millisecond, 1 << 40}, "compiling takes more than 500ms of processor time; make the module smaller"},
	} {
		compiler, log := newCompiler(t, t.TempDir())
		compiler.bounds = c.bounds
		_, err := compile(t.Context(), compiler, wasm)
		if !errors.Is(err, plugin.ErrLimit) || !strings.Contains(err.Error(), c.want) || log.Len() > 0 {
			t.Errorf("%s: %v, want %q; the log: %s", name, err, c.want, log)
		}
	}
}

// A module of any size is compiled in a child if its functions may take long.
func TestCompiler_Compile_HeavyModulesInAChild(t *testing.T) {
	branches := bytes.Repeat([]byte{0x41, 0, 0x04, 0x40, 0x0b}, 1500) // if without a body
	many := newGuest("guest")
	for many.Globals = 1000; len(many.Funcs) < 7000; {
		many.Function(abi.Signature{}, 0)
	}
	for name, c := range map[string]struct {
		guest *asm.Guest
		here  bool
	}{
		"many functions, with globals": {many, false},
		"light":                        {newGuest("guest"), true},
		"heavy":                        {newGuest("guest").Function(abi.Signature{}, 0, branches), false},
		"large":                        {large("guest"), false},
	} {
		if n := len(c.guest.Wasm()); n >= worthAChild != (name == "large") {
			t.Errorf("%s: it has %d bytes", name, n)
		}
		compiler, _ := newCompiler(t, t.TempDir())
		times := configured(t, wazero.NewRuntimeConfig)
		code := must.Get(compile(t.Context(), compiler, c.guest.Wasm()))(t)
		if err := code.Close(); err != nil {
			t.Error(err)
		}
		others := 2 // whether wazero keeps code, and what takes it from the cache
		if here := *times > others; here != c.here {
			t.Errorf("%s: compiled here %v, want %v", name, here, c.here)
		}
	}
}

// A child's processors are those that its control groups have time for, and at least one.
func TestKeepWithin(t *testing.T) {
	before := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for _, c := range []struct {
		processors float64
		want       int
	}{{math.Inf(1), 4}, {8, 4}, {3.5, 3}, {0.25, 1}, {2, 1}} { // they only become fewer
		if keepWithin(c.processors); runtime.GOMAXPROCS(0) != c.want {
			t.Errorf("time of %v: %d processors, want %d", c.processors, runtime.GOMAXPROCS(0), c.want)
		}
	}
}
