// SPDX-License-Identifier: MIT

package fit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/must"
)

const mib = 1 << 20

// linear is a model whose need is linear: weights, so much a cell, and so much a sequence.
type linear struct {
	info                 native.ModelInfo
	weights, cell, state uint64
	gpu                  uint64 // bytes free on a GPU, which has all but the buffers; 0: there is none
	asked                int
}

func (l *linear) Info() native.ModelInfo { return l.info }

func (l *linear) Need(_ context.Context, o native.ContextOptions) (model.Need, error) {
	l.asked++
	if o.Cells > 1<<28 {
		return nil, errors.New("too many cells")
	}
	cell := l.cell
	if o.TypeK == "q8_0" && o.TypeV == "q8_0" {
		cell /= 2
	}
	d := native.DeviceMemory{Name: "CPU", Kind: "cpu", Plain: l.weights, Cells: uint64(o.Cells)*cell + uint64(o.Sequences)*uint64(1+o.Snapshots)*l.state}
	if l.gpu == 0 {
		d.Compute = 10 * mib
		return model.Need{d}, nil
	}
	d.Name, d.Kind, d.Free, d.Total = "GPU0", "gpu", l.gpu, l.gpu
	return model.Need{{Name: "CPU", Kind: "cpu", Compute: 10 * mib}, d}, nil
}

// ofTraining is a model that was trained for so many tokens.
func ofTraining(tokens int) *linear {
	return &linear{info: native.ModelInfo{ContextTrain: tokens, ModelKind: native.ModelKind{Decoder: true, Causal: true}}, weights: 1000 * mib, cell: mib / 16}
}

func TestChoose_WhatFits(t *testing.T) {
	recurrent := ofTraining(1 << 17)
	recurrent.info.Recurrent, recurrent.cell, recurrent.state = true, 0, 500*mib
	onGPU := ofTraining(1 << 17)
	onGPU.gpu = 4000 * mib
	open := Wish{Options: engine.Options{Slots: 8, CacheSequences: 8}, AnyContext: true, AnySlots: true}
	fixedSlots, fixedContext, shared, short, drafts := open, open, open, open, open
	drafts.Snapshots = 8
	fixedSlots.AnySlots = false
	fixedContext.ContextSize, fixedContext.AnyContext = 16384, false
	shared.KVLayout = "shared"
	short.LeastContext = 1024
	for _, c := range []struct {
		name         string
		model        *linear
		wish         Wish
		room         Room
		slots, cells int // cells 0: the usual
		says         string
	}{
		{"all of it", ofTraining(1 << 17), open, Room{Main: 4000 * mib}, 8, 0, "32768 cells for 8 slots take 3.0 GiB (weights 1000.0 MiB, KV cache 2.0 GiB, computing 10.0 MiB) of 3.9 GiB"},
		{"unknown room", ofTraining(1 << 17), open, Room{}, 8, 0, "32768 cells"},
		// With 32768 cells 3058 MiB. A tenth of main memory stays free, and 4 slots of 4096 tokens
		// are the next.
		{"fewer slots", ofTraining(1 << 17), open, Room{Main: 3200 * mib}, 4, 29696,
			"32768 cells for 8 slots do not fit beside 1000.0 MiB of weights in 3.1 GiB; 29696 cells, 4 slots: "},
		{"fewer cells", ofTraining(1 << 17), short, Room{Main: 3200 * mib}, 8, 28672, "; 28672 cells, 8 slots: "},
		{"cells of eight bits", ofTraining(1 << 17), open, Room{Main: 3200 * mib}, 4, 29696, "; all would fit with --cache-type-k q8_0 --cache-type-v q8_0"},
		{"cells of all", ofTraining(1 << 17), shared, Room{Main: 3200 * mib}, 8, 29696, "; 29696 cells, 8 slots: "},
		{"less free", ofTraining(1 << 17), shared, Room{Main: 3200 * mib, Margin: 100 * mib}, 8, 0, ""},
		{"more free", ofTraining(1 << 17), shared, Room{Main: 3200 * mib, Margin: 1000 * mib}, 8, 18944, ""},
		{"a short training", ofTraining(512), short, Room{Main: 1300 * mib}, 4, 0, "4096 cells for 8 slots do not fit"},
		{"a state a slot", recurrent, open, Room{Main: 4000 * mib}, 2, 0, "2 slots"},
		{"states for drafts", recurrent, drafts, Room{Main: 100000 * mib}, 8, 0, "32768 cells for 8 slots take 71.3 GiB"},
		{"no states for drafts", recurrent, drafts, Room{Main: 20000 * mib}, 8, 0, "without drafts they take 8.8 GiB"},
		{"fewer slots and no drafts", recurrent, drafts, Room{Main: 4000 * mib}, 2, 0, "2 slots"},
		{"what was asked for", ofTraining(1 << 17), fixedContext, Room{Main: 2100 * mib}, 8, 16384, "leaves less free than model.fit_target"},
		{"slots that were asked for", ofTraining(1 << 17), fixedSlots, Room{Main: 3200 * mib}, 8, 0, "leaves less free"},
		{"a GPU", onGPU, open, Room{Main: 4000 * mib}, 4, 30720, "beside 1000.0 MiB of weights in 3.9 GiB on GPU0 and 3.9 GiB; 30720 cells, 4 slots: 10.0 MiB ("},
		{"any GPU", onGPU, open, Room{AnyGPU: true}, 8, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.model.asked = 0
			p := must.Get(Choose(t.Context(), c.model, c.wish, c.room))(t)
			if p.Slots != c.slots || p.ContextSize != c.cells || p.CacheSequences > p.Slots || !strings.Contains(p.Text, c.says) || strings.Contains(p.Text, "\n") {
				t.Errorf("%d slots, %d cells: %s", p.Slots, p.ContextSize, p.Text)
			}
			if !c.room.holds(p.Need) || c.model.asked > 40 {
				t.Errorf("%+v after %d questions", p.Need, c.model.asked)
			}
		})
	}
}

// TestChoose_MostCellsThatFit: one unit more does not fit.
func TestChoose_MostCellsThatFit(t *testing.T) {
	for room := uint64(1400); room < 3200; room += 111 {
		m := ofTraining(1 << 17)
		w := Wish{Options: engine.Options{Slots: 2, KVLayout: "split"}, AnyContext: true, LeastContext: 100}
		r := Room{Main: room * mib, Margin: mib}
		p := must.Get(Choose(t.Context(), m, w, r))(t)
		more, err := m.Need(t.Context(), native.ContextOptions{Cells: p.ContextSize + 2*cellUnit})
		if err != nil || p.ContextSize > 0 && (p.ContextSize%(2*cellUnit) != 0 || !r.fits(p.Need) || r.fits(more)) {
			t.Errorf("%d MiB: %d cells (%v)", room, p.ContextSize, err)
		}
	}
}

func TestChoose_Refusal_NamesNumbersAndRemedy(t *testing.T) {
	o := engine.Options{Slots: 8, ContextSize: 1 << 17}
	for _, c := range []struct {
		wish Wish
		room uint64
		says string
	}{
		{Wish{Options: o}, 6000, "use --ctx-size 77824 or less, or --cache-type-k q8_0 --cache-type-v q8_0, or have it tried"},
		{Wish{Options: o, AnySlots: true}, 4000, "131072 cells for 8 slots take 9.0 GiB (weights 1000.0 MiB, KV cache 8.0 GiB, computing 10.0 MiB) of 3.9 GiB; use --ctx-size 47104 or less"},
		{Wish{Options: o}, 2000, "use --ctx-size 15360 or less with --parallel 2 or less"},
		{Wish{Options: engine.Options{Slots: 8}, AnyContext: true, AnySlots: true}, 1100, "smaller or more strongly quantised model"},
		{Wish{Options: o}, 500, "smaller or more strongly quantised model"},
	} {
		_, err := Choose(t.Context(), ofTraining(1<<17), c.wish, Room{Main: c.room * mib})
		if !errors.Is(err, model.ErrTooLarge) || !strings.Contains(fmt.Sprint(err), c.says) || !strings.Contains(fmt.Sprint(err), "--fit off") {
			t.Errorf("%d MiB: %v, want %q", c.room, err, c.says)
		}
	}
	if _, err := Choose(t.Context(), ofTraining(1<<17), Wish{Options: engine.Options{Slots: 1, ContextSize: 1 << 29}}, Room{}); err == nil || errors.Is(err, model.ErrTooLarge) {
		t.Errorf("a model that says nothing: %v", err)
	}
}

// layered is a model of which each layer takes as much, on the GPU or in main memory.
type layered struct {
	linear
	gpuLayers int
}

func (l *layered) Need(_ context.Context, o native.ContextOptions) (model.Need, error) {
	total := uint64(l.info.Layers + 1)
	n := uint64(l.gpuLayers)
	if l.gpuLayers < 0 {
		n = total
	}
	cells := uint64(o.Cells)*l.cell + uint64(o.Sequences)*uint64(1+o.Snapshots)*l.state
	return model.Need{
		{Name: "CPU", Kind: "cpu", Plain: l.weights * (total - n) / total, Cells: cells * (total - n) / total},
		{Name: "GPU0", Kind: "gpu", Weights: l.weights * n / total, Cells: cells * n / total, Free: l.gpu, Total: l.gpu},
	}, nil
}

func TestLayers_AsManyAsFit(t *testing.T) {
	w := Wish{Options: engine.Options{Slots: 4, GPULayers: -1}, AnyContext: true, AnySlots: true}
	for _, c := range []struct {
		gpu, main, state uint64 // MiB
		want             int
		says             string
	}{
		{100_000, 0, 0, -1, ""},
		{16_000, 0, 0, -1, ""}, // with fewer slots
		{8_000, 0, 0, 25, "all layers do not fit on the GPU, where they would take 0.0 MiB (weights 0.0 MiB, KV cache 0.0 MiB, computing 0.0 MiB) and 11.8 GiB on GPU0"},
		{900, 0, 0, 0, "; 0 of 40 layers are there"},
		{900, 5_000, 0, -1, ""},                                // nothing fits anywhere
		{8_000, 5_000, 0, 25, "; 25 of 40 layers are there"},   // neither holds all of it alone
		{8_000, 4_500, 0, -1, ""},                              // but for a tenth of main memory
		{8_000, 0, 100, 26, "; 26 of 40 layers are there"},     // a state a slot, and none for drafts
		{8_000, 100_000, 0, 25, "; 25 of 40 layers are there"}, // what stays with the CPU could be more
	} {
		asked, drafts := 0, w
		drafts.Snapshots = 8
		of := func(_ context.Context, n int) (Model, error) {
			asked++
			l := &layered{*ofTraining(1 << 17), n}
			l.info.Layers, l.weights, l.gpu = 39, 10_000*mib, c.gpu*mib
			l.info.Recurrent, l.state = c.state > 0, c.state*mib
			return l, nil
		}
		layers, text, err := Layers(t.Context(), of, drafts, Room{Main: c.main * mib})
		if err != nil || layers != c.want || !strings.Contains(text, c.says) || asked > 10 {
			t.Errorf("%d MiB: %d layers after %d questions: %q (%v)", c.gpu, layers, asked, text, err)
		}
	}
}
