// SPDX-License-Identifier: MIT

package policy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/plugins/script"
	"github.com/penstock/penstock/scheduler/chain"
)

// withFolder is a builder for the built-in model and a folder of plugins.
func withFolder(t *testing.T) (*Builder, *registry.Registry) {
	t.Helper()
	return withLacks(t, engine.Lacks{})
}

// withLacks is withFolder with a model that cannot do everything.
func withLacks(t *testing.T, lacks engine.Lacks) (*Builder, *registry.Registry) {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Path: "../model/penstock-tiny.gguf", Slots: 1, ContextSize: 512, Threads: 1, Lacks: lacks})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	loader := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Interpreter = script.Module })
	r, err := registry.Open(t.Context(), loader, registry.Options{Dir: t.TempDir(), Scripts: true, ModuleLife: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	model := loader.Model(plugin.ModelOptions{Vocabulary: e.Vocabulary()})
	t.Cleanup(func() {
		if err := model.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return New(e, r, model, "tiny", nil), r
}

// A plugin that is replaced, or removed, while a request is made is for that request what it was
// when the request came.
func TestUses_ReloadMeanwhile_KeepTheirVersion(t *testing.T) {
	b, r := withFolder(t)
	upload := func(token int) {
		t.Helper()
		guest := asm.New(`{"name":"fixed","view":"none"}`).On(abi.ExportSample, asm.I32(token))
		if _, _, err := r.Upload(t.Context(), guest.Wasm()); err != nil {
			t.Fatal(err)
		}
	}
	resolve := func() serving.Plugins {
		t.Helper()
		plugins, err := b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "fixed", Field: "plugins[0]"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return plugins
	}
	chooses := func(of serving.Plugins, want int32) {
		t.Helper()
		policy, err := of.NewPolicy(sampling.Default(), serving.AnswerInfo{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = policy.Close() }()
		view := chain.View{Row: make([]float32, b.engine.Info().Vocabulary), N: -1, Chosen: -1}
		for _, s := range policy.Stages {
			if err := s.Reset([]int32{1}, 1); err != nil {
				t.Fatal(err)
			}
			if err := s.Apply(&view); err != nil {
				t.Fatal(err)
			}
			if view.Chosen >= 0 {
				break
			}
		}
		if view.Chosen != want {
			t.Errorf("it chose %d, not %d", view.Chosen, want)
		}
	}

	upload(5)
	old := resolve()
	first := old.(*uses).list[0].plugin
	upload(6)
	later := resolve()
	chooses(old, 5)
	chooses(later, 6)
	if err := r.Remove(t.Context(), "fixed"); err != nil {
		t.Fatal(err)
	}
	chooses(old, 5)
	again, err := old.Again(t.Context(), serving.Asker{Client: "me"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	old.Release()
	chooses(again, 5)
	if _, err := again.Again(t.Context(), serving.Asker{Client: "me"}, []string{"plugin:other"}); err == nil {
		t.Error("it found a plugin that is not there")
	}
	again.Release()
	later.Release()
	if first.Retain() {
		t.Errorf("%s is still held when nobody uses it", first.Name)
	}
}

// A plan is made when a request comes: what it refuses is about its configuration, and what it
// leaves out is neither called nor asked for.
func TestBuilder_Resolve_Plans(t *testing.T) {
	b, r := withFolder(t)
	const at = hosttest.AtScratch
	g := asm.New(`{"name":"planner","hold":5}`).Put(at, "config.a is unknown").Put(at+64, `{"implements":["penstock_accept"],"hold":2,"needs":[]}`)
	g.On(abi.ExportPlan, asm.I32(0), asm.I32(0), g.Call(abi.ImportConfig), asm.I32(2), asm.Subtract,
		asm.When(asm.I32(at), asm.I32(19), g.Call(abi.ImportFail), asm.I32(1), asm.Return),
		asm.I32(at+64), asm.I32(54), g.Call(abi.ImportEmit), asm.I32(0))
	g.On(abi.ExportSample, asm.I32(-1)).On(abi.ExportAccept, g.Call(abi.ImportLogprob), asm.Drop, asm.I32(0))
	trap := asm.New(`{"name":"guest","hold":7}`).On(abi.ExportPlan, asm.Unreachable).On(abi.ExportSample, asm.Unreachable)
	for _, g := range []*asm.Guest{g, trap} {
		if _, _, err := r.Upload(t.Context(), g.Wasm()); err != nil {
			t.Fatal(err)
		}
	}
	plugins, err := b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "planner", Field: "plugins[0]"}, {Name: "guest", Field: "plugins[1]", Skip: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := plugins.NewPolicy(sampling.Default(), serving.AnswerInfo{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, s := range policy.Stages {
		switch traits := s.Traits(); traits.Name {
		case "plugin:planner":
			seen++
			if traits.Hold != 2 || traits.Logprob != nil {
				t.Errorf("it holds %d tokens, and is told log-probabilities: %v", traits.Hold, traits.Logprob != nil)
			}
		case "plugin:guest":
			seen++
			if err := s.Reset([]int32{1}, 1); err != nil {
				t.Errorf("it is skipped: %v", err)
			}
			if hold := s.Traits().Needs().Hold; traits.Hold != 0 || hold != 0 {
				t.Errorf("it is skipped, and holds %d tokens, %d", traits.Hold, hold)
			}
			if err := s.Apply(&chain.View{Row: []float32{1, 2}, N: -1, Chosen: -1}); err != nil {
				t.Errorf("it is skipped: %v", err)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d stages are the plugins'", seen)
	}
	if err := policy.Close(); err != nil {
		t.Error(err)
	}
	plugins.Release()

	_, err = b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "planner", Field: "plugins[0]", Config: []byte(`{"a":1}`)}}, nil)
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Field != "plugins[0].config" || refused.Kind != refusal.KindInvalid ||
		!strings.Contains(refused.Message, "config.a is unknown") || strings.Contains(refused.Public, "config.a") {
		t.Errorf("got %+v", refused)
	}
	_, err = b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "guest", Field: "plugins[0]"}}, nil)
	hosttest.MustFault(t, err, abi.ExportPlan, plugin.CauseTrap, "")
}
