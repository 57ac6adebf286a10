// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
)

// vocabularyOnly is an engine that cannot compute, with a vocabulary of 128,256 tokens.
func vocabularyOnly(b *testing.B) *Engine {
	b.Helper()
	found, err := filepath.Glob("../../build/llama.cpp/source-*/models/ggml-vocab-llama-bpe.gguf")
	if err != nil || len(found) == 0 {
		b.Skip("llama.cpp's source is not there")
	}
	m, err := native.LoadModel(b.Context(), found[0], native.ModelOptions{VocabOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.Close(); err != nil {
			b.Error(err)
		}
	})
	e := &Engine{model: m, info: Info{ModelInfo: m.Info()}, backend: &backend{model: m}}
	e.info.Limits.Cells = 4096
	for t := range int32(e.info.Vocabulary) {
		if m.EndOfGeneration(t) {
			e.backend.ends = append(e.backend.ends, t)
		}
	}
	return e
}

// BenchmarkStage_LargeGrammar is one token over a vocabulary of 128,256: without a grammar, and
// under that of a large schema, of a model that writes what the schema wants and of one that never
// does.
func BenchmarkStage_LargeGrammar(b *testing.B) {
	e := vocabularyOnly(b)
	p := sampling.Default()
	under := p
	under.JSONSchema = largeSchema()
	b.Run("plain", func(b *testing.B) { e.benchmarkTokens(b, p, false) })
	b.Run("follows", func(b *testing.B) { e.benchmarkTokens(b, under, true) })
	b.Run("wild", func(b *testing.B) { e.benchmarkTokens(b, under, false) })
	b.Run("wild in Unicode", func(b *testing.B) {
		under.JSONSchema = json.RawMessage(`{"type":"array","items":{"type":"string","pattern":"^\\p{L}{1,40}( \\p{L}{1,40})*$"}}`)
		e.benchmarkTokens(b, under, false)
	})
}

// benchmarkTokens draws from noise, in which those tokens stand out that a guided answer may go on
// with.
func (e *Engine) benchmarkTokens(b *testing.B, p sampling.Params, guided bool) {
	s := wholeChain(b, e, p)
	row, mask := make([]float32, e.info.Vocabulary), make([]uint32, e.tokens().Words())
	var times []time.Duration
	for b.Loop() {
		if !guided && len(times)%5 == 0 { // else it stays within a string, where all may come
			if err := s.Reset([]scheduler.Token{1}, 1); err != nil {
				b.Fatal(err)
			}
		}
		if guided {
			if err := s.rules.grammar.Mask(s.rules.here, e.tokens(), mask); err != nil {
				b.Fatal(err)
			}
		}
		for i := range row {
			row[i] = float32((uint64(i)*2654435761+uint64(len(times))*97777)%1000003)/1e5 + 20*float32(mask[i/32]>>(i%32)&1)
		}
		start := time.Now()
		token, err := s.sample(row)
		if err == nil && !e.model.EndOfGeneration(token) {
			_, err = s.Accept(token)
		}
		times = append(times, time.Since(start))
		if err != nil {
			b.Fatalf("token %d, %v", token, err)
		}
		if e.model.EndOfGeneration(token) {
			if err := s.Reset([]scheduler.Token{1}, 1); err != nil {
				b.Fatal(err)
			}
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "median-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1e3, "p99-µs")
	b.ReportMetric(float64(times[len(times)-1].Nanoseconds())/1e3, "most-µs")
}
