// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// needing is a module that refuses to be warmed for a vocabulary of fewer than n tokens.
func needing(name, version string, n int) []byte {
	g := asm.New(fmt.Sprintf(`{"name":%q,"version":%q}`, name, version))
	return g.On(abi.ExportWarm, g.Call(abi.ImportVocabSize), asm.I32(n), asm.Less).Wasm()
}

// openForModels opens a registry of no model.
func openForModels(t *testing.T, dir string) *Registry {
	t.Helper()
	return openWith(t, hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Vocabulary = nil }), dir, nil)
}

// withModel has a registry know a model until the test ends.
func withModel(t *testing.T, g *Registry, o plugin.ModelOptions) *load.Model {
	t.Helper()
	m := must.Get(g.Model(t.Context(), o))(t)
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// failures are the models that each plugin cannot be used with.
func failures(g *Registry) map[string]string {
	out := map[string]string{}
	for _, i := range g.List() {
		for _, e := range i.ModelErrors {
			out[i.Name] += e.Model
		}
	}
	return out
}

// A plugin comes before the models or after them, and what a model cannot use is known of that
// model alone.
func TestRegistry_Model_FailsAlone(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "early.wasm", needing("early", "1", 100))
	g := openForModels(t, dir)
	if _, created, err := g.Upload(t.Context(), needing("uploaded", "1", 100)); err != nil || !created {
		t.Fatalf("without a model: %v", err)
	}
	expect(t, g, "early 1 ready, uploaded 1 ready")
	small := withModel(t, g, plugin.ModelOptions{Model: plugin.Model{Name: "small"}, Vocabulary: hosttest.FewWords{}})
	large := withModel(t, g, plugin.ModelOptions{Model: plugin.Model{Name: "large"}, Vocabulary: hosttest.Words{}})
	place(t, dir, "late.wasm", needing("late", "1", 100))
	place(t, dir, "any.wasm", named("any", "1"))
	scan(t, g)
	expect(t, g, "any 1 ready, early 1 ready, late 1 ready, uploaded 1 ready")
	if diff := cmp.Diff(map[string]string{"early": "small", "late": "small", "uploaded": "small"}, failures(g)); diff != "" {
		t.Errorf("failed:\n%s", diff)
	}
	info, err := g.Get("late")
	if err != nil || info.StateWith("small") != StateFailed || info.StateWith("large") != StateReady {
		t.Errorf("%+v, %v", info, err)
	}
	if p, err := g.FindFor(t.Context(), "late", large); err != nil {
		t.Error(err)
	} else {
		p.Release()
	}
	var failed *plugin.ModelError
	if _, err := g.FindFor(t.Context(), "late", small); !errors.As(err, &failed) || !strings.Contains(err.Error(), `"small"`) {
		t.Errorf("got %v", err)
	}
	if _, err := g.FindFor(t.Context(), "none", small); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	if err := small.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := failures(g); len(got) > 0 {
		t.Errorf("without that model: %v", got)
	}
}

// What works is not replaced by what works with no model in memory. Something new is taken, since
// other models may come, unless none ever does.
func TestRegistry_Model_KeepsWhatWorks(t *testing.T) {
	for _, alone := range []bool{false, true} {
		dir := t.TempDir()
		g := openForModels(t, dir)
		withModel(t, g, plugin.ModelOptions{Model: plugin.Model{Name: "large"}, Vocabulary: hosttest.Words{}, Alone: alone})
		place(t, dir, "b.wasm", needing("b", "1", 50))
		scan(t, g)
		must.Both(g.Upload(t.Context(), needing("a", "1", 50)))(t)
		place(t, dir, "b.wasm", needing("b", "2", 200))
		scan(t, g)
		if _, _, err := g.Upload(t.Context(), needing("a", "2", 200)); err == nil {
			t.Error("an upload that does not work has replaced one that does")
		}
		expect(t, g, "a 1 ready, b 1 ready")
		if i, err := g.Get("b"); err != nil || !strings.Contains(i.Error, "refuses") {
			t.Errorf("%+v, %v", i, err)
		}

		faulty := asm.New(`{"name":"faulty"}`).On(abi.ExportWarm, asm.Unreachable).Wasm()
		if _, _, err := g.Upload(t.Context(), faulty); !errors.Is(err, plugin.CauseTrap) {
			t.Errorf("a fault gives %v", err)
		}
		_, _, err := g.Upload(t.Context(), needing("new", "1", 200))
		if (err != nil) != alone {
			t.Errorf("alone %v: an upload of what does not work gives %v", alone, err)
		}
		place(t, dir, "c.wasm", needing("c", "1", 200))
		scan(t, g)
		want := map[bool]string{
			false: "a 1 ready, b 1 ready, c 1 ready, new 1 ready",
			true:  "a 1 ready, b 1 ready, c 1 failed",
		}
		expect(t, g, want[alone])
	}
}

// A request of a caller who went away leaves no model behind.
func TestRegistry_Model_Cancelled(t *testing.T) {
	g := openForModels(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Model(ctx, plugin.ModelOptions{Vocabulary: hosttest.Words{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(g.loader.Models()); n > 0 {
		t.Errorf("%d models are left", n)
	}
}

// Plugins are replaced, by uploads and in the folder, and removed, while models come, use them and
// go.
func TestRegistry_Hammer_ModelsComeAndGo(t *testing.T) {
	dir := t.TempDir()
	g := openForModels(t, dir)
	must.Both(g.Upload(t.Context(), needing("a", "0", 50)))(t)
	var group sync.WaitGroup
	ctx := context.Background()
	group.Go(func() {
		for v := range 15 {
			if _, _, err := g.Upload(ctx, needing("a", fmt.Sprint(v), 50)); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "b.wasm"), needing("b", strings.Repeat("x", v), 80), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	group.Go(func() {
		for range 15 {
			if err := g.Scan(ctx); err != nil {
				t.Error(err)
			}
			if err := g.Remove(ctx, "b"); err != nil && !errors.Is(err, plugin.ErrUnknown) {
				t.Error(err)
			}
			g.List()
		}
	})
	for n, vocabulary := range []plugin.Vocabulary{hosttest.Words{}, hosttest.FewWords{}, hosttest.Words{}} {
		group.Go(func() {
			for range 8 {
				m, err := g.Model(ctx, plugin.ModelOptions{Model: plugin.Model{Name: fmt.Sprint(n)}, Vocabulary: vocabulary})
				if err != nil {
					t.Error(err)
					return
				}
				for range 4 {
					useOnce(t, g, "a", m)
					useOnce(t, g, "b", m)
				}
				if err := m.Close(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if used, _ := g.loader.MemoryUse(); used != 0 || len(g.loader.Models()) > 0 {
		t.Errorf("%d bytes and %d models are left", used, len(g.loader.Models()))
	}
}

// useOnce opens a plugin with a model, if it is there and works with it.
func useOnce(t *testing.T, g *Registry, name string, m *load.Model) {
	p, err := g.FindFor(context.Background(), name, m)
	var failed *plugin.ModelError
	if errors.Is(err, plugin.ErrUnknown) || errors.Is(err, plugin.ErrLoading) || errors.As(err, &failed) && name == "b" {
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer p.Release()
	begin(t, p)
}

// begin begins a request with a plugin, and ends it.
func begin(t *testing.T, p *load.Plugin) {
	if s, err := stage.New(p, plugin.RequestInfo{}); err != nil {
		t.Error(err)
	} else if err := errors.Join(s.Reset([]int32{1}, 1), s.Close()); err != nil {
		t.Error(err)
	}
}
