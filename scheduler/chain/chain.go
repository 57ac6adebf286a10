// SPDX-License-Identifier: MIT

// Package chain turns a row of logits into a token: it runs the stages of a sampler chain and
// refuses what the request does not allow.
//
// stage.go says what a stage is, link.go how a chain keeps it, chain.go begins, resets and closes
// the stages, replace.go exchanges them, draw.go draws a token. A chain knows nothing of slots,
// ticks and goroutines. Its caller sees to it that calls do not overlap.
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
	"math"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/scheduler/panics"
)

// Chain is the sampler chain of one answer.
type Chain struct {
	stages  []Stage           // of the links
	hold    int               // tokens that the stages may take back
	needed  atomic.Uint32     // what a stage needs, a bit each: the tick asks while stages begin
	outputs []func() []Output // of the stages that have them

	links      []link
	guard      Guard // the first stage that is one; nil if none is
	guardAt    int   // its place, or -1
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
	c.set(linksOf(stages))
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

// Native reports whether the backend can draw from rows for these stages, all of such chains in
// one call.
func Native(stages []Stage) bool { return len(stages) == 1 && stages[0].Native() }

// Stages are those of the chain, in their order.
func (c *Chain) Stages() []Stage { return c.stages }

// Prepares reports whether a stage has something to prepare.
func (c *Chain) Prepares() bool { return c.needed.Load()&needPrepare != 0 }

// Foresees reports whether a stage may know tokens that come next.
func (c *Chain) Foresees() bool { return c.needed.Load()&needForesee != 0 }

// Foresee gives tokens that are likely to come next, at most so many, by the first stage that
// knows some.
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

// WantsHiddenStates reports whether a stage wants to know the hidden states that rows are computed
// from.
func (c *Chain) WantsHiddenStates() bool { return c.needed.Load()&needState != 0 }

// TellHiddenState tells the stages that want to know the hidden state of the row that the next
// token is drawn from, and is taken in with; empty: there is none.
func (c *Chain) TellHiddenState(state []float32) {
	for i := range c.links {
		if tell := c.links[i].traits.HiddenState; tell != nil {
			tell(state)
		}
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
