// SPDX-License-Identifier: MIT

// Package library keeps a folder of models: which models it has, what their files say about them,
// and where they came from.
package library

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
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

const ending = ".gguf"

// A model in several files is named after the first: NAME-00001-of-00003.gguf.
var part = regexp.MustCompile(`-(\d{5})-of-(\d{5})$`)

// FileName is what the name of a model's file says.
type FileName struct {
	Model       string // without .gguf and the number of the part
	Part, Parts int    // 1 of 1 for a model in one file
}

// SplitName takes the name or path of a file apart; ok is false if it does not end in .gguf.
func SplitName(file string) (n FileName, ok bool) {
	stem, ok := strings.CutSuffix(file, ending)
	if !ok || stem == "" {
		return FileName{}, false
	}
	m := part.FindStringSubmatch(stem)
	if m == nil {
		return FileName{stem, 1, 1}, true
	}
	n = FileName{Model: strings.TrimSuffix(stem, m[0])}
	n.Part, _ = strconv.Atoi(m[1]) // five digits
	n.Parts, _ = strconv.Atoi(m[2])
	if n.Model == "" || n.Part < 1 || n.Part > n.Parts {
		return FileName{stem, 1, 1}, true
	}
	return n, true
}

// String is the file's name.
func (n FileName) String() string {
	if n.Parts == 1 {
		return n.Model + ending
	}
	return fmt.Sprintf("%s-%05d-of-%05d%s", n.Model, n.Part, n.Parts, ending)
}

// All are the names of all files of the model.
func (n FileName) All() []string {
	names := make([]string, n.Parts)
	for i := range names {
		names[i] = FileName{n.Model, i + 1, n.Parts}.String()
	}
	return names
}

// Source is a note beside a model: where it was pulled from.
type Source struct {
	From   string       `json:"from"` // such as hf://owner/name/file.gguf@main, or a URL
	Pulled time.Time    `json:"pulled"`
	Files  []SourceFile `json:"files"` // those of the model, and behind them its projector if it has one
}

// SourceFile is one file of the model.
type SourceFile struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`         // of its contents
	ETag   string `json:"etag,omitempty"` // the server's name of these contents
}

// sourcePath is where the note of a model lies, whose first file is at path.
func sourcePath(path string) string {
	name, ok := SplitName(filepath.Base(path))
	if !ok {
		name.Model = filepath.Base(path)
	}
	return filepath.Join(filepath.Dir(path), name.Model+".source.json")
}

// WriteSource writes the note of a model whose first file is, or will be, at path.
func WriteSource(path string, s Source) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = atomicfile.WriteBytes(sourcePath(path), 0o600, append(data, '\n'))
	return err
}

// ReadSource reads the note of a model, one of whose files is at path or will be; nil if there is
// none. Not all files that it tells of need be there, and they may be others.
func ReadSource(path string) *Source {
	data, err := os.ReadFile(sourcePath(path))
	if err != nil {
		return nil
	}
	var s Source
	if json.Unmarshal(data, &s) != nil {
		return nil
	}
	return &s
}

// PartsOf are the files of the model alone, without its projector.
func PartsOf(files []SourceFile) []SourceFile {
	if last := len(files) - 1; last > 0 && IsProjector(files[last].Name) {
		return files[:last]
	}
	return files
}

// sourceOf reads the note of a model whose first file is at path; nil if there is none, or it is
// of other files.
func sourceOf(path string) *Source {
	s := ReadSource(path)
	if s == nil || len(PartsOf(s.Files)) != len(partPaths(path)) {
		return nil
	}
	for i, p := range partPaths(path) {
		info, err := os.Stat(p)
		if err != nil || info.Size() != s.Files[i].Size || !strings.EqualFold(filepath.Base(p), s.Files[i].Name) {
			return nil
		}
	}
	return s
}
