// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

func TestEngine_Answer_BuiltInModel(t *testing.T) {
	e := opened(t, Options{})
	prompt := must.Get(e.Render(t.Context(), chat.Conversation{
		Messages: []chat.Message{{Role: "user", Content: "Tell me a story about a frog."}},
	}))(t)
	p := sampling.Default()
	p.Temperature = 0
	text := answer(t, e, prompt.Text, p)
	if want := "Once upon a time there was a frog named Ivy."; !strings.HasPrefix(text, want) {
		t.Errorf("got %q, want it to begin with %q", text, want)
	}
}

func answer(t *testing.T, e *Engine, prompt string, p sampling.Params) string {
	t.Helper()
	stages := must.Get(e.NewChain(p))(t)
	defer func() { _ = stages[0].Close() }()
	history := tokens(t, e, prompt)
	must.Do(t, stages[0].Reset(history, len(history)))
	b := e.Backend()
	b.Truncate(0, 0)
	feed(t, b, 0, 0, history...)
	text := ""
	for n := len(history); n < 200; n++ {
		token := draw(t, b, stages[0])
		if b.EndOfGeneration(token) {
			return text
		}
		text += b.Piece(token)
		feed(t, b, 0, n, token)
	}
	return text
}

func TestEngine_Answer_SamplingParameters(t *testing.T) {
	e := opened(t, Options{})
	const prompt = "<|im_start|>user\nTell me a story about a frog.<|im_end|>\n<|im_start|>assistant\n"
	p := sampling.Default()
	p.Seed = 5
	if a, b := answer(t, e, prompt, p), answer(t, e, prompt, p); a != b {
		t.Errorf("one seed, two answers:\n%q\n%q", a, b)
	}
	q := p
	q.Seed = 6
	if a, b := answer(t, e, prompt, p), answer(t, e, prompt, q); a == b {
		t.Errorf("two seeds, one answer: %q", a)
	}
	q = p
	q.Grammar = `root ::= "yes" | "no"`
	if got := answer(t, e, prompt, q); got != "yes" && got != "no" {
		t.Errorf("against its grammar: %q", got)
	}
	q = p
	q.IgnoreEOS = true
	if got := len(tokens(t, e, answer(t, e, prompt, q))); got < 100 {
		t.Errorf("with ignore_eos an answer ended after %d tokens", got)
	}
	q = p
	q.Temperature, q.LogitBias = 0, map[int32]float32{tokens(t, e, "x")[0]: 1000}
	if got := answer(t, e, prompt, q); !strings.HasPrefix(got, "xxx") {
		t.Errorf("with a bias towards x: %q", got)
	}
	for _, mirostat := range []int{1, 2} {
		q = p
		q.Mirostat = mirostat
		if got := answer(t, e, prompt, q); got == "" {
			t.Errorf("mirostat %d said nothing", mirostat)
		}
	}
}

func TestEngine_Info_BuiltIn(t *testing.T) {
	i := opened(t, Options{Slots: 4, CacheSequences: 3, KVLayout: "shared"}).Info()
	if i.Name != "penstock-tiny" || i.Parameters != 1553120 || i.Vocabulary != 1536 || !i.HasTemplate ||
		i.Limits.Sequences != 7 || i.Limits.Cells != 4096 || i.Limits.Rows < 4 {
		t.Errorf("%+v", i)
	}
}

func TestOpen_BadOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"no file":             {Path: "nowhere.gguf"},
		"too many sequences":  {Path: builtIn, Slots: 200, CacheSequences: 100},
		"negative slots":      {Path: builtIn, Slots: -1},
		"negative cache":      {Path: builtIn, CacheSequences: -1},
		"negative threads":    {Path: builtIn, Threads: -4},
		"negative batch size": {Path: builtIn, Batch: -1},
	} {
		before := native.LiveObjects()
		e, err := Open(t.Context(), o)
		if err == nil {
			_ = e.Close()
			t.Errorf("%s: no error", name)
		}
		if after := native.LiveObjects(); after != before {
			t.Errorf("%s: %+v before, %+v after", name, before, after)
		}
	}
}

func TestEngine_Close_WhileAPassRuns(t *testing.T) {
	for range 20 {
		e := must.Get(Open(t.Context(), Options{Path: builtIn, Threads: 1}))(t)
		var batch scheduler.Batch
		for i := range int32(500) {
			batch.Add(5, i, 0, i == 499)
		}
		must.Do(t, e.Backend().Start(&batch))
		must.Do(t, e.Close())
		if err := e.Close(); err != nil {
			t.Fatalf("a second time: %v", err)
		}
		if err := e.Backend().Start(&batch); !errors.Is(err, native.ErrClosed) {
			t.Errorf("a pass after Close: got %v, want ErrClosed", err)
		}
		if _, err := e.Tokenize(t.Context(), "x", true, true); !errors.Is(err, native.ErrClosed) {
			t.Errorf("tokenising after Close: got %v, want ErrClosed", err)
		}
		if _, err := e.NewChain(sampling.Default()); !errors.Is(err, native.ErrClosed) {
			t.Errorf("a chain after Close: got %v, want ErrClosed", err)
		}
	}
}

func TestEngine_Render_TokensReadAsTheText(t *testing.T) {
	e := opened(t, Options{})
	p := must.Get(e.Render(t.Context(), chat.Conversation{
		Messages: []chat.Message{{Role: "user", Content: "Weather?"}},
	}))(t)
	if text, err := e.Detokenize(tokens(t, e, p.Text)); err != nil || text != p.Text {
		t.Errorf("%q became %q (%v)", p.Text, text, err)
	}
	end := e.Info().Special.EOS
	if e.Vocabulary().Piece(end) != "" || e.Piece(end) == "" {
		t.Errorf("the end token reads %q and %q", e.Vocabulary().Piece(end), e.Piece(end))
	}
}

// What is reported is what the scheduler holds to.
func TestEngine_Limits_OfAConversation(t *testing.T) {
	for size, want := range map[int]int{0: 1024, 512: 512, 4096: 1024} {
		e := opened(t, Options{Slots: 2, ContextSize: size, KVLayout: "shared"})
		if info, l := e.Info(), e.Backend().Limits(); info.Limits.Positions != want || l.Context != want {
			t.Errorf("a context of %d: reported %d, held to %d, want %d", size, info.Limits.Positions, l.Context, want)
		}
	}
}

// edited stores the built-in model with one metadata value changed.
func edited(t *testing.T, key string, v gguf.Value) string {
	t.Helper()
	return written(t, func(w io.Writer) error {
		return synth.Edit(w, builtIn, func(h *gguf.Header) { h.Set(key, v) })
	})
}

func TestOpen_AttentionNotCausal(t *testing.T) {
	path := edited(t, "llama.attention.causal", gguf.NewBool(false))
	if _, err := Open(t.Context(), Options{Path: path}); !errors.Is(err, ErrNotGenerating) {
		t.Errorf("got %v, want ErrNotGenerating", err)
	}
}

// A model that was trained to pool its outputs still has logits, and as many rows as were asked
// for.
func TestOpen_PoolingModel_Generates(t *testing.T) {
	for _, pooling := range []uint32{1, 2, 3, 4} { // mean, first, last, rank
		e := must.Get(Open(t.Context(), Options{Path: edited(t, "llama.pooling_type", gguf.NewUint32(pooling)), Threads: 1}))(t)
		if row := feed(t, e.Backend(), 0, 0, tokens(t, e, "Once upon a")...); len(row) != e.Info().Vocabulary {
			t.Errorf("pooling %d: a row of %d", pooling, len(row))
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpen_EncoderModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "encoder.gguf")
	must.Do(t, synth.SmallFile(path, "bert", 1))
	if _, err := Open(t.Context(), Options{Path: path}); !errors.Is(err, ErrNotGenerating) {
		t.Errorf("got %v, want ErrNotGenerating", err)
	}
}
