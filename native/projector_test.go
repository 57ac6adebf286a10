// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// What llama.cpp would abort on is refused, and nothing else: the smallest and the longest
// pictures and sounds are encoded.
func TestProjector_Bounds(t *testing.T) {
	for _, pair := range steadytest.Some(t, synth.MediaPairs, 3) {
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
			for _, samples := range [][]float32{nil, {float32(math.NaN())}, {0, float32(math.Inf(1))}, make([]float32, 1<<26+1)} {
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
					media := must.Get(p.Sound(make([]float32, n)))(t)
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
		media := must.Get(p.Picture(1000, 1000, nil))(t)
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

// Pictures are divided while others are encoded, and while the model computes.
func TestProjector_UsedConcurrently(t *testing.T) {
	m := openMedia(t, synth.MediaPairs[5], ContextOptions{})
	wanted := map[int]encoded{1: m.picture(t, 100, 80, 1), 2: m.picture(t, 100, 80, 2)}
	text := m.answer(t, 0, before, wanted[1], after)
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			seed := 1 + i%2
			for range 5 {
				if got := m.picture(t, 100, 80, seed); !slices.EqualFunc(got.values, wanted[seed].values, slices.Equal) {
					t.Error("beside others, a picture has other embeddings")
				}
			}
		})
	}
	for range 5 {
		if got := m.answer(t, 0, before, wanted[1], after); got != text {
			t.Errorf("beside encodes: %q instead of %q", got, text)
		}
	}
	wait.Wait()
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

// watched counts how often it is asked whether it is done.
type watched struct {
	context.Context
	asked atomic.Int32
}

func (c *watched) Err() error {
	c.asked.Add(1)
	return c.Context.Err()
}

// longMedia is a pair with a sound of half a minute, whose operations are computed in parts.
func longMedia(t *testing.T, threads int, ownKernels bool) (*Projector, *Media) {
	t.Helper()
	m := openMedia(t, synth.MediaPair{Projector: "ultravox", Text: "llama"}, ContextOptions{})
	useOwnKernels(ownKernels)
	p := openProjectorFile(t, m.model, m.path, ProjectorOptions{Threads: threads})
	samples := make([]float32, 30*p.Info().SampleRate)
	for i := range samples {
		samples[i] = float32(0.4 * math.Sin(float64(i)*float64(i%977)))
	}
	media := must.Get(p.Sound(samples))(t)
	t.Cleanup(func() { closing(t, media) })
	return p, media
}

// While it is paused, an encode computes nothing, from its first operation on or in the middle;
// then it goes on, and what it gives is the same to the bit, in whatever parts it is computed.
func TestProjector_Pause(t *testing.T) {
	for _, ownKernels := range []bool{false, true} {
		t.Run(fmt.Sprintf("own kernels %v", ownKernels), func(t *testing.T) { testPause(t, ownKernels) })
	}
}

func testPause(t *testing.T, ownKernels bool) {
	t.Helper()
	var want []float32
	for _, threads := range []int{1, 2, 3} {
		p, media := longMedia(t, threads, ownKernels)
		whole := must.Get(p.Encode(t.Context(), media, 0))(t)
		if want == nil {
			want = whole
		}
		if !slices.Equal(whole, want) {
			t.Errorf("%d threads give other embeddings than one", threads)
		}
		c := &watched{Context: t.Context()}
		p.Pause()
		ended := make(chan []float32)
		go func() {
			values, err := p.Encode(c, media, 0)
			if err != nil {
				t.Error(err)
			}
			ended <- values
		}()
		for c.asked.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		select {
		case <-ended:
			t.Error("a paused encode ended")
		case <-time.After(50 * time.Millisecond):
		}
		if n := c.asked.Load(); n != 1 { // before it began
			t.Errorf("a paused encode asked %d times", n)
		}
		p.Resume()
		if got := <-ended; !slices.Equal(got, want) {
			t.Errorf("%d threads: after a pause, it gives something else", threads)
		}
	}
}

// Pauses at any time, of any length, and ends while paused leave the embeddings as they are.
func TestProjector_Pause_Hammer(t *testing.T) {
	p, media := longMedia(t, 3, true)
	want := must.Get(p.Encode(t.Context(), media, 0))(t)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for pauses := 0; ; pauses++ {
			select {
			case <-done:
				return
			default:
			}
			p.Pause()
			time.Sleep(time.Duration(pauses%7) * 100 * time.Microsecond)
			p.Resume()
			time.Sleep(time.Duration(pauses%5) * 200 * time.Microsecond)
		}
	})
	for i := range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		if i%2 == 1 { // somewhere in the middle, and the next one is as if nothing had been
			time.AfterFunc(time.Duration(i)*5*time.Millisecond, cancel)
		}
		if got, err := p.Encode(ctx, media, 0); err == nil && !slices.Equal(got, want) || err != nil && i%2 == 0 {
			t.Errorf("%d: other embeddings, or %v", i, err)
		}
		cancel()
	}
	close(done)
	wg.Wait()
}
