// SPDX-License-Identifier: MIT

package examples

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/stage"
)

// written are schemas as users have them, for whole answers.
var written = map[string]string{
	"person": `{"type":"object","required":["name","age","tags"],"properties":{"name":{"type":"string","maxLength":60},
		"age":{"type":"integer","minimum":0,"maximum":150},"tags":{"type":"array","items":{"type":"string"},"maxItems":5}}}`,
	"union": `{"type":"array","minItems":3,"maxItems":6,"items":{"anyOf":[
		{"type":"object","required":["kind","text"],"properties":{"kind":{"const":"note"},"text":{"type":"string"}}},
		{"type":"object","required":["kind","x","y"],"properties":{"kind":{"const":"point"},"x":{"type":"number"},"y":{"type":"number"}}}]}}`,
	"patterns": `{"type":"object","required":["id","at","mail","slug","page"],"properties":{"id":{"format":"uuid"},"at":{"format":"date-time"},
		"mail":{"format":"email"},"slug":{"pattern":"^[a-z0-9]+(-[a-z0-9]+)*$","maxLength":40},"page":{"format":"uri"}}}`,
	"free": `{"type":"object"}`,
}

// BenchmarkJSONSchema_Answer measures prepare over whole answers of requests of their own, with
// 128k tokens: the masks that a request needs first and those that it needs again, as they come.
func BenchmarkJSONSchema_Answer(b *testing.B) {
	w := many()
	m := loaded(b, "json-schema", w)
	for name, schema := range written {
		b.Run(name, func(b *testing.B) {
			config := fmt.Appendf(nil, `{"schema":%s}`, schema)
			var took []time.Duration
			for seed := uint64(0); b.Loop(); seed++ {
				s, err := stage.New(m, plugin.RequestInfo{Config: config, MaxTokens: 200, ContextSize: 4096})
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, prepares(b, s, w, rand.New(rand.NewPCG(seed, 12)))...)
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(took)
			sum := time.Duration(0)
			for _, d := range took {
				sum += d
			}
			b.ReportMetric(float64((sum/time.Duration(len(took))).Nanoseconds())/1e3, "µs/prepare")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "µs/p99")
			b.ReportMetric(float64(took[len(took)-1].Nanoseconds())/1e3, "µs/most")
		})
	}
}

// prepares lets a stage write an answer and tells how long each mask took.
func prepares(b *testing.B, s *stage.Stage, w words, r *rand.Rand) []time.Duration {
	b.Helper()
	if err := s.Reset(prompt, len(prompt)); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for range 200 {
		begun := time.Now()
		p, err := s.Prepare()
		took = append(took, time.Since(begun))
		if err != nil {
			b.Fatal(err)
		}
		token := draw(p.Mask, r)
		effect, err := s.Accept(token)
		if err != nil {
			b.Fatal(err)
		}
		if effect.Stop || w[token] == endOfText {
			break
		}
	}
	return took
}

// Patterns that are wide open meet most of a large vocabulary, and still no call runs out of fuel.
func TestJSONSchema_WidePatterns_FitTheFuel(t *testing.T) {
	w := many()
	m := loaded(t, "json-schema", w)
	for _, schema := range []string{written["patterns"], `{"pattern":"^.*@.*$"}`, `{"pattern":"^[^0-9]+$","minLength":9,"maxLength":30}`} {
		text, err := generate(t, m, w, []byte(schema), 200, rand.New(rand.NewPCG(1, 12)))
		if err != nil {
			t.Fatalf("%s: after %q: %v", schema, text, err)
		}
		mustFit(t, []byte(schema), text)
	}
}
