// SPDX-License-Identifier: MIT

package library

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/spelling"
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

// Names lists the folder's models by name, also those that cannot be read.
func (l *Library) Names() []string {
	var names []string
	for _, f := range files(l.Folder) {
		if m, err := l.readModel(f.path); err != nil || !m.Adapter {
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
	m, err := l.readModel(path)
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

// readModel reads the model whose first file is at path, or remembers it.
func (l *Library) readModel(path string) (Model, error) {
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
	for _, p := range append(partPaths(path), sourcePath(path)) {
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

// readHeaders reads the headers of a model's files, the first of which is at path. The joint
// header has the metadata of the first and the tensors of all. digest identifies the contents as
// far as the headers and the lengths show them.
func readHeaders(path string) (joint *gguf.Header, paths []string, digest string, err error) {
	paths = partPaths(path)
	sum := sha256.New()
	for i, p := range paths {
		h, err := readHeader(p, sum)
		if err != nil {
			return nil, paths, "", fmt.Errorf("%s: %w", p, err)
		}
		if i == 0 {
			joint = h
			continue
		}
		joint.Tensors = append(joint.Tensors, h.Tensors...)
	}
	return joint, paths, hex.EncodeToString(sum.Sum(nil)), nil
}

// partPaths lists the paths of a model's files by the name of the first.
func partPaths(path string) []string {
	n, ok := SplitName(filepath.Base(path))
	if !ok || n.Part != 1 {
		return []string{path}
	}
	paths := n.All()
	for i := range paths {
		paths[i] = filepath.Join(filepath.Dir(path), paths[i])
	}
	return paths
}

// readHeader reads the header of one file and adds it to a sum, with the file's length.
func readHeader(path string, sum hash.Hash) (_ *gguf.Header, err error) {
	info, err := os.Stat(path) // before Open, which waits on a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	h, err := gguf.Read(file, info.Size())
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(sum, "%d ", info.Size())
	_, err = io.Copy(sum, io.NewSectionReader(file, 0, h.DataOffset))
	return h, err
}

// Advice says which of a folder's names a wrong one may have meant, or which there are. The wrong
// name itself may be among them, as where a part of its model is missing; it is no advice.
func Advice(wrong string, names []string) string {
	const most = 10
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == wrong })
	if len(names) == 0 {
		return "that folder holds no .gguf file yet: put one there, fetch one with penstock model pull, or give its path"
	}
	if like := similarNames(wrong, names); len(like) > 0 {
		return "did you mean " + strings.Join(like[:min(most, len(like))], " or ") + "?"
	}
	if len(names) > most {
		names = append(names[:most:most], "...")
	}
	return "it holds " + strings.Join(names, ", ")
}

// similarNames returns the names most like a wrong one: those that contain it, lie in it or differ
// in few letters.
func similarNames(name string, names []string) []string {
	wanted := strings.ToLower(name)
	if wanted == "" {
		return nil
	}
	var out []string
	for _, n := range names {
		lower := strings.ToLower(n)
		if strings.Contains(lower, wanted) || strings.Contains(wanted, lower) || spelling.Distance(wanted, lower) <= 1+len(wanted)/4 {
			out = append(out, n)
		}
	}
	return out
}

// Removable returns the files of a model of the folder: all parts, its projector, the note of its
// source and what an unfinished pull left. A path outside the folder is refused: what the user
// keeps elsewhere is not ours to remove.
func (l *Library) Removable(name string) ([]string, error) {
	path := Find(l.Folder, name)
	if path == "" {
		if path = l.unfinishedPath(name); path == "" {
			return nil, fmt.Errorf("%w: the model folder %s has no %q; %s", ErrNotFound, l.Folder, name, Advice(name, Stems(l.Folder)))
		}
	}
	var files []string
	for _, p := range append(partPaths(path), l.ownProjector(path)) {
		files = append(files, p, p+PartEnding, p+PartEnding+NoteEnding)
	}
	files = append(files, sourcePath(path))
	present := files[:0]
	for _, f := range files {
		if _, err := os.Lstat(f); err == nil {
			present = append(present, f)
		}
	}
	return present, nil
}

// ownProjector is where the projector lies that belongs to one model alone.
func (l *Library) ownProjector(path string) string {
	if found := ProjectorOf(path); found != "" && filepath.Dir(path) != filepath.Clean(l.Folder) {
		return found
	}
	n, _ := SplitName(filepath.Base(path))
	return filepath.Join(filepath.Dir(path), ProjectorName(n.Model))
}

// A file on its way has these endings: its bytes so far, and the note of which they are.
const (
	PartEnding = ".part"
	NoteEnding = ".json"
)

// removalRank is 0 for a note and 1 for a file of the model.
func removalRank(path string) int {
	if strings.HasSuffix(path, NoteEnding) {
		return 0
	}
	return 1
}

// unfinishedPath is the path that the first file of a model would have whose pull or removal did
// not end.
func (l *Library) unfinishedPath(name string) string {
	entries, err := os.ReadDir(l.Folder)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		file := strings.TrimSuffix(e.Name(), PartEnding)
		if n, ok := SplitName(file); ok && n.Model == name {
			return filepath.Join(l.Folder, FileName{n.Model, 1, n.Parts}.String())
		}
	}
	return ""
}

// Remove removes what Removable returned: first the notes, then the first file, without which
// there is no model, then the others. So the model is whole or none at any time, and what remains
// of a removal that was cut is Removable.
func (l *Library) Remove(files []string) error {
	inOrder := slices.SortedStableFunc(slices.Values(files), func(a, b string) int {
		return cmp.Compare(removalRank(a), removalRank(b))
	})
	for _, f := range inOrder {
		if err := atomicfile.Remove(f); err != nil {
			return err
		}
	}
	if len(files) > 0 {
		if dir := filepath.Dir(files[0]); dir != filepath.Clean(l.Folder) {
			_ = os.Remove(dir) // a model's own folder goes with it, unless it holds more
		}
	}
	return nil
}
