// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Live is an answer for a reader in this process. What it holds is given back once, when its reader
// has left or has read the end, its context is done, or it is ended from elsewhere: after this
// nobody uses the model.
type Live struct {
	Choice *Choice
	Whole  Whole // as far as it was read

	ctx  context.Context
	stop func() bool // of what ends it with ctx
	over func(*Live)

	mu      sync.Mutex
	reading bool  // somebody reads, and gives back what is to be given back then
	ending  bool  // End was called meanwhile
	why     error // with ending
	ended   bool
	err     error // with ended
	gained  Delta // the reader's
}

// ErrRead says that another goroutine reads the answer.
var ErrRead = errors.New("the answer is being read; one goroutine reads it at a time")

// errLeft ends the answer of a reader who has had enough.
var errLeft = errors.New("the reader has left")

// errOver says that all was read. It is not io.EOF, which an answer may have failed for.
var errOver = errors.New("all was read")

// NewLive is the answer to a request that has one. over is called when all is given back.
func NewLive(ctx context.Context, r *Submitted, over func(*Live)) *Live {
	l := &Live{Choice: r.Choices[0], ctx: ctx, over: over}
	whole := make(chan struct{})
	l.stop = context.AfterFunc(ctx, func() {
		<-whole
		l.End(context.Cause(ctx))
	})
	close(whole)
	return l
}

// Read reads the answer to its end, or until take is false. Nothing is left to be read then. Its
// errors are as Typed makes them.
func (l *Live) Read(take func(*Delta) bool) error {
	err := l.begin()
	if err == nil {
		err = l.read(take)
	}
	if errors.Is(err, errOver) {
		return nil
	}
	return l.typeError(err)
}

func (l *Live) read(take func(*Delta) bool) (err error) {
	defer func() { l.leave(true, err) }()
	err = l.Choice.Request.Read(l.ctx, func(_ *Choice, d Delta) error {
		if err := l.ctx.Err(); err != nil {
			return err // nobody wants what has arrived and was not read
		}
		l.gained = d
		if l.Whole.Add(&l.gained); !take(&l.gained) {
			return errLeft
		}
		return nil
	}, func() error { return nil })
	if errors.Is(err, errLeft) {
		err = nil
	}
	return err
}

// Drain gives take what the answer has gained, until that is all or take is false. It waits for the
// first, if it is to. After the end, the error is io.EOF, or why the answer was ended, as Typed has
// it.
func (l *Live) Drain(wait bool, take func(*Delta) (more bool)) error {
	err := l.begin()
	if err == nil {
		err = l.drain(wait, take)
	}
	if errors.Is(err, errOver) {
		return io.EOF
	}
	return l.typeError(err)
}

func (l *Live) drain(wait bool, take func(*Delta) (more bool)) (err error) {
	over := true // unless it gets to where more may come
	defer func() { l.leave(over, err) }()
	if err := l.ctx.Err(); err != nil {
		return err // nobody wants what has arrived and was not read
	}
	d := &l.gained
	for more := true; more; wait = false {
		ok := true
		if wait {
			err = l.Choice.next(l.ctx, d)
		} else {
			ok, err = l.Choice.poll(d)
		}
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		l.Whole.Add(d)
		if more = take(d); d.Event.Kind == scheduler.KindEnd {
			return nil
		}
	}
	over = false
	return nil
}

// typeError words err for the program that reads. That another goroutine reads is told even when
// the context is done: the other one goes on using the answer.
func (l *Live) typeError(err error) error {
	if errors.Is(err, ErrRead) {
		return Typed(context.Background(), err, "")
	}
	return Typed(l.ctx, err, l.Choice.Request.PromptField)
}

// begin begins to read; an error says that there is nothing to read, or not now.
func (l *Live) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reading:
		return ErrRead
	case l.ended && l.err != nil:
		return l.err
	case l.ended:
		return errOver
	}
	l.reading = true
	return nil
}

// leave ends what begin began. With over, nobody reads on, for a reason; nil: all was read that was
// wanted.
func (l *Live) leave(over bool, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading = false
	switch {
	case over:
		l.release(why)
	case l.ending:
		l.release(l.why)
	}
}

// End ends the answer: why is the error of who reads it later. What it holds is given back now, or
// by who is reading it.
func (l *Live) End(why error) {
	l.Choice.Stream.Cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reading:
		l.ending, l.why = true, why
	case !l.ended:
		l.release(why)
	}
}

// release gives back what the answer holds. l.mu is held.
func (l *Live) release(why error) {
	l.ended, l.err = true, why
	l.stop()
	l.Choice.Request.Cancel()
	l.Choice.Request.Release()
	l.over(l)
}

// Inject adds a text to a running answer.
func (s *Service) Inject(ctx context.Context, c *Choice, text string) error {
	r := c.Request
	tokens, err := Work(ctx, s, r.Caller, len(text), func(ctx context.Context) ([]int32, error) {
		return r.Model.Encoder().Plain(ctx, text)
	})
	if err != nil {
		return TextError(err, "text")
	}
	r.noteSteering("inject")
	return c.Stream.Inject(ctx, tokens)
}

// Rewind takes back the last n tokens of a running answer.
func (c *Choice) Rewind(ctx context.Context, n int) error {
	c.Request.noteSteering("rewind")
	return c.Stream.Rewind(ctx, n)
}

// Set has a running answer go on with sampling parameters as change changes them, which has size
// bytes.
func (s *Service) Set(ctx context.Context, c *Choice, size int, change func(*sampling.ParamFields) error) error {
	r := c.Request
	r.steering.Lock()
	defer r.steering.Unlock()
	fields := sampling.FieldsOf(r.Params)
	if err := change(&fields); err != nil {
		return err
	}
	params, stages, err := s.renewChain(ctx, r, fields, size)
	if err != nil {
		return err
	}
	r.noteSteering("set")
	if err := c.Stream.SetChain(ctx, stages); err != nil {
		return err
	}
	r.Params = params
	return nil
}

// Fork makes a request that continues from where a running answer of another is, with the same
// prompt, plugins and limits, and with its sampling parameters except the seed, which is random,
// and those that change changes, which has size bytes. The caller submits it, and releases it as
// any other.
func (s *Service) Fork(ctx context.Context, r *Submitted, st serving.Stream, size int, change func(*sampling.ParamFields) error) (*Prompted, error) {
	r.steering.Lock()
	defer r.steering.Unlock()
	fork := *r.Prompted
	fork.Size = max(r.Size, size)
	fork.times.came, fork.Params.Seed = time.Now(), sampling.RandomSeed()
	fork.Source, fork.PromptLogprobs = Texts{}, false // who reads the answer has what is told of its prompt
	fork.Media.begun = 0                              // the answer was charged for its pictures
	fields := sampling.FieldsOf(fork.Params)
	if err := change(&fields); err != nil {
		return nil, err
	}
	prompt, answered, err := st.Conversation(ctx)
	if err != nil {
		return nil, err
	}
	fork.Prompts, fork.begun, fork.forked = [][]scheduler.Token{prompt}, answered, r.adapters
	m, release, err := s.Models.Use(ctx, r.Model.Name)
	if err != nil {
		return nil, err
	}
	fork.Media.let, fork.held = func() {}, held{arrived: func() {}, back: []func(){release}}
	whole := false
	defer func() {
		if !whole {
			fork.held.release()
		}
	}()
	if m != r.Model { // it was unloaded, and loaded again: what the answer has of it is no longer useful
		return nil, scheduler.ErrEnded
	}
	if err := fork.beginRecording(); err != nil {
		return nil, err
	}
	if err := fork.beginReceipt(ctx); err != nil {
		return nil, err
	}
	made, err := withPermit(ctx, s.permits, r.Caller, time.Time{}, fork.Size, func(ctx context.Context) (*Prompted, error) {
		made := fork
		return &made, made.takeFields(ctx, fields)
	}, func(made *Prompted) { made.Plugins.Release() })
	whole = err == nil
	return made, err
}

// takeFields has a fork decide by these sampling parameters, with the plugins of the answer that
// it goes on from.
func (p *Prompted) takeFields(ctx context.Context, fields sampling.ParamFields) (err error) {
	if p.Params, err = fields.Params(p.Params, tokens{ctx, p.Model}); err != nil {
		return err
	}
	if err := p.findPreserved(ctx); err != nil {
		return err
	}
	p.Plugins, err = p.Plugins.Again(ctx, p.Caller.asker(), p.Params.Chain)
	return err
}

// renewChain builds the sampler chain of a submitted request with other parameters: fields, which
// were read over those that it has. It changes nothing of the request. The caller has to close the
// stages.
func (s *Service) renewChain(ctx context.Context, r *Submitted, fields sampling.ParamFields, size int) (sampling.Params, []chain.Stage, error) {
	type renewed struct {
		params sampling.Params
		stages []chain.Stage
	}
	m, old, renew := r.Model, r.Params, r.renew
	made, err := withPermit(ctx, s.permits, r.Caller, time.Time{}, size, func(ctx context.Context) (made renewed, err error) {
		if made.params, err = fields.Params(old, tokens{ctx, m}); err != nil {
			return made, err
		}
		if !slices.Equal(made.params.PreservedTokens, old.PreservedTokens) {
			return made, refusal.Unsupported("preserved_tokens", "preserved_tokens stay as they are while an answer is written")
		}
		if made.params.Constraint, err = m.Engine.Prepare(ctx, made.params); err != nil {
			return made, chainError(err, made.params)
		}
		defer made.params.Constraint.Release() // the stages use it by themselves
		made.stages, err = renew(made.params)
		return made, chainError(err, made.params)
	}, func(made renewed) { discardPolicy(serving.Policy{Stages: made.stages}) })
	return made.params, made.stages, err
}
