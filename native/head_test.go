// SPDX-License-Identifier: MIT

package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
)

// headed writes a small model with a head and returns its path.
func headed(t *testing.T, write func(w io.Writer) error) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "headed.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func loadHead(t *testing.T, path string) *Model {
	t.Helper()
	m := load(t, path, ModelOptions{LoadMTP: true})
	if !m.Info().Head {
		t.Fatal("the model has no head")
	}
	return m
}

// loopHead writes a model that repeats groups of 32 tokens, with a head that guesses so many of a
// hundred rightly; negative: both are random.
func loopHead(t *testing.T, right int) string {
	t.Helper()
	s := synth.Shape{Name: "small", Dim: 64, Layers: 2, Heads: 2, KVHeads: 1, FFN: 64, Context: 256, Head: true}
	if right >= 0 {
		s.Loop, s.Right = 32, uint32(right)
	}
	return headed(t, func(w io.Writer) error { return synth.Write(w, s, builtIn, synth.Q40, 1) })
}

// hybridHead writes a model with recurrent layers and a head of random weights.
func hybridHead(t *testing.T) string {
	t.Helper()
	plain := small(t, "qwen35-dense")
	return headed(t, func(w io.Writer) error { return synth.WithHead(w, plain, false, 2) })
}

// otherHead loads a small model of one kind, with the head in the file of another.
func otherHead(t *testing.T, kind, of string) *Model {
	t.Helper()
	m := load(t, small(t, kind), ModelOptions{LoadMTP: true, Head: small(t, of)})
	if !m.Info().Head {
		t.Fatal("the model has no head")
	}
	return m
}

// headsOf are models with heads of all kinds, with random weights.
func headsOf(t *testing.T) map[string]*Model {
	t.Helper()
	return map[string]*Model{
		"attention": loadHead(t, loopHead(t, -1)),
		"hybrid":    loadHead(t, hybridHead(t)),
		"Gemma's":   otherHead(t, "gemma4", "gemma4-assistant"),
		"chain":     loadHead(t, small(t, "step35")),
		"EAGLE-3":   otherHead(t, "qwen3", "eagle3"),
		"DFlash":    otherHead(t, "qwen3", "dflash"),
		"DSpark":    otherHead(t, "qwen3", "dspark"),
	}
}

// feeding makes a context and its head.
func feeding(t *testing.T, m *Model, o ContextOptions) (*Context, *Head) {
	t.Helper()
	o.FeedsHead, o.Threads = true, 1
	c := newContext(t, m, o)
	h, err := NewHead(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, h) })
	return c, h
}

// run computes tokens of sequences in one pass, which the head follows; of each the last ones have
// logits.
func (h *Head) run(t *testing.T, at []int, rows int, texts ...[]int32) {
	t.Helper()
	var b Batch
	for s, text := range texts {
		for i, token := range text {
			b.Add(token, int32(at[s]+i), int32(s), len(text)-i <= rows)
		}
	}
	if err := h.target.Decode(&b); err != nil {
		t.Fatal(err)
	}
	if err := h.Follow(&b, false); err != nil {
		t.Fatal(err)
	}
}

// guess asks for drafts after so many tokens of each sequence.
func (h *Head) guess(t *testing.T, most int, asks ...HeadAsk) []HeadAsk {
	t.Helper()
	for i := range asks {
		asks[i].Most = most
	}
	if err := h.Draft(asks, time.Hour, 0); err != nil {
		t.Fatal(err)
	}
	return asks
}

// A constructed head is right as often as it is meant to be.
func TestHead_Draft_RightAsConstructed(t *testing.T) {
	for _, right := range []int{100, 75, 0} {
		m := loadHead(t, loopHead(t, right))
		c, h := feeding(t, m, ContextOptions{Cells: 256, Sequences: 1, Rows: 4})
		h.run(t, []int{0}, 1, []int32{64})
		hits := 0
		for at := 1; at <= 32; at++ {
			token := int32(64 + at%32)
			if got := slices.Index(c.Row(0), slices.Max(c.Row(0))); got != int(token) {
				t.Fatalf("after %d tokens of the loop comes %d", at, got)
			}
			a := h.guess(t, 2, HeadAsk{Token: token, Position: at})[0]
			if len(a.Draft) > 0 && a.Draft[0] == int32(64+(at+1)%32) {
				hits++
			}
			h.run(t, []int{at}, 1, []int32{token})
		}
		if hits != right*32/100 {
			t.Errorf("a head that is to be right for %d of 100 tokens is for %d of 32", right, hits)
		}
	}
}

// A head that guesses blocks is right as often as it is meant to be, for all of the block.
func TestHead_Draft_BlocksRightAsConstructed(t *testing.T) {
	const block = 8
	for _, right := range []uint32{100, 75, 0} {
		s := synth.Shape{Name: "small", Dim: 64, Layers: 2, Heads: 2, KVHeads: 1, FFN: 64, Context: 256, Loop: 32}
		path := headed(t, func(w io.Writer) error { return synth.Write(w, s, builtIn, synth.Q40, 1) })
		s.Right = right
		head := headed(t, func(w io.Writer) error { return synth.WithBlocks(w, path, s, 1) })
		_, h := feeding(t, load(t, path, ModelOptions{LoadMTP: true, Head: head}), ContextOptions{Cells: 4 * 256, Sequences: 4, Rows: 4})
		h.run(t, []int{0, 0}, 1, []int32{64}, []int32{70})
		hits := 0
		for at := 1; at <= 32; at++ {
			token := int32(64 + at%32)
			a := h.guess(t, 20, HeadAsk{Token: token, Position: at}, HeadAsk{Sequence: 1, Token: token, Position: 1})
			if len(a[0].Draft) != block || !slices.Equal(a[0].Draft, a[1].Draft) {
				t.Fatalf("guesses of a block: %v and %v", a[0].Draft, a[1].Draft)
			}
			for i, guess := range a[0].Draft {
				before := append([]int32{token}, a[0].Draft...)[i]
				if guess == 64+(before-64+1)%32 {
					hits++
				}
			}
			h.run(t, []int{at}, 1, []int32{token})
		}
		if least, most := int(right)*block*32/100*8/10, int(right)*block*32/100*12/10; hits < least || hits > most {
			t.Errorf("a head that is to be right for %d of 100 tokens is for %d of %d", right, hits, block*32)
		}
	}
}

// Each head of a chain guesses in its turn, from what the ones before it have guessed.
func TestHead_Draft_ChainInTurns(t *testing.T) {
	_, h := feeding(t, loadHead(t, small(t, "step35-counting")), ContextOptions{Cells: 256, Sequences: 2, Rows: 4})
	h.run(t, []int{0, 0}, 1, []int32{11, 45, 7}, []int32{90})
	a := h.guess(t, 5, HeadAsk{Token: 20, Position: 3}, HeadAsk{Sequence: 1, Token: 100, Position: 1})
	if !slices.Equal(a[0].Draft, []int32{21, 23, 26}) || !slices.Equal(a[1].Draft, []int32{101, 103, 106}) {
		t.Errorf("it guesses %v and %v", a[0].Draft, a[1].Draft)
	}
}

// A head that reads the inputs of layers reads those of the token before.
func TestHead_Draft_FromLayersOfTheTokenBefore(t *testing.T) {
	for _, kind := range []string{"eagle3-echo", "dflash-echo"} {
		text := []int32{11, 45, 7, 90, 33}
		_, h := feeding(t, otherHead(t, "qwen3", kind), ContextOptions{Cells: 256, Sequences: 1, Rows: 4})
		h.run(t, []int{0}, 1, text)
		for i := range 3 {
			at := len(text)
			if a := h.guess(t, 1, HeadAsk{Token: 5, Position: at})[0]; !slices.Equal(a.Draft, text[at-1:at]) {
				t.Errorf("%s: after token %d it guesses %v", kind, text[at-1], a.Draft)
			}
			text = append(text, int32(60+i))
			h.run(t, []int{at}, 1, text[at:])
		}
	}
}

// What a head guesses depends on the tokens and not on the passes that computed them: pieces of
// several sequences and lengths, verified drafts that were dropped, and shared prefixes give what
// token by token gives.
func TestHead_Follow_AsTokenByToken(t *testing.T) {
	a, b := []int32{11, 45, 7, 90, 33, 21, 64, 18, 77}, []int32{52, 9, 30, 71, 12, 88}
	for name, m := range headsOf(t) {
		want := func(text []int32) HeadAsk {
			_, h := feeding(t, m, ContextOptions{Cells: 256, Sequences: 1, Rows: 4})
			for i, token := range text[:len(text)-1] {
				h.run(t, []int{i}, 1, []int32{token})
			}
			return h.guess(t, 3, HeadAsk{Token: text[len(text)-1], Position: len(text) - 1})[0]
		}
		wantA, wantB := want(a), want(b)
		if other := want(append([]int32{10, 45}, a[2:]...)); math.Abs(float64(other.Gap-wantA.Gap)) < 1e-4 {
			t.Fatalf("%s: a head that ignores the text tests nothing", name)
		}
		same := func(what string, got, want HeadAsk) {
			t.Helper()
			if !alike(got, want) {
				t.Errorf("%s: %s: %v with a gap of %v, token by token %v with %v", name, what, got.Draft, got.Gap, want.Draft, want.Gap)
			}
		}
		for _, unified := range []bool{false, true} {
			o := ContextOptions{Cells: 4 * 256, Sequences: 4, Rows: 16, UBatch: 8, Unified: unified}
			if m.Info().Hybrid {
				o.Snapshots = 3
			}
			c, h := feeding(t, m, o)
			layout := fmt.Sprintf("unified %v, ", unified)
			h.run(t, []int{0, 0}, 1, a[:5], b[:1])
			h.run(t, []int{5, 1}, 8, a[5:6], b[1:5])
			h.guess(t, 2, HeadAsk{Token: a[6], Position: 6})
			h.run(t, []int{6}, 8, []int32{a[6], a[7], 99, 98}) // two of three drafted tokens are wrong
			if err := errors.Join(c.Remove(0, 8, -1), h.Cut(0, 8)); err != nil {
				t.Fatal(err)
			}
			got := h.guess(t, 3, HeadAsk{Token: a[8], Position: 8}, HeadAsk{Sequence: 1, Token: b[5], Position: 5})
			same(layout+"first", got[0], wantA)
			same(layout+"second", got[1], wantB)
			got = h.guess(t, 3, HeadAsk{Token: 3, Position: 8}, HeadAsk{Sequence: 1, Token: b[5], Position: 5}) // another token came
			same(layout+"asked again", got[1], wantB)
			if m.Info().Hybrid {
				continue // it is shared as a whole only
			}
			if err := errors.Join(c.Share(1, 2, 5), h.Share(1, 2, 5)); err != nil {
				t.Fatal(err)
			}
			same(layout+"shared", h.guess(t, 3, HeadAsk{Sequence: 2, Token: b[5], Position: 5})[0], wantB)
			h.run(t, []int{8, 5, 5}, 1, []int32{4}, []int32{b[5]}, []int32{b[5]})
			if got := h.guess(t, 1, HeadAsk{Sequence: 2, Token: 5, Position: 5}, HeadAsk{Sequence: 3, Token: 5, Position: 5}); len(got[0].Draft) > 0 || len(got[1].Draft) != 1 {
				t.Errorf("%s: a guess at a place where the sequence is not, and one in a sequence of which nothing is known: %v", name, got)
			}
		}
	}
}

// alike reports whether two guesses are the same, but for rounding.
func alike(got, want HeadAsk) bool {
	return slices.Equal(got.Draft, want.Draft) && math.Abs(float64(got.Gap-want.Gap)) <= 0.02*math.Abs(float64(want.Gap))+1e-4
}

// copyOf is a state of so many positions with the first bytes of another.
func copyOf(t *testing.T, of *State, bytes, positions int) *State {
	t.Helper()
	s, err := NewState(bytes, positions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, s) })
	copy(s.Contents(), of.Contents())
	return s
}

// A head guesses after a sequence was put away and back as before, also after one that was cut on
// the way or went through a file. A state without anything of a head's, or with a part of it,
// leaves it to begin anew, and is restored all the same.
func TestHead_RestoreState_GuessesAsBefore(t *testing.T) {
	text, end := []int32{11, 45, 7, 90, 33, 21, 64, 18, 77}, 8
	for name, m := range headsOf(t) {
		for _, unified := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, unified %v", name, unified), func(t *testing.T) {
				o := ContextOptions{Cells: 4 * 256, Sequences: 4, Rows: 16, UBatch: 8, Unified: unified}
				if m.Info().Hybrid {
					o.Snapshots = 3
				}
				c, h := feeding(t, m, o)
				save := func() *State {
					t.Helper()
					s, err := h.SaveState(0)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { closing(t, s) })
					return s
				}
				after := func(seq int32) HeadAsk {
					return h.guess(t, 3, HeadAsk{Sequence: seq, Token: text[end], Position: end})[0]
				}
				h.run(t, []int{0}, 1, text[:5])
				h.guess(t, 2, HeadAsk{Token: text[5], Position: 5})
				h.run(t, []int{5}, 1, text[5:end])
				unread := save()
				want := after(0)
				read := save()
				if err := h.Cut(0, 0); err != nil { // while it is copied
					t.Fatal(err)
				}
				h.run(t, []int{end, 0}, 1, nil, text[2:])
				h.guess(t, 3, HeadAsk{Sequence: 1, Token: 5, Position: len(text) - 2})
				c.FinishCopy()
				size := len(read.Contents())
				for what, s := range map[string]*State{"unread": unread, "read": read, "from a file": copyOf(t, read, size, end)} {
					if err := h.RestoreState(2, s, end); err != nil {
						t.Fatal(err)
					}
					if got := after(2); !alike(got, want) {
						t.Errorf("%s: %v with a gap of %v, before %v with %v", what, got.Draft, got.Gap, want.Draft, want.Gap)
					}
				}
				anew := func(s *State, err error) HeadAsk {
					t.Helper()
					if err == nil {
						t.Cleanup(func() { closing(t, s) })
						err = h.RestoreState(2, s, end)
					}
					if err != nil {
						t.Fatal(err)
					}
					if _, last, err := c.Range(2); err != nil || last != end-1 {
						t.Errorf("the sequence ends at %d: %v", last, err)
					}
					return after(2)
				}
				cold := anew(c.SaveState(2))
				if alike(cold, want) {
					t.Fatal("a head that ignores the text tests nothing")
				}
				if got := anew(copyOf(t, read, size-1, end), nil); !alike(got, cold) {
					t.Errorf("of a damaged state it guesses %v with a gap of %v, of none %v with %v", got.Draft, got.Gap, cold.Draft, cold.Gap)
				}
				if m.Info().Hybrid {
					return // it is not cut
				}
				if err := errors.Join(h.RestoreState(2, read, 6), h.RestoreState(3, read, end), c.Remove(3, 6, -1), h.Cut(3, 6)); err != nil {
					t.Fatal(err)
				}
				if got := h.guess(t, 3, HeadAsk{Sequence: 2, Token: 5, Position: 6}, HeadAsk{Sequence: 3, Token: 5, Position: 6}); !alike(got[0], got[1]) {
					t.Errorf("of the beginning of a state it guesses %v with a gap of %v, of a state that was cut %v with %v",
						got[0].Draft, got[0].Gap, got[1].Draft, got[1].Gap)
				}
			})
		}
	}
}

// A long text that nobody asks for is not read, and the head goes on from its end.
func TestHead_Follow_ForgetsWhatNobodyAsksFor(t *testing.T) {
	m := loadHead(t, loopHead(t, 100))
	_, h := feeding(t, m, ContextOptions{Cells: 256, Sequences: 1, Rows: 4})
	h.run(t, []int{0}, 1, []int32{64})
	for at := 1; at < 80; at++ {
		h.run(t, []int{at}, 1, []int32{int32(64 + at%32)})
	}
	if _, last, err := h.context.Range(0); err != nil || last != -1 {
		t.Errorf("the head has read up to %d: %v", last, err)
	}
	if a := h.guess(t, 4, HeadAsk{Token: 64 + 80%32, Position: 80})[0]; !slices.Equal(a.Draft, []int32{64 + 81%32, 64 + 82%32, 64 + 83%32, 64 + 84%32}) {
		t.Errorf("after that it guesses %v", a.Draft)
	}
	if first, last, err := h.context.Range(0); err != nil || first == 0 || last != 80 {
		t.Errorf("the head has %d to %d: %v", first, last, err)
	}
}

// edited is a small model's file with another number in its header.
func edited(t *testing.T, kind, key string, n uint32) string {
	t.Helper()
	return headed(t, func(w io.Writer) error {
		return synth.Edit(w, small(t, kind), func(h *gguf.Header) { h.Set(key, gguf.NewUint32(n)) })
	})
}

// A head in a file of its own is loaded for models that it can guess for.
func TestLoadModel_Head_OfOtherModels(t *testing.T) {
	head := small(t, "gemma4-assistant")
	for what, c := range map[string]struct{ model, head string }{
		"another architecture": {builtIn, head}, "no head": {builtIn, builtIn},
		"it gives narrower states than it reads":        {small(t, "qwen3"), edited(t, "eagle3", "eagle3.embedding_length_out", 32)},
		"no token stands for what it is to guess":       {small(t, "qwen3"), edited(t, "dflash", "tokenizer.ggml.mask_token_id", 1<<20)},
		"its blocks are the token before them":          {small(t, "qwen3"), edited(t, "dflash", "dflash.block_size", 1)},
		"it gives a lattice":                            {small(t, "qwen3"), edited(t, "dflash", "dflash.selector_top_k", 4)},
		"blocks of any size":                            {small(t, "qwen3"), edited(t, "dspark", "dflash.block_size", 0)},
		"the model gives narrower states than are read": {edited(t, "gemma4", "gemma4.embedding_length_out", 32), head},
	} {
		if m, err := LoadModel(t.Context(), c.model, ModelOptions{LoadMTP: true, Head: c.head}); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
			if err == nil {
				closing(t, m)
			}
		}
	}
	if load(t, builtIn, ModelOptions{Head: head}).Info().Head {
		t.Error("it is loaded though nobody asks for heads")
	}
}

// withHead makes the head of a qwen3 in a file like eagle3's, but for what change does to its
// header, with the contents of more tensors.
func withHead(t *testing.T, change func(h *gguf.Header), more ...int64) error {
	t.Helper()
	path := headed(t, func(w io.Writer) error {
		return errors.Join(synth.Edit(w, small(t, "eagle3"), change), binary.Write(w, binary.LittleEndian, more))
	})
	o := ContextOptions{Cells: 64, FeedsHead: true}
	h, err := NewHead(newContext(t, load(t, small(t, "qwen3"), ModelOptions{LoadMTP: true, Head: path}), o), o)
	if err == nil {
		closing(t, h)
	}
	return err
}

// A head with tokens of its own, of which one is none of the model's, is refused.
func TestNewHead_TokensBeyondTheModels(t *testing.T) {
	const i64, vocabulary = 27, 256
	for _, first := range []int64{vocabulary - 1, vocabulary, -1} {
		tokens := make([]int64, vocabulary)
		tokens[0] = first
		err := withHead(t, func(h *gguf.Header) { h.Append("d2t", i64, vocabulary) }, tokens...)
		if refused := errors.Is(err, ErrUnsupported); refused != (first < 0 || first >= vocabulary) || err != nil && !refused {
			t.Errorf("token %d: %v", first, err)
		}
	}
}

// A head is made whose matrices are in a layout that ggml cannot read back.
func TestNewHead_LaidOutByGGML(t *testing.T) {
	useOwnKernels(false)
	t.Cleanup(func() { useOwnKernels(true) })
	err := withHead(t, func(h *gguf.Header) {
		all := h.Tensors
		h.Tensors = nil
		for _, x := range all {
			if x.Name == "fc.weight" {
				x.Type = gguf.Q4_0 // of smaller numbers, whatever they are
			}
			h.Append(x.Name, x.Type, x.Dims...)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// A copy that fills a head's cells has ended when they are freed.
func TestHead_Close_DuringACopy(t *testing.T) {
	c, h := feeding(t, loadHead(t, loopHead(t, 100)), ContextOptions{Cells: 512, Sequences: 2, Rows: 2})
	h.run(t, []int{0}, 1, []int32{64, 65, 66})
	s, err := h.SaveState(0)
	if err == nil {
		t.Cleanup(func() { closing(t, s) })
		err = h.RestoreState(1, s, 3)
	}
	if err != nil || c.CopyTarget() != 1 {
		t.Fatalf("%d is filled: %v", c.CopyTarget(), err)
	}
	if err := h.Close(); err != nil || c.CopyTarget() != -1 {
		t.Errorf("%d is still filled: %v", c.CopyTarget(), err)
	}
}

// A model without a head, and one whose head was not loaded, have none.
func TestNewHead_None(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{LoadMTP: true})
	if _, err := NewContext(m, ContextOptions{Cells: 64, FeedsHead: true}); !errors.Is(err, ErrUnsupported) || m.Info().Head {
		t.Errorf("%v", err)
	}
	if _, err := NewHead(newContext(t, m, ContextOptions{Cells: 64}), ContextOptions{Cells: 64}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

// Of a head in a file of its own the dry run counts the weights, too, and cells unless it reads the
// model's.
func TestDryRun_Need_CountsTheHeadOfAnotherFile(t *testing.T) {
	for _, c := range []struct {
		kind, of string
		layers   uint64 // of cells, where the model has 4
	}{{"qwen3", "eagle3", 5}, {"qwen3", "dflash", 6}, {"gemma4", "gemma4-assistant", 4}} {
		model, head := small(t, c.kind), small(t, c.of)
		need := func(o ModelOptions) DeviceMemory {
			t.Helper()
			d, err := OpenDryRun(t.Context(), model, o)
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, d)
			all, err := d.Need(ContextOptions{Cells: 1024, Sequences: 4, Batch: 256, UBatch: 32, Unified: true, FeedsHead: o.LoadMTP})
			if err != nil {
				t.Fatal(err)
			}
			return all[0]
		}
		without, with := need(ModelOptions{}), need(ModelOptions{LoadMTP: true, Head: head})
		if 4*with.Cells != c.layers*without.Cells || with.Plain+with.Weights <= without.Plain+without.Weights || with.Compute <= without.Compute {
			t.Errorf("%s: with the head %+v, without %+v", c.of, with, without)
		}
	}
}

// The dry run counts what the head takes.
func TestDryRun_Need_CountsTheHead(t *testing.T) {
	d, err := OpenDryRun(t.Context(), loopHead(t, 0), ModelOptions{LoadMTP: true})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, d)
	needed := func(batch int, head bool) DeviceMemory {
		t.Helper()
		need, err := d.Need(ContextOptions{Cells: 1024, Sequences: 4, Batch: batch, UBatch: 32, FeedsHead: head})
		if err != nil {
			t.Fatal(err)
		}
		return need[0]
	}
	without, with := needed(256, false), needed(256, true)
	if with.Weights != without.Weights || with.Plain != without.Plain || 2*with.Cells != 3*without.Cells || with.Compute <= without.Compute {
		t.Errorf("with the head %+v, without %+v", with, without)
	}
	const states = 6 * 64 * 4 // of a token, in llama.cpp's buffers, in the copies of the head and in what it has yet to read
	if more, other := needed(512, true).Compute-with.Compute, needed(512, false).Compute-without.Compute; more != other+256*states {
		t.Errorf("256 more tokens in a pass take %d bytes more, without a head %d", more, other)
	}
}
