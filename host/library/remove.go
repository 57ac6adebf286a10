// SPDX-License-Identifier: MIT

package library

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Removable returns the files of a model of the folder: all parts, the note of its source and what an unfinished pull left. A path
// outside the folder is refused: what the user keeps elsewhere is not ours to remove.
func (l *Library) Removable(name string) ([]string, error) {
	path := Find(l.Folder, name)
	if path == "" {
		if path = l.unfinished(name); path == "" {
			return nil, fmt.Errorf("%w: the model folder %s has no %q; %s", ErrNotFound, l.Folder, name, Advice(name, Stems(l.Folder)))
		}
	}
	var files []string
	for _, p := range parts(path) {
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

// A file on its way has these endings: its bytes so far, and the note of which they are.
const (
	PartEnding = ".part"
	NoteEnding = ".json"
)

// unfinished is the path that the first file of a model would have whose pull did not end.
func (l *Library) unfinished(name string) string {
	entries, err := os.ReadDir(l.Folder)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		file, isPart := cutPart(e.Name())
		if n, ok := SplitName(file); isPart && ok && n.Model == name {
			return filepath.Join(l.Folder, FileName{n.Model, 1, n.Parts}.String())
		}
	}
	return ""
}

func cutPart(file string) (string, bool) {
	if n := len(file) - len(PartEnding); n > 0 && file[n:] == PartEnding {
		return file[:n], true
	}
	return "", false
}

// Remove removes files, the first last: until then the model is known by its name, so that it can be tried again.
func (l *Library) Remove(files []string) error {
	for i := len(files) - 1; i >= 0; i-- {
		if err := os.Remove(files[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
