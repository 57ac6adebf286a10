// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// mediaModel is a small pair, loaded, with a context.
type mediaModel struct {
	pair      synth.MediaPair
	model     *Model
	projector *Projector
	context   *Context
	path      string // of the projector
}

func openMedia(t testing.TB, pair synth.MediaPair, o ContextOptions) *mediaModel {
	t.Helper()
	useOwnKernels(false)
	t.Cleanup(func() { useOwnKernels(true) })
	text, projector, err := pair.WriteFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	m := &mediaModel{pair: pair, model: load(t, text, ModelOptions{}), path: projector}
	m.projector = openProjectorFile(t, m.model, projector, ProjectorOptions{Threads: 1})
	if o.Cells == 0 {
		o.Cells = 4096
	}
	o.Threads, o.Sequences = 1, 2
	m.context = newContext(t, m.model, o)
	return m
}

func openProjectorFile(t testing.TB, m *Model, path string, o ProjectorOptions) *Projector {
	t.Helper()
	p := must.Get(OpenProjector(m, path, o))(t)
	t.Cleanup(func() { closing(t, p) })
	return p
}

// gradient is a picture that differs with its seed.
func gradient(width, height, seed int) []byte {
	rgb := make([]byte, 0, 3*width*height)
	for y := range height {
		for x := range width {
			rgb = append(rgb, byte(x*2+seed*70), byte(y*3), byte(x+y*seed))
		}
	}
	return rgb
}

// tone is half a second of a sound.
func tone(rate int, hertz float64) []float32 {
	out := make([]float32, rate/2)
	for i := range out {
		out[i] = float32(0.4 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
	}
	return out
}

// encoded is a picture or a sound with the embeddings of its pieces.
type encoded struct {
	pieces []Piece
	values [][]float32
}

func (m *mediaModel) encode(t testing.TB, media *Media) encoded {
	t.Helper()
	defer closing(t, media)
	e := encoded{pieces: media.Pieces()}
	for i, p := range e.pieces {
		var values []float32
		if p.Tokens == nil {
			var err error
			if values, err = m.projector.Encode(t.Context(), media, i); err != nil {
				t.Fatal(err)
			}
		}
		e.values = append(e.values, values)
	}
	return e
}

func (m *mediaModel) picture(t testing.TB, width, height, seed int) encoded {
	t.Helper()
	media := must.Get(m.projector.Picture(width, height, gradient(width, height, seed)))(t)
	return m.encode(t, media)
}

func (m *mediaModel) sound(t testing.TB, hertz float64) encoded {
	t.Helper()
	media := must.Get(m.projector.Sound(tone(m.projector.Info().SampleRate, hertz)))(t)
	return m.encode(t, media)
}

// example is what the pair senses: a picture, or else a sound.
func (m *mediaModel) example(t testing.TB, seed int) encoded {
	t.Helper()
	if m.pair.Sees() {
		return m.picture(t, 100, 80, seed)
	}
	return m.sound(t, 300*float64(seed))
}

// answer decodes what parts say, texts and encoded media, and answers greedily. slice is the most
// embeddings of a pass.
func (m *mediaModel) answer(t testing.TB, slice int, parts ...any) string {
	t.Helper()
	text := m.reply(t, 0, m.read(t, 0, 0, slice, parts...))
	must.Do(t, clearSequences(m.context, 1))
	return text
}

// read decodes what parts say into a sequence, from a position on, and returns the next one.
func (m *mediaModel) read(t testing.TB, sequence, position int32, slice int, parts ...any) int32 {
	t.Helper()
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			tokens := must.Get(m.model.Tokenize(t.Context(), part, TokenizeOptions{ParseSpecial: true}))(t)
			position = m.decode(t, sequence, position, tokens)
		case encoded:
			for j, piece := range part.pieces {
				if piece.Tokens != nil {
					position = m.decode(t, sequence, position, piece.Tokens)
					continue
				}
				step := slice
				if step == 0 || piece.Whole {
					step = piece.Embeddings
				}
				for from := 0; from < piece.Embeddings; from += step {
					b := EmbeddingBatch{Piece: piece, Values: part.values[j], From: from, To: min(from+step, piece.Embeddings), Position: position, Sequence: sequence}
					must.Do(t, m.context.DecodeEmbeddings(&b))
				}
				position += int32(piece.Positions)
			}
		}
	}
	return position
}

// decode decodes tokens and returns the next position. The last one's logits are row 0.
func (m *mediaModel) decode(t testing.TB, sequence, position int32, tokens []int32) int32 {
	t.Helper()
	var b Batch
	for i, token := range tokens {
		b.Add(token, position, sequence, i == len(tokens)-1)
		position++
	}
	must.Do(t, m.context.Decode(&b))
	return position
}

// reply goes on greedily after what was decoded last.
func (m *mediaModel) reply(t testing.TB, sequence, position int32) (text string) {
	t.Helper()
	for range 24 {
		row := m.context.Row(0)
		best := int32(0)
		for token, logit := range row {
			if logit > row[best] {
				best = int32(token)
			}
		}
		text += m.model.Piece(best)
		position = m.decode(t, sequence, position, []int32{best})
	}
	return text
}

const (
	before = "<|im_start|>user\n"
	after  = "what is this?<|im_end|>\n<|im_start|>assistant\n"
)

// Answers depend on what is seen or heard, and not on who computes it when: encoded once or again,
// in one pass or in slices.
func TestProjector_EmbeddingsAreWhatCounts(t *testing.T) {
	for _, pair := range steadytest.Some(t, synth.MediaPairs, 4) {
		t.Run(pair.Projector, func(t *testing.T) {
			m := openMedia(t, pair, ContextOptions{})
			info := m.projector.Info()
			if info.Vision != pair.Sees() || info.Audio != pair.Hears() || info.Audio != (info.SampleRate == 16000) || info.Width != m.model.Info().EmbeddingIn {
				t.Errorf("%+v", info)
			}
			if whole := info.Whole > 0; whole != (pair.Projector == "gemma3") {
				t.Errorf("%+v", info)
			}
			a, b := m.example(t, 1), m.example(t, 2)
			first := m.answer(t, 0, before, a, after)
			if again := m.answer(t, 0, before, a, after); again != first {
				t.Errorf("the same embeddings gave %q, then %q", first, again)
			}
			if anew := m.answer(t, 0, before, m.example(t, 1), after); anew != first {
				t.Errorf("encoded anew, it gave %q instead of %q", anew, first)
			}
			if sliced := m.answer(t, 5, before, a, after); sliced != first {
				t.Errorf("in slices, it gave %q instead of %q", sliced, first)
			}
			if other, none := m.answer(t, 0, before, b, after), m.answer(t, 0, before, after); other == first || none == first {
				t.Errorf("one gave %q, another %q, and none %q", first, other, none)
			}
		})
	}
}

// The cells of a picture or a sound are cut, shared, saved and restored as those of a text are, at
// the borders of pieces.
func TestContext_CellsOfMedia(t *testing.T) {
	for _, pair := range steadytest.Some(t, synth.MediaPairs, 4) {
		for _, unified := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s unified %v", pair.Projector, unified), func(t *testing.T) {
				m := openMedia(t, pair, ContextOptions{Unified: unified, FullWindowCache: true})
				if !unified && !m.model.Info().OwnCells() {
					t.Skip("such models share cells")
				}
				seen := m.example(t, 1)
				want := m.answer(t, 0, before, seen, after)
				var border int32
				for name, change := range map[string]func() (sequence int32, err error){
					"cut":    func() (int32, error) { return 0, m.context.Remove(0, int(border), -1) },
					"shared": func() (int32, error) { return 1, m.context.Share(0, 1, int(border)) },
					"restored": func() (int32, error) {
						state, err := m.context.SaveState(0)
						if err != nil {
							return 1, err
						}
						defer closing(t, state)
						m.context.FinishCopy()
						return 1, errors.Join(m.context.Remove(0, -1, -1), m.context.RestoreState(1, state, int(border)))
					},
				} {
					must.Do(t, clearSequences(m.context, 2))
					border = m.read(t, 0, 0, 0, before, seen)
					m.read(t, 0, border, 0, "something else")
					sequence, err := change()
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					if got := m.reply(t, sequence, m.read(t, sequence, border, 0, after)); got != want {
						t.Errorf("%s: %q instead of %q", name, got, want)
					}
				}
			})
		}
	}
}

// A picture is counted without its pixels, in M-RoPE with fewer positions than cells.
func TestProjector_Picture_CountedWithoutPixels(t *testing.T) {
	for _, pair := range synth.MediaPairs {
		if !pair.Sees() {
			continue
		}
		m := openMedia(t, pair, ContextOptions{})
		counted := must.Get(m.projector.Picture(100, 80, nil))(t)
		e := m.picture(t, 100, 80, 1)
		for i, p := range counted.Pieces() {
			want := e.pieces[i]
			if !slices.Equal(p.Tokens, want.Tokens) || p.Embeddings != want.Embeddings || p.Positions != want.Positions || p.Columns != want.Columns {
				t.Errorf("%s: %+v, with pixels %+v", pair.Projector, p, want)
			}
			if grid := p.Columns > 0; grid && p.Positions != max(p.Columns, p.Embeddings/p.Columns) || !grid && p.Positions != max(p.Embeddings, len(p.Tokens)) {
				t.Errorf("%s: %+v", pair.Projector, p)
			}
			if p.Tokens == nil && second(m.projector.Encode(t.Context(), counted, i)) == nil {
				t.Errorf("%s: no pixels were encoded", pair.Projector)
			}
		}
		closing(t, counted)
	}
}

// turns is done after so many questions whether it is.
type turns struct {
	context.Context
	left, asked int
}

func (c *turns) Err() error {
	c.asked++
	if c.asked > c.left {
		return context.Canceled
	}
	return nil
}

// Each layer asks whether somebody still waits, and no operation of a further one is computed
// after a no. The encoder is as before then.
func TestProjector_Encode_CancelledAfterEachLayer(t *testing.T) {
	for _, pair := range synth.MediaPairs {
		t.Run(pair.Projector, func(t *testing.T) {
			m := openMedia(t, pair, ContextOptions{})
			media := m.media(t)
			defer closing(t, media)
			piece := slices.IndexFunc(media.Pieces(), func(p Piece) bool { return p.Tokens == nil })
			whole := &turns{Context: t.Context(), left: math.MaxInt}
			want := must.Get(m.projector.Encode(whole, media, piece))(t)
			if whole.asked < 3 { // before the first layer, and after each of two
				t.Fatalf("it asked %d times", whole.asked)
			}
			for left := range whole.asked {
				c := &turns{Context: t.Context(), left: left}
				if err := second(m.projector.Encode(c, media, piece)); !errors.Is(err, ErrCancelled) || c.asked != left+2 { // and once for the cause
					t.Errorf("after %d questions: %v, and %d in all", left, err, c.asked)
				}
			}
			if got, err := m.projector.Encode(t.Context(), media, piece); err != nil || !slices.Equal(got, want) {
				t.Errorf("after cancelled encodes: %v", err)
			}
		})
	}
}

func (m *mediaModel) media(t testing.TB) *Media {
	t.Helper()
	var media *Media
	var err error
	if m.pair.Sees() {
		media, err = m.projector.Picture(100, 80, gradient(100, 80, 1))
	} else {
		media, err = m.projector.Sound(tone(16000, 440))
	}
	if err != nil {
		t.Fatal(err)
	}
	return media
}
