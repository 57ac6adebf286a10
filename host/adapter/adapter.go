// SPDX-License-Identifier: MIT

// Package adapter keeps the LoRA adapters of a served model: which are loaded, what they are
// called, and how strongly each counts.
package adapter

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/serving"
)

// File is an adapter to load at the start.
type File struct {
	Path  string
	Scale float32 // for requests that name no adapter
}

// Registry has the adapters of one model. It implements serving.Adapters.
type Registry struct {
	engine  *engine.Engine
	model   string // path
	options model.CheckOptions

	loading sync.Mutex // one load at a time: it tries the file, which takes as much memory as the model
	mu      sync.Mutex
	loaded  []entry // by number
	next    int     // number
	dropped []weak.Pointer[engine.Adapter]
}

// entry is an adapter that is loaded.
type entry struct {
	serving.AdapterInfo
	adapter *engine.Adapter
}

// errLoaded means that there is an adapter of that name.
var errLoaded = errors.New("an adapter of that name is loaded")

// Open loads adapters for the model of an engine, which came from the file at path.
func Open(ctx context.Context, e *engine.Engine, path string, o model.CheckOptions, files []File) (*Registry, error) {
	r := &Registry{engine: e, model: path, options: o}
	for _, f := range files {
		if _, err := r.load(ctx, f); err != nil {
			return nil, errors.Join(fmt.Errorf("LoRA adapter: %w", err), r.Close())
		}
	}
	return r, nil
}

// load checks a file and loads it.
func (r *Registry) load(ctx context.Context, f File) (info serving.AdapterInfo, err error) {
	name := strings.TrimSuffix(filepath.Base(f.Path), ".gguf")
	r.loading.Lock()
	defer r.loading.Unlock()
	if r.index(name) >= 0 {
		return info, fmt.Errorf("%s: %w; its file is another or it is named twice", f.Path, errLoaded)
	}
	header, err := model.CheckAdapter(ctx, r.model, f.Path, r.options)
	if err != nil {
		return info, err
	}
	noted := receipt.Note(receipt.RoleAdapter, f.Path)
	a, err := r.engine.LoadAdapter(f.Path)
	if err != nil {
		return info, err
	}
	info = serving.AdapterInfo{Name: name, Path: f.Path, File: noted, Scale: f.Scale, TaskName: header.TaskName, PromptPrefix: header.PromptPrefix,
		InvocationTokens: header.Invocation, Rank: header.Rank, Bytes: header.Bytes}
	for _, t := range header.Invocation {
		info.InvocationText += r.engine.Piece(t)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	info.ID = r.next
	r.next++
	r.loaded = append(r.loaded, entry{info, a})
	return info, nil
}

// index is where an adapter is in the list; -1: nowhere.
func (r *Registry) index(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.IndexFunc(r.loaded, func(e entry) bool { return e.Name == name })
}

// List implements serving.Adapters.
func (r *Registry) List() []serving.AdapterInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list()
}

func (r *Registry) list() []serving.AdapterInfo {
	infos := make([]serving.AdapterInfo, len(r.loaded))
	for i, e := range r.loaded {
		infos[i] = e.AdapterInfo
	}
	return infos
}

// Load implements serving.Adapters.
func (r *Registry) Load(ctx context.Context, name string, scale float32) (serving.AdapterInfo, error) {
	path, err := model.FindAdapter(name, r.options)
	if err != nil {
		return serving.AdapterInfo{}, refuse(err)
	}
	info, err := r.load(ctx, File{path, scale})
	return info, refuse(err)
}

// Unload implements serving.Adapters. The adapter's memory is freed once no request has it any
// more.
func (r *Registry) Unload(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.loaded, func(e entry) bool { return e.Name == name })
	if i < 0 {
		return unknown(name, r.list())
	}
	r.dropped = slices.DeleteFunc(r.dropped, func(p weak.Pointer[engine.Adapter]) bool { return p.Value() == nil })
	r.dropped = append(r.dropped, weak.Make(r.loaded[i].adapter))
	r.loaded = slices.Delete(r.loaded, i, i+1)
	return nil
}

// Close frees all adapters, those that were unloaded too. No request uses one any more.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, e := range r.loaded {
		errs = append(errs, e.adapter.Close())
	}
	for _, p := range r.dropped {
		if a := p.Value(); a != nil {
			errs = append(errs, a.Close())
		}
	}
	r.loaded, r.dropped = nil, nil
	return errors.Join(errs...)
}
