// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/tools/must"
)

func anyGrammar(t *testing.T) *grammar.Grammar {
	t.Helper()
	b := grammar.NewBuilder()
	root := b.Rule()
	b.Define(root, b.Seq())
	return must.Get(b.Build(root))(t)
}

func TestGrammars_Of_KeepsTheLastUsed(t *testing.T) {
	var k grammars
	reads := map[string]int{}
	use := func(text string) *keptGrammar {
		t.Helper()
		got := must.Get(k.of(sampling.WithSalt(t.Context(), ""), source{in: inRegex, text: text}, func(*grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) {
			reads[text]++
			return anyGrammar(t), nil, nil
		}))(t)
		return got
	}
	ask := func(text string) { use(text).release() }
	followed := use("followed")
	for i := range 2 * maxGrammars {
		ask("used")
		ask(fmt.Sprint(i))
	}
	ask(fmt.Sprint(2*maxGrammars - 1))
	ask("0")
	if reads["used"] != 1 || reads[fmt.Sprint(2*maxGrammars-1)] != 1 || reads["0"] != 2 {
		t.Errorf("read: one in use %d times, the last %d times, the first %d times", reads["used"], reads[fmt.Sprint(2*maxGrammars-1)], reads["0"])
	}
	if len(k.known) != maxGrammars+1 || len(k.idle) != maxGrammars {
		t.Errorf("%d kept, %d idle", len(k.known), len(k.idle))
	}
	if use("followed") != followed {
		t.Error("what somebody follows was dropped")
	}
}

func TestGrammars_Of_ReadsOnceForAll(t *testing.T) {
	var k grammars
	g, reads := anyGrammar(t), 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				got, err := k.of(sampling.WithSalt(t.Context(), ""), source{in: inGBNF, text: "a"}, func(*grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) { reads++; return g, nil, nil })
				if err != nil {
					t.Error(err)
					continue
				}
				got.release()
			}
		})
	}
	all.Wait()
	if reads != 1 || len(k.idle) != 1 {
		t.Errorf("read %d times, %d idle", reads, len(k.idle))
	}
}

// Who asks for grammars, follows them and leaves, in any order, leaves none counted but those that
// are kept, and none in memory but those.
func TestGrammars_Of_CountsWhoUsesThem(t *testing.T) {
	k := grammars{memory: grammar.NewMemory(2*6*anyGrammar(t).Fixed() + 1)} // room for 6
	var all sync.WaitGroup
	var crowded atomic.Int32
	for who := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(who), 0))
			var held []*keptGrammar
			for range 300 {
				if len(held) > 0 && (len(held) == 3 || r.IntN(2) == 0) {
					i := r.IntN(len(held))
					held[i].release()
					held = slices.Delete(held, i, i+1)
					continue
				}
				ctx := t.Context()
				if r.IntN(4) > 0 {
					ctx = sampling.WithSalt(ctx, "")
				}
				g, err := k.of(ctx, source{in: inRegex, text: fmt.Sprint(r.IntN(30))}, func(*grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) { return anyGrammar(t), nil, nil })
				switch {
				case errors.Is(err, sampling.ErrCrowded):
					crowded.Add(1)
					continue
				case err != nil:
					t.Error(err)
					return
				}
				if held = append(held, g); r.IntN(3) == 0 && g.useAgain() {
					g.release()
				}
			}
			for _, g := range held {
				if g.release(); g.useAgain() {
					g.release()
				}
			}
		})
	}
	all.Wait()
	if crowded.Load() == 0 {
		t.Error("there was room for all at any time")
	}
	if k.memory.Used() < len(k.idle)*anyGrammar(t).Fixed() {
		t.Errorf("%d are kept, and %d bytes count", len(k.idle), k.memory.Used())
	}
	k.checkReleased(t)
}

func TestGrammars_Of_ForgetsErrors(t *testing.T) {
	var k grammars
	bad, reads := errors.New("bad"), 0
	for range 2 {
		if _, err := k.of(t.Context(), source{in: inGBNF, text: "a"}, func(*grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) { reads++; return nil, nil, bad }); !errors.Is(err, bad) {
			t.Error(err)
		}
	}
	if reads != 2 || len(k.known) != 0 || len(k.idle) != 0 {
		t.Errorf("read %d times, %d kept, %d idle", reads, len(k.known), len(k.idle))
	}
}

// Answers that each follow a grammar of their own take no more memory than there is: beyond it a
// request is told to come again, and what has ended makes room.
func TestGrammars_Of_RefusesWhatHasNoRoom(t *testing.T) {
	k := grammars{memory: grammar.NewMemory(2*4*anyGrammar(t).Fixed() + 1)}
	n := 0
	read := func() (*keptGrammar, error) {
		n++
		return k.of(t.Context(), source{in: inRegex, text: fmt.Sprint(n)}, func(*grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) { return anyGrammar(t), nil, nil })
	}
	var followed []*keptGrammar
	for {
		g, err := read()
		if err != nil {
			if !errors.Is(err, sampling.ErrCrowded) {
				t.Error(err)
			}
			break
		}
		if followed = append(followed, g); len(followed) > 10 {
			t.Fatal("there is room for any number")
		}
	}
	if len(followed) != 4 {
		t.Errorf("room for %d", len(followed))
	}
	if _, err := read(); !errors.Is(err, sampling.ErrCrowded) {
		t.Errorf("another: %v", err)
	}
	followed[2].release()
	if _, err := read(); err != nil {
		t.Errorf("what has ended makes no room: %v", err)
	}
}

// A request for whose grammar there is no room is not told that its field is wrong.
func TestEngine_NewChain_NoRoomIsNoFault(t *testing.T) {
	e := opened(t, Options{})
	e.grammars.memory = grammar.NewMemory(1)
	for _, c := range []sampling.Constraint{{Grammar: `root ::= "a"`}, {Regex: "a"}, {JSONSchema: []byte(`{"type":"object"}`)}} {
		p := sampling.Default()
		p.Constraint = c
		if _, err := e.NewChain(p); !errors.Is(err, sampling.ErrCrowded) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Grammars of one schema that was read in two ways are two.
func TestEngine_OfSchema_ByItsOptions(t *testing.T) {
	e := opened(t, Options{})
	const text = `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"type":"object"}`
	for name, c := range map[string]struct {
		o         schema.Options
		fits, not []string
	}{
		"as the standard says": {schema.Options{}, []string{`{"b": 1, "a": 2}`, `{"c": 1}`, "{}"}, nil},
		"closed":               {schema.Options{Closed: true}, []string{`{"a": 1, "b": 2}`}, []string{`{"c": 1}`, `{"b": 1, "a": 2}`}},
		"in order":             {schema.Options{Order: schema.SchemaOrder}, []string{`{"a": 1, "b": 2, "c": 3}`}, []string{`{"b": 1, "a": 2}`}},
		"in any order":         {schema.Options{Order: schema.AnyOrder, Closed: true}, []string{`{"b": 1, "a": 2}`}, []string{`{"c": 1}`}},
		"compact":              {schema.Options{Compact: true}, []string{`{"a":1}`}, []string{`{"a": 1}`}},
	} {
		kept := must.Get(e.ofSchema(t.Context(), text, c.o))(t)
		defer kept.release()
		for _, json := range c.fits {
			if !e.takes(t, kept, json) {
				t.Errorf("%s: %s is not taken", name, json)
			}
		}
		for _, json := range c.not {
			if e.takes(t, kept, json) {
				t.Errorf("%s: %s is taken", name, json)
			}
		}
	}
}

// A reading ends when nobody waits for it, and others that wait for the same have it read again.
func TestGrammars_Of_StopsWithItsClient(t *testing.T) {
	var k grammars
	ctx, leave := context.WithCancel(t.Context())
	reading := make(chan struct{})
	of := func(ctx context.Context, wait bool) error {
		_, err := k.of(ctx, source{in: inJSONSchema, text: "a"}, func(b *grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) {
			if wait {
				close(reading)
				for b.Lexemes.Ask(1<<20) == nil {
					runtime.Gosched()
				}
			}
			root, relaxed, err := schema.Read(b, []byte(`{"enum":["a","b"]}`), schema.Options{})
			if err != nil {
				return nil, relaxed, err
			}
			g, err := b.Build(root)
			return g, relaxed, err
		})
		return err
	}
	left := make(chan error)
	go func() { left <- of(ctx, true) }()
	<-reading
	other := make(chan error)
	go func() { other <- of(t.Context(), false) }()
	leave()
	if err := <-left; !errors.Is(err, errStopped) || !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	if err := <-other; err != nil {
		t.Errorf("who waits: %v", err)
	}
}

// What one caller has had read is not found by another, and nothing is kept for nobody.
func TestGrammars_Of_Salted(t *testing.T) {
	var k grammars
	g, reads := anyGrammar(t), 0
	for _, salt := range []string{"one", "two", "one", "", "none", "none"} {
		ctx := t.Context()
		if salt != "none" {
			ctx = sampling.WithSalt(ctx, salt)
		}
		must.Get(k.of(ctx, source{in: inGBNF, text: "a"}, func(*grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) { reads++; return g, nil, nil }))(t)
	}
	if reads != 5 || len(k.known) != 3 {
		t.Errorf("read %d times for three callers and twice for nobody; %d are kept", reads, len(k.known))
	}
}

// All answers of a request share what was made of its constraint.
func TestEngine_Prepare_IsShared(t *testing.T) {
	e := opened(t, Options{})
	p := sampling.Default()
	p.Grammar, p.GrammarLazy = `root ::= "a"`, true
	p.GrammarTriggers = []sampling.Trigger{{Kind: sampling.TriggerPattern, Value: "a+"}}
	var err error
	if p.Constraint, err = e.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	defer p.Constraint.Release()
	var first *triggers
	for range 3 {
		chain := must.Get(e.NewChain(p))(t)
		s := chain[len(chain)-1].(*Stage)
		if first == nil {
			first = s.lazy.triggers
		}
		if s.lazy.triggers != first || s.rules.grammar != p.Ready.(*ready).grammar.is {
			t.Error("an answer has its own")
		}
		_ = s.Close()
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	p.Ready, p.Grammar = nil, `root ::= "`+strings.Repeat("b", 5000)+`"`
	if _, err := e.Prepare(gone, p); !errors.Is(err, errStopped) {
		t.Errorf("for nobody: %v", err)
	}
}

// The chains that a program opens while its answer follows the grammar read nothing anew, though
// nobody holds what was prepared for them, and many other grammars are asked for.
func TestEngine_NewChain_FollowsTheAnswersGrammar(t *testing.T) {
	e := opened(t, Options{})
	ctx := sampling.WithSalt(t.Context(), "salt")
	prepared := func(p sampling.Params) sampling.Params {
		t.Helper()
		c := must.Get(e.Prepare(ctx, p))(t)
		p.Constraint = c
		return p
	}
	p := prepared(lazyAndThinking())
	answer := wholeChain(t, e, p)
	p.Release()
	other := p
	other.PreservedTokens, other.Ready = append(other.PreservedTokens, "a"), nil // as sampling has it
	other = prepared(other)
	other.Release()
	for i := range maxGrammars + 1 {
		prepared(sampling.Params{Constraint: sampling.Constraint{Regex: fmt.Sprint(i)}}).Release()
	}
	for name, p := range map[string]sampling.Params{"the same parameters": p, "others": other} {
		if s := wholeChain(t, e, p); s.rules.kept != answer.rules.kept {
			t.Errorf("%s: the chain has a grammar of its own", name)
		}
	}
}

// forget forgets all grammars: the next one to be asked for is read.
func (k *grammars) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, g := range k.known {
		if delete(k.known, key); g.uses == 0 {
			k.memory.Remove(g.is)
		}
		g.key = nil
	}
	k.idle = nil
}

// checkReleased checks that nobody uses any of the grammars.
func (k *grammars) checkReleased(t testing.TB) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	used := len(k.known) - len(k.idle)
	for len(k.idle) > 0 {
		k.dropOldest()
	}
	if used != 0 || k.memory != nil && k.memory.Used() != 0 {
		t.Errorf("%d of the grammars that are kept are in use, and all that are count %d bytes", used, k.memory.Used())
	}
}
