// SPDX-License-Identifier: MIT

package hub

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/library"
)

// Options say where to and as what a model is pulled.
type Options struct {
	Folder string // of models; is made if absent
	Name   string // of the model there; empty: the file's own
	SHA256 string // that a single file must have; empty: what the hub names
	AskHub bool   // ask it also about a model that is there and whole
	// NoProjector leaves the projector in the repository, with which the model would see or hear.
	NoProjector bool
}

// Result is what a pull came to.
type Result struct {
	Name  string `json:"name"`
	Path  string `json:"path"`  // of the model's first file
	Size  int64  `json:"size"`  // bytes of all files
	Bytes int64  `json:"bytes"` // that this pull downloaded
}

// Pull downloads the model that a reference means. What an earlier pull brought is not downloaded
// again, and where that is all, nobody is asked for anything. All files are checked before the
// first gets its name. The error wraps a sentinel of this package, or is ctx's cause.
func (c Client) Pull(ctx context.Context, r Reference, o Options) (_ Result, err error) {
	c = c.withDefaults()
	defer c.close()
	c.Notify = oneAtATime(c.Notify)
	if !o.AskHub {
		if result, found, err := o.there(ctx, r, c.Notify); found || err != nil {
			return result, err
		}
	}
	files, err := c.plan(ctx, r, o)
	if err != nil {
		return Result{}, err
	}
	if err := atomicfile.MkdirAll(o.Folder, 0o700); err != nil {
		return Result{}, err
	}
	_ = RemoveLeftovers(o.Folder) // they only take room
	n, _ := library.SplitName(files[0].Name)
	result := Result{Name: n.Model, Path: filepath.Join(o.Folder, files[0].Name)}
	missing, err := o.missing(ctx, files)
	if err == nil && len(missing) > 0 {
		result.Bytes, err = c.fetchAll(ctx, r, o, files, missing)
	}
	if err != nil {
		return Result{}, err
	}
	if library.IsProjector(result.Path) {
		result.Size = files[0].Size
		return result, nil
	}
	m, err := library.Open(o.Folder).Model(result.Name)
	result.Size = m.Size
	return result, err
}

func oneAtATime(notify func(Event)) func(Event) {
	var mu sync.Mutex
	return func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		notify(e)
	}
}

// fetchAll downloads those files that are missing, checks them and gives them their names. It
// returns how many bytes came.
func (c Client) fetchAll(ctx context.Context, r Reference, o Options, files []File, missing []int) (_ int64, err error) {
	t := &transfer{client: c, files: partsOf(files)}
	defer func() {
		for _, p := range t.parts {
			err = errors.Join(err, p.close())
		}
	}()
	for _, i := range missing {
		p, err := openPart(o.Folder, files[i], i, c.leastPiece)
		if err != nil {
			return 0, err
		}
		t.parts = append(t.parts, p)
	}
	if err := t.checkSpace(o.Folder); err != nil {
		return 0, err
	}
	for _, p := range t.parts {
		if p.pieces != nil {
			continue
		}
		if err := p.begin(); err != nil {
			return 0, err
		}
	}
	done, total := t.progress()
	c.Notify(Planned{Files: files, Total: total, Have: done})
	if err := t.run(ctx); err != nil {
		return 0, err
	}
	for _, p := range t.parts {
		files[p.index] = p.File // with its hash
	}
	// The note before the files: a pull that is killed between them knows by it what is there. The
	// first part last: it is what makes the model one of the folder's.
	if err := library.WriteSource(filepath.Join(o.Folder, files[0].Name), source(r, files)); err != nil {
		return 0, err
	}
	for _, p := range slices.Backward(t.parts) {
		if err := p.finish(); err != nil {
			return 0, err
		}
	}
	return t.brought.Load(), nil
}

// source is the note of where files came from.
func source(r Reference, files []File) library.Source {
	s := library.Source{From: r.String(), Pulled: time.Now().UTC().Truncate(time.Second)}
	for _, f := range files {
		s.Files = append(s.Files, library.SourceFile{Name: f.Name, URL: f.URL, Size: f.Size, SHA256: f.SHA256, ETag: f.ETag})
	}
	return s
}

// checkSpace refuses before the first byte what the disk has no room for.
func (t *transfer) checkSpace(folder string) error {
	free, known := freeSpace(folder)
	done, total := t.progress()
	if total < 0 || !known || uint64(total-done) <= free {
		return nil
	}
	return fmt.Errorf("%w: %s has %s free, and %s are to come; make room, or choose another folder (models.dir) or a smaller quantisation",
		ErrSpace, folder, gigabytes(int64(free)), gigabytes(total-done))
}

func gigabytes(n int64) string {
	return strings.Replace(fmt.Sprintf("%.1f GB", float64(n)/1e9), "0.0 GB", fmt.Sprintf("%.1f MB", float64(n)/1e6), 1)
}
