// SPDX-License-Identifier: MIT

package toolchain

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/author/project"
	"github.com/penstock/penstock/tools/must"
)

// tools makes a folder with programs that say a text each, and has it be all of PATH.
func tools(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range programs {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+text+"'\n"), 0o700))
	}
	t.Setenv("PATH", dir)
	t.Setenv("TINYGO", "")
	t.Setenv("WASMOPT", "")
	t.Setenv("HOME", dir)
	return dir
}

func TestFind_SaysWhatToInstall(t *testing.T) {
	for name, tc := range map[string]struct {
		language project.Language
		programs map[string]string
		want     []string
	}{
		"no TinyGo":      {project.TinyGo, map[string]string{"go": "go version go1.26.0 linux/amd64"}, []string{"TinyGo 0.36 or newer is missing", "none was found", "tinygo.org"}},
		"old TinyGo":     {project.TinyGo, map[string]string{"go": "go version go1.26.0 linux/amd64", "tinygo": "tinygo version 0.31.2 linux/amd64"}, []string{"tinygo is version 0.31.2, and 0.36 is needed"}},
		"no wasm-opt":    {project.TinyGo, map[string]string{"go": "go version go1.26.0 linux/amd64", "tinygo": "tinygo version 0.41.1 linux/amd64"}, []string{"wasm-opt", "missing"}},
		"brew":           {project.TinyGo, map[string]string{"go": "go version go1.26.0 linux/amd64", "brew": ""}, []string{"brew install tinygo-org/tools/tinygo"}},
		"a strange tool": {project.TinyGo, map[string]string{"go": "go version go1.26.0 linux/amd64", "tinygo": "hello"}, []string{"does not say its version", "hello"}},
	} {
		t.Run(name, func(t *testing.T) {
			tools(t, tc.programs)
			_, err := Find(t.Context(), tc.language)
			if !errors.Is(err, ErrMissing) {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestFindCargo_SkipsOneWithoutTheTarget(t *testing.T) {
	dir := tools(t, map[string]string{"cargo": "cargo 1.95.0", "rustc": "rustc 1.95.0 (59807616e 2026-04-14)"})
	found, err := findCargo(t.Context())
	if err == nil { // the system's own
		if c := found.(cargo); filepath.Dir(c.program) == dir || !c.hasTarget(t.Context()) {
			t.Errorf("it takes %+v", c)
		}
		return
	}
	for _, want := range []string{"lacks the target wasm32-unknown-unknown", "rustup"} {
		if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// Flags of the environment are taken in place of those that a project needs.
func TestCargo_Compile_HasTheProjectsFlags(t *testing.T) {
	t.Setenv("RUSTFLAGS", "-D warnings")
	t.Setenv("CARGO_ENCODED_RUSTFLAGS", "-D")
	dir := t.TempDir()
	program := filepath.Join(dir, "cargo")
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"${RUSTFLAGS-unset} ${CARGO_ENCODED_RUSTFLAGS-unset}\"; exit 1\n"), 0o700))
	var said strings.Builder
	err := cargo{program: program}.compile(t.Context(), project.Project{Dir: dir, Name: "x", Language: project.Rust}, "", Options{Output: &said})
	if !errors.Is(err, ErrFailed) || said.String() != "unset unset\n" {
		t.Errorf("%v %q", err, said.String())
	}
}

// What lies around a project is kept out of its build; the author's own flags are not.
func TestCompile_LeavesWhatLiesAround(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "go")
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\nif [ $1 = env ]; then echo -mod=mod; else echo \"$GOWORK $GOFLAGS\"; exit 1; fi\n"), 0o700))
	environ := must.Get(isolateBuild(t.Context(), program))(t)
	for _, c := range []compiler{golang{program, environ}, tinyGo{program, environ, true}} {
		var said strings.Builder
		err := c.compile(t.Context(), project.Project{Dir: dir, Name: "x"}, "", Options{Output: &said})
		if !errors.Is(err, ErrFailed) || said.String() != "off -mod=mod -buildvcs=false\n" {
			t.Errorf("%T: %v %q", c, err, said.String())
		}
	}
}

// A build without debug information is tried first. What it cannot place, and a TinyGo that does
// not know the flag, need one with it.
func TestTinyGo_Compile_WithoutDebugInformation(t *testing.T) {
	const with, without = "build -target=/target.json -opt=2 -o /x.wasm -panic=trap -no-debug", " -internal-nodwarf"
	for name, tc := range map[string]struct {
		script string // what it does before it writes down how it was called
		fails  bool
		said   string
		calls  string
	}{
		"works":            {"echo a warning", false, "a warning\n", with + without + " .\n"},
		"says where":       {"echo main.go:3:1: wrong; failed=1", true, "main.go:3:1: wrong\n", with + without + " .\n"},
		"cannot say where": {"case $* in *nodwarf*) echo wrong ;; *) echo main.go:3:1: wrong ;; esac; failed=1", true, "main.go:3:1: wrong\n", with + without + " .\n" + with + " .\n"},
		"an unknown flag":  {"case $* in *nodwarf*) echo no such flag; failed=1 ;; esac", false, "", with + without + " .\n" + with + " .\n"},
	} {
		dir := t.TempDir()
		program, calls := filepath.Join(dir, "tinygo"), filepath.Join(dir, "calls")
		must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\n"+tc.script+"\necho \"$*\" >>"+calls+"\nexit $failed\n"), 0o700))
		var said strings.Builder
		err := tinyGo{program: program, hasLibraries: true}.compile(t.Context(), project.Project{Dir: dir, Name: "x"}, "/x.wasm", Options{Output: &said})
		if errors.Is(err, ErrFailed) != tc.fails || err != nil && !tc.fails || said.String() != tc.said {
			t.Errorf("%s: %v %q", name, err, said.String())
		}
		called, err := os.ReadFile(calls)
		if got := strings.ReplaceAll(string(called), filepath.Join(dir, "sdk"), ""); err != nil || got != tc.calls {
			t.Errorf("%s: %v, it is called with\n%s", name, err, got)
		}
	}
}

func TestIsAtLeast(t *testing.T) {
	for _, tc := range []struct {
		found, least string
		want         bool
	}{{"1.24", "1.24", true}, {"1.24.3", "1.24", true}, {"1.9.9", "1.24", false}, {"0.41.1", "0.36", true}, {"0.9", "0.36", false}, {"2.0", "1.63", true}} {
		if got := isAtLeast(tc.found, tc.least); got != tc.want {
			t.Errorf("%s at least %s: %v", tc.found, tc.least, got)
		}
	}
}

func TestTinyGo_Target_HasOwnLibraries(t *testing.T) {
	given := filepath.Join("..", "..", "..", "plugins", "sdk", "go", "target.json")
	file, remove := must.Both(tinyGo{}.target(given))(t)
	text := must.Get(os.ReadFile(file))(t)
	var got struct {
		RTLib, Libc, GC string
		LDFlags         []string
	}
	if err := json.Unmarshal(text, &got); err != nil || strings.Contains(string(text), "{root}/lib") {
		t.Errorf("%v\n%s", err, text)
	}
	if got.RTLib != "compiler-rt" || got.Libc != "wasmbuiltins" || got.GC != "custom" || len(got.LDFlags) != 3 {
		t.Errorf("%+v", got)
	}
	remove()
	if _, err := os.Stat(file); err == nil {
		t.Error("it stays")
	}
	if file, _, err := (tinyGo{hasLibraries: true}).target(given); err != nil || file != absolutePath(given) {
		t.Errorf("Penstock's own TinyGo gets %s %v", file, err)
	}
}
