// SPDX-License-Identifier: MIT

package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock/penstock/host/library"
)

// File is one file to download.
type File struct {
	Name   string // in the folder
	URL    string
	Size   int64  // bytes; -1: the server does not say
	SHA256 string // empty: nobody says
	ETag   string // empty: the server has none
	ranges bool   // the server gives parts of it
}

// plan finds out which files a reference means, their names in the folder, and what the servers
// report about them.
func (c Client) plan(ctx context.Context, r Reference, o Options) (files []File, err error) {
	if r.URL != nil {
		files = filesAt(r.URL)
	} else {
		all, err := c.list(ctx, r)
		if err != nil {
			return nil, err
		}
		chosen, err := choose(r, all)
		if err != nil {
			return nil, err
		}
		if projector, has := projectorFor(chosen[0], all); has && !o.NoProjector && isModel(chosen[0]) {
			chosen = append(chosen, projector)
		}
		for _, e := range chosen {
			files = append(files, c.download(r, e))
		}
	}
	if err := o.apply(files); err != nil {
		return nil, err
	}
	for i := range files {
		if err := c.probe(ctx, &files[i]); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// filesAt are the files of a model by the URL of one of them.
func filesAt(u *url.URL) (files []File) {
	n, _ := library.SplitName(path.Base(u.Path)) // Parse has checked the ending
	for _, name := range n.All() {
		part := *u
		part.Path, part.RawPath = path.Join(path.Dir(u.Path), name), ""
		files = append(files, File{Name: name, URL: part.String(), Size: -1})
	}
	return files
}

// apply names the files as asked and notes the hash that the user expects.
func (o Options) apply(files []File) error {
	parts := partsOf(files)
	for i := range files {
		n, _ := library.SplitName(files[i].Name)
		if i == parts {
			first, _ := library.SplitName(files[0].Name)
			files[i].Name = library.ProjectorName(first.Model)
		} else if o.Name != "" {
			n.Model = o.Name
			files[i].Name = n.String()
		}
		if !isFileName(files[i].Name) {
			return fmt.Errorf("%w: %q cannot be the name of a model here; choose one with --name", ErrReference, n.Model)
		}
	}
	if o.SHA256 == "" {
		return nil
	}
	if !isSHA256(o.SHA256) {
		return fmt.Errorf("%w: --sha256 is %q; it must be 64 hexadecimal digits", ErrReference, o.SHA256)
	}
	if parts > 1 {
		return fmt.Errorf("%w: --sha256 is the hash of one file, and this model has %d", ErrReference, parts)
	}
	if have := files[0].SHA256; have != "" && !strings.EqualFold(have, o.SHA256) {
		return fmt.Errorf("%w: the hub names %s for %s, and --sha256 is %s", ErrHash, have, files[0].Name, o.SHA256)
	}
	files[0].SHA256 = strings.ToLower(o.SHA256)
	return nil
}

// isFileName keeps what a server names from leaving the folder, hiding in it or writing to a
// terminal.
func isFileName(name string) bool {
	return len(name) <= 200 && utf8.ValidString(name) && !strings.HasPrefix(name, ".") && filepath.IsLocal(name) &&
		!strings.ContainsAny(name, `/\`) && strings.IndexFunc(name, unicode.IsControl) < 0
}

// probe asks for a file's first byte, which tells its length, its ETag, and whether the server
// gives parts.
func (c Client) probe(ctx context.Context, f *File) error {
	return c.retry(ctx, f.Name, func() (int64, error) {
		r, err := c.get(ctx, f.URL, http.Header{"Range": {"bytes=0-0"}})
		if err != nil {
			return 0, err
		}
		defer r.Body.Close()
		size := r.ContentLength
		first, last, total, isRange := contentRange(r.Header)
		switch f.ranges = r.StatusCode == http.StatusPartialContent && isRange && first == 0 && last == 0 && total > 0; {
		case f.ranges:
			size = total
		case r.StatusCode != http.StatusOK:
			size = -1 // it says nothing of use
		}
		if linked, err := strconv.ParseInt(r.linked.Get(linkedSize), 10, 64); err == nil && size < 0 {
			size = linked
		}
		if f.Size >= 0 && size >= 0 && f.Size != size {
			return 0, permanent(fmt.Errorf("%w: %s has %d bytes by the hub's list, and %d where they lie", ErrServer, f.Name, f.Size, size))
		}
		f.Size, f.ETag = max(f.Size, size), r.Header.Get("ETag")
		if f.SHA256 == "" {
			f.SHA256 = r.sha256()
		}
		return 0, nil
	})
}

// contentRange reads "bytes 0-9/100". total is -1 where it is "*".
func contentRange(h http.Header) (first, last, total int64, ok bool) {
	text := h.Get("Content-Range")
	if n, err := fmt.Sscanf(text, "bytes %d-%d/%d", &first, &last, &total); err == nil && n == 3 {
		return first, last, total, true
	}
	if n, err := fmt.Sscanf(text, "bytes %d-%d/*", &first, &last); err == nil && n == 2 {
		return first, last, -1, true
	}
	return 0, 0, 0, false
}

// findMissing notes which files the folder has not, by their place in the list, and the hashes of
// the others. A file of such a name with other contents is an error.
func (o Options) findMissing(ctx context.Context, files []File) (absent []int, err error) {
	for i, f := range files {
		target := filepath.Join(o.Folder, f.Name)
		info, err := os.Stat(target)
		if errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, i)
			continue
		}
		if err != nil {
			return nil, err
		}
		f.SHA256 = expectedHash(target, f)
		same := info.Mode().IsRegular() && (f.Size < 0 || f.Size == info.Size()) && f.SHA256 != ""
		if same {
			sum, err := hashFile(ctx, target)
			if errors.Is(err, fs.ErrNotExist) { // removed just now
				absent = append(absent, i)
				continue
			}
			if err != nil {
				return nil, err
			}
			same = sum == f.SHA256
		}
		if !same {
			n, _ := library.SplitName(f.Name)
			return nil, fmt.Errorf("%w: %s is another file; remove it with penstock model rm %s, or choose another name with --name",
				ErrTaken, target, n.Model)
		}
		files[i] = f
	}
	return absent, nil
}

// expectedHash is the hash that a file which is there must have: the one that the hub names, or
// else that of the note of what was pulled. It is empty if neither says one.
func expectedHash(target string, f File) string {
	source := library.ReadSource(target)
	if f.SHA256 != "" || source == nil {
		return f.SHA256
	}
	for _, s := range source.Files {
		if s.Name == f.Name && s.URL == f.URL && s.ETag == f.ETag && f.ETag != "" {
			return s.SHA256
		}
	}
	return ""
}

// findWhole finds the model that an earlier pull of the same reference brought, if all its files
// still are what they were then. Nothing is asked of the hub for that: the note beside the model
// has the sizes and the hashes.
func (o Options) findWhole(ctx context.Context, r Reference, notify func(Event)) (_ Result, found bool, err error) {
	for _, name := range library.Stems(o.Folder) {
		first := library.Find(o.Folder, name)
		note := library.ReadSource(first)
		if note == nil || note.From != r.String() || filepath.Dir(first) != filepath.Clean(o.Folder) || !o.areMeant(note.Files) {
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

// areMeant reports whether files are all those of a model, with the name and the hash that are
// asked for.
func (o Options) areMeant(files []library.SourceFile) bool {
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

// usual are the quantisations that are taken if none is asked for, in llama.cpp's order. If a
// repository has neither, its first model is taken.
var usual = []string{"Q4_K_M", "Q8_0"}

// companions are words in the names of files that are no models of their own, as llama.cpp has
// them.
var companions = []string{"mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-"}

// choose picks the files of one model: those of a quantisation, or the file that is named, with
// all its parts.
func choose(r Reference, all []entry) ([]entry, error) {
	var models []entry
	for _, e := range all {
		if isModel(e) {
			models = append(models, e)
		}
	}
	if len(models) == 0 {
		return nil, fmt.Errorf("%w: the repository %s has no GGUF file; look for one whose name ends in -GGUF", ErrNotFound, r.Repository)
	}
	one, found := pickFirst(r, all, models)
	switch {
	case !found && r.File != "":
		return nil, fmt.Errorf("%w: the repository %s has no %s; it has %s", ErrNotFound, r.Repository, r.File, strings.Join(names(models), ", "))
	case !found:
		return nil, fmt.Errorf("%w: the repository %s has no %s; it has %s", ErrNotFound, r.Repository, r.Quant, strings.Join(quantisations(models), ", "))
	}
	return withParts(one, all)
}

func isModel(e entry) bool {
	name := path.Base(e.Path)
	n, ok := library.SplitName(name)
	return e.Type == "file" && ok && n.Part == 1 &&
		!slices.ContainsFunc(companions, func(word string) bool { return strings.Contains(name, word) })
}

// pickFirst finds the first file of the model that is meant.
func pickFirst(r Reference, all, models []entry) (entry, bool) {
	find := func(list []entry, is func(string) bool) (entry, bool) {
		i := slices.IndexFunc(list, func(e entry) bool { return e.Type == "file" && is(e.Path) })
		if i < 0 {
			return entry{}, false
		}
		return list[i], true
	}
	if r.File != "" { // also one that would not be chosen
		wanted := r.File
		if n, ok := library.SplitName(wanted); ok {
			wanted = n.All()[0]
		}
		return find(all, func(p string) bool { return p == wanted })
	}
	wanted := usual
	if r.Quant != "" {
		wanted = []string{r.Quant}
	}
	for _, quant := range wanted {
		pattern := regexp.MustCompile(`(?i)` + regexp.QuoteMeta(quant) + `[.-]`)
		if e, found := find(models, pattern.MatchString); found {
			return e, true
		}
	}
	return models[0], r.Quant == ""
}

// withParts finds the other parts of a model.
func withParts(one entry, all []entry) ([]entry, error) {
	n, _ := library.SplitName(one.Path)
	var found []entry
	for _, name := range n.All() {
		i := slices.IndexFunc(all, func(e entry) bool { return e.Type == "file" && e.Path == name })
		if i < 0 {
			return nil, fmt.Errorf("%w: the repository lacks %s, a part of the model; ask its owner, or take another quantisation", ErrNotFound, name)
		}
		found = append(found, all[i])
	}
	return found, nil
}

func names(models []entry) (list []string) {
	for _, e := range models {
		list = append(list, e.Path)
	}
	return list
}

var quantEnding = regexp.MustCompile(`(?i)[-.]([A-Z0-9_]+)$`)

// quantisations finds the quantisations in the names of files.
func quantisations(models []entry) (list []string) {
	for _, e := range models {
		n, _ := library.SplitName(e.Path)
		if m := quantEnding.FindStringSubmatch(n.Model); m != nil && !slices.Contains(list, strings.ToUpper(m[1])) {
			list = append(list, strings.ToUpper(m[1]))
		}
	}
	if list == nil {
		return names(models)
	}
	return list
}

// projectorFor finds the projector of a model in its repository: of those that lie nearest to it
// the best.
func projectorFor(one entry, all []entry) (entry, bool) {
	nearest := -1
	var found []string
	for _, e := range all {
		name := path.Base(e.Path)
		if e.Type != "file" || !strings.Contains(name, "mmproj") || path.Ext(name) != ".gguf" {
			continue
		}
		near := sharedFolders(path.Dir(one.Path), path.Dir(e.Path))
		if near > nearest {
			nearest, found = near, nil
		}
		if near == nearest {
			found = append(found, e.Path)
		}
	}
	if len(found) == 0 {
		return entry{}, false
	}
	best := library.BestProjector(found)
	return all[slices.IndexFunc(all, func(e entry) bool { return e.Path == best })], true
}

// sharedFolders is how many folders two files have in common, from the top.
func sharedFolders(a, b string) int {
	n := 0
	for x, y := strings.Split(a, "/"), strings.Split(b, "/"); n < min(len(x), len(y)) && x[n] == y[n]; n++ {
	}
	return n
}

// partsOf is how many of the files are the model's own: behind them there may be its projector. A
// projector that was asked for is the first.
func partsOf(files []File) int {
	if last := len(files) - 1; last > 0 && library.IsProjector(files[last].Name) {
		return last
	}
	return len(files)
}
