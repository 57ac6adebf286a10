// SPDX-License-Identifier: MIT

package stage

import (
	"context"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
)

// bigWords is a vocabulary of 128,256 tokens without text.
type bigWords struct{ hosttest.Words }

func (bigWords) Size() int          { return 128_256 }
func (bigWords) Piece(int32) string { return "" }

func benchStage(b *testing.B, g *asm.Guest) *Stage {
	r := hosttest.Open(b, load.New, func(o *plugin.HostOptions) { o.Vocabulary = bigWords{} })
	return useOf(b, hosttest.Load(b, r, g), plugin.RequestInfo{}, 1)
}

// BenchmarkStage_Candidates is the host's work of a sample call over 256 candidates that earlier
// stages left.
func BenchmarkStage_Candidates(b *testing.B) {
	s := benchStage(b, viewed(`{"name":"guest"}`, abi.BufferCandidates, 2048, i32(-1)))
	v := &chain.View{ID: make([]int32, 256), Logit: make([]float32, 256)}
	b.ReportAllocs()
	for b.Loop() {
		for i := range v.ID[:256] {
			v.ID, v.Logit = v.ID[:256], v.Logit[:256]
			v.ID[i], v.Logit[i] = int32(500*i), -float32(i)
		}
		v.N, v.Chosen = 256, -1
		if err := s.Apply(v); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStage_Token is what a plugin with every export costs a token, besides its own work.
func BenchmarkStage_Token(b *testing.B) {
	g := viewed(`{"name":"guest"}`, abi.BufferCandidates, 2048, i32(-1))
	s := benchStage(b, g.On(abi.ExportPrepare, i32(0)).On(abi.ExportAccept, i32(0)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Prepare(); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Accept(5); err != nil {
			b.Fatal(err)
		}
		s.session.History = s.session.History[:1]
	}
}

func BenchmarkModule_Open(b *testing.B) {
	for name, g := range map[string]*asm.Guest{"plain": hosttest.Plain(), "warm": hosttest.Warmed()} {
		b.Run(name, func(b *testing.B) {
			m := hosttest.Load(b, hosttest.Open(b, load.New), g)
			for b.Loop() {
				s, err := New(m, plugin.RequestInfo{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Reset([]int32{1}, 1); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoader_Load(b *testing.B) {
	r := hosttest.Open(b, load.New)
	wasm := candidates().Wasm()
	for b.Loop() {
		m, err := r.Load(context.Background(), wasm)
		if err != nil {
			b.Fatal(err)
		}
		m.Release()
	}
}

func TestStage_Steady_AllocatesNothing(t *testing.T) {
	g := candidates()
	s := use(t, g.On(abi.ExportPrepare, i32(0)).On(abi.ExportAccept, i32(0)), 1)
	row, v := ramp(), &chain.View{}
	got := testing.AllocsPerRun(100, func() {
		if _, err := s.Prepare(); err != nil {
			t.Fatal(err)
		}
		v.Row, v.N, v.Chosen = row, -1, -1
		if err := s.Apply(v); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Accept(5); err != nil {
			t.Fatal(err)
		}
		s.session.History = s.session.History[:1]
	})
	if got != 0 {
		t.Errorf("%v allocations a token", got)
	}
}
