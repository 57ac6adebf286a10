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
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/penstock/penstock/plugins/script"
	"github.com/penstock/penstock/plugins/sdk"
	gosdk "github.com/penstock/penstock/plugins/sdk/go"
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

// Options say what to make.
type Options struct {
	Name     string
	Language Language
	Kind     Kind
}

// ErrOption marks options that cannot be used. The message names the option and what it may be.
var ErrOption = errors.New("cannot be used")

// validName matches the names that Go, Cargo and the host all take.
var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxName is the host's limit of a plugin's name.
const maxName = 64

// reserved are names that a Rust package must not have, keywords and the packages that come with
// the language and the SDK, and that of the host's own plugin.
var reserved = strings.Fields(`abstract alloc as async await become box break const continue core crate do dyn else enum export extern false final fn
	for if impl in let loop macro match mod move mut override penstock priv proc-macro pub ref return script self static std struct super test trait
	true try type typeof unsafe unsized use virtual where while yield`)

func (o Options) check() error {
	switch {
	case !validName.MatchString(o.Name) || len(o.Name) > maxName:
		return fmt.Errorf("the name %q %w: a name is made of lower-case letters and digits, with single hyphens between them, begins with a letter and has at most %d characters",
			o.Name, ErrOption, maxName)
	case slices.Contains(reserved, o.Name):
		return fmt.Errorf("the name %q %w: it means something else to a compiler; choose another one", o.Name, ErrOption)
	case !slices.Contains(Languages, o.Language):
		return fmt.Errorf("--lang %q %w: it is %s", o.Language, ErrOption, joinChoices(Languages))
	case !slices.Contains(Kinds, o.Kind):
		return fmt.Errorf("--kind %q %w: it is %s", o.Kind, ErrOption, joinChoices(Kinds))
	}
	return nil
}

// joinChoices writes what an option may be.
func joinChoices[T ~string](all []T) string {
	var texts []string
	for _, each := range all {
		texts = append(texts, string(each))
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

// Create makes a project in dir, which must be empty or not be there yet. The caller can fix
// errors that wrap ErrOption.
func Create(dir string, o Options) (Project, error) {
	if err := o.check(); err != nil {
		return Project{}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Project{}, fmt.Errorf("%s %w as the project's folder: %w", dir, ErrOption, err)
	}
	if len(entries) > 0 {
		return Project{}, fmt.Errorf("the folder %s %w: it has files, such as %s; choose another name or folder, or empty it", dir, ErrOption, entries[0].Name())
	}
	all, err := makeFiles(o)
	if err != nil {
		return Project{}, err
	}
	for name, text := range all {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
			return Project{}, err
		}
	}
	return Project{Dir: dir, Name: o.Name, Language: o.Language}, nil
}

func writeFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// templates are the files of new projects: the golden cases of each kind, then for each source
// language what is the same for all kinds, and what a kind has, which may replace others. Every
// name ends in .tmpl, so that no compiler takes a file for its own; NAME in one is the plugin's.
//
//go:embed all:template
var templates embed.FS

// makeFiles makes the files of a new project, by their paths in it.
func makeFiles(o Options) (map[string][]byte, error) {
	source := map[Language]string{Go: "go", TinyGo: "go", Rust: "rust", JavaScript: "js"}[o.Language]
	all := map[string][]byte{}
	for _, folder := range []string{"cases/" + string(o.Kind), source + "/common", source + "/" + string(o.Kind)} {
		below, err := fs.Sub(templates, "template/"+folder)
		if err != nil {
			return nil, err
		}
		if err := eachFile(below, func(name string, text []byte) (err error) {
			name = strings.ReplaceAll(strings.TrimSuffix(name, ".tmpl"), "NAME", o.Name)
			all[name], err = fillTemplate(name, text, o)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return all, addSDK(all, o.Language)
}

// addSDK adds the SDK, in its folder sdk, or for scripts what an editor needs. Only TinyGo needs
// the files that tell it for which machine it compiles.
func addSDK(all map[string][]byte, l Language) error {
	switch l {
	case JavaScript:
		all[declarations] = []byte(script.Declarations)
		return nil
	case Rust:
		return eachFile(sdk.Rust(), func(name string, text []byte) error {
			all["sdk/"+name] = text
			return nil
		})
	}
	for name, text := range gosdk.Files() {
		if l == TinyGo || !strings.HasPrefix(name, "target") {
			all["sdk/"+name] = text
		}
	}
	return nil
}

// eachFile calls add with each file.
func eachFile(from fs.FS, add func(name string, text []byte) error) error {
	return fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return add(name, text)
	})
}

// fillTemplate puts the options into a template.
func fillTemplate(name string, text []byte, o Options) ([]byte, error) {
	t, err := template.New(name).Delims("<<", ">>").Funcs(template.FuncMap{"snake": func(name string) string { return strings.ReplaceAll(name, "-", "_") }}).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, o)
	return out.Bytes(), err
}
