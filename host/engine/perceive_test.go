// SPDX-License-Identifier: MIT

package engine

import (
	"slices"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// layouts are the ways to lay out KV cells in which a pair is tested. One pair hears in each
// layout, unless everything is to be tested: sounds are long.
func layouts(p synth.MediaPair) []string {
	switch {
	case p.Text == "gemma3": // a sliding window
		return []string{"shared"}
	case steadytest.Long() && p.Sees():
		return []string{"shared", "split"}
	case p.Projector == "mlp+ultravox":
		return []string{"shared"}
	case p.Sees() && p.Hears():
		return []string{"split"}
	case p.Sees():
		return []string{"shared", "split"}
	case steadytest.Long(): // as those that also see
		return []string{"split"}
	}
	return nil
}

// eachPair opens each pair in each layout that it may have, or some of them.
func eachPair(t *testing.T, test func(t *testing.T, p *perceiving)) {
	type kind struct {
		synth.MediaPair
		layout string
	}
	var all []kind
	for _, pair := range synth.MediaPairs {
		for _, layout := range layouts(pair) {
			all = append(all, kind{pair, layout})
		}
	}
	for _, k := range steadytest.Some(t, all, 6) {
		t.Run(k.Projector+" "+k.layout, func(t *testing.T) {
			test(t, openPair(t, k.MediaPair, Options{Slots: 3, KVLayout: k.layout}))
		})
	}
}

// The backend computes pieces as the binding does by itself, at once or in slices, and answers
// depend on them.
func TestBackend_Start_Pieces(t *testing.T) {
	eachPair(t, func(t *testing.T, p *perceiving) {
		c := must.Get(native.NewContext(p.weights, native.ContextOptions{Cells: 4096, Threads: 1}))(t)
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		prompt := p.conversation(t)
		want := lone(t, p, c, prompt)
		if got := p.answer(t, 0, 0, prompt...); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
		last := len(prompt) - 1
		if got := p.answer(t, 1, p.read(t, 1, 0, 5, prompt[:last]...), prompt[last]); got != want {
			t.Errorf("in slices, %q instead of %q", got, want)
		}
		other := slices.Concat(prompt[:1], p.seen(t, 3), prompt[last:])
		if got := p.answer(t, 2, 0, other...); got == want {
			t.Errorf("both prompts are answered %q", got)
		}
	})
}

// lone is what the binding answers.
func lone(t *testing.T, p *perceiving, c *native.Context, prompt []part) (text string) {
	t.Helper()
	position := int32(0)
	decode := func(tokens ...int32) {
		var b native.Batch
		for i, token := range tokens {
			b.Add(token, position, 0, i == len(tokens)-1)
			position++
		}
		must.Do(t, c.Decode(&b))
	}
	for _, of := range prompt {
		if of.piece == nil {
			decode(of.tokens...)
			continue
		}
		s := of.piece.Shape
		b := native.EmbeddingBatch{Values: of.piece.Values, To: s.Rows, Position: position}
		b.Piece = native.Piece{Embeddings: s.Rows, Positions: s.Positions, Columns: s.Columns, Whole: s.Whole}
		must.Do(t, c.DecodeEmbeddings(&b))
		position += int32(s.Positions)
	}
	for range replied {
		token := likeliestOf(c.Row(0))
		text += p.Engine.Piece(token)
		decode(token)
	}
	return text
}

// A pass over embeddings that is not as it should be is refused before it changes anything, and
// the next one is right.
func TestBackend_Start_PiecesThatAreWrong(t *testing.T) {
	for _, pair := range synth.MediaPairs[:4] {
		p := openPair(t, pair, Options{Slots: 2})
		prompt := p.conversation(t)
		want := p.answer(t, 0, 0, prompt...)
		at := slices.IndexFunc(prompt, func(of part) bool { return of.piece != nil })
		before := p.read(t, 1, 0, 0, prompt[:at]...)
		good := prompt[at].piece
		for name, spoil := range map[string]func(b *scheduler.Batch){
			"a row beyond the last":  func(b *scheduler.Batch) { b.FirstRow = 1 },
			"a row before the first": func(b *scheduler.Batch) { b.FirstRow = -1 },
			"two sequences":          func(b *scheduler.Batch) { b.Sequences[1] = 0 },
			"logits":                 func(b *scheduler.Batch) { b.Outputs[1] = true },
			"another position":       func(b *scheduler.Batch) { b.Positions[1] += 3 },
			"too few numbers":        func(b *scheduler.Batch) { short := *good; short.Values = good.Values[1:]; b.Piece = &short },
			"no numbers":             func(b *scheduler.Batch) { none := *good; none.Values = nil; b.Piece = &none },
			"no such sequence": func(b *scheduler.Batch) {
				for i := range b.Sequences {
					b.Sequences[i] = 99
				}
			},
			"no such position": func(b *scheduler.Batch) {
				for i := range b.Positions {
					b.Positions[i] += 1 << 20
				}
			},
			"tokens without embeddings": func(b *scheduler.Batch) { b.Piece = nil },
		} {
			b := p.rows(prompt[at], 1, before, 0, 0)
			spoil(b)
			err := p.backend.Start(b)
			if err == nil {
				err = p.backend.Wait()
			}
			if err == nil {
				t.Errorf("%s: %s was computed", pair.Projector, name)
			}
			if n := p.backend.length(1); n != before {
				t.Fatalf("%s: %s left %d positions of %d", pair.Projector, name, n, before)
			}
		}
		if got := p.answer(t, 1, before, prompt[at:]...); got != want {
			t.Errorf("%s: afterwards %q instead of %q", pair.Projector, got, want)
		}
	}
}

// Sequences that end with a piece, or in one, go on as they should after passes that put padding
// tokens into them.
func TestBackend_PaddingAfterPieces(t *testing.T) {
	for _, pair := range synth.MediaPairs[1:6] {
		p := openPair(t, pair, Options{Slots: 3, KVLayout: "split"})
		p.backend.padder.together = 3
		prompt := p.conversation(t)
		want := p.answer(t, 0, 0, prompt...)
		for i, of := range prompt {
			if of.piece == nil {
				continue
			}
			p.clear(3)
			from := p.read(t, 1, 0, 0, prompt[:i]...)
			for row := 0; row < of.piece.Rows; {
				b := p.rows(of, 1, from, row, (of.piece.Rows+1)/2)
				pass(t, p.backend, b)
				row += b.Len()
				var both scheduler.Batch
				for seq := int32(0); seq < 3; seq += 2 {
					both.Add(prompt[0].tokens[0], int32(p.backend.length(seq)), seq, true)
				}
				pass(t, p.backend, &both)
				if len(p.backend.padder.added) == 0 {
					t.Fatal("the pass had no padding")
				}
			}
			if got := p.answer(t, 1, from+of.piece.Positions, prompt[i+1:]...); got != want {
				t.Errorf("%s, part %d: %q instead of %q", pair.Projector, i, got, want)
			}
		}
	}
}

func (p *perceiving) clear(sequences int32) {
	for seq := range sequences {
		p.backend.Truncate(seq, 0)
	}
}
