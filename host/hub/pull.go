// SPDX-License-Identifier: MIT

package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
		if result, found, err := o.findWhole(ctx, r, c.Notify); found || err != nil {
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
	missing, err := o.findMissing(ctx, files)
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
		// A pull that was just stopped still writes down what it has.
		err := c.retry(ctx, files[i].Name, func() (int64, error) {
			p, err := openPart(o.Folder, files[i], i, c.leastPiece)
			if err == nil {
				t.parts = append(t.parts, p)
			}
			return 0, err
		})
		if err != nil {
			return 0, err
		}
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
	if err := library.WriteSource(filepath.Join(o.Folder, files[0].Name), sourceNote(r, files)); err != nil {
		return 0, err
	}
	for _, p := range slices.Backward(t.parts) {
		if err := p.finish(); err != nil {
			return 0, err
		}
	}
	return t.brought.Load(), nil
}

// sourceNote writes down where files came from.
func sourceNote(r Reference, files []File) library.Source {
	s := library.Source{From: r.String(), Pulled: time.Now().UTC().Truncate(time.Second)}
	for _, f := range files {
		s.Files = append(s.Files, library.SourceFile{Name: f.Name, URL: f.URL, Size: f.Size, SHA256: f.SHA256, ETag: f.ETag})
	}
	return s
}

// checkSpace refuses before the first byte what the disk has no room for.
func (t *transfer) checkSpace(folder string) error {
	free, _, known := atomicfile.DiskSpace(folder)
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

// Event is what Client.Notify is told: Planned, Progress, Retrying or Verifying.
type Event interface{ event() }

// Planned is told once it is known what is to be downloaded.
type Planned struct {
	Files []File
	Total int64 // bytes; -1: the server does not say
	Have  int64 // bytes of them from an earlier pull
}

// Progress is told while bytes come. Done may become smaller if a file has to be started again.
type Progress struct {
	Done, Total int64 // bytes of all files; Total is -1 if the server does not say
}

// Retrying is told when something failed and will be tried again.
type Retrying struct {
	File  string // or the repository
	Delay time.Duration
	Err   error
}

// Verifying is told before the SHA-256 of a file is computed.
type Verifying struct{ File string }

func (Planned) event()   {}
func (Progress) event()  {}
func (Retrying) event()  {}
func (Verifying) event() {}

// RemoveLeftovers removes from a folder of models, which need not exist, what pulls left that were
// killed and that is of no use to the next: notes that were being written, and notes of files that
// are whole by now. What a living process has there stays.
func RemoveLeftovers(folder string) error {
	notes, _ := filepath.Glob(filepath.Join(folder, "*"+library.PartEnding+library.NoteEnding)) // a pattern in the folder's name finds none
	err := atomicfile.RemoveLeftovers(folder)
	for _, note := range notes { // a part is there before its note
		if _, statErr := os.Lstat(strings.TrimSuffix(note, library.NoteEnding)); errors.Is(statErr, fs.ErrNotExist) {
			err = errors.Join(err, atomicfile.Remove(note))
		}
	}
	return err
}
