// SPDX-License-Identifier: MIT

package engine

import (
	"testing"

	"github.com/penstock/penstock/native"
)

// Where positions are scaled, a conversation may be longer than the model was trained for, as long
// as there are cells; else it may not.
func TestOpen_RopeExtendsTheContext(t *testing.T) {
	trained := opened(t, Options{Slots: 1}).Info().ContextTrain
	for name, c := range map[string]struct {
		rope native.Rope
		want int
	}{
		"as the file says": {native.Rope{}, trained},
		"linear":           {native.Rope{FreqScale: 0.25}, 4 * trained},
		"YaRN":             {native.Rope{Scaling: "yarn", FreqScale: 0.5, YaRN: &native.YaRN{OrigCtx: trained, ExtFactor: -1, AttnFactor: -1, BetaFast: -1, BetaSlow: -1}}, 2 * trained},
		"none":             {native.Rope{Scaling: "none", FreqScale: 0.25}, trained},
	} {
		t.Run(name, func(t *testing.T) {
			info := opened(t, Options{Slots: 1, ContextSize: 8 * trained, Context: native.ContextOptions{Rope: c.rope}}).Info()
			if info.Limits.Positions != c.want || info.ContextTrain != c.want {
				t.Errorf("%d positions of %d, want %d", info.Limits.Positions, info.ContextTrain, c.want)
			}
		})
	}
}

// A saved conversation belongs to the values that its cells were computed with.
func TestIdentity_TellsOptionsApart(t *testing.T) {
	seen := map[string]string{}
	for name, o := range map[string]Options{
		"none":      {},
		"base":      {Context: native.ContextOptions{Rope: native.Rope{FreqBase: 500}}},
		"YaRN":      {Context: native.ContextOptions{Rope: native.Rope{YaRN: &native.YaRN{OrigCtx: 512}}}},
		"more YaRN": {Context: native.ContextOptions{Rope: native.Rope{YaRN: &native.YaRN{OrigCtx: 513}}}},
		"K":         {Context: native.ContextOptions{TypeK: "q8_0"}},
		"V":         {Context: native.ContextOptions{TypeV: "q8_0"}},
		"metadata":  {Model: native.ModelOptions{KVOverrides: []native.MetadataOverride{{Key: "a", Type: "int", Value: "1"}}}},
	} {
		o.Path = builtIn
		id, err := newIdentity(o).ofModel()
		if err != nil || seen[id] != "" {
			t.Errorf("%s is taken for %s (%v)", name, seen[id], err)
		}
		seen[id] = name
	}
	same := Options{Path: builtIn, Threads: 3, Context: native.ContextOptions{TypeK: "f16", TypeV: "f16", ThreadsBatch: 2}}
	if id, err := newIdentity(same).ofModel(); err != nil || seen[id] != "none" {
		t.Errorf("options that change no cell make another identity (%v)", err)
	}
}

// More rows than slots: several tokens of a slot may have logits.
func TestOpen_RowsBeyondSlots(t *testing.T) {
	for rows, want := range map[int]int{0: 2, 1: 2, 7: 7} {
		if got := opened(t, Options{Slots: 2, Context: native.ContextOptions{Rows: rows}}).Backend().Limits().Rows; got < want {
			t.Errorf("%d rows, want %d", got, want)
		}
	}
}

// On a GPU, cells of their own must not make conversations shorter.
func TestOptions_roomy(t *testing.T) {
	info := native.ModelInfo{ContextTrain: 2048}
	for name, c := range map[string]struct {
		o    Options
		want bool
	}{
		"by default":            {Options{Slots: 8}, true},
		"many slots by default": {Options{Slots: 17}, false},
		"enough for all":        {Options{Slots: 4, ContextSize: 4 * 2048}, true},
		"a token less":          {Options{Slots: 4, ContextSize: 4*2048 - 1}, false},
		"stretched":             {Options{Slots: 4, ContextSize: 4 * 2048, Context: native.ContextOptions{Rope: native.Rope{FreqScale: 0.5}}}, false},
		"on workers":            {Options{Slots: 4, ContextSize: 4 * 2048, Workers: workersThere{}}, false},
	} {
		if got := c.o.roomy(info); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if (Options{Slots: 2}).roomy(native.ModelInfo{}) {
		t.Error("a model of unknown length cannot be limited")
	}
}

// A head that could guess nothing is not fed.
func TestOptions_ContextOptions_FeedsHead(t *testing.T) {
	attention, hybrid := native.ModelKind{Head: true}, native.ModelKind{Head: true, Hybrid: true}
	for name, c := range map[string]struct {
		o    Options
		kind native.ModelKind
		want bool
	}{
		"attention":             {Options{}, attention, true},
		"no head":               {Options{}, native.ModelKind{}, false},
		"cannot cut":            {Options{Lacks: Lacks{Truncating: true}}, attention, false},
		"earlier states":        {Options{Snapshots: 1, Lacks: Lacks{Truncating: true}}, hybrid, true},
		"no earlier states":     {Options{}, hybrid, false},
		"in pieces":             {Options{Lacks: Lacks{Together: true}}, attention, false},
		"the trial has crashed": {Options{Lacks: Lacks{Heads: true}}, attention, false},
		"on workers":            {Options{Workers: workersThere{}}, attention, false},
	} {
		if got := c.o.ContextOptions(native.ModelInfo{ModelKind: c.kind}).FeedsHead; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

type workersThere struct{}

func (workersThere) Lost() error { return nil }
