// SPDX-License-Identifier: MIT

package hub

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/library"
)

// there finds the model that an earlier pull of the same reference brought, if all its files still
// are what they were then. Nothing is asked of the hub for that: the note beside the model has the
// sizes and the hashes.
func (o Options) there(ctx context.Context, r Reference, notify func(Event)) (_ Result, found bool, err error) {
	for _, name := range library.Stems(o.Folder) {
		first := library.Find(o.Folder, name)
		note := library.ReadSource(first)
		if note == nil || note.From != r.String() || filepath.Dir(first) != filepath.Clean(o.Folder) || !o.means(note.Files) {
			continue
		}
		whole, err := areWhole(ctx, o.Folder, note.Files, notify)
		if err != nil {
			return Result{}, false, err
		}
		if !whole {
			continue
		}
		m, err := library.Open(o.Folder).Model(name)
		return Result{Name: name, Path: first, Size: m.Size}, true, err
	}
	return Result{}, false, nil
}

// means reports whether files are all those of a model, with the name and the hash that are asked
// for.
func (o Options) means(files []library.SourceFile) bool {
	if len(files) == 0 {
		return false
	}
	n, ok := library.SplitName(files[0].Name)
	parts := len(library.PartsOf(files))
	if !ok || n.Parts != parts || o.SHA256 != "" && (parts > 1 || !strings.EqualFold(files[0].SHA256, o.SHA256)) {
		return false
	}
	if o.Name != "" {
		return n.Model == o.Name
	}
	u, err := url.Parse(files[0].URL)
	return err == nil && path.Base(u.Path) == files[0].Name // else it was given another name, and is now asked for by its own
}

// areWhole reports whether files are there, with the sizes and the hashes that they had.
func areWhole(ctx context.Context, folder string, files []library.SourceFile, notify func(Event)) (bool, error) {
	for _, f := range files {
		info, err := os.Stat(filepath.Join(folder, f.Name))
		if err != nil || !isFileName(f.Name) || !info.Mode().IsRegular() || info.Size() != f.Size || f.SHA256 == "" {
			return false, nil //nolint:nilerr // the hub's answer, or the error of what comes then, says more
		}
	}
	for _, f := range files {
		notify(Verifying{File: f.Name})
		sum, err := hashFile(ctx, filepath.Join(folder, f.Name))
		if errors.Is(err, fs.ErrNotExist) { // removed just now
			return false, nil
		}
		if err != nil || sum != f.SHA256 {
			return false, err
		}
	}
	return true, nil
}
