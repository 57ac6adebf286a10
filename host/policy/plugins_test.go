// SPDX-License-Identifier: MIT

package policy

import (
	"context"
	"testing"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
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
	loader := hosttest.Open(t, load.New)
	r, err := registry.Open(t.Context(), loader, registry.Options{Dir: t.TempDir()})
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
	return New(e, r, model, nil), r
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
		plugins, err := b.Resolve(t.Context(), "me", []serving.PluginUse{{Name: "fixed", Field: "plugins[0]"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return plugins
	}
	chooses := func(of serving.Plugins, want int32) {
		t.Helper()
		policy, err := of.NewPolicy(sampling.Default(), serving.Ends{})
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
	again, err := old.Again(t.Context(), "me", nil)
	if err != nil {
		t.Fatal(err)
	}
	old.Release()
	chooses(again, 5)
	if _, err := again.Again(t.Context(), "me", []string{"plugin:other"}); err == nil {
		t.Error("it found a plugin that is not there")
	}
	again.Release()
	later.Release()
	if first.Retain() {
		t.Errorf("%s is still held when nobody uses it", first.Name)
	}
}
