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
	"strconv"
	"strings"
	"sync"
	"weak"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/scheduler"
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
	if r.indexOf(name) >= 0 {
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

// indexOf is where an adapter is in the list; -1: nowhere.
func (r *Registry) indexOf(name string) int {
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
		return refuseUnknown(name, r.list())
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

// SetScales implements serving.Adapters.
func (r *Registry) SetScales(scales []serving.AdapterScale) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	set, err := r.find(scales)
	if err != nil {
		return err
	}
	for i := range r.loaded {
		r.loaded[i].Scale = set[i]
	}
	return nil
}

// find is the scale of each loaded adapter, 0 for those that are not named.
func (r *Registry) find(scales []serving.AdapterScale) ([]float32, error) {
	set, named := make([]float32, len(r.loaded)), make([]bool, len(r.loaded))
	for _, s := range scales {
		i := slices.IndexFunc(r.loaded, func(e entry) bool { return e.Name == s.Name || s.Name == "" && e.ID == s.ID })
		if i < 0 {
			return nil, s.UnknownAdapter(r.list())
		}
		if named[i] {
			return nil, refusal.Invalid(s.Field, "%s names the adapter %q, which is in the list already", s.Field, r.loaded[i].Name)
		}
		set[i], named[i] = s.Scale, true
	}
	return set, nil
}

// Choose implements serving.Adapters.
func (r *Registry) Choose(scales []serving.AdapterScale, prompt []scheduler.Token) (_ scheduler.Adapters, from int, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.loaded) == 0 && len(scales) == 0 {
		return nil, 0, nil
	}
	set := make([]float32, len(r.loaded))
	for i, e := range r.loaded {
		set[i] = e.Scale
	}
	if len(scales) > 0 {
		var err error
		if set, err = r.find(scales); err != nil {
			return nil, 0, err
		}
	}
	var chosen []engine.Scaled
	var invocation [][]int32 // of the chosen that have one
	for i, scale := range set {
		if scale == 0 {
			continue
		}
		chosen = append(chosen, engine.Scaled{Adapter: r.loaded[i].adapter, Scale: scale})
		if tokens := r.loaded[i].InvocationTokens; len(tokens) > 0 {
			invocation = append(invocation, tokens)
		}
	}
	switch {
	case len(invocation) == 0 || len(invocation) < len(chosen): // beside another adapter, an activated one counts everywhere, as in llama-server
		return engine.Adapters(chosen), 0, nil
	case len(invocation) > 1:
		return nil, 0, refusal.Invalid("lora", "lora names %d activated adapters (aLoRA); a request can have one", len(invocation))
	}
	at := lastIndex(prompt, invocation[0])
	if at < 0 {
		return nil, 0, nil
	}
	return engine.Adapters(chosen), max(at-1, 0), nil // llama-server has it count from the token before on
}

// Named implements serving.Adapters.
func (r *Registry) Named(key string) (scales []serving.AdapterScale, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	loaded := make([]*engine.Adapter, len(r.loaded))
	for i, e := range r.loaded {
		loaded[i] = e.adapter
	}
	set, ok := engine.OfKey(key, loaded)
	for _, s := range set {
		info := r.loaded[slices.Index(loaded, s.Adapter)].AdapterInfo
		scales = append(scales, serving.AdapterScale{ID: info.ID, Name: info.Name, Scale: s.Scale})
	}
	return scales, ok
}

// lastIndex finds where tokens stand in a prompt for the last time; -1: nowhere.
func lastIndex(prompt, tokens []int32) int {
	for at := len(prompt) - len(tokens); at >= 0; at-- {
		if slices.Equal(prompt[at:at+len(tokens)], tokens) {
			return at
		}
	}
	return -1
}

// refuse tells what it means for a client that an adapter could not be loaded.
func refuse(err error) error {
	refused := func(kind refusal.Kind, code string) error {
		return &refusal.Error{Kind: kind, Code: code, Field: "name", Message: err.Error()}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, model.ErrNotFound):
		return refused(refusal.KindNotFound, "adapter_not_found")
	case errors.Is(err, errLoaded):
		return refused(refusal.KindConflict, "adapter_loaded")
	}
	for _, bad := range []error{gguf.ErrAdapter, gguf.ErrNotGGUF, gguf.ErrMalformed, gguf.ErrTruncated, model.ErrNotFile, model.ErrRefused,
		model.ErrCrashed, model.ErrTooLarge, model.ErrTimeout} {
		if errors.Is(err, bad) {
			return refused(refusal.KindImpossible, "adapter_refused")
		}
	}
	return err
}

// refuseUnknown refuses a name of which no adapter is loaded.
func refuseUnknown(name string, loaded []serving.AdapterInfo) error {
	var names []string
	for _, l := range loaded {
		names = append(names, l.Name)
	}
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "adapter_not_found", Field: "name",
		Message: fmt.Sprintf("no adapter %s is loaded; loaded are: %s", strconv.Quote(name), strings.Join(names, ", "))}
}
