// SPDX-License-Identifier: MIT

package examples

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/host/watermark"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

var watermarkKey = strings.Repeat("5a", 32)

// marking is a stage with the plan that the watermark makes for a scheme.
func marking(t testing.TB, m *load.Plugin, scheme string) *stage.Stage {
	t.Helper()
	config := must.Get(m.CheckConfig(fmt.Appendf(nil, `{"key":%q,"scheme":%q,"delta":3}`, watermarkKey, scheme)))(t)
	planned := must.Get(m.With(t.Context(), "me", config))(t)
	t.Cleanup(planned.Release)
	return begun(t, planned, plugin.RequestInfo{Config: config, MaxTokens: 500, ContextSize: 4096})
}

// marked is the next token of an answer, and its row and the draw are by chance.
func marked(t testing.TB, s *stage.Stage, random *rand.Rand, vocabulary int) scheduler.Token {
	t.Helper()
	row := make([]float32, vocabulary)
	for i := range row {
		row[i] = float32(2 * random.NormFloat64())
	}
	prepared := must.Get(s.Prepare())(t)
	for _, b := range prepared.Bias {
		row[b.Token] += b.Value
	}
	v := &chain.View{Row: row, N: -1, Chosen: -1}
	must.Do(t, s.Apply(v))
	token := v.Likeliest() // where it is not marked, by the chance of the row
	must.Get(s.Accept(token))(t)
	return token
}

// TestWatermark_Marks_AreWhatTheDetectorFinds has the module mark answers of 300 tokens: the
// detector finds the mark with its key and scheme, and no other.
func TestWatermark_Marks_AreWhatTheDetectorFinds(t *testing.T) {
	w := newWords()
	m := loaded(t, "watermark", w)
	for _, scheme := range []string{watermark.Gumbel, watermark.Green} {
		s, random := marking(t, m, scheme), steadytest.Rand(t)
		text := make([]int32, 300)
		for i := range text {
			text[i] = marked(t, s, random, w.Size())
		}
		for _, c := range []struct {
			key, scheme string
			found       bool
		}{
			{watermarkKey, scheme, true}, {strings.Repeat("5b", 32), scheme, false},
			{watermarkKey, map[string]string{watermark.Gumbel: watermark.Green, watermark.Green: watermark.Gumbel}[scheme], false},
		} {
			d := must.Get(watermark.New(watermark.Config{Key: c.key, Scheme: c.scheme, Context: watermark.DefaultContext, Gamma: watermark.DefaultGamma}))(t)
			if r := d.Detect(text); r.Scored < 290 || c.found != (r.PValue < 1e-9) {
				t.Errorf("%s, looked for %s with %.8s…: %+v", scheme, c.scheme, c.key, r)
			}
		}
	}
}

// BenchmarkWatermark is what a token costs with a vocabulary of 128k tokens.
func BenchmarkWatermark(b *testing.B) {
	m := loaded(b, "watermark", many())
	b.Run("green", func(b *testing.B) {
		s := marking(b, m, watermark.Green)
		for i := range scheduler.Token(4) {
			if _, err := s.Accept(i); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if _, err := s.Prepare(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, n := range []int{40, 1024} {
		b.Run(fmt.Sprintf("gumbel of %d", n), func(b *testing.B) {
			s := marking(b, m, watermark.Gumbel)
			for i := range scheduler.Token(4) {
				if _, err := s.Accept(i); err != nil {
					b.Fatal(err)
				}
			}
			ids, logits := make([]int32, n), make([]float32, n)
			for b.Loop() {
				for i := range ids {
					ids[i], logits[i] = int32(i), -float32(i)/100
				}
				if err := s.Apply(&chain.View{ID: ids, Logit: logits, N: n, Chosen: -1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
