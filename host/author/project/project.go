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

	JavaScript Language = "js" // a script that the host runs as it is: nothing to build, and slower
)

// Compiler is the name of the language's compiler, for people; "": it has none.
func (l Language) Compiler() string {
	return map[Language]string{Go: "Go", TinyGo: "TinyGo", Rust: "cargo"}[l]
}

// Languages are all languages, in the order in which help shows them.
var Languages = []Language{Go, TinyGo, Rust, JavaScript}

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

// declarations tell an editor what a script sees. A folder with them and one script is its project.
const declarations = "penstock.d.ts"

// scriptSuffix is what files of scripts end with.
const scriptSuffix = ".js"

// IsScript reports whether a file is a script, by its name.
func IsScript(file string) bool { return filepath.Ext(file) == scriptSuffix }

// ScriptName is the name of the plugin that the file of a script is.
func ScriptName(file string) string { return strings.TrimSuffix(filepath.Base(file), scriptSuffix) }

// Script is the project of a script, which is one file.
func Script(file string) Project {
	return Project{Dir: filepath.Dir(file), Name: ScriptName(file), Language: JavaScript}
}

// Open finds out what a folder, or the file of a script, holds. The error wraps ErrNoProject where
// it has neither go.mod nor Cargo.toml, nor the declarations of scripts and one script.
func Open(dir string) (Project, error) {
	if info, err := os.Stat(dir); IsScript(dir) && err == nil && !info.IsDir() {
		return Script(dir), nil
	}
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
	if _, err := os.Stat(filepath.Join(dir, declarations)); err == nil {
		if found, _ := filepath.Glob(filepath.Join(dir, "*"+scriptSuffix)); len(found) == 1 {
			return Script(found[0]), nil
		}
	}
	return Project{}, fmt.Errorf("%w in %s: it has neither go.mod nor Cargo.toml, nor %s beside one script; 'penstock plugin new NAME' makes one", ErrNoProject, dir, declarations)
}

var (
	cargoName = regexp.MustCompile(`(?m)^\[package\]\s*\n(?:[^\[]*\n)?\s*name\s*=\s*"([^"]+)"`)
	goModule  = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)
)

// Module is where the built module is put; of a script, the script.
func (p Project) Module() string {
	if p.Language == JavaScript {
		return filepath.Join(p.Dir, p.Name+scriptSuffix)
	}
	return filepath.Join(p.Dir, p.Name+".wasm")
}

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
	switch p.Language {
	case JavaScript:
		return name == p.Name+scriptSuffix
	case Rust:
		return first != "target" && (strings.HasSuffix(name, ".rs") || first == "Cargo.toml")
	}
	switch path.Ext(name) {
	case ".go", ".mod", ".json":
		return !strings.HasSuffix(name, "_test.go") && first != "cases"
	}
	return false
}
