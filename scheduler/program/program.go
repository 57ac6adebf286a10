// SPDX-License-Identifier: MIT

package program

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/scheduler/background"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
)

// Token is an index into the model's vocabulary.
type Token = int32

// Program is what a request has in place of a sampler chain.
type Program struct {
	// Name is what traces call it, and the end of an answer that it ends.
	Name string
	// Main is the program. It is called once, on a goroutine of its own, when the request has got
	// its slots, and returns soon after its calls fail with ErrOver. What was shown is the answer
	// then; an error ends that as one.
	Main func(*Run) error
	// Branches is how many it may have at once, at least 1. Each takes a slot, from the beginning
	// to the end.
	Branches int
	// Tokens is how many it may put into branches in all, those of a fork not counted; 0:
	// DefaultTokens.
	Tokens int
	// HiddenStates says that it wants to know the hidden state after each branch.
	HiddenStates bool
	// StateLayer is the layer that gives it, from 1; 0: the last one, after the norm.
	StateLayer int32
}

// spareTokens is how many tokens a program may put into each branch besides a prompt and an
// answer, for what it takes back.
const spareTokens = 256

// DefaultTokens is how many tokens a program may put into that many branches, by the lengths of its
// prompt and of the longest answer.
func DefaultTokens(prompt, answer, branches int) int {
	return prompt + branches*(prompt+answer+spareTokens)
}

// Errors of a program's calls; compare with errors.Is.
var (
	ErrOver        = errors.New("the request has ended")
	ErrNoBranch    = errors.New("no branch is free")
	ErrContextFull = errors.New("the context is full")
	ErrBudget      = errors.New("the program's tokens are used up")
	ErrNoToken     = errors.New("no token is possible")
	ErrRefused     = errors.New("it cannot be used")
	ErrMisuse      = errors.New("a call that no correct program makes")
)

// Run is a program at work, which calls Prompt, Open, Wait and Show from its goroutine. The other
// methods are the tick's.
type Run struct {
	program *Program
	options Options

	done   chan struct{} // one message whenever the program waits, and when it has returned
	resume chan struct{} // one message when a wait is answered
	over   chan struct{} // closed when the request has ended
	worked atomic.Int64  // processor time since the last Collect, in ns

	// The program's while it is at work, else the tick's.
	branches []*Branch // by place; nil: free
	opened   uint64    // branches so far
	tree     *tree     // nil: the run is not traced
	used     int       // tokens put into branches so far
	reserved int       // tokens for branches that go on by themselves
	waiting  []*Branch
	anyOf    bool // one of them is enough
	shown    []Shown
	ended    []bool           // by choice
	told     map[int][]Token  // what was shown of each choice so far
	adopted  map[int]*Adopted // what each goes on from
	returned bool
	err      error // with returned

	// The tick's.
	started, atWork bool
	spent           struct{ tokens, branches int } // as of the last Collect
	untaken         bool                           // what it has done is not taken over yet
	restUntil       time.Time
	quota           background.Quota
	patience        background.Patience
}

// Options are what a program has to do with.
type Options struct {
	Prompt     []Token
	Pieces     Pieces // that branches may have
	Vocabulary int
	// HiddenState is how many numbers a hidden state has; 0: there is none, or none is wanted.
	HiddenState int
	Longest     int  // tokens that a branch has room for
	Tokens      int  // that the program may put into branches
	Traced      bool // TakeGrown tells of the branches
	Summarizer  Summarizer
	Masker      chain.Masker
	Ends        func(Token) bool // whether a token ends answers
	Wake        func()           // wakes the tick
}

// Shown is a token that the client is to see.
type Shown struct {
	Choice  int
	Token   Token
	Logprob *float32 // nil: the program does not tell
}

// New makes a run of a program, which Start begins.
func New(p *Program, o Options) *Run {
	r := &Run{program: p, options: o, done: make(chan struct{}, 1), resume: make(chan struct{}, 1), over: make(chan struct{}),
		branches: make([]*Branch, p.Branches), ended: make([]bool, 1), quota: background.NewQuota(time.Now())}
	if o.Traced {
		r.tree = &tree{prompt: o.Prompt}
	}
	return r
}

// Name is the program's.
func (r *Run) Name() string { return r.program.Name }

// HiddenState is how many numbers a hidden state has; 0: the program does not get any.
func (r *Run) HiddenState() int { return r.options.HiddenState }

// StateLayer is the layer that gives it.
func (r *Run) StateLayer() int32 { return r.program.StateLayer }

// Branches is how many the program may have at once.
func (r *Run) Branches() int { return len(r.branches) }

// Free is how many branches may be opened.
func (r *Run) Free() (n int) {
	for _, b := range r.branches {
		if b == nil {
			n++
		}
	}
	return n
}

// Prompt is the request's. Nobody changes it.
func (r *Run) Prompt() []Token { return r.options.Prompt }

// Wait has the model compute some branches up to their last tokens, and waits: until all have
// their rows or, if one is enough, until any has. It returns those that have; the others go on
// until they are changed. What the program has done since its last wait counts from now on, and
// what it has shown is sent. k is of how many of the most likely tokens Best will be asked, which
// is computed beforehand. A row of a branch to which no token was added since it was forked or cut
// counts as a token. Errors: ErrOver, ErrBudget, ErrMisuse.
func (r *Run) Wait(k int, anyOf bool, branches ...*Branch) (ready []*Branch, err error) {
	for _, b := range branches {
		if b.run != r || b.closed {
			return nil, errClosed
		}
		if err := b.endsOnPiece(); err != nil {
			return nil, err
		}
	}
	if k < 0 || k > r.options.Vocabulary {
		return nil, fmt.Errorf("%w: the %d most likely of %d tokens", ErrMisuse, k, r.options.Vocabulary)
	}
	if r.isOver() {
		return nil, ErrOver
	}
	for _, b := range branches {
		if b.runs != nil || b.finished {
			continue
		}
		if err := b.payRow(); err != nil {
			return nil, err
		}
		b.end = Pending // its row is wanted now
	}
	r.waiting, r.anyOf = branches, anyOf
	r.tree.collect(r.branches, r.shown)
	if !r.pause() {
		return nil, ErrOver
	}
	for _, b := range branches {
		if b.row != nil || b.runs == nil && b.end != Pending {
			ready = append(ready, b)
		}
	}
	return ready, r.summarize(ready, k)
}

// pause waits until the tick answers; false: the request has ended.
func (r *Run) pause() (answered bool) {
	r.rest()
	defer r.work()
	select {
	case r.done <- struct{}{}:
		r.options.Wake()
	case <-r.over:
		return false
	}
	select {
	case <-r.resume:
		return true
	case <-r.over:
		return false
	}
}

// summarize finds what the rows of some branches say, on all processors: one of a large vocabulary
// takes a fifth of a millisecond. Its errors are panics.
func (r *Run) summarize(branches []*Branch, k int) error {
	var next atomic.Int64
	work := func() error {
		for i := next.Add(1) - 1; int(i) < len(branches); i = next.Add(1) - 1 {
			if b := branches[i]; slices.Contains(branches[:i], b) || b.row == nil { // one that is waited for twice is one goroutine's
				continue
			}
			_, _ = branches[i].Best(k) // who asks for it is told of an end
		}
		return nil
	}
	goroutines := 1
	if len(branches)*r.options.Vocabulary >= parallelLogits {
		goroutines = max(1, min(len(branches), runtime.GOMAXPROCS(0)))
	}
	errs := make([]error, goroutines)
	var others sync.WaitGroup
	for i := range goroutines - 1 {
		others.Go(func() { errs[i+1] = panics.Try(work) })
	}
	errs[0] = panics.Try(work)
	others.Wait()
	return errors.Join(errs...)
}

// parallelLogits is how many logits there must be before more goroutines pay for themselves.
const parallelLogits = 1 << 15

// Show adds tokens to what the client sees of a choice, with the log-probabilities that the
// program gives them, as many or none. They are sent with the next wait, and with the end of the
// program. A stop string, an end-of-generation token and a limit end the answer as ever; when all
// choices have ended, so does the program. It reports whether the choice had ended already by the
// last wait: then they are dropped. Errors: ErrOver, ErrMisuse.
func (r *Run) Show(choice int, tokens []Token, logprobs []float32) (ended bool, err error) {
	switch {
	case r.isOver():
		return false, ErrOver
	case choice < 0 || choice >= len(r.ended):
		return false, fmt.Errorf("%w: choice %d is shown, of %d, which count from 0", ErrMisuse, choice, len(r.ended))
	case r.adopted[choice] != nil:
		return false, fmt.Errorf("%w: choice %d goes on from a branch already", ErrMisuse, choice)
	case r.ended[choice]:
		return true, nil
	}
	if err = r.show(choice, tokens, logprobs); err == nil {
		if r.told == nil {
			r.told = map[int][]Token{}
		}
		if told := r.told[choice]; len(told) <= r.options.Longest { // more does not fit into any branch
			r.told[choice] = append(told, tokens...)
		}
	}
	return false, err
}

func (r *Run) show(choice int, tokens []Token, logprobs []float32) error {
	if len(logprobs) > 0 && len(logprobs) != len(tokens) {
		return fmt.Errorf("%w: %d tokens are shown with %d log-probabilities", ErrMisuse, len(tokens), len(logprobs))
	}
	if most := r.options.Longest * len(r.ended); len(r.shown)+len(tokens) > most {
		return fmt.Errorf("%w: %d tokens are shown at once, the context has %d", ErrMisuse, len(r.shown)+len(tokens), most)
	}
	for i, t := range tokens {
		if t < 0 || int(t) >= r.options.Vocabulary {
			return fmt.Errorf("%w: token %d is not in the vocabulary of %d", ErrMisuse, t, r.options.Vocabulary)
		}
		s := Shown{Choice: choice, Token: t}
		if len(logprobs) > 0 {
			s.Logprob = &logprobs[i]
		}
		r.shown = append(r.shown, s)
	}
	return nil
}

func (r *Run) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// Main is the goroutine. It returns when the program has.
func (r *Run) Main() {
	r.work()
	err := panics.Try(func() error { return r.program.Main(r) })
	for _, b := range r.branches {
		if b != nil {
			b.releaseSamplers() // the cells stay: a later request may go on from them
		}
	}
	r.tree.collect(r.branches, r.shown)
	r.rest()
	if r.isOver() {
		return // nobody asks
	}
	r.returned, r.err, r.waiting = true, err, nil
	select {
	case r.done <- struct{}{}:
		r.options.Wake()
	case <-r.over:
	}
}

// work and rest enclose what the processor time of the program is: the time of its thread.
func (r *Run) work() {
	runtime.LockOSThread()
	r.worked.Add(-int64(background.ThreadTime()))
}

func (r *Run) rest() {
	r.worked.Add(int64(background.ThreadTime()))
	runtime.UnlockOSThread()
}

// Adopted is what a choice goes on from once the program has returned. The zero value is what was
// shown of it.
type Adopted struct {
	Tokens []Token
	From   int // so many of them are the prompt
}

// Adopt has a choice go on from a branch, as it is now, when the program has returned without an
// error: as an answer of the request's chain. The first from tokens are its prompt, and the others
// are shown as injected ones. Where something was shown of the choice, the branch begins with the
// prompt, which has from tokens, and what was shown. Errors: ErrOver, ErrMisuse.
func (r *Run) Adopt(choice int, b *Branch, from int) error {
	if r.isOver() {
		return ErrOver
	}
	if err := b.whyUnusable(); err != nil {
		return err
	}
	switch {
	case choice < 0 || choice >= len(r.ended):
		return fmt.Errorf("%w: choice %d goes on from a branch, of %d, which count from 0", ErrMisuse, choice, len(r.ended))
	case r.adopted[choice] != nil:
		return fmt.Errorf("%w: choice %d goes on from a branch already", ErrMisuse, choice)
	case from < 1 || from > len(b.tokens):
		return fmt.Errorf("%w: a choice goes on from a branch of %d tokens, of which %d are the prompt", ErrMisuse, len(b.tokens), from)
	}
	if slices.ContainsFunc(b.tokens[from-1:], func(t Token) bool { return t < 0 }) {
		return fmt.Errorf("%w: a choice goes on from a branch with a picture or a sound at the end of the prompt, or after it", ErrMisuse)
	}
	if shown := r.told[choice]; len(shown) > 0 {
		begun := len(r.options.Prompt) + len(shown)
		if from != len(r.options.Prompt) || begun > len(b.tokens) || !slices.Equal(b.tokens[:from], r.options.Prompt) || !slices.Equal(b.tokens[from:begun], shown) {
			return fmt.Errorf("%w: %d tokens were shown of choice %d, and the branch that it is to go on from does not begin with the prompt and them", ErrMisuse, len(shown), choice)
		}
	}
	if r.adopted == nil {
		r.adopted = map[int]*Adopted{}
	}
	r.adopted[choice] = &Adopted{slices.Clone(b.tokens), from}
	return nil
}

// AdoptShown has all choices that have not ended go on from what was shown of them, unless they go
// on from a branch: the program has failed, and they go on without it.
func (r *Run) AdoptShown() {
	if r.adopted == nil {
		r.adopted = map[int]*Adopted{}
	}
	for choice, ended := range r.ended {
		if !ended && r.adopted[choice] == nil {
			r.adopted[choice] = &Adopted{}
		}
	}
}

// Adopted is what a choice goes on from; nil: it ends with the program.
func (r *Run) Adopted(choice int) *Adopted {
	if r.err != nil {
		return nil
	}
	return r.adopted[choice]
}
