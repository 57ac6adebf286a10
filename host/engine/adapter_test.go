// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

// written writes a file of a test.
func written(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.gguf")
	file := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(write(file), file.Close()))
	return path
}

// adapter loads an adapter with random numbers.
func adapter(t testing.TB, e *Engine, seed uint64) *Adapter {
	t.Helper()
	a := must.Get(e.LoadAdapter(written(t, synth.Adapter{Model: builtIn, Seed: seed}.Write)))(t)
	must.Close(t, a)
	return a
}

// greedy is a request that always takes the most likely token.
func greedy(t testing.TB, e *Engine, text string, most int) scheduler.Request {
	t.Helper()
	p := sampling.Default()
	p.Temperature = 0
	stages := must.Get(e.NewChain(p))(t)
	return scheduler.Request{Prompt: []scheduler.Segment{{Tokens: tokens(t, e, text)}}, Ending: scheduler.Ending{MaxTokens: most, IgnoreEOG: true}, Reports: scheduler.Reports{Logprobs: -1},
		Caching: scheduler.Caching{CachePrompt: true}, Chain: stages}
}

// said runs requests together and returns what each answered.
func said(t testing.TB, s *scheduler.Scheduler, requests ...scheduler.Request) (texts []string, ends []scheduler.End) {
	t.Helper()
	streams := must.Get(s.SubmitAll(requests))(t)
	for _, st := range streams {
		var text strings.Builder
		for {
			e := must.Get(st.Next(t.Context()))(t)
			text.WriteString(e.Text)
			if e.End != nil {
				ends = append(ends, *e.End)
				break
			}
		}
		texts = append(texts, text.String())
	}
	return texts, ends
}

// Requests under different adapters at once answer as each does alone, in both layouts of cells.
func TestEngine_AdaptersTogether_AnswerAsAlone(t *testing.T) {
	for _, layout := range []string{"shared", "split"} {
		t.Run(layout, func(t *testing.T) {
			e := opened(t, Options{Slots: 4, CacheSequences: 4, ContextSize: 4096, KVLayout: layout})
			a, b := adapter(t, e, 1), adapter(t, e, 2)
			sets := [][]Scaled{nil, {{a, 1}}, {{b, 1}}, {{a, 1}, {b, 0.5}}, {{a, 0}}}
			s, stop := scheduled(t, e, 4)
			defer stop()
			request := func(i int) scheduler.Request {
				r := greedy(t, e, "Once upon a time there was a small", 24)
				r.Adapters = Adapters(sets[i])
				return r
			}
			var alone []string
			for i := range sets {
				r := request(i)
				r.CachePrompt = false
				text, _ := said(t, s, r)
				alone = append(alone, text[0])
			}
			if alone[4] != alone[0] {
				t.Errorf("with a scale of 0 it says %q, without adapters %q", alone[4], alone[0])
			}
			distinct := slices.Clone(alone[:4])
			slices.Sort(distinct)
			if len(slices.Compact(distinct)) != 4 {
				t.Errorf("some sets of adapters say the same, so nothing is tested: %q", alone)
			}
			for range 2 { // the second time from cached prompts
				var requests []scheduler.Request
				for i := range sets {
					requests = append(requests, request(i))
				}
				together, _ := said(t, s, requests...)
				if diff := cmp.Diff(alone, together); diff != "" {
					t.Errorf("alone (-) and together (+):\n%s", diff)
				}
			}
		})
	}
}

// An adapter that was unloaded ends the requests that need it, with an error, and no other.
func TestEngine_ClosedAdapter_EndsOnlyItsRequests(t *testing.T) {
	e := opened(t, Options{Slots: 2, ContextSize: 1024})
	a := adapter(t, e, 1)
	s, stop := scheduled(t, e, 2)
	defer stop()
	r := greedy(t, e, "Once", 8)
	r.Adapters = Adapters([]Scaled{{a, 1}})
	must.Do(t, a.Close())
	_, ends := said(t, s, r, greedy(t, e, "Once", 8))
	if !errors.Is(ends[0].Err, native.ErrClosed) || ends[1].Err != nil {
		t.Errorf("the request with the closed adapter ends with %v, the other with %v", ends[0].Err, ends[1].Err)
	}
}

func TestAdapters_Key_IsThatOfTheSet(t *testing.T) {
	a, b := &Adapter{number: 1}, &Adapter{number: 2}
	same := Adapters([]Scaled{{a, 1}, {b, 0.5}}).Key()
	if got := Adapters([]Scaled{{b, 0.5}, {a, 1}}).Key(); got != same {
		t.Errorf("in another order the key is %q, not %q", got, same)
	}
	for _, other := range [][]Scaled{{{a, 0.5}, {b, 1}}, {{a, 1}}, {{a, 1}, {b, -0.5}}} {
		if Adapters(other).Key() == same {
			t.Errorf("another set has the same key")
		}
	}
	if Adapters([]Scaled{{a, 0}}) != nil || Adapters(nil) != nil {
		t.Error("a set in which nothing counts is none")
	}
}

// Control vectors change what the model says; what they may not is an error that says why.
func TestEngine_ControlVectors_AreAddedUp(t *testing.T) {
	path := written(t, func(w io.Writer) error { return synth.ControlVector(w, builtIn, 1, 0.5) })
	row := func(v ControlVectors) []float32 {
		t.Helper()
		e := opened(t, Options{Slots: 1, ContextSize: 64, ControlVectors: v})
		return feed(t, e.Backend(), 0, 0, 5, 9, 200)
	}
	none, once := row(ControlVectors{}), row(ControlVectors{Vectors: []ControlVector{{path, 1}}})
	if slices.Equal(none, once) {
		t.Error("with a control vector the logits are those without")
	}
	if !slices.Equal(row(ControlVectors{Vectors: []ControlVector{{path, 0.5}, {path, 0.5}}}), once) {
		t.Error("two halves of a control vector are not the whole")
	}
	if slices.Equal(row(ControlVectors{Vectors: []ControlVector{{path, 1}}, First: 2, Last: 2}), once) {
		t.Error("in one layer the control vector does what it does in all")
	}
	for name, c := range map[string]struct {
		v    ControlVectors
		want error
	}{
		"absent":            {ControlVectors{Vectors: []ControlVector{{path + "x", 1}}}, os.ErrNotExist},
		"a folder":          {ControlVectors{Vectors: []ControlVector{{t.TempDir(), 1}}}, native.ErrNotFound},
		"of another kind":   {ControlVectors{Vectors: []ControlVector{{builtIn, 1}}}, gguf.ErrControlVector},
		"beyond the layers": {ControlVectors{Vectors: []ControlVector{{path, 1}}, Last: 5}, native.ErrInvalid},
		"an empty range":    {ControlVectors{Vectors: []ControlVector{{path, 1}}, First: 3, Last: 2}, native.ErrInvalid},
		"before the layers": {ControlVectors{Vectors: []ControlVector{{path, 1}}, First: -1}, native.ErrInvalid},
	} {
		e, err := Open(t.Context(), Options{Path: builtIn, Threads: 1, Slots: 1, ContextSize: 64, ControlVectors: c.v})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err == nil {
			_ = e.Close()
		}
	}
}
