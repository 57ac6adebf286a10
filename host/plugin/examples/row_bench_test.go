// SPDX-License-Identifier: MIT

//go:build !race

package examples

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// rowSize is Llama 3's vocabulary.
const rowSize = 128_256

// nameless128k is a vocabulary of tokens that are nothing but numbers.
type nameless128k struct{ nameless }

func (nameless128k) Size() int { return rowSize }

// masker is that of the real host.
type masker struct{}

func (masker) MaskRow(to, row []float32, allowed []uint32) { native.MaskRow(to, row, allowed) }

// highest is the real host's plugin.TopK.
func highest(row []float32, k int, ids []int32, logits []float32) int {
	return native.TopLogits(row, ids[:k], logits[:k])
}

// doesNothing is a plugin that leaves its view as it is. If it masks, it allows every other token.
func doesNothing(masks bool, manifest string, kind, size int) *asm.Guest {
	const atMask, maskSize, everyOther = 15 << 16, rowSize / 8, 0x55
	g := asm.New(manifest)
	g.Pages = 16
	bind := g.Bind(kind, hosttest.AtBuffer, size)
	if masks {
		fill := slices.Concat(asm.I32(atMask), asm.I32(everyOther), asm.I32(maskSize), asm.Fill)
		bind = slices.Concat(bind, g.Bind(abi.BufferMask, atMask, maskSize), fill)
		g.On(abi.ExportPrepare, asm.I32(abi.PrepareMask))
	}
	g.On(abi.ExportOpen, bind, asm.I32(0))
	return g.On(abi.ExportSample, asm.I32(abi.SampleEdited))
}

// BenchmarkRow is the host's work of a sample call on a row of 128,256 logits, from where the
// forward pass left them, with the real host's native code and without.
func BenchmarkRow(b *testing.B) {
	row := randomRow(1, rowSize)
	for how, useNative := range map[string]bool{"native": true, "portable": false} {
		for what, masks := range map[string]bool{"": false, " masked": true} {
			for view, g := range map[string]*asm.Guest{
				" candidates": doesNothing(masks, `{"name":"guest"}`, abi.BufferCandidates, 8*256),
				" logits":     doesNothing(masks, `{"name":"guest","view":"logits"}`, abi.BufferLogits, 4*rowSize),
			} {
				b.Run(how+what+view, func(b *testing.B) { benchmarkRow(b, useNative, g, row) })
			}
		}
	}
}

func benchmarkRow(b *testing.B, useNative bool, g *asm.Guest, logits []float32) {
	o := plugin.HostOptions{ModelOptions: plugin.ModelOptions{Vocabulary: nameless128k{}}}
	if useNative {
		o.TopK, o.FirstInvalid = highest, native.FirstInvalid
	}
	loader := load.New(o)
	p := must.Get(loader.Load(context.Background(), g.Wasm()))(b)
	b.Cleanup(func() {
		p.Release()
		if err := loader.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	c := chain.New([]chain.Stage{begun(b, p, plugin.RequestInfo{}), takeFirst{}}, len(logits), 0)
	if useNative {
		c.MaskBy(masker{})
	}
	must.Do(b, c.Prepare())
	var row chain.Row
	var loans sync.WaitGroup
	b.ReportAllocs()
	for b.Loop() {
		row.Lend([][]float32{logits}, &loans)
		if _, _, err := c.Draw(&row); err != nil {
			b.Fatal(err)
		}
		row.Return()
	}
}

// takeFirst is the end of a chain, at no cost.
type takeFirst struct{ chain.Stage }

func (takeFirst) Apply(v *chain.View) error {
	v.Chosen = 0
	return nil
}

func (takeFirst) Traits() chain.Traits { return chain.Traits{IgnoresRow: true} }
