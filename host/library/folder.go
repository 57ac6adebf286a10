// SPDX-License-Identifier: MIT

// Package library keeps a folder of models: which models it has, what their files say about them,
// and where they came from.
package library

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// DefaultFolder is where models live unless configured: penstock/models in the user's data folder.
// It is empty where the system names no home.
func DefaultFolder() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "penstock", "models")
	}
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "penstock", "models")
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "penstock", "models")
}

// Stems returns the names of all models and adapters in a folder, sorted: files ending in .gguf
// without that ending, and without the number of the part. As for llama-server, a folder in it may
// hold the files of one model, which then has the folder's name. A folder that does not exist
// holds none.
func Stems(folder string) []string {
	var names []string
	for _, f := range files(folder) {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Find returns the path of a model's first file, empty if the folder has no model of that name.
// The name may also be the file's, with the number of the part.
func Find(folder, name string) string {
	for _, f := range files(folder) {
		if f.name == name || filepath.Base(f.path) == name+ending {
			return f.path
		}
	}
	return ""
}

// first is the first file of a model in a folder.
type first struct{ name, path string }

// files are the first files of a folder's models, and of those in folders of their own.
func files(folder string) (found []first) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case IsProjector(e.Name()):
		case !e.IsDir():
			if name, ok := nameOf(e.Name()); ok {
				found = append(found, first{name, path})
			}
		default:
			if file := firstIn(path); file != "" {
				found = append(found, first{e.Name(), file})
			}
		}
	}
	return found
}

// firstIn is the first file of the model in a folder of its own, where its projector may lie too.
func firstIn(folder string) string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if _, ok := nameOf(e.Name()); ok && !e.IsDir() && !IsProjector(e.Name()) {
			return filepath.Join(folder, e.Name())
		}
	}
	return ""
}

// nameOf is the name of the model whose first file this is.
func nameOf(file string) (name string, ok bool) {
	s, ok := SplitName(file)
	return s.Model, ok && s.Part == 1
}
