// SPDX-License-Identifier: MIT

package script

import (
	"context"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// large is a vocabulary as large as Llama 3's.
const large = 128_256

// with is a script's plan for a vocabulary of n tokens.
func with(b *testing.B, n int, source string) (*load.Plugin, plugin.RequestInfo) {
	b.Helper()
	o := options(drive.NewWords(n))
	o.Limits.PlanFuel, o.Limits.SetupFuel = 2_000_000_000, 2_000_000_000
	p, err := load.New(o).LoadEmbedded(context.Background(), Module())
	if err != nil {
		b.Fatal(err)
	}
	config := configOf(b, source, nil)
	if p, err = p.With(context.Background(), "", config); err != nil {
		b.Fatal(said(err))
	}
	return p, request(config)
}

// BenchmarkSample is a call of sample on a row from which the best 40 were taken before.
func BenchmarkSample(b *testing.B) {
	for name, source := range map[string]string{
		"Empty":   `export function sample(c) {}`,
		"Filter":  `export function sample(c) { c.filter(s => !s.includes("e")); }`,
		"RegExp":  `export function sample(c) { c.filter(/^[^e]*$/); }`,
		"Entropy": `export function sample(c) { c.temperature(0.5 + c.entropy() / Math.log(c.length)); }`,
		"Loop":    `export function sample(c) { for (let i = 0; i < c.length; i++) if (c.ids[i] & 1) c.logits[i] += 2; }`,
	} {
		b.Run(name, func(b *testing.B) {
			p, r := with(b, large, source)
			s := must.Get(stage.New(p, r))(b)
			defer func() { _ = s.Close() }()
			if err := s.Reset([]int32{1}, 1); err != nil {
				b.Fatal(said(err))
			}
			ids, logits := make([]int32, 40), make([]float32, 40)
			v := chain.View{ID: make([]int32, 40), Logit: make([]float32, 40)}
			for i := range ids {
				ids[i], logits[i] = int32(300+i*317), 20-float32(i)/4
			}
			b.ResetTimer()
			for b.Loop() {
				copy(v.ID, ids)
				copy(v.Logit, logits)
				v.N, v.Chosen = 40, -1
				if err := s.Apply(&v); err != nil {
					b.Fatal(said(err))
				}
			}
		})
	}
}

// BenchmarkOpen is what a request pays whose script was planned before.
func BenchmarkOpen(b *testing.B) {
	for name, source := range map[string]string{
		"Empty": `export function sample(c) {}`,
		"Mask":  `const m = penstock.mask(/^[a-z ]*$/); export function prepare(p) { p.mask(m); }`,
	} {
		b.Run(name, func(b *testing.B) {
			p, r := with(b, large, source)
			b.ResetTimer()
			for b.Loop() {
				s := must.Get(stage.New(p, r))(b)
				if err := s.Reset([]int32{1}, 1); err != nil {
					b.Fatal(said(err))
				}
				_ = s.Close()
			}
		})
	}
}
