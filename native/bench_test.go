// SPDX-License-Identifier: MIT

package native

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// benchModel is $PENSTOCK_BENCH_MODEL, or the built-in model.
func benchModel(b *testing.B) *Model {
	path := os.Getenv("PENSTOCK_BENCH_MODEL")
	if path == "" {
		path = builtIn
	}
	return load(b, path, ModelOptions{})
}

// benchNumber reads PENSTOCK_BENCH_name; 0 where it is not set.
func benchNumber(name string) int {
	n, _ := strconv.Atoi(os.Getenv("PENSTOCK_BENCH_" + name))
	return n
}

// One token for each of n sequences a pass, as the scheduler decodes.
func BenchmarkContext_Decode(b *testing.B) {
	m := benchModel(b)
	for _, n := range []int{1, 2, 4, 8} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			c := newContext(b, m, ContextOptions{Cells: 4096, Sequences: n, Unified: true, Threads: benchNumber("THREADS"), Poll: benchNumber("POLL")})
			var batch Batch
			position := int32(0)
			for b.Loop() {
				if position == 256 {
					must.Do(b, clearSequences(c, n))
					position = 0
				}
				batch.Reset()
				for s := range int32(n) {
					batch.Add(100+s, position, s, true)
				}
				position++
				must.Do(b, c.Decode(&batch))
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

func BenchmarkContext_Prefill512(b *testing.B) {
	m := benchModel(b)
	c := newContext(b, m, ContextOptions{Cells: 1024, Unified: true, Threads: benchNumber("THREADS"), Poll: benchNumber("POLL")})
	var batch Batch
	for i := range int32(512) {
		batch.Add(100+i, i, 0, i == 511)
	}
	for b.Loop() {
		must.Do(b, clearSequences(c, 1))
		must.Do(b, c.Decode(&batch))
	}
	b.ReportMetric(float64(512*b.N)/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkSampler_Sample(b *testing.B) {
	m := benchModel(b)
	o := defaultSamplerOptions()
	o.Chain = []SamplerKind{Penalties, DRY, TopNSigma, TopK, Typical, TopP, MinP, XTC, Temperature}
	o.TopK, o.TopP, o.MinP, o.Temperature, o.RepeatLastN = 40, 0.95, 0.05, 0.8, 64
	s := newSampler(b, m, o)
	row := make([]float32, m.Info().Vocabulary)
	for i := range row {
		row[i] = float32(i*7919%1000) / 100
	}
	for b.Loop() {
		token := must.Get(s.Sample(row))(b)
		must.Do(b, s.Accept(token))
	}
}

func BenchmarkTemplate_Render(b *testing.B) {
	m := load(b, builtIn, ModelOptions{VocabOnly: true})
	tmpl := must.Get(NewTemplate(m, ""))(b)
	defer closing(b, tmpl)
	for b.Loop() {
		must.Get(tmpl.Render(b.Context(), conversations["system"], nil))(b)
	}
}

func BenchmarkModel_Tokenize(b *testing.B) {
	m := load(b, builtIn, ModelOptions{VocabOnly: true})
	for b.Loop() {
		must.Get(m.Tokenize(b.Context(), greedyPrompt, TokenizeOptions{ParseSpecial: true}))(b)
	}
}

// Saving a conversation of n tokens to main memory, as when it leaves the KV cache; beginning and
// copying are measured apart.
func BenchmarkContext_SaveState(b *testing.B) {
	m := benchModel(b)
	for _, n := range []int32{72, 500} {
		b.Run(strconv.Itoa(int(n)), func(b *testing.B) {
			c := newContext(b, m, ContextOptions{Cells: 16384, Sequences: 16, Threads: benchNumber("THREADS")})
			var batch Batch
			for i := range n {
				batch.Add(100+i, i, 3, false)
			}
			must.Do(b, c.Decode(&batch))
			var began, copied time.Duration
			for b.Loop() {
				start := time.Now()
				state := must.Get(c.SaveState(3))(b)
				begun := time.Now()
				c.FinishCopy()
				copied += time.Since(begun)
				began += begun.Sub(start)
				b.SetBytes(int64(state.Bytes()))
				must.Do(b, state.Close())
			}
			b.ReportMetric(float64(began.Microseconds())/float64(b.N), "begin-µs")
			b.ReportMetric(float64(copied.Microseconds())/float64(b.N), "copy-µs")
		})
	}
}
