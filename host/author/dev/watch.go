// SPDX-License-Identifier: MIT

package dev

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/penstock/penstock/host/author/project"
)

const (
	// quiet is how long nothing must happen before a change counts as done: editors write a file
	// in several steps.
	quiet = 30 * time.Millisecond
	// interval is how often sources are looked at where the system tells nothing, as on file
	// systems of other machines.
	interval = time.Second
)

// watcher finds out when the sources of a project have changed. What the system tells only says
// when to look.
type watcher struct {
	project project.Project
	notify  *fsnotify.Watcher // nil: this system tells nothing
	seen    uint64            // what look has found
}

func newWatcher(p project.Project) (*watcher, error) {
	w := &watcher{project: p}
	w.notify, _ = fsnotify.NewWatcher() // without one the clock alone says when to look
	return w, w.look()
}

func (w *watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
}

// look notes the sources as they are now.
func (w *watcher) look() (err error) {
	w.seen, err = w.sources()
	return err
}

// wait returns when the sources are not as look has found them, or with the context's error.
func (w *watcher) wait(ctx context.Context) error {
	var events chan fsnotify.Event
	var lost chan error
	if w.notify != nil {
		events, lost = w.notify.Events, w.notify.Errors
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-events:
			if w.concerns(e.Name) {
				timer.Reset(quiet)
			}
			continue
		case <-lost: //nolint:errcheck // the clock finds what was not told
			continue
		case <-timer.C:
		}
		now, err := w.sources()
		if err != nil || now != w.seen {
			return err
		}
		timer.Reset(interval)
	}
}

// concerns reports whether a path is that of a source.
func (w *watcher) concerns(path string) bool {
	name, err := filepath.Rel(w.project.Dir, path)
	return err == nil && w.project.IsSource(filepath.ToSlash(name))
}

// sources is a hash of the names, sizes and times of the project's sources. The folders that they
// lie in are watched from then on.
func (w *watcher) sources() (uint64, error) {
	h := fnv.New64a()
	root := w.project.Dir
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != root {
			return nil // it went while we looked
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || name == "target"):
			return fs.SkipDir
		case entry.IsDir():
			if w.notify != nil {
				_ = w.notify.Add(path) // where it cannot be watched, the clock says when to look
			}
			return nil
		case !w.project.IsSource(name):
			return nil
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return h.Sum64(), err
}
