// SPDX-License-Identifier: MIT

package chain_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// stage writes down its calls. It does what its fields say, which are zero for a stage that does
// nothing.
type stage struct {
	log      []string
	prepared chain.Prepared
	greedy   bool
	choice   chain.Token
	allowed  []chain.Token // of a grammar
	refused  error
	broken   error // of Reset
}

func (s *stage) Traits() chain.Traits {
	return chain.Traits{Prepares: true, Guards: s.allowed != nil, Refuse: s.refuse}
}

func (s *stage) Native() bool                     { return false }
func (s *stage) Prepare() (chain.Prepared, error) { return s.prepared, nil }

func (s *stage) Fits(tokens []chain.Token) (n int, err error) {
	for n < len(tokens) && slices.Contains(s.allowed, tokens[n]) {
		n++
	}
	return n, nil
}

func (s *stage) refuse(_ chain.Act, why error) error {
	s.refused = why
	return nil
}

// Apply chooses the best token; a greedy stage with a grammar, the best that it allows.
func (s *stage) Apply(v *chain.View) error {
	s.log = append(s.log, "apply")
	if s.choice > 0 {
		v.Chosen = s.choice
	}
	if !s.greedy {
		return nil
	}
	for t, logit := range v.Row {
		fits := s.allowed == nil || slices.Contains(s.allowed, chain.Token(t))
		if fits && logit > -100 && (v.Chosen < 0 || logit > v.Row[v.Chosen]) {
			v.Chosen = chain.Token(t)
		}
	}
	if v.Chosen < 0 {
		return chain.ErrNoToken
	}
	return nil
}

func (s *stage) Accept(t chain.Token) (chain.Effect, error) {
	s.log = append(s.log, fmt.Sprintf("accept %d", t))
	return chain.Effect{}, nil
}

func (s *stage) Reset(history []chain.Token, prompt int) error {
	s.log = append(s.log, fmt.Sprintf("rewind %d/%d", len(history), prompt))
	return s.broken
}

func (s *stage) Close() error {
	s.log = append(s.log, "close")
	return nil
}

// draw prepares and draws a token from a row of four logits, of which the last is the highest.
func draw(t *testing.T, c *chain.Chain) chain.Token {
	t.Helper()
	must.Do(t, c.Prepare())
	var row chain.Row
	var loans sync.WaitGroup
	row.Lend([][]float32{{0, 1, 2, 3}}, &loans)
	defer loans.Wait()
	defer row.Return()
	token, _ := must.Both(c.Draw(&row))(t)
	return token
}

func TestChain_Draw_JoinsWhatStagesPrepare(t *testing.T) {
	for name, c := range map[string]struct {
		first, second chain.Prepared
		want          chain.Token
	}{
		"nothing": {want: 3},
		"masks":   {first: chain.Prepared{Mask: []uint32{0b0111}}, second: chain.Prepared{Mask: []uint32{0b1011}}, want: 1},
		"bias":    {first: chain.Prepared{Bias: []chain.Bias{{Token: 1, Value: 1.5}}}, second: chain.Prepared{Bias: []chain.Bias{{Token: 1, Value: 1}}}, want: 1},
		"forced":  {second: chain.Prepared{Forced: []chain.Token{0}}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			stages := []chain.Stage{&stage{prepared: c.first}, &stage{prepared: c.second}, &stage{greedy: true}}
			if got := draw(t, chain.New(stages, 4, 0)); got != c.want {
				t.Errorf("token %d, want %d", got, c.want)
			}
		})
	}
}

// A stage's mask leaves nothing of what the grammar allows: the stage is refused, and the token is
// drawn without its mask.
func TestChain_Draw_AMaskThatLeavesNothingIsGivenUp(t *testing.T) {
	masks := &stage{prepared: chain.Prepared{Mask: []uint32{0b1000}}}
	grammar := &stage{greedy: true, allowed: []chain.Token{1, 2}}
	if got := draw(t, chain.New([]chain.Stage{masks, grammar}, 4, 0)); got != 2 || !errors.Is(masks.refused, chain.ErrNotAllowed) {
		t.Errorf("token %d, refused for %v", got, masks.refused)
	}
}

func TestChain_Draw_AChoiceOutsideTheGrammarIsRefused(t *testing.T) {
	chooses := &stage{choice: 3}
	grammar := &stage{greedy: true, allowed: []chain.Token{1}}
	if got := draw(t, chain.New([]chain.Stage{chooses, grammar}, 4, 0)); got != 1 || !errors.Is(chooses.refused, chain.ErrNotAllowed) {
		t.Errorf("token %d, refused for %v", got, chooses.refused)
	}
}

func TestChain_Reset_BeginsFirst(t *testing.T) {
	s := &stage{}
	c := chain.New([]chain.Stage{s}, 4, 0)
	for _, err := range []error{c.Reset([]chain.Token{1, 2}, 1), c.Begin([]chain.Token{1}, 1), c.Reset([]chain.Token{1, 2, 3}, 1)} {
		if err != nil {
			t.Error(err)
		}
	}
	if want := []string{"rewind 1/1", "rewind 3/1"}; !slices.Equal(s.log, want) {
		t.Errorf("%v, want %v", s.log, want)
	}
}

func TestChain_Replace_ClosesTheStagesThatAreNotUsed(t *testing.T) {
	for name, broken := range map[string]error{"done": nil, "failed": errors.New("it cannot begin here")} {
		before, after := &stage{}, &stage{broken: broken}
		c := chain.New([]chain.Stage{before}, 4, 0)
		must.Do(t, c.Begin([]chain.Token{1}, 1))
		err := c.Replace([]chain.Stage{after}, []chain.Token{1, 2}, 1)
		used, closed := after, before
		if broken != nil {
			used, closed = before, after
		}
		if !errors.Is(err, broken) || c.Stages()[0] != chain.Stage(used) || slices.Contains(used.log, "close") || !slices.Contains(closed.log, "close") {
			t.Errorf("%s: %v; before %v, after %v", name, err, before.log, after.log)
		}
	}
}

// lasting is a stage that is kept, as a plugin.
type lasting struct {
	stage
	name string
}

func (l *lasting) Traits() chain.Traits {
	t := l.stage.Traits()
	t.Name, t.Lasts = l.name, true
	return t
}

func TestChain_Replace_KeepsStages(t *testing.T) {
	for name, broken := range map[string]error{"done": nil, "failed": errors.New("it cannot begin here")} {
		a, b := &lasting{name: "a"}, &lasting{name: "b"}
		before, after := &stage{}, &stage{broken: broken}
		c := chain.New([]chain.Stage{a, before, b}, 4, 0)
		must.Do(t, c.Begin([]chain.Token{1}, 1))
		err := c.Replace([]chain.Stage{chain.Keep("b", nil), chain.Keep("a", nil), after}, []chain.Token{1, 2}, 1)
		want := []chain.Stage{b, a, after}
		if broken != nil {
			want = []chain.Stage{a, before, b}
		}
		if !errors.Is(err, broken) || !slices.Equal(c.Stages(), want) {
			t.Errorf("%s: %v; %v", name, err, c.Stages())
		}
		for _, l := range []*lasting{a, b} {
			if !slices.Equal(l.log, []string{"rewind 1/1"}) {
				t.Errorf("%s: %s, which goes on, was told %v", name, l.name, l.log)
			}
		}
	}
}

func TestChain_CanReplace_LastingStagesStay(t *testing.T) {
	c := chain.New([]chain.Stage{&lasting{name: "a"}, &stage{}}, 4, 0)
	for says, stages := range map[string][]chain.Stage{
		"":                {&stage{}, chain.Keep("a", nil), &stage{}},
		"a is missing":    {&stage{}},
		"b is not":        {chain.Keep("a", nil), chain.Keep("b", nil), &stage{}},
		"not so often":    {chain.Keep("a", nil), chain.Keep("a", nil), &stage{}},
		"cannot be added": {chain.Keep("a", nil), &lasting{name: "c"}, &stage{}},
	} {
		err := c.CanReplace(stages)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%d stages: %v, want %q", len(stages), err, says)
		}
	}
}

func TestChain_Draw_Traces(t *testing.T) {
	c := chain.New([]chain.Stage{&stage{prepared: chain.Prepared{Mask: []uint32{0b0111}}}, &stage{greedy: true}}, 4, 2)
	must.Do(t, c.Prepare())
	var row chain.Row
	row.Lend([][]float32{{0, 1, 2, 3}}, new(sync.WaitGroup))
	_, trace, err := c.Draw(&row)
	if err != nil || trace == nil || trace.Before.Count != 4 || len(trace.Stages) != 3 || trace.Stages[0].After.Count != 3 || trace.Stages[2].After.Best[0].Token != 2 {
		t.Errorf("%+v, %v", trace, err)
	}
}

// fickle is a stage that needs its Prepare until it is told otherwise.
type fickle struct {
	stage
	needs bool
}

func (s *fickle) Traits() chain.Traits {
	t := s.stage.Traits()
	t.Needs = func() chain.Needs { return chain.Needs{Prepare: s.needs} }
	return t
}

// chooser is a stage that prepares nothing.
type chooser struct{ stage }

func (*chooser) Traits() chain.Traits { return chain.Traits{} }

// What a stage has prepared does not outlast its being asked.
func TestChain_Prepare_NeededNoMore(t *testing.T) {
	s := &fickle{stage: stage{prepared: chain.Prepared{Forced: []chain.Token{2}}}, needs: true}
	c := chain.New([]chain.Stage{s, &chooser{stage{choice: 1}}}, 4, 0)
	draw := func() chain.Token {
		t.Helper()
		if c.Prepares() {
			must.Do(t, c.Prepare())
		}
		var row chain.Row
		row.Lend([][]float32{make([]float32, 4)}, &sync.WaitGroup{})
		token, _ := must.Both(c.Draw(&row))(t)
		return token
	}
	must.Do(t, c.Begin([]chain.Token{1}, 1))
	if got := draw(); got != 2 {
		t.Errorf("drew %d, the forced one is 2", got)
	}
	s.needs = false
	must.Do(t, c.Reset([]chain.Token{1}, 1))
	if got := draw(); got != 1 {
		t.Errorf("drew %d, nothing is forced any more", got)
	}
}
