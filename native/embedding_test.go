// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// embeddings computes texts, one sequence each, in passes of at most atOnce tokens, and returns
// the embeddings of each text's tokens.
func embeddings(t *testing.T, c *Context, atOnce int, texts ...[]int32) [][][]float32 {
	t.Helper()
	out := make([][][]float32, len(texts))
	var b Batch
	flush := func() {
		must.Do(t, c.Decode(&b))
		for i, s := range b.Sequences {
			out[s] = append(out[s], slices.Clone(c.Row(i)))
		}
		b.Reset()
	}
	for s, text := range texts {
		for i, token := range text {
			b.Add(token, int32(i), int32(s), true)
			if len(b.Tokens) == atOnce {
				flush()
			}
		}
	}
	if len(b.Tokens) > 0 {
		flush()
	}
	must.Do(t, clearSequences(c, len(texts)))
	return out
}

// apart is the largest difference between two lists of embeddings.
func apart(a, b [][]float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	most := 0.0
	for i := range a {
		for k := range a[i] {
			most = max(most, math.Abs(float64(a[i][k]-b[i][k])))
		}
	}
	return most
}

var embeddedTexts = [][]int32{{10, 20, 30, 40, 50}, {60, 70}, {10, 20, 30, 41}}

// A text has the same embeddings whatever is beside it, and a decoder has them however its text is
// cut.
func TestContext_Embeddings_SameAloneAndTogether(t *testing.T) {
	for name, m := range map[string]*Model{"encoder": load(t, small(t, "bert"), ModelOptions{}), "decoder": loadBuiltIn(t, ModelOptions{})} {
		c := newContext(t, m, ContextOptions{Cells: 256, Batch: 64, UBatch: 64, Sequences: 4, Unified: true, Threads: 1, Output: Embeddings})
		together := embeddings(t, c, 64, embeddedTexts...)
		for i, text := range embeddedTexts {
			alone := embeddings(t, c, 64, text)[0]
			if len(alone) != len(text) || len(alone[0]) != m.Info().EmbeddingOut {
				t.Fatalf("%s: %d embeddings of %d numbers for %d tokens", name, len(alone), len(alone[0]), len(text))
			}
			if d := apart(alone, together[i]); d > 1e-2 {
				t.Errorf("%s: text %d differs by %g beside others", name, i, d)
			}
			if name == "decoder" {
				if d := apart(alone, embeddings(t, c, 2, text)[0]); d > 1e-2 {
					t.Errorf("text %d differs by %g where it is cut", i, d)
				}
			}
		}
		first := func(text int) []float32 { return together[text][0] }
		if same := apart([][]float32{first(0)}, [][]float32{first(2)}) < 1e-2; same != (name == "decoder") {
			t.Errorf("%s: the first tokens of two texts that end differently have the same embedding: %t", name, same)
		}
	}
}

func TestContext_Embeddings_BadUse(t *testing.T) {
	m := load(t, small(t, "bert"), ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 1024, Batch: 1024, UBatch: 1024, Unified: true, Threads: 1, Output: Embeddings})
	if got, most := c.Limits().Positions, m.Info().ContextTrain; got != most {
		t.Errorf("%d positions, the model has embeddings of %d", got, most)
	}
	var b Batch
	b.Add(1, 0, 0, true)
	b.Add(2, 1, 0, false)
	if err := c.Decode(&b); !errors.Is(err, ErrInvalid) {
		t.Errorf("a token that is no output: got %v, want ErrInvalid", err)
	}
	if _, err := c.Scores(0); !errors.Is(err, ErrInvalid) {
		t.Errorf("scores of embeddings: got %v, want ErrInvalid", err)
	}
	if _, err := NewContext(m, ContextOptions{Cells: 64, Output: Scores}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("scores without a classifier: got %v, want ErrUnsupported", err)
	}
	if _, err := NewContext(m, ContextOptions{Cells: 64, Output: 7}); !errors.Is(err, ErrInvalid) {
		t.Errorf("output 7: got %v, want ErrInvalid", err)
	}
}

func TestContext_Scores_OfEachSequence(t *testing.T) {
	m := load(t, small(t, "reranker"), ModelOptions{})
	if got := m.Info(); len(got.Classes) != 1 || got.Pooling != PoolingRank {
		t.Fatalf("%d classes, pooling %d", len(got.Classes), got.Pooling)
	}
	c := newContext(t, m, ContextOptions{Cells: 256, Batch: 64, UBatch: 64, Sequences: 4, Unified: true, Threads: 1, Output: Scores})
	scores := func(texts ...[]int32) (out []float32) {
		var b Batch
		for s, text := range texts {
			for i, token := range text {
				b.Add(token, int32(i), int32(s), true)
			}
		}
		must.Do(t, c.Decode(&b))
		if c.Rows() != 0 || c.Row(0) != nil {
			t.Error("a classifier gave rows")
		}
		for s := range texts {
			score, err := c.Scores(int32(s))
			if err != nil || len(score) != 1 {
				t.Fatal(score, err)
			}
			out = append(out, score[0])
		}
		return out
	}
	together := scores(embeddedTexts...)
	for i, text := range embeddedTexts {
		if alone := scores(text)[0]; math.Abs(float64(alone-together[i])) > 1e-3 {
			t.Errorf("text %d has %g, beside others %g", i, alone, together[i])
		}
	}
	if together[0] == together[1] {
		t.Error("two texts have one score")
	}
	if _, err := c.Scores(3); !errors.Is(err, ErrInvalid) {
		t.Errorf("a sequence that was not computed: got %v, want ErrInvalid", err)
	}
}

func TestContext_Pause_ADecodeWaits(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 256, Threads: 1, Output: Embeddings})
	var b Batch
	b.Add(1, 0, 0, true)
	decoding := func() <-chan error {
		done := make(chan error, 1)
		go func() { done <- c.Decode(&b) }()
		return done
	}
	c.Pause()
	done := decoding()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(20 * time.Millisecond): // to be right early proves nothing, to be wrong is never late
	}
	c.Resume()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	must.Do(t, clearSequences(c, 1))
	c.Pause()
	done = decoding()
	for len(done) == 0 { // Decode may not have begun, and forgets an Abort before it
		c.Abort()
	}
	if err := <-done; !errors.Is(err, ErrAborted) {
		t.Errorf("got %v, want ErrAborted", err)
	}
}
