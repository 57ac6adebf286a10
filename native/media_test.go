// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
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
	p, err := OpenProjector(m, path, o)
	if err != nil {
		t.Fatal(err)
	}
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
	media, err := m.projector.Picture(width, height, gradient(width, height, seed))
	if err != nil {
		t.Fatal(err)
	}
	return m.encode(t, media)
}

func (m *mediaModel) sound(t testing.TB, hertz float64) encoded {
	t.Helper()
	media, err := m.projector.Sound(tone(m.projector.Info().SampleRate, hertz))
	if err != nil {
		t.Fatal(err)
	}
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

// answer decodes what parts say, texts and encoded media, and answers greedily. slice is the most embeddings of a pass.
func (m *mediaModel) answer(t testing.TB, slice int, parts ...any) string {
	t.Helper()
	position := int32(0)
	decode := func(tokens []int32, last bool) {
		var b Batch
		for i, token := range tokens {
			b.Add(token, position, 0, last && i == len(tokens)-1)
			position++
		}
		if err := m.context.Decode(&b); err != nil {
			t.Fatal(err)
		}
	}
	for i, part := range parts {
		switch part := part.(type) {
		case string:
			tokens, err := m.model.Tokenize(t.Context(), part, TokenizeOptions{ParseSpecial: true})
			if err != nil {
				t.Fatal(err)
			}
			decode(tokens, i == len(parts)-1)
		case encoded:
			for j, piece := range part.pieces {
				if piece.Tokens != nil {
					decode(piece.Tokens, false)
					continue
				}
				step := slice
				if step == 0 || piece.Whole {
					step = piece.Embeddings
				}
				for from := 0; from < piece.Embeddings; from += step {
					b := EmbeddingBatch{Piece: piece, Values: part.values[j], From: from, To: min(from+step, piece.Embeddings), Position: position}
					if err := m.context.DecodeEmbeddings(&b); err != nil {
						t.Fatal(err)
					}
				}
				position += int32(piece.Positions)
			}
		}
	}
	text := ""
	for range 24 {
		row := m.context.Row(0)
		best := int32(0)
		for token, logit := range row {
			if logit > row[best] {
				best = int32(token)
			}
		}
		text += m.model.Piece(best)
		decode([]int32{best}, true)
	}
	if err := clearSequences(m.context, 1); err != nil {
		t.Fatal(err)
	}
	return text
}

const (
	before = "<|im_start|>user\n"
	after  = "what is this?<|im_end|>\n<|im_start|>assistant\n"
)

// Answers depend on what is seen or heard, and not on who computes it when: encoded once or again, in one pass or in slices.
func TestProjector_EmbeddingsAreWhatCounts(t *testing.T) {
	for _, pair := range synth.MediaPairs {
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

// A picture is counted without its pixels, in M-RoPE with fewer positions than cells.
func TestProjector_Picture_CountedWithoutPixels(t *testing.T) {
	for _, pair := range synth.MediaPairs {
		if !pair.Sees() {
			continue
		}
		m := openMedia(t, pair, ContextOptions{})
		counted, err := m.projector.Picture(100, 80, nil)
		if err != nil {
			t.Fatal(err)
		}
		e := m.picture(t, 100, 80, 1)
		for i, p := range counted.Pieces() {
			want := e.pieces[i]
			if !slices.Equal(p.Tokens, want.Tokens) || p.Embeddings != want.Embeddings || p.Positions != want.Positions || p.Columns != want.Columns {
				t.Errorf("%s: %+v, with pixels %+v", pair.Projector, p, want)
			}
			if grid := p.Columns > 0; grid && p.Positions != max(p.Columns, p.Embeddings/p.Columns) || !grid && p.Positions != p.Cells() {
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

// Each layer asks whether somebody still waits, and no operation of a further one is computed after a no. The encoder is as before then.
func TestProjector_Encode_CancelledAfterEachLayer(t *testing.T) {
	for _, pair := range synth.MediaPairs {
		t.Run(pair.Projector, func(t *testing.T) {
			m := openMedia(t, pair, ContextOptions{})
			media := m.media(t)
			defer closing(t, media)
			piece := slices.IndexFunc(media.Pieces(), func(p Piece) bool { return p.Tokens == nil })
			whole := &turns{Context: t.Context(), left: math.MaxInt}
			want, err := m.projector.Encode(whole, media, piece)
			if err != nil {
				t.Fatal(err)
			}
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

// What llama.cpp would abort on is refused, and nothing else: the smallest and the longest pictures and sounds are encoded.
func TestProjector_Bounds(t *testing.T) {
	for _, pair := range synth.MediaPairs {
		t.Run(pair.Projector, func(t *testing.T) {
			m := openMedia(t, pair, ContextOptions{})
			p := m.projector
			for _, size := range [][2]int{{0, 1}, {1, -1}, {101, 1}, {1, 101}, {MaxPictureSide + 1, 200}, {MaxPictureSide, MaxPictureSide}} {
				if err := second(p.Picture(size[0], size[1], nil)); err == nil {
					t.Errorf("a picture of %v was taken", size)
				}
			}
			if err := second(p.Picture(2, 2, make([]byte, 11))); !errors.Is(err, ErrInvalid) {
				t.Error(err)
			}
			for _, samples := range [][]float32{nil, {float32(math.NaN())}, {0, float32(math.Inf(1))}, make([]float32, MaxSoundSamples+1)} {
				if err := second(p.Sound(samples)); err == nil {
					t.Errorf("a sound of %d samples was taken", len(samples))
				}
			}
			if !pair.Sees() || !pair.Hears() {
				if picture, sound := second(p.Picture(2, 2, nil)), second(p.Sound(make([]float32, 9))); !errors.Is(errors.Join(picture, sound), ErrUnsupported) {
					t.Error(picture, sound)
				}
			}
			if pair.Sees() {
				for _, size := range [][2]int{{1, 1}, {100, 1}, {1, 100}, {1, 2}, {1600, 16}, {1200, 1199}} {
					m.picture(t, size[0], size[1], 1)
				}
			}
			if pair.Hears() {
				for _, n := range []int{1, 400, 30*16000 + 1} {
					media, err := p.Sound(make([]float32, n))
					if err != nil {
						t.Fatal(err)
					}
					m.encode(t, media)
				}
			}
		})
	}
}

func TestContext_DecodeEmbeddings_ChecksItsInput(t *testing.T) {
	gemma := openMedia(t, synth.MediaPairs[0], ContextOptions{UBatch: 3, Batch: 3})
	e := gemma.picture(t, 100, 80, 1)
	at := slices.IndexFunc(e.pieces, func(p Piece) bool { return p.Whole })
	if err := gemma.context.DecodeEmbeddings(&EmbeddingBatch{Piece: e.pieces[at], Values: e.values[at], To: e.pieces[at].Embeddings}); !errors.Is(err, ErrInvalid) {
		t.Errorf("more than a pass has room for: %v", err)
	}
	qwen := openMedia(t, synth.MediaPairs[3], ContextOptions{Cells: 512})
	e = qwen.picture(t, 100, 80, 1)
	at = slices.IndexFunc(e.pieces, func(p Piece) bool { return p.Columns > 0 })
	good := EmbeddingBatch{Piece: e.pieces[at], Values: e.values[at], To: e.pieces[at].Embeddings}
	for name, change := range map[string]func(*EmbeddingBatch){
		"nothing":          func(b *EmbeddingBatch) { b.To = 0 },
		"beyond the piece": func(b *EmbeddingBatch) { b.To++ },
		"before it":        func(b *EmbeddingBatch) { b.From = -1 },
		"too few numbers":  func(b *EmbeddingBatch) { b.Values = b.Values[1:] },
		"a sequence":       func(b *EmbeddingBatch) { b.Sequence = 7 },
		"a position":       func(b *EmbeddingBatch) { b.Position = -1 },
		"the last one":     func(b *EmbeddingBatch) { b.Position = 1 << 30 },
		"columns":          func(b *EmbeddingBatch) { b.Piece.Columns = 5 },
		"part of a whole":  func(b *EmbeddingBatch) { b.Piece.Whole, b.To = true, 2 },
		"no number":        func(b *EmbeddingBatch) { b.Values = slices.Clone(b.Values); b.Values[3] = float32(math.NaN()) },
	} {
		b := good
		if change(&b); !errors.Is(qwen.context.DecodeEmbeddings(&b), ErrInvalid) {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := qwen.context.DecodeEmbeddings(&good); err != nil {
		t.Error(err)
	}
	closing(t, qwen.context)
	if err := qwen.context.DecodeEmbeddings(&good); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestOpenProjector_OfAnotherModel(t *testing.T) {
	m := openMedia(t, synth.MediaPairs[0], ContextOptions{})
	other := loadBuiltIn(t, ModelOptions{})
	if err := second(OpenProjector(other, m.path, ProjectorOptions{})); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	if err := second(OpenProjector(m.model, builtIn, ProjectorOptions{})); !errors.Is(err, ErrBadModel) {
		t.Error(err)
	}
	for name, o := range map[string]ProjectorOptions{
		"threads": {Threads: -1}, "bounds": {ImageMinTokens: 9, ImageMaxTokens: 3}, "a device": {Device: "none such"}, "attention": {FlashAttention: "maybe"},
	} {
		if err := second(OpenProjector(m.model, m.path, o)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The bounds of embeddings count where the projector leaves a choice.
func TestOpenProjector_ImageTokens(t *testing.T) {
	m := openMedia(t, synth.MediaPairs[3], ContextOptions{})
	few := openProjectorFile(t, m.model, m.path, ProjectorOptions{ImageMinTokens: 4, ImageMaxTokens: 16})
	for _, p := range []*Projector{m.projector, few} {
		media, err := p.Picture(1000, 1000, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, piece := range media.Pieces() {
			n = max(n, piece.Embeddings)
		}
		if (p == few) != (n <= 16) {
			t.Errorf("%d embeddings", n)
		}
		closing(t, media)
	}
}

func TestProjector_Lifetime(t *testing.T) {
	live := LiveObjects()
	t.Run("pair", func(t *testing.T) {
		m := openMedia(t, synth.MediaPairs[2], ContextOptions{})
		media := m.media(t)
		closing(t, m.model) // before what was built on it
		if err := second(m.projector.Encode(t.Context(), media, 0)); err != nil {
			t.Error(err)
		}
		closing(t, media)
		if err := second(m.projector.Encode(t.Context(), media, 0)); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		closing(t, m.projector)
		if err := second(m.projector.Picture(1, 1, nil)); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	if now := LiveObjects(); now != live {
		t.Errorf("%+v, then %+v", live, now)
	}
}
