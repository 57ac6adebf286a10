// SPDX-License-Identifier: MIT

package load

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// choosy is a guest that refuses to be warmed for a vocabulary of less than 100 tokens, and shows
// in open, at hosttest.AtScratch, how many there were.
func choosy() *asm.Guest {
	g := hosttest.Plain()
	g.Globals = 1
	g.On(abi.ExportWarm, g.Call(abi.ImportVocabSize), asm.SetGlobal(0), asm.Global(0), asm.I32(100), asm.Less)
	return g.On(abi.ExportOpen, asm.I32(hosttest.AtScratch), asm.Global(0), asm.Store, asm.I32(0))
}

// modelless is a loader for models that come later, and two of them, with 100 and 60 tokens.
func modelless(t *testing.T, change ...func(*plugin.HostOptions)) (l *Loader, large, small *Model) {
	t.Helper()
	o := hosttest.Options(append(change, func(o *plugin.HostOptions) { o.Vocabulary = nil })...)
	l = New(o)
	large = l.Model(plugin.ModelOptions{Model: plugin.Model{Name: "large"}, Vocabulary: hosttest.Words{}})
	small = l.Model(plugin.ModelOptions{Model: plugin.Model{Name: "small"}, Vocabulary: hosttest.FewWords{}})
	t.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(large.Close(ctx), small.Close(ctx), l.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return l, large, small
}

func mustLoad(t *testing.T, l *Loader, g *asm.Guest) *Plugin {
	t.Helper()
	p := must.Get(l.Load(t.Context(), g.Wasm()))(t)
	t.Cleanup(p.Release)
	return p
}

// use runs open in an instance of a plugin and returns what it leaves at hosttest.AtScratch.
func use(t *testing.T, p *Plugin) int {
	t.Helper()
	s := must.Get(p.Begin(&plugin.RequestInfo{Client: "me"}))(t)
	defer p.End()
	i := must.Get(p.Module.NewInstance(t.Context(), s))(t)
	defer func() { _ = i.Close(true) }()
	must.Get(i.Call(guest.Open, 0, 0))(t)
	return int(i.Memory()[hosttest.AtScratch])
}

// What a plugin is told of a model is told to it for that model alone: one that fails with a model
// works with others.
func TestPlugin_For_EachModelIsItsOwn(t *testing.T) {
	l, large, small := modelless(t)
	p := mustLoad(t, l, choosy())
	for _, m := range []*Model{large, small} {
		if err := m.Failed(p); err != nil {
			t.Errorf("%s, before it is tried: %v", m.Name(), err)
		}
	}
	for range 2 {
		used, err := p.For(t.Context(), large)
		if err != nil {
			t.Fatal(err)
		}
		if got := use(t, used); got != 100 {
			t.Errorf("it was warmed for %d tokens", got)
		}
		_, err = p.For(t.Context(), small)
		var failed *plugin.ModelError
		var refusal *plugin.Refusal
		if !errors.As(err, &failed) || !errors.As(err, &refusal) || failed.Model != "small" || failed.Plugin != "guest" {
			t.Errorf("got %v", err)
		}
		if large.Failed(p) != nil || small.Failed(p) != failed {
			t.Errorf("it failed with %v and %v", large.Failed(p), small.Failed(p))
		}
	}
}

// All models share one budget. A plugin that finds no memory left to be warmed in is tried again.
func TestPlugin_For_NoMemory_IsNotRemembered(t *testing.T) {
	l, large, _ := modelless(t, func(o *plugin.HostOptions) { o.Limits.Memory = 5 << 16 }) // for one guest of 4 pages
	other := l.Model(plugin.ModelOptions{Vocabulary: hosttest.Words{}})
	t.Cleanup(func() { _ = other.Close(context.Background()) })
	p := mustLoad(t, l, choosy())
	used := must.Get(p.For(t.Context(), large))(t)
	s := must.Get(used.Begin(&plugin.RequestInfo{}))(t)
	defer used.End()
	i := must.Get(used.Module.NewInstance(t.Context(), s))(t)
	if _, err := p.For(t.Context(), other); !errors.Is(err, plugin.CauseBudget) || other.Failed(p) != nil {
		t.Errorf("while another takes the memory: %v, and what is known is %v", err, other.Failed(p))
	}
	if err := i.Close(true); err != nil {
		t.Error(err)
	}
	if _, err := p.For(t.Context(), other); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if used, limit := l.MemoryUse(); used != 0 || limit != 5<<16 {
		t.Errorf("%d of %d bytes are in use", used, limit)
	}
}

// A model is closed once no request uses a plugin with it.
func TestModel_Close_WaitsForUsers(t *testing.T) {
	l, large, small := modelless(t)
	used := must.Get(mustLoad(t, l, hosttest.Plain()).For(t.Context(), large))(t)
	must.Get(used.Begin(&plugin.RequestInfo{}))(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := large.Close(over); !errors.Is(err, context.Canceled) {
		t.Errorf("while one is used: %v", err)
	}
	if _, err := used.Begin(&plugin.RequestInfo{}); !errors.Is(err, plugin.ErrClosed) {
		t.Errorf("another use then: %v", err)
	}
	used.End()
	if err := large.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"small"}, names(l.Models())); diff != "" || small.Name() != "small" {
		t.Errorf("the models are:\n%s", diff)
	}
}

func names(models []*Model) (list []string) {
	for _, m := range models {
		list = append(list, m.Name())
	}
	return list
}

// Whoever asks at once for a plugin and a model gets the same, warmed once, and one that is
// released meanwhile frees it.
func TestPlugin_For_Hammer(t *testing.T) {
	observed := &calls{export: abi.ExportWarm}
	l, _, _ := modelless(t)
	for range 20 {
		p := must.Get(l.Load(t.Context(), choosy().Wasm()))(t)
		m := l.Model(plugin.ModelOptions{Vocabulary: hosttest.Words{}, Observer: observed})
		var group sync.WaitGroup
		for range 4 {
			if !p.Retain() {
				t.Fatal("it is released")
			}
			group.Go(func() {
				defer p.Release()
				for range 3 {
					if err := tryOnce(p, m); err != nil && !errors.Is(err, plugin.ErrClosed) {
						t.Error(err)
					}
				}
			})
		}
		group.Go(p.Release)
		group.Go(func() {
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		if p.Retain() {
			t.Error("it has users")
		}
	}
	if n := observed.n.Load(); n > 20 {
		t.Errorf("20 plugins were warmed %d times, each for one model", n)
	}
}

// tryOnce makes an instance of a plugin for a model.
func tryOnce(p *Plugin, m *Model) error {
	used, err := p.For(context.Background(), m)
	if err != nil {
		return err
	}
	s, err := used.Begin(&plugin.RequestInfo{})
	if err != nil {
		return err
	}
	defer used.End()
	i, err := used.Module.NewInstance(context.Background(), s)
	if err != nil {
		return err
	}
	return i.Close(true)
}
