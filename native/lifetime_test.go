// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// everything that a model can be the base of, by name.
func open(t testing.TB) map[string]interface{ Close() error } {
	t.Helper()
	m := must.Get(LoadModel(t.Context(), builtIn, ModelOptions{}))(t)
	c := must.Get(NewContext(m, ContextOptions{Cells: 256, Threads: 1}))(t)
	o := defaultSamplerOptions()
	o.Chain = []SamplerKind{Penalties, TopK, Temperature}
	s := must.Get(NewSampler(m, o))(t)
	tmpl := must.Get(NewTemplate(m, ""))(t)
	return map[string]interface{ Close() error }{"model": m, "context": c, "sampler": s, "template": tmpl}
}

func TestClose_AnyOrder(t *testing.T) {
	random, before := steadytest.Rand(t), LiveObjects()
	for range 20 {
		all := open(t)
		names := []string{"model", "context", "sampler", "template", "model", "context"} // some twice
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			use(t, all)
			if err := all[name].Close(); err != nil {
				t.Errorf("close %s: %v", name, err)
			}
		}
		closing(t, all["sampler"])
		closing(t, all["template"])
	}
	if after := LiveObjects(); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
}

// use calls each method; of what is closed it must say so, of what is open it must work.
func use(t testing.TB, all map[string]interface{ Close() error }) {
	t.Helper()
	m, c := all["model"].(*Model), all["context"].(*Context)
	s, tmpl := all["sampler"].(*Sampler), all["template"].(*Template)
	var b Batch
	b.Add(5, 0, 0, true)
	_, tokenizeErr := m.Tokenize(t.Context(), "text", TokenizeOptions{})
	_, detokenizeErr := m.Detokenize([]int32{5}, DetokenizeOptions{})
	decodeErr := c.Decode(&b)
	if decodeErr == nil {
		decodeErr = c.Remove(0, -1, -1)
	}
	_, sampleErr := s.Sample(make([]float32, 1536))
	_, renderErr := tmpl.Render(t.Context(), conversations["one"], nil)
	_ = m.Piece(5) + m.SpecialPiece(5)
	_, _ = m.EndOfGeneration(5), m.Info()
	for name, err := range map[string]error{
		"tokenize": tokenizeErr, "detokenize": detokenizeErr, "decode": decodeErr, "sample": sampleErr, "render": renderErr,
		"rewind": s.Rewind(nil, 0), "accept": s.Accept(5),
	} {
		if err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClose_UseAfterIsAnError(t *testing.T) {
	all := open(t)
	for _, c := range all {
		closing(t, c)
	}
	m, c := all["model"].(*Model), all["context"].(*Context)
	s, tmpl := all["sampler"].(*Sampler), all["template"].(*Template)
	var b Batch
	b.Add(5, 0, 0, true)
	_, tokenize := m.Tokenize(t.Context(), "x", TokenizeOptions{})
	_, detokenize := m.Detokenize([]int32{1}, DetokenizeOptions{})
	_, source := m.ChatTemplate("")
	_, context := NewContext(m, ContextOptions{})
	_, sampler := NewSampler(m, defaultSamplerOptions())
	_, template := NewTemplate(m, "")
	_, _, positions := c.Range(0)
	_, save := c.SaveState(0)
	_, sample := s.Sample(make([]float32, 1536))
	_, render := tmpl.Render(t.Context(), conversations["one"], nil)
	for name, err := range map[string]error{
		"tokenize": tokenize, "detokenize": detokenize, "chat template": source, "context": context, "sampler": sampler,
		"template": template, "decode": c.Decode(&b), "range": positions, "save": save, "remove": c.Remove(0, 0, 1),
		"share":  c.Share(0, 0, 1),
		"sample": sample, "accept": s.Accept(1), "rewind": s.Rewind(nil, 0), "render": render,
		"apply": s.Apply(&Candidates{Row: make([]float32, 1536), N: -1}),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: got %v, want ErrClosed", name, err)
		}
	}
	c.Abort()
	if c.Row(0) != nil {
		t.Error("a closed context has a row")
	}
}

// Everything is used from many goroutines while it is closed from others.
func TestClose_RacesWithUse(t *testing.T) {
	random, before := steadytest.Rand(t), LiveObjects()
	for range 10 {
		all := open(t)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for range 20 {
					hammer(all)
				}
			})
		}
		for _, name := range []string{"model", "context", "sampler", "template"} {
			moment := random.IntN(3000)
			wg.Go(func() {
				for range moment {
					runtime.Gosched()
				}
				_ = all[name].Close()
			})
		}
		wg.Wait()
	}
	if after := LiveObjects(); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
}

func hammer(all map[string]interface{ Close() error }) {
	m, c := all["model"].(*Model), all["context"].(*Context)
	s, tmpl := all["sampler"].(*Sampler), all["template"].(*Template)
	var b Batch
	b.Add(5, 0, 0, true)
	_ = c.Decode(&b)
	_ = c.Remove(0, -1, -1)
	c.Abort()
	_, _ = m.Tokenize(context.Background(), "Once upon a time", TokenizeOptions{AddSpecial: true})
	_, _ = s.Sample(make([]float32, 1536))
	_ = s.Accept(5)
	_ = s.Rewind([]int32{1, 2, 3}, 3)
	_, _ = tmpl.Render(context.Background(), conversations["one"], nil)
	if other, err := NewSampler(m, defaultSamplerOptions()); err == nil {
		_ = other.Close()
	}
}

func TestCleanup_ForgottenObjectsAreFreed(t *testing.T) {
	before := LiveObjects()
	func() { open(t) }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for LiveObjects() != before {
		runtime.GC() // after which the cleanups run, beside this goroutine
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%+v before, %+v after", before, LiveObjects())
		}
	}
}

// What leaks takes more memory in each round. The C library's own needs, such as those of a new
// thread, do so in one or two of them.
func TestClose_LeaksNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: 220 loads")
	}
	const rounds, cycles = 5, 40
	taken := func() int {
		ReturnMemory()
		return ownBytes(t)
	}
	cycle := func() {
		for _, c := range open(t) {
			closing(t, c)
		}
	}
	for range 20 {
		cycle()
	}
	live, mapped, before := LiveObjects(), mappings(t, builtIn), taken()
	least := math.MaxInt
	for range rounds {
		for range cycles {
			cycle()
		}
		after := taken()
		least, before = min(least, after-before), after
	}
	if after := LiveObjects(); after != live {
		t.Errorf("%+v before, %+v after", live, after)
	}
	if after := mappings(t, builtIn); after != mapped {
		t.Errorf("the model's file is mapped %d times, %d before", after, mapped)
	}
	if least > cycles*8<<10 {
		t.Errorf("each of %d rounds of %d cycles took %d KiB more", rounds, cycles, least>>10)
	}
}
