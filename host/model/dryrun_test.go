// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

func TestDryRun_TellsWhatNativeTells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	must.Do(t, synth.SmallFile(path, "cohere2", 1))
	o := CheckOptions{CacheDir: t.TempDir()}
	d := must.Get(OpenDryRun(t.Context(), path, o, native.ModelOptions{}))(t)
	here := must.Get(native.OpenDryRun(t.Context(), path, native.ModelOptions{}))(t)
	if got, want := d.Info(), here.Info(); got.ContextTrain != want.ContextTrain || got.Window == 0 || got.Vocabulary != 256 || got.OwnCells() {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, cells := range []int{256, 4096} {
		c := native.ContextOptions{Cells: cells, Sequences: 4, Unified: true}
		got := must.Get(d.Need(t.Context(), c))(t)
		want, err := here.Need(c)
		for _, n := range []Need{got, want} {
			n[0].Free = 0 // what is free changes
		}
		if err != nil || !slices.Equal(got, Need(want)) || got.Main().Used() == 0 || len(got.GPUs()) != 0 {
			t.Errorf("%d cells: %+v, want %+v (%v)", cells, got, want, err)
		}
	}
	if err := errors.Join(d.Close(), here.Close()); err != nil {
		t.Error(err)
	}
}

// TestDryRun_AsksOnce: what a child has told is remembered, until the file changes.
func TestDryRun_AsksOnce(t *testing.T) {
	path, o := filepath.Join(t.TempDir(), "m.gguf"), CheckOptions{CacheDir: t.TempDir()}
	needs := func(cells int) (Need, bool) {
		t.Helper()
		d := must.Get(OpenDryRun(t.Context(), path, o, native.ModelOptions{}))(t)
		need, err := d.Need(t.Context(), native.ContextOptions{Cells: cells, Sequences: 1})
		if err = errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		return need, d.child != nil
	}
	for seed, kind := range []string{"cohere2", "embedder"} {
		must.Do(t, synth.SmallFile(path, kind, uint64(seed)))
		first, asked := needs(512)
		if again, more := needs(512); !asked || more || !slices.Equal(first, again) {
			t.Errorf("%s: a child was asked %t, then %t: %+v, then %+v", kind, asked, more, first, again)
		}
		if other, asked := needs(1024); !asked || other.Main().Cells <= first.Main().Cells {
			t.Errorf("%s: another context: asked %t, %+v", kind, asked, other)
		}
	}
}

func TestNeed_Main_HasWhatSharesIt(t *testing.T) {
	n := Need{{Name: "CPU", Kind: "cpu", Plain: 1, Compute: 2}, {Name: "GPU0", Kind: "gpu", Weights: 8}, {Name: "GPU1", Kind: "igpu", Weights: 16, Cells: 32},
		{Name: "Meta(GPU0,GPU2)", Kind: "meta", Weights: 64}} // of split mode tensor
	if got := n.Main(); got.Used() != 51 || got.Name != "CPU" {
		t.Errorf("%+v", got)
	}
	if got := n.GPUs(); len(got) != 2 || got[0].Name != "GPU0" || got[1].Kind != "meta" {
		t.Errorf("%+v", got)
	}
}

func TestOpenDryRun_FaultsAreErrors(t *testing.T) {
	o := CheckOptions{CacheDir: t.TempDir()}
	whole := filepath.Join(t.TempDir(), "whole.gguf")
	must.Do(t, os.WriteFile(whole, builtIn, 0o600))
	half := filepath.Join(t.TempDir(), "half.gguf")
	must.Do(t, os.WriteFile(half, builtIn[:len(builtIn)/2], 0o600))
	if _, err := OpenDryRun(t.Context(), half, o, native.ModelOptions{}); !isTyped(err) {
		t.Errorf("half a file: %v", err)
	}
	if _, err := OpenDryRun(t.Context(), whole, o, native.ModelOptions{SplitMode: "diagonal"}); !errors.Is(err, ErrRefused) {
		t.Errorf("wrong options: %v", err)
	}
	d := must.Get(OpenDryRun(t.Context(), whole, o, native.ModelOptions{}))(t)
	if _, err := d.Need(t.Context(), native.ContextOptions{Sequences: 1000}); !errors.Is(err, ErrRefused) {
		t.Errorf("wrong context: %v", err)
	}
	if _, err := d.Need(t.Context(), native.ContextOptions{Cells: 64}); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	t.Setenv(misbehaviourEnv, "segfault")
	o.CacheDir = t.TempDir()
	if _, err := OpenDryRun(t.Context(), whole, o, native.ModelOptions{}); !errors.Is(err, ErrCrashed) {
		t.Errorf("a child that crashes: %v", err)
	}
}
