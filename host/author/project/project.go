// SPDX-License-Identifier: MIT

// Package project makes the folders in which plugins are written, and finds its way in them.
//
// A project holds all that building needs: the plugin, its tests, and a copy of the SDK.
//
// # Why does a new plugin carry a copy of the SDK?
//
// The SDK and the binary that tries the plugin then fit each other, and building needs no
// registry, no network and no checkout. A project is whole: it builds next year as it does today.
// What changes in the SDK reaches a plugin when its author replaces the folder. The ABI grows
// without breaking plugins, so nobody ever has to.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Language is what a plugin is written in and which compiler makes the module.
type Language string

// The languages of new projects.
const (
	Go     Language = "go"     // Go with its own compiler: large modules, all of the standard library
	TinyGo Language = "tinygo" // Go with TinyGo: small and fast modules
	Rust   Language = "rust"
)

// Compiler is the name of the language's compiler, for people.
func (l Language) Compiler() string {
	return map[Language]string{Go: "Go", TinyGo: "TinyGo", Rust: "cargo"}[l]
}

// Languages are all languages, in the order in which help shows them.
var Languages = []Language{Go, TinyGo, Rust}

// Kind is what a new plugin does.
type Kind string

// The kinds of new projects.
const (
	Sampler  Kind = "sampler"  // chooses among the candidates
	Stop     Kind = "stop"     // decides when the answer ends
	Template Kind = "template" // writes the prompt
	Program  Kind = "program"  // writes the answer, from several branches
)

// Kinds are all kinds, in the order in which help shows them.
var Kinds = []Kind{Sampler, Stop, Template, Program}

// target is TinyGo's description of the machine, in the SDK. A Go project whose copy of the SDK
// has it is built by TinyGo.
const target = "target.json"

// Project is a folder in which a plugin is written.
type Project struct {
	Dir      string
	Name     string // of the module file and of the package
	Language Language
}

// ErrNoProject means that a folder is none in which a plugin is written.
var ErrNoProject = errors.New("no plugin project")

// Open finds out what a folder holds. The error wraps ErrNoProject where it has neither go.mod nor
// Cargo.toml.
func Open(dir string) (Project, error) {
	for _, kind := range []struct {
		file     string
		name     *regexp.Regexp
		language Language
	}{
		{"Cargo.toml", cargoName, Rust},
		{"go.mod", goModule, Go},
	} {
		text, err := os.ReadFile(filepath.Join(dir, kind.file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Project{}, err
		}
		found := kind.name.FindSubmatch(text)
		if found == nil {
			return Project{}, fmt.Errorf("%s names no package; write its name into it", filepath.Join(dir, kind.file))
		}
		p := Project{Dir: dir, Name: path.Base(string(found[1])), Language: kind.language}
		if _, err := os.Stat(p.Target(false)); kind.language == Go && err == nil {
			p.Language = TinyGo
		}
		return p, nil
	}
	return Project{}, fmt.Errorf("%w in %s: it has neither go.mod nor Cargo.toml; 'penstock plugin new NAME' makes one", ErrNoProject, dir)
}

var (
	cargoName = regexp.MustCompile(`(?m)^\[package\]\s*\n(?:[^\[]*\n)?\s*name\s*=\s*"([^"]+)"`)
	goModule  = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)
)

// Module is where the built module is put.
func (p Project) Module() string { return filepath.Join(p.Dir, p.Name+".wasm") }

// Cases is the folder of the golden cases.
func (p Project) Cases() string { return filepath.Join(p.Dir, "cases") }

// Target is the file that tells TinyGo for which machine it compiles. That of debug builds lets
// the host hear what a plugin prints.
func (p Project) Target(debug bool) string {
	if debug {
		return filepath.Join(p.Dir, "sdk", "target-debug.json")
	}
	return filepath.Join(p.Dir, "sdk", target)
}

// IsSource reports whether a change of a file may change the module. name is its path below the
// project's folder, with slashes.
func (p Project) IsSource(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, "~") {
			return false
		}
	}
	first, _, _ := strings.Cut(name, "/")
	if p.Language == Rust {
		return first != "target" && (strings.HasSuffix(name, ".rs") || first == "Cargo.toml")
	}
	switch path.Ext(name) {
	case ".go", ".mod", ".json":
		return !strings.HasSuffix(name, "_test.go") && first != "cases"
	}
	return false
}
