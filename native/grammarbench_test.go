// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// largeSchema has 200 properties, among them deep ones and enums.
func largeSchema() string {
	var properties, required []string
	for i := range 200 {
		schema := `{"type":"string"}`
		switch i % 4 {
		case 1:
			var values []string
			for j := range 40 {
				values = append(values, fmt.Sprintf(`"value %d of %d"`, j, i))
			}
			schema = `{"enum":[` + strings.Join(values, ",") + `]}`
		case 2:
			schema = `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"number"},"c":{"enum":["x","y","z"]}},"required":["b"]}}},"required":["a"]}`
		case 3:
			schema = `{"type":"integer","minimum":-5,"maximum":1200}`
		}
		properties = append(properties, fmt.Sprintf(`"property %d":%s`, i, schema))
		if i%3 != 0 {
			required = append(required, fmt.Sprintf(`"property %d"`, i))
		}
	}
	return `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
}

// BenchmarkSampler_LargeGrammar is one token over a vocabulary of 128,256: of a chain without a grammar, and under the grammar of a large
// schema, of a model that writes what the schema wants and of one that never does.
func BenchmarkSampler_LargeGrammar(b *testing.B) {
	m := load(b, filepath.Join(llamaSource(b), "models", "ggml-vocab-llama-bpe.gguf"), ModelOptions{VocabOnly: true})
	text, err := GrammarOfSchema(largeSchema())
	if err != nil {
		b.Fatal(err)
	}
	o := defaultSamplerOptions()
	o.Chain = []SamplerKind{Penalties, DRY, TopNSigma, TopK, Typical, TopP, MinP, XTC, Temperature}
	o.TopK, o.TopP, o.MinP, o.Temperature, o.RepeatLastN = 40, 0.95, 0.05, 0.8, 64
	under := o
	under.Grammar = text
	b.Run("plain", func(b *testing.B) { benchmarkTokens(b, m, o, nil) })
	b.Run("follows", func(b *testing.B) { benchmarkTokens(b, m, under, newGrammar(b, m, text)) })
	b.Run("wild", func(b *testing.B) { benchmarkTokens(b, m, under, nil) })
}

// benchmarkTokens draws from noise, in which the tokens that a guide allows stand out.
func benchmarkTokens(b *testing.B, m *Model, o SamplerOptions, guide *Grammar) {
	s := newSampler(b, m, o)
	logits := make([]float32, m.Info().Vocabulary)
	var times []time.Duration
	for b.Loop() {
		if guide == nil && len(times)%5 == 0 { // else it stays within a string, where all may come
			if err := s.Rewind(nil, 0); err != nil {
				b.Fatal(err)
			}
		}
		times = append(times, benchmarkToken(b, m, s, guide, logits, uint64(len(times))))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}

// benchmarkToken is how long the nth token takes.
func benchmarkToken(b *testing.B, m *Model, s *Sampler, guide *Grammar, logits []float32, n uint64) time.Duration {
	mask := make([]uint32, (len(logits)+31)/32)
	if guide != nil {
		if err := guide.Mask(mask); err != nil {
			b.Fatal(err)
		}
	}
	for i := range logits {
		logits[i] = float32((uint64(i)*2654435761+n*97777)%1000003)/1e5 + 20*float32(mask[i/32]>>(i%32)&1)
	}
	start := time.Now()
	token, err := s.Sample(logits)
	if err == nil && !m.EndOfGeneration(token) {
		err = s.Accept(token)
	}
	took := time.Since(start)
	if err != nil || m.EndOfGeneration(token) {
		b.Fatalf("token %d, %v", token, err)
	}
	if guide != nil {
		if ok, err := guide.Accept(token); !ok || err != nil {
			b.Fatalf("token %d does not fit: %v", token, err)
		}
	}
	return took
}
