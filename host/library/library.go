// SPDX-License-Identifier: MIT

package library

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/native/gguf"
)

// ErrNotFound is the error of a name that the folder does not have.
var ErrNotFound = errors.New("no such model")

// Library is a folder of models. It is safe for concurrent use and reads a file's header only once
// while the file stays as it is.
type Library struct {
	Folder string

	mu   sync.Mutex
	read map[string]reading // by path of the first file

	projectors map[string]projectorReading // by path
}

// reading is what was read of a model whose files had these times and lengths.
type reading struct {
	stamp string
	model Model
}

// Open returns the library of a folder, which need not exist yet; empty: DefaultFolder.
func Open(folder string) *Library {
	if folder == "" {
		folder = DefaultFolder()
	}
	return &Library{Folder: folder, read: map[string]reading{}, projectors: map[string]projectorReading{}}
}

// Model is a model that can be served.
type Model struct {
	Name     string
	Files    []string  // paths, part after part
	Size     int64     // bytes of all files
	Modified time.Time // of the newest
	Digest   string    // identifies the contents: the SHA-256 of a file that was pulled, else of its header and length
	Source   *Source   // where it was pulled from; nil if no note says so
	Details
}

// Header reads the header anew: the metadata of the first file and the tensors of all. It is
// large, so nobody keeps it.
func (m Model) Header() (*gguf.Header, error) {
	h, _, _, err := readHeaders(m.Files[0])
	return h, err
}

// Unreadable is a model whose header cannot be read.
type Unreadable struct {
	Name, Path string
	Err        error
}

// Models returns the models of the folder by name, and those that cannot be read.
func (l *Library) Models() (models []Model, unreadable []Unreadable) {
	for _, name := range Stems(l.Folder) {
		m, err := l.Model(name)
		if err != nil {
			unreadable = append(unreadable, Unreadable{name, Find(l.Folder, name), err})
			continue
		}
		if !m.Adapter {
			models = append(models, m)
		}
	}
	return models, unreadable
}

// Names are those of the folder's models, also of those that cannot be read.
func (l *Library) Names() []string {
	var names []string
	for _, f := range files(l.Folder) {
		if m, err := l.at(f.path); err != nil || !m.Adapter {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Model returns the model with a name, or at the path of its first file. The error wraps
// ErrNotFound or says what is wrong with the file.
func (l *Library) Model(nameOrPath string) (Model, error) {
	path, name := Find(l.Folder, nameOrPath), nameOrPath
	if path == "" {
		if !IsPath(nameOrPath) {
			return Model{}, fmt.Errorf("%w: %q is neither a file nor a name in the model folder %s; %s", ErrNotFound, nameOrPath, l.Folder,
				Advice(nameOrPath, Stems(l.Folder)))
		}
		path = nameOrPath
		name, _ = nameOf(filepath.Base(path))
	}
	m, err := l.at(path)
	m.Name = name
	return m, err
}

// IsPath reports whether an argument is a path and not a name: it has a separator, ends in .gguf,
// or is an existing file.
func IsPath(arg string) bool {
	if strings.ContainsRune(arg, filepath.Separator) || strings.ContainsRune(arg, '/') || strings.HasSuffix(arg, ending) {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}

// at reads the model whose first file is at path, or remembers it.
func (l *Library) at(path string) (Model, error) {
	stamp, err := stampOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Model{}, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return Model{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.read[path]; ok && r.stamp == stamp {
		return r.model, nil
	}
	m, err := read(path)
	if err == nil {
		l.read[path] = reading{stamp, m}
	}
	return m, err
}

// stampOf tells the states of a model's files apart.
func stampOf(path string) (string, error) {
	var stamp strings.Builder
	for _, p := range append(parts(path), sourcePath(path)) {
		info, err := os.Stat(p)
		if err != nil {
			if p == sourcePath(path) {
				continue
			}
			return "", err
		}
		fmt.Fprintf(&stamp, "%d %d;", info.Size(), info.ModTime().UnixNano())
	}
	return stamp.String(), nil
}

func read(path string) (Model, error) {
	h, paths, digest, err := readHeaders(path)
	if err != nil {
		return Model{}, err
	}
	m := Model{Files: paths, Digest: digest, Details: DetailsOf(h)}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return Model{}, err
		}
		m.Size += info.Size()
		if info.ModTime().After(m.Modified) {
			m.Modified = info.ModTime()
		}
	}
	if m.Source = sourceOf(path); m.Source != nil && len(PartsOf(m.Source.Files)) == 1 && m.Source.Files[0].SHA256 != "" {
		m.Digest = m.Source.Files[0].SHA256
	}
	slices.Sort(m.Files)
	return m, nil
}
