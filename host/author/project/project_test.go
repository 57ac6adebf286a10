// SPDX-License-Identifier: MIT

package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

func TestCreate_MakesWhatOpenFinds(t *testing.T) {
	for _, l := range Languages {
		for _, k := range Kinds {
			dir := filepath.Join(t.TempDir(), "below", "frog-1")
			made := must.Get(Create(dir, Options{"frog-1", l, k}))(t)
			found, err := Open(dir)
			if err != nil || found != made || found != (Project{dir, "frog-1", l}) {
				t.Errorf("%s %s: made %+v, found %+v %v", l, k, made, found, err)
			}
			files, err := filepath.Glob(filepath.Join(found.Cases(), "*.json"))
			if err != nil || len(files) != 1 {
				t.Errorf("%s %s: cases are %q %v", l, k, files, err)
			}
			filled(t, dir)
		}
	}
}

// filled checks that no file has a place left to fill in, or names another plugin.
func filled(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, string(filepath.Separator)+"sdk"+string(filepath.Separator)) {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "<<") || strings.HasSuffix(path, ".tmpl") {
			t.Errorf("%s is a template", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || strings.Count(string(readme), "\n") > 12 {
		t.Errorf("the README has %d lines %v", strings.Count(string(readme), "\n"), err)
	}
}

func TestCreate_Refuses(t *testing.T) {
	full := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(full, "thesis.txt"), nil, 0o600))
	for want, o := range map[string]struct {
		dir string
		Options
	}{
		`"Frog"`:                             {"x", Options{"Frog", Go, Sampler}},
		`"9a"`:                               {"x", Options{"9a", Go, Sampler}},
		`"a--b"`:                             {"x", Options{"a--b", Go, Sampler}},
		`"a.b"`:                              {"x", Options{"a.b", Go, Sampler}},
		`""`:                                 {"x", Options{"", Go, Sampler}},
		"at most 64 characters":              {"x", Options{strings.Repeat("a", 65), Go, Sampler}},
		"means something else":               {"x", Options{"match", Rust, Sampler}},
		"go, tinygo, rust or js":             {"x", Options{"frog", "cobol", Sampler}},
		"sampler, stop, template or program": {"x", Options{"frog", Go, "mask"}},
		"thesis.txt":                         {full, Options{"frog", Go, Sampler}},
	} {
		if o.dir == "x" {
			o.dir = filepath.Join(t.TempDir(), "x")
		}
		_, err := Create(o.dir, o.Options)
		if !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want one with %s", o, err, want)
		}
		if _, err := os.Stat(o.dir); o.dir != full && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: the folder was made", o)
		}
	}
}

func TestOpen_Files(t *testing.T) {
	for text, want := range map[string]struct {
		file string
		name string // empty: refused
	}{
		"[package]\nname = \"a-frog\"\n":                              {"Cargo.toml", "a-frog"},
		"# x\n[package]\nversion = \"1\"\n  name=\"b\"\n":             {"Cargo.toml", "b"},
		"[workspace]\nname = \"no\"\n":                                {"Cargo.toml", ""},
		"[package]\nversion = \"1\"\n[dependencies]\nname = \"no\"\n": {"Cargo.toml", ""},
		"// comment\nmodule example.com/x/frog\n\ngo 1.24\n":          {"go.mod", "frog"},
		"module \"quoted\"\n":                                         {"go.mod", "quoted"},
		"go 1.24\n":                                                   {"go.mod", ""},
	} {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, want.file), []byte(text), 0o600))
		p, err := Open(dir)
		if p.Name != want.name || (err == nil) != (want.name != "") {
			t.Errorf("%q: %+v %v", text, p, err)
		}
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoProject) || !strings.Contains(err.Error(), "plugin new") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestProject_IsSource(t *testing.T) {
	for _, tc := range []struct {
		language Language
		name     string
		want     bool
	}{
		{Go, "main.go", true}, {TinyGo, "below/more.go", true}, {Go, "go.mod", true}, {TinyGo, "sdk/target.json", true}, {Go, "sdk/penstock/run.go", true},
		{Go, "main_test.go", false}, {Go, "cases/a.json", false}, {Go, ".main.go.swp", false}, {Go, "main.go~", false},
		{Go, ".git/x.go", false}, {Go, "frog.wasm", false}, {Go, "README.md", false},
		{Rust, "src/lib.rs", true}, {Rust, "Cargo.toml", true}, {Rust, "sdk/export/src/lib.rs", true}, {Rust, "target/debug/build/x.rs", false},
		{Rust, "Cargo.lock", false}, {JavaScript, "frog.js", true}, {JavaScript, "other.js", false}, {JavaScript, "cases/a.json", false},
	} {
		if got := (Project{Name: "frog", Language: tc.language}).IsSource(tc.name); got != tc.want {
			t.Errorf("%s %s: %v", tc.language, tc.name, got)
		}
	}
}

func ExampleLanguage_Compiler() {
	fmt.Println(TinyGo.Compiler(), Rust.Compiler())
	// Output: TinyGo cargo
}
