// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Request is a checked request for text: one or several answers to one or several prompts.
type Request struct {
	Basics
	Model    *serving.Model
	Deadline time.Time // zero: none
	Params   sampling.Params
	Plugins  serving.Plugins

	AdapterScales []serving.AdapterScale // none: those that count for all

	Prompts   [][]scheduler.Token
	Rendered  chat.Prompt // of a conversation: what its template has made of it
	Choices   int         // answers to each prompt
	Stops     []string
	MaxTokens int // to generate; 0: as many as fit
	Logprobs  int // alternatives reported with each token; -1: none, and no probability of the token itself
	// SchemaField is the field of the body that Params.JSONSchema came from, for errors; "" is json_schema.
	SchemaField string
	Overflow    scheduler.OverflowPolicy
	Detachable  bool   // the answers may outlive their connection: their streams keep what was read
	Ended       func() // is called when each answer has ended, by the scheduler: it must be quick; nil: nobody is told

	Shift      answer.Shift             // what leaves the context when it is full, if the model is served so that answers go on then
	Slot       *int                     // that computes the answers; nil: any
	Progress   bool                     // tell how far the prompt is computed
	Candidates int                      // how many of the most likely tokens are reported that each sampler left; 0: none
	Rules      func() []answer.StopRule // that may end an answer; nil: none

	mustCall  bool                                         // the answer is to call a tool
	begun     []scheduler.Token                            // of a fork: the answer begins with these
	used      *usedAdapters                                // with what the last prompt is computed
	renew     func(sampling.Params) ([]chain.Stage, error) // Policy.Renew, once it is submitted
	recording serving.Recording                            // nil: none
	arrived   func()                                       // see serving.Scheduler.Expect; nil: nobody waits
	release   func()
}

// Basics are what a dialect says of a request before anything is checked.
type Basics struct {
	Caller      Caller
	ModelName   string // "": the default model
	PromptField string // the field of the body that holds the prompt, for errors
	Extras      *Extras
	Size        int // bytes of the body
}

// Release lets go of the request's model. It is called once, when the answers have ended or nobody waits for them.
func (r *Request) Release() {
	r.hasArrived()
	r.Plugins.Release()
	r.release()
}

// hasArrived has the scheduler wait for the request no longer.
func (r *Request) hasArrived() {
	if r.arrived != nil {
		r.arrived()
	}
}

// Service carries out requests.
type Service struct {
	Models serving.Models
	pool   *textPool
}

// NewService makes a service.
func NewService(m serving.Models) *Service { return &Service{Models: m, pool: newTextPool()} }

// New begins a request: it checks what all dialects share, finds the model, and has fill complete the request, with one choice and
// without log-probabilities unless that says otherwise. fill runs in the text pool, so it may tokenise. The caller releases the request.
func (s *Service) New(ctx context.Context, b Basics, fill func(context.Context, *Request) error) (_ *Request, err error) {
	if err := b.Extras.check(); err != nil {
		return nil, err
	}
	if err := b.Caller.checkPriority(b.Extras.Priority); err != nil {
		return nil, err // before the server is asked how busy it is
	}
	deadline := b.Extras.deadline(time.Now())
	m, release, err := s.use(ctx, b.ModelName, deadline)
	if err != nil {
		return nil, err
	}
	if m.EmbedsOnly {
		release()
		return nil, refusal.Unsupported("model", "the model %s makes embeddings and generates no text; name another", m.Name)
	}
	recording, release, err := beginRecording(b, m, release)
	if err != nil {
		release()
		return nil, err
	}
	arrived := m.Scheduler.Expect()
	r, err := inPool(ctx, s.pool, deadline, b.Size, func(ctx context.Context) (*Request, error) {
		r := &Request{Basics: b, Model: m, Deadline: deadline, Choices: 1, Logprobs: -1, MaxTokens: m.MaxTokens,
			Shift: answer.Shift{Keep: m.ShiftKeep}, recording: recording, arrived: arrived, release: release}
		return r, r.complete(ctx, fill)
	}, func(r *Request) { r.Plugins.Release() })
	if err != nil {
		arrived()
		release() // the work may go on for a moment: a model can be closed under it
		return nil, err
	}
	return r, nil
}

// use finds a model, which may have to be loaded, until a deadline; zero: none.
func (s *Service) use(ctx context.Context, name string, deadline time.Time) (*serving.Model, func(), error) {
	if deadline.IsZero() {
		return s.Models.Use(ctx, name)
	}
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, timedOut("the model was not loaded within timeout_ms"))
	defer cancel()
	return s.Models.Use(ctx, name)
}

// complete reads what all dialects share, and has fill do the rest.
func (r *Request) complete(ctx context.Context, fill func(context.Context, *Request) error) error {
	if err := r.takeExtras(ctx); err != nil {
		return err
	}
	filled := false
	defer func() {
		if !filled { // nor after a panic does anybody use them
			r.Plugins.Release()
		}
	}()
	if err := fill(ctx, r); err != nil {
		return err
	}
	filled = true
	return nil
}

// takeExtras reads the sampling parameters and the plugins.
func (r *Request) takeExtras(ctx context.Context) (err error) {
	base := sampling.Default()
	base.Seed, base.Trace = sampling.RandomSeed(), r.Extras.Trace
	if t := r.Model.Thinking; t != nil {
		base.Thinking = *t
	}
	if r.Params, err = r.Extras.Params(base, tokens{ctx, r.Model}); err != nil {
		return err
	}
	uses, err := readUses(r.Extras.Plugins)
	if err != nil {
		return err
	}
	if r.AdapterScales, err = ReadAdapterScales(r.Extras.Lora, "lora"); err != nil {
		return err
	}
	r.Plugins, err = pluginsOf(r.Model, r.Caller.ID, uses, r.Params.Chain)
	return err
}

// Work does work on a text of size bytes in the text pool, for requests that are not for an answer. It ends with ctx, of
// which the work is told.
func Work[T any](ctx context.Context, s *Service, size int, work func(context.Context) (T, error)) (T, error) {
	return inPool(ctx, s.pool, time.Time{}, size, work, nil)
}
