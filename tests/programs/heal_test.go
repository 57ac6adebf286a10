// SPDX-License-Identifier: MIT

package programs

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/steadytest"
)

// A prompt that ends inside a word goes on as the unbroken one does: the model's own greedy answer
// is cut anywhere, a hundred times (a thousand in the long test), and healed. Cuts are left out
// where the model wrote other tokens than its tokenizer makes of the text before, since then no
// prompt is the unbroken one.
func TestHeal_GoesOnAsTheUnbrokenPrompt(t *testing.T) {
	const most, more = 48, 4
	wanted := steadytest.InLongTest(1000, 100)
	random, o := steadytest.Rand(t), newOracle(t, builtInModel)
	h := hosts.OpenWithPlugins(t, map[string]any{"model.kv_layout": "split"}, map[string][]byte{"heal.wasm": hosts.Example(t, "heal")})
	type cut struct {
		prompt, want string
		margin       float64
	}
	type story struct {
		prompt, answer []int32
		margins        []float64
	}
	var stories []story
	for _, opening := range openings {
		prompt := o.tokens(opening)
		if answer, margins := o.greedy(prompt, most); len(answer) > 2*more {
			stories = append(stories, story{prompt, answer, margins})
		}
	}
	var cuts []cut
	for tries := 0; len(cuts) < wanted && tries < 10_000; tries++ {
		s := stories[random.IntN(len(stories))]
		text, at := o.text(s.answer), 0
		if at = random.IntN(len(text) - 1); !utf8.RuneStart(text[at]) {
			continue
		}
		before, n := "", 0
		for ; len(before) <= at; n++ {
			before += o.text(s.answer[n : n+1])
		}
		whole := slices.Concat(s.prompt, s.answer[:n])
		if !slices.Equal(o.tokens(o.text(s.prompt)+before), whole) || n+more > len(s.answer) {
			continue
		}
		cuts = append(cuts, cut{o.text(s.prompt) + text[:at], o.text(s.answer[:n+more])[at:], slices.Min(s.margins[:n+more])})
	}
	var close, broken atomic.Int64
	hosts.EightAtOnce(len(cuts), func(i int) {
		c := cuts[i]
		if i < 50 && !strings.HasPrefix(writes(t, h, map[string]any{"prompt": c.prompt, "n_predict": more + 8, "temperature": 0}, "", nil).Content, c.want) {
			broken.Add(1)
		}
		w := writes(t, h, map[string]any{"prompt": c.prompt, "n_predict": more + 8, "temperature": 0}, "heal", nil)
		switch {
		case strings.HasPrefix(w.Content, c.want):
		case c.margin < rounding:
			close.Add(1)
		default:
			t.Errorf("after %q it writes %q, want %q", c.prompt, w.Content, c.want)
		}
	})
	t.Logf("of %d cuts %d are close, without the plugin %d of 50 are others", len(cuts), close.Load(), broken.Load())
	mostClose, leastBroken := steadytest.InLongTest(wanted/20, wanted/4), steadytest.InLongTest(5, 1) // a few cuts may be a poor draw
	if len(cuts) < wanted || int(close.Load()) > mostClose || int(broken.Load()) < leastBroken {
		t.Errorf("%d cuts, %d answers are others where two tokens are nearly as likely, and without the plugin only %d of 50 are: too little was tested",
			len(cuts), close.Load(), broken.Load())
	}
}
