// SPDX-License-Identifier: MIT

package project

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/penstock/penstock/plugins/script"
	"github.com/penstock/penstock/plugins/sdk"
	gosdk "github.com/penstock/penstock/plugins/sdk/go"
)

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
