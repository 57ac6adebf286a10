// SPDX-License-Identifier: MIT

// Package chain turns a row of logits into a token: it runs the stages of a sampler chain and
// refuses what the request does not allow.
//
// stage.go says what a stage is, chain.go begins, resets, exchanges and closes the stages, draw.go
// draws a token, guard.go refuses what is not allowed, row.go lends the row, trace.go says how a
// token came about. A chain knows nothing of slots, ticks and goroutines. Its caller sees to it
// that calls do not overlap.
//
// # Why does a stage say what it is in a struct, and not by the methods that it has?
//
// One type stands for all plugins, whatever their modules export, and one for all native stages,
// with a grammar or without. Their methods are always there, so each would need another one that
// tells whether it counts; and a stage that wraps another has all of the other's. Traits is one
// place to look. What it says holds as long as the stage does, so a chain asks when it is made,
// and no token asks again. Only what may change is asked anew: whether a native stage is still
// quick enough for the tick (Native).
package chain

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/scheduler/panics"
)

// Chain is the sampler chain of one answer.
type Chain struct {
	stages  []Stage           // of the links
	hold    int               // tokens that the stages may take back
	needed  atomic.Uint32     // what a stage needs, a bit each: the tick asks while stages begin
	layers  []int32           // whose hidden states stages want to know
	outputs []func() []Output // of the stages that have them

	links      []link
	guard      Guard // the first stage that is one; nil if none is
	guardAt    int   // its place, or -1
	required   []int // the places of the required stages
	order      []int // the places of all stages as they are told of tokens
	vocabulary int   // tokens in the vocabulary
	begun      bool  // the stages know the conversation

	interrupts []func()

	view        View
	restriction restriction
	tracer      *tracer  // nil: no trace is wanted
	single      [1]Token // for a question to a guard, without an allocation
}

// New makes a chain of at least one stage, and with trace above 0 traces of each token: see
// Survey. The chain closes the stages.
func New(stages []Stage, vocabulary, trace int) *Chain {
	c := &Chain{vocabulary: vocabulary, tracer: newTracer(trace), restriction: restriction{narrowedBy: -1}}
	c.setStages(linksOf(stages))
	for i := range c.links {
		traits := &c.links[i].traits
		if traits.Outputs != nil {
			c.outputs = append(c.outputs, traits.Outputs)
		}
		if traits.Interrupt != nil {
			c.interrupts = append(c.interrupts, traits.Interrupt)
		}
	}
	return c
}

// MaskBy has the chain mask rows with m, which is faster than MaskRow.
func (c *Chain) MaskBy(m Masker) { c.restriction.masker = m }

// Native reports whether the backend can draw from rows for these stages, all of such chains in
// one call.
func Native(stages []Stage) bool { return len(stages) == 1 && stages[0].Native() }

// Stages lists the chain's stages in their order.
func (c *Chain) Stages() []Stage { return c.stages }

// Order are the places of the stages in the order in which they are told of a token: the required
// ones first, so that no other can take the token back before they have judged it.
func (c *Chain) Order() []int { return c.order }

// Required reports whether a stage is a required one.
func (c *Chain) Required(i int) bool { return c.links[i].judge != nil }

// Prepares reports whether a stage has something to prepare.
func (c *Chain) Prepares() bool { return c.needed.Load()&needPrepare != 0 }

// Foresees reports whether a stage may know tokens that come next.
func (c *Chain) Foresees() bool { return c.needed.Load()&needForesee != 0 }

// Foresee gives at most `most` tokens that are likely to come next, from the first stage that knows
// some.
func (c *Chain) Foresee(most int) []Token {
	for i := range c.links {
		if f := c.links[i].foreseer; f != nil {
			if tokens := f.Foresee(most); len(tokens) > 0 {
				return tokens[:min(len(tokens), most)]
			}
		}
	}
	return nil
}

// Hold is how many tokens the stages may take back: at most, until they know the conversation.
func (c *Chain) Hold() int { return c.hold }

// Lasting names the stages that stay as long as the answer goes on.
func (c *Chain) Lasting() (names []string) {
	for i := range c.links {
		if traits := &c.links[i].traits; traits.Lasts && traits.Name != "" {
			names = append(names, traits.Name)
		}
	}
	return names
}

// GivesOutputs reports whether a stage may have any.
func (c *Chain) GivesOutputs() bool { return len(c.outputs) > 0 }

// Outputs are what the stages have given since the last call, in the order of the chain.
func (c *Chain) Outputs() (all []Output) {
	for _, outputs := range c.outputs {
		all = append(all, outputs()...)
	}
	return all
}

// Interrupt makes the stages return soon, whatever they are doing: the answer has ended. It may be
// called beside any other call of the chain.
func (c *Chain) Interrupt() {
	for _, interrupt := range c.interrupts {
		interrupt()
	}
}

// Begin tells the stages what the conversation is, before anything else.
func (c *Chain) Begin(history []Token, prompt int) error {
	c.begun = true
	return c.Reset(history, prompt)
}

// Begun tells whether the stages know the conversation. Until then nothing else may be told them.
func (c *Chain) Begun() bool { return c.begun }

// Reset tells the stages what the conversation is now. Before Begin it does nothing.
func (c *Chain) Reset(history []Token, prompt int) error {
	return c.rewind(c.stages, -1, history, prompt)
}

// ResetOthers is Reset for all stages but one, which has taken tokens back itself.
func (c *Chain) ResetOthers(by int, history []Token, prompt int) error {
	return c.rewind(c.stages, by, history, prompt)
}

func (c *Chain) rewind(stages []Stage, except int, history []Token, prompt int) error {
	if !c.begun {
		return nil
	}
	for i, s := range stages {
		if i == except {
			continue
		}
		if err := s.Reset(history, prompt); err != nil {
			return err
		}
	}
	c.askNeeds()
	return nil
}

// WantsLogprobs reports whether a stage wants to know the log-probabilities of tokens.
func (c *Chain) WantsLogprobs() bool { return c.needed.Load()&needLogprob != 0 }

// TellLogprob tells one stage the log-probability of the token that it is told of next, if it
// wants to know; nil: there is none.
func (c *Chain) TellLogprob(i int, logprob *float32) {
	switch tell := c.links[i].traits.Logprob; {
	case tell == nil:
	case logprob == nil:
		tell(float32(math.NaN()))
	default:
		tell(*logprob)
	}
}

// StateLayers are the layers whose hidden states stages want to know of the rows that they draw
// from, each once; empty: none.
func (c *Chain) StateLayers() []int32 {
	if c.needed.Load()&needState == 0 {
		return nil
	}
	return c.layers
}

// TellHiddenStates tells the stages that want to know the hidden state of the row that the next
// token is drawn from, and is taken in with: those of StateLayers, one after the other; empty:
// there are none.
func (c *Chain) TellHiddenStates(states []float32) {
	for i := range c.links {
		tell := c.links[i].traits.HiddenState
		if tell == nil {
			continue
		}
		width := len(states) / len(c.layers)
		at := slices.Index(c.layers, c.links[i].traits.StateLayer)
		tell(states[at*width : (at+1)*width])
	}
}

// Accept tells one stage which token was chosen. Its trace, if there is one, learns how long that
// took where it can take long.
func (c *Chain) Accept(i int, t Token, trace *Trace) (Effect, error) {
	stage := c.stages[i]
	if trace == nil {
		return stage.Accept(t)
	}
	start := time.Now()
	effect, err := stage.Accept(t)
	l := &c.links[i]
	if l.traits.TakesLong {
		trace.Accepted = append(trace.Accepted, Timed{l.name, time.Since(start)})
	}
	l.note(trace)
	return effect, err
}

// Close closes the stages of a chain, or those that would have been one. Their errors are dropped:
// the request is over.
func Close(stages []Stage) {
	for _, s := range stages {
		_ = panics.Try(s.Close)
	}
}

// link is a stage in its chain, with what the chain has asked it once, so that no token asks again.
type link struct {
	stage    Stage
	traits   Traits
	name     string   // in traces
	preparer Preparer // nil: it prepares nothing
	foreseer Foreseer // nil: it foresees nothing
	taker    RowTaker // nil: it is given the row

	judge   Judge    // nil: it is not required
	left    []uint32 // of the candidates by a judge, in the draw that goes on: bit i of word i/32 for token i
	leftAll bool     // the judge has taken no token away
}

func linkOf(s Stage) link {
	l := link{stage: s, traits: s.Traits(), name: "stage"}
	if l.traits.Name != "" {
		l.name = l.traits.Name
	}
	if l.traits.Prepares {
		l.preparer = s.(Preparer)
	}
	if l.traits.Foresees {
		l.foreseer = s.(Foreseer)
	}
	if l.traits.TakesRow {
		l.taker = s.(RowTaker)
	}
	if l.traits.Required {
		l.judge = s.(Judge)
	}
	return l
}

func linksOf(stages []Stage) []link {
	links := make([]link, len(stages))
	for i, s := range stages {
		links[i] = linkOf(s)
	}
	return links
}

// setStages makes these the stages of the chain.
func (c *Chain) setStages(links []link) {
	c.links, c.stages = links, make([]Stage, len(links))
	c.guard, c.guardAt, c.layers = nil, -1, nil
	c.required, c.order = nil, make([]int, 0, len(links))
	for i := range links {
		if links[i].judge != nil {
			c.required = append(c.required, i)
		}
	}
	c.order = append(c.order, c.required...)
	for i := range links {
		if links[i].judge == nil {
			c.order = append(c.order, i)
		}
		c.stages[i] = links[i].stage
		if t := &links[i].traits; t.HiddenState != nil && !slices.Contains(c.layers, t.StateLayer) {
			c.layers = append(c.layers, t.StateLayer)
		}
		if c.guard == nil && links[i].traits.Guards {
			c.guard, c.guardAt = links[i].stage.(Guard), i
		}
	}
	c.askNeeds()
}

// What a stage may need, a bit each.
const (
	needPrepare = 1 << iota
	needForesee
	needLogprob
	needState
)

// askNeeds notes what the stages need: when the chain is made, and whenever they know a
// conversation.
func (c *Chain) askNeeds() {
	var needed uint32
	c.hold = 0
	for i := range c.links {
		l := &c.links[i]
		n := Needs{true, true, true, true, l.traits.Hold}
		if l.traits.Needs != nil {
			n = l.traits.Needs()
		}
		c.hold = max(c.hold, n.Hold)
		for bit, needs := range [...]bool{n.Prepare && l.preparer != nil, n.Foresee && l.foreseer != nil, n.Logprob && l.traits.Logprob != nil, n.HiddenState && l.traits.HiddenState != nil} {
			if needs {
				needed |= 1 << bit
			}
		}
	}
	c.needed.Store(needed)
	if needed&needPrepare == 0 { // nobody is asked any more, so nobody would lift it
		c.restriction.clear(len(c.links))
	}
}

// Keep stands, in a chain that is to replace another, for the stage of that name in the other: it
// goes on there with all that it knows. Once the chain is replaced, done is called; it may be nil.
func Keep(name string, done func()) Stage { return kept{name, done} }

// kept is such a stand-in. It is never in a chain that is at work.
type kept struct {
	name string
	done func()
}

func (k kept) Traits() Traits               { return Traits{Name: k.name} }
func (k kept) Native() bool                 { return false }
func (k kept) Apply(*View) error            { return k.unexpected() }
func (k kept) Accept(Token) (Effect, error) { return Effect{}, k.unexpected() }
func (k kept) Reset(_ []Token, _ int) error { return k.unexpected() }
func (k kept) Close() error                 { return nil }
func (k kept) unexpected() error {
	return fmt.Errorf("chain: %s was to be kept, and is not known", k.name)
}

// CanReplace is nil if Replace can take these stages: each one of the chain that lasts is kept,
// once, and there is no other.
func (c *Chain) CanReplace(stages []Stage) error {
	left := slices.DeleteFunc(slices.Clone(c.links), func(l link) bool { return !l.traits.Lasts })
	for _, s := range stages {
		k, keeps := s.(kept)
		l := linkOf(s)
		switch at := slices.IndexFunc(left, k.is); {
		case !keeps && l.traits.Lasts:
			return fmt.Errorf("%s cannot be added to an answer that has begun", l.name)
		case keeps && at < 0:
			return fmt.Errorf("%s is not in the sampler chain of the answer, or not so often", k.name)
		case keeps:
			left = slices.Delete(left, at, at+1)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%s is missing; it stays as long as the answer goes on", left[0].name)
	}
	return nil
}

func (k kept) is(l link) bool { return l.name == k.name }

// Replace goes on with other stages, which CanReplace has approved, and closes those before that
// are not kept. If one of the others fails, it closes them and all stays as it is.
func (c *Chain) Replace(stages []Stage, history []Token, prompt int) error {
	fresh := slices.DeleteFunc(slices.Clone(stages), func(s Stage) bool { _, keeps := s.(kept); return keeps })
	if err := c.rewind(fresh, -1, history, prompt); err != nil {
		Close(fresh)
		return err
	}
	gone, links := slices.Clone(c.links), linksOf(stages)
	for i, s := range stages {
		if k, keeps := s.(kept); keeps {
			at := slices.IndexFunc(gone, k.is)
			links[i] = gone[at]
			gone = slices.Delete(gone, at, at+1)
		}
	}
	for _, l := range gone {
		_ = panics.Try(l.stage.Close)
	}
	for _, s := range stages {
		if k, keeps := s.(kept); keeps && k.done != nil {
			k.done()
		}
	}
	c.setStages(links)
	c.restriction.clear(len(stages)) // those before asked for it
	return nil
}
