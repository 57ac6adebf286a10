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
	"io"
	"os"
	"path/filepath"
	"time"

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
		if err := w.look(); err != nil {
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
		if err := w.wait(ctx); err != nil {
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
		return r.failed(err, !errors.Is(err, toolchain.ErrFailed))
	}
	wasm, err := os.ReadFile(o.Project.Module())
	if err != nil {
		return r.failed(err, true)
	}
	named := lines.Of(wasm)
	loaded, err := o.Host.put(ctx, wasm, filepath.Base(o.Project.Module()))
	lap(&r.LoadMS)
	if err != nil {
		return r.failed(named.Err(err), !errors.Is(err, ErrPlugin))
	}
	r.Plugin, r.SHA256 = loaded.Name, loaded.SHA256
	if r.After, err = o.Host.Ask(ctx, o.Question, loaded.Name); err != nil {
		return r.failed(named.Err(err), !errors.Is(err, ErrPlugin))
	}
	lap(&r.AnswerMS)
	r.Difference = compare(before, r.After, "plugin:"+loaded.Name)
	return r, nil
}

// failed ends a round with what went wrong.
func (r Round) failed(err error, forGood bool) (Round, error) {
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
