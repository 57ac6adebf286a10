// SPDX-License-Identifier: MIT

package library

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/atomicfile"
)

// Removable returns the files of a model of the folder: all parts, its projector, the note of its
// source and what an unfinished pull left. A path outside the folder is refused: what the user
// keeps elsewhere is not ours to remove.
func (l *Library) Removable(name string) ([]string, error) {
	path := Find(l.Folder, name)
	if path == "" {
		if path = l.unfinished(name); path == "" {
			return nil, fmt.Errorf("%w: the model folder %s has no %q; %s", ErrNotFound, l.Folder, name, Advice(name, Stems(l.Folder)))
		}
	}
	var files []string
	for _, p := range append(parts(path), l.ownProjector(path)) {
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

// rank is 0 for a note and 1 for a file of the model.
func rank(path string) int {
	if strings.HasSuffix(path, NoteEnding) {
		return 0
	}
	return 1
}

// unfinished is the path that the first file of a model would have whose pull or removal did not
// end.
func (l *Library) unfinished(name string) string {
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
		return cmp.Compare(rank(a), rank(b))
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
