// SPDX-License-Identifier: MIT

// Package dev is the loop in which a plugin is written: build it at each change, put it into a
// running host, and tell what the change has done to an answer.
//
// # Why does plugin dev look at the clock, too?
//
// File systems of other machines and of containers tell nothing of changes. What the system tells
// only says when to look at once; names, sizes and times of the sources decide, and they are
// looked at each second anyway.
package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/penstock/penstock/host/author/lines"
	"github.com/penstock/penstock/host/author/project"
	"github.com/penstock/penstock/host/author/toolchain"
)

// Options say what to watch, where to try it, and with which question.
type Options struct {
	Project  project.Project
	Host     *Client
	Question Question
	Debug    bool      // build with names and line numbers
	Compiler io.Writer // what the compiler says
	Show     func(Round) error
}

// Round is what came of one change.
type Round struct {
	Plugin     string        `json:"plugin,omitempty"`
	SHA256     string        `json:"sha256,omitempty"` // of the module
	BuildMS    float64       `json:"build_ms"`
	LoadMS     float64       `json:"load_ms"`   // until requests use it
	AnswerMS   float64       `json:"answer_ms"` // of the question
	Error      string        `json:"error,omitempty"`
	Before     *TracedAnswer `json:"before,omitempty"` // the first time without the plugin, then with the last build that worked
	After      *TracedAnswer `json:"after,omitempty"`
	Difference *Difference   `json:"difference,omitempty"` // nil: there is none
}

// Run makes a round at once, and one after each change of the project, until ctx is done, which is
// no error. The error is of something that no edit fixes: a compiler that is missing, a host that
// is not there, or Show's.
func Run(ctx context.Context, o Options) error {
	err := run(ctx, o)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the author has ended it
	}
	return err
}

func run(ctx context.Context, o Options) error {
	w, err := newWatcher(o.Project)
	if err != nil {
		return err
	}
	defer w.close()
	tools, err := toolchain.Find(ctx, o.Project.Language)
	if err != nil {
		return err
	}
	before, err := o.Host.Ask(ctx, o.Question, "")
	if err != nil {
		return err
	}
	for {
		if err := w.noteSources(); err != nil {
			return err
		}
		r, err := o.round(ctx, tools, before)
		if err != nil {
			return err
		}
		if err := o.Show(r); err != nil {
			return err
		}
		if r.After != nil {
			before = r.After
		}
		if err := w.awaitChange(ctx); err != nil {
			return err
		}
	}
}

// round builds, loads and asks. What the author can fix is in the round.
func (o Options) round(ctx context.Context, tools toolchain.Toolchain, before *TracedAnswer) (Round, error) {
	r := Round{Before: before}
	clock := time.Now()
	lap := func(to *float64) {
		*to = float64(time.Since(clock).Microseconds()) / 1000
		clock = time.Now()
	}
	err := tools.Build(ctx, o.Project, toolchain.Options{Debug: o.Debug, Output: o.Compiler})
	lap(&r.BuildMS)
	if err != nil {
		return r.fail(err, !errors.Is(err, toolchain.ErrFailed))
	}
	wasm, err := os.ReadFile(o.Project.Module())
	if err != nil {
		return r.fail(err, true)
	}
	named := lines.Of(wasm)
	loaded, err := o.Host.put(ctx, wasm, filepath.Base(o.Project.Module()))
	lap(&r.LoadMS)
	if err != nil {
		return r.fail(named.Err(err), !errors.Is(err, ErrPlugin))
	}
	r.Plugin, r.SHA256 = loaded.Name, loaded.SHA256
	if r.After, err = o.Host.Ask(ctx, o.Question, loaded.Name); err != nil {
		return r.fail(named.Err(err), !errors.Is(err, ErrPlugin))
	}
	lap(&r.AnswerMS)
	r.Difference = findDifference(before, r.After, "plugin:"+loaded.Name)
	return r, nil
}

// fail ends a round with what went wrong.
func (r Round) fail(err error, forGood bool) (Round, error) {
	if forGood {
		return r, err
	}
	r.Error = err.Error()
	return r, nil
}

// Question is what a host is asked in each round.
type Question struct {
	Prompt      string
	Config      json.RawMessage // of the plugin
	Seed        int64
	MaxTokens   int
	Temperature float64
	Model       string // empty: the host's first
}

// body is the request for an answer, with a plugin unless its name is empty.
func (q Question) body(plugin string) ([]byte, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	type use struct {
		Name   string          `json:"name"`
		Config json.RawMessage `json:"config,omitempty"`
	}
	body := struct {
		Model       string    `json:"model,omitempty"`
		Messages    []message `json:"messages"`
		Plugins     []use     `json:"plugins,omitempty"`
		Seed        int64     `json:"seed"`
		MaxTokens   int       `json:"max_tokens"`
		Temperature float64   `json:"temperature"`
		Trace       bool      `json:"trace"`
	}{Model: q.Model, Messages: []message{{"user", q.Prompt}}, Seed: q.Seed, MaxTokens: q.MaxTokens, Temperature: q.Temperature, Trace: true}
	if plugin != "" {
		body.Plugins = []use{{plugin, q.Config}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("the question: %w", err)
	}
	return text, nil
}

const (
	// quietTime is how long nothing must happen before a change counts as done: editors write a
	// file in several steps.
	quietTime = 30 * time.Millisecond
	// checkInterval is how often sources are checked where the system does not tell of changes, as
	// on file systems of other machines.
	checkInterval = time.Second
)

// watcher finds out when the sources of a project have changed. What the system tells only says
// when to look.
type watcher struct {
	project project.Project
	notify  *fsnotify.Watcher // nil: this system tells nothing
	seen    uint64            // what noteSources has found
}

func newWatcher(p project.Project) (*watcher, error) {
	w := &watcher{project: p}
	w.notify, _ = fsnotify.NewWatcher() // without one the clock alone says when to look
	return w, w.noteSources()
}

func (w *watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
}

// noteSources notes the sources as they are now.
func (w *watcher) noteSources() (err error) {
	w.seen, err = w.hashSources()
	return err
}

// awaitChange returns when the sources differ from those that noteSources saw, or with the
// context's error.
func (w *watcher) awaitChange(ctx context.Context) error {
	var events chan fsnotify.Event
	var lost chan error
	if w.notify != nil {
		events, lost = w.notify.Events, w.notify.Errors
	}
	timer := time.NewTimer(checkInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-events:
			if w.isSource(e.Name) {
				timer.Reset(quietTime)
			}
			continue
		case <-lost: //nolint:errcheck // the clock finds what was not told
			continue
		case <-timer.C:
		}
		now, err := w.hashSources()
		if err != nil || now != w.seen {
			return err
		}
		timer.Reset(checkInterval)
	}
}

// isSource reports whether a path leads to a source of the project.
func (w *watcher) isSource(path string) bool {
	name, err := filepath.Rel(w.project.Dir, path)
	return err == nil && w.project.IsSource(filepath.ToSlash(name))
}

// hashSources hashes the names, sizes and times of the project's sources, and begins to watch the
// folders in which they lie.
func (w *watcher) hashSources() (uint64, error) {
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
