// SPDX-License-Identifier: MIT

// Package background draws the tokens of one answer on a goroutine of its own, so that slow plugins
// delay other answers by little.
//
// An answer has a background sampler if its chain may take long: with plugins, stop rules,
// log-probabilities or a trace. While the forward pass computes the answer's row of logits, the
// background sampler asks the stages for masks, biases and forced tokens. After the pass the tick
// lends it the row: it runs the chain, takes the token into the answer and finds the text to show.
// The tick waits for it only a moment. An answer whose background sampler is still busy then skips
// the next passes, and the background sampler goes on with a copy of its row.
//
// The file begins with what the tick calls. The goroutine follows, and all that happens to a token.
//
// # Why is a request's quarter of a core measured in thread time, not by the wall clock or in fuel?
//
// By the wall clock, a request on a busy machine paused for work that others did. Fuel is not
// time either: one unit is an instruction in one plugin and a cache miss in another, and native
// stages and the host's own work use none. So each stage runs with its goroutine locked to a
// thread, whose processor time is read before and after. This costs a microsecond a token, beside
// the forward pass. Only Linux has such a clock here; elsewhere the wall clock is used.
package background

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
)

// Sampler is the background sampler of one answer. Its methods but Run belong to the tick. A nil
// Sampler stands for none: it is never busy and never rests.
type Sampler struct {
	options Options
	chain   *chain.Chain
	answer  *answer.Answer

	orders chan order
	done   chan struct{} // one message for each row or task
	row    chain.Row
	rows   Rows
	drawn  int          // the one of rows that was drawn from last
	worked atomic.Int64 // processor time since the last Collect, in ns; stages may be at work then, too

	ofTick
	ofGoroutine
}

// ofTick is what belongs to the tick.
type ofTick struct {
	RestUntil time.Time // its quota of processor time is used up until then

	prepared bool // asked to prepare since the last row
	begun    bool // it has done an order, and so what was the first of all
	busy     bool
	quota    Quota
	patience Patience
}

// ofGoroutine is what belongs to the goroutine, and to the tick while the background sampler is not
// busy.
type ofGoroutine struct {
	task       func() error // of a control call
	instead    func()       // of the task, if that cannot be done; may be nil
	taskErr    error
	beginErr   error
	prepareErr error
	raw        []float32 // the row as it was, for log-probabilities
}

// Options are what a background sampler is to do.
type Options struct {
	Logprobs int             // how many of the most likely tokens to report with each token; -1: no log-probabilities
	Metered  bool            // its processor time has a quota
	Wake     func()          // wakes the tick, which may have stopped waiting
	Failed   func(error)     // tells the tick that the stages could not begin: no token will come
	Loans    *sync.WaitGroup // counts the rows that are lent
	Close    func()          // closes the answer, or what else Close is to do
}

// New makes a background sampler whose first work is to begin the answer. Its caller starts Run on
// a goroutine.
func New(c *chain.Chain, a *answer.Answer, o Options) *Sampler {
	s := &Sampler{options: o, chain: c, answer: a, orders: make(chan order, 4), done: make(chan struct{}, 1), ofTick: ofTick{quota: NewQuota(time.Now())}}
	s.orders <- orderBegin
	return s
}

// Prepare has the stages prepare for the next row, once.
func (s *Sampler) Prepare() {
	if !s.prepared && s.chain.Prepares() {
		s.prepared = true
		s.orders <- orderPrepare
	}
}

// Rows are rows of logits of one pass. Draft are the tokens that the pass has computed after the
// context, whose length they were not part of: each has a row after that of the context. A row
// counts while the answer is what was drafted.
type Rows struct {
	Logits  [][]float32
	States  []float32 // the hidden states of these rows, one after the other, each of all layers of the chain; empty: they are not wanted, or not there
	First   int       // the row that Logits begins with: the tokens of those before it are drawn
	Context int
	Draft   []chain.Token
}

// Draw lends the background sampler rows of logits, from which it draws the next tokens. It is busy
// until Collect.
func (s *Sampler) Draw(r Rows) {
	s.busy, s.prepared = true, false
	s.rows, s.drawn = r, r.First
	s.row.Lend(r.Logits, s.options.Loans)
	s.orders <- orderDraw
}

// Do has the background sampler do something with the answer. It is busy until Collect. If the
// stages could not begin, the answer fails, and the background sampler does what is to be done
// instead, which may be nil: stages that have not begun know nothing of the answer.
func (s *Sampler) Do(task func() error, instead func()) {
	s.busy, s.prepared = true, false // what was prepared is of the answer as it was
	s.task, s.instead = task, instead
	s.orders <- orderTask
}

// Busy reports whether the background sampler has a row or a task. Chain and answer are its own
// until then.
func (s *Sampler) Busy() bool { return s != nil && s.busy }

// Idle reports whether the background sampler does nothing with the answer and will do nothing
// before it is told to.
func (s *Sampler) Idle() bool { return s == nil || s.begun && !s.busy && !s.prepared }

// Done has a message when a busy background sampler is done. Collect follows.
func (s *Sampler) Done() <-chan struct{} { return s.done }

// Collect makes the background sampler free for another row or task, and charges its quota for this
// one. It returns the task's error.
func (s *Sampler) Collect() error {
	s.begun, s.busy = true, false
	s.task, s.instead = nil, nil
	if worked := time.Duration(s.worked.Swap(0)); s.options.Metered {
		s.RestUntil = s.quota.Spend(worked, time.Now())
	}
	return s.taskErr
}

// Awaited reports whether the tick waits for the background sampler's draw. If that is often late,
// it mostly does not.
func (s *Sampler) Awaited() bool { return s.patience.Awaited() }

// Settle notes, once for each draw, whether it was done before the tick went on.
func (s *Sampler) Settle() { s.patience.After(!s.busy) }

// Row is which of the rows was drawn from last, from 0.
func (s *Sampler) Row() int { return s.drawn }

// RecallRows copies the row that the background sampler still needs, and takes those after it back:
// the next pass overwrites them.
func (s *Sampler) RecallRows() { s.row.Recall() }

// Rest is how long its quota of processor time is used up from now on; 0 or less: it is not.
func (s *Sampler) Rest() time.Duration {
	if s == nil || s.RestUntil.IsZero() {
		return 0
	}
	return time.Until(s.RestUntil)
}

// Interrupt makes the stages return soon, whatever they are doing: the answer has ended.
func (s *Sampler) Interrupt() {
	if s != nil {
		s.chain.Interrupt()
	}
}

// Close has the background sampler close the answer, after what it is doing, and ends it.
func (s *Sampler) Close() { s.orders <- orderClose }

// order is what the tick asks of the goroutine.
type order uint8

const (
	orderBegin order = iota
	orderPrepare
	orderDraw
	orderTask
	orderClose
)

// Run is the goroutine. It returns after Close.
func (s *Sampler) Run() {
	for o := range s.orders {
		runtime.LockOSThread() // whose time is taken
		start := ThreadTime()
		if err := panics.Try(func() error { s.carryOut(o); return nil }); err != nil {
			s.panicked(o, err)
		}
		s.worked.Add(int64(ThreadTime() - start))
		runtime.UnlockOSThread() // else the thread would die with the goroutine
		switch o {
		case orderDraw, orderTask:
			s.done <- struct{}{}
			s.options.Wake()
		case orderBegin:
			if s.beginErr != nil {
				s.options.Failed(s.beginErr)
			}
		case orderClose:
			return
		}
	}
}

func (s *Sampler) carryOut(o order) {
	switch o {
	case orderBegin:
		if !s.chain.Begun() { // else it began before it had a background sampler
			s.beginErr = s.answer.Begin()
		}
	case orderPrepare:
		s.prepareStages()
	case orderDraw:
		s.drawTokens()
		s.row.Return()
	case orderTask:
		s.doTask()
	case orderClose:
		s.options.Close()
	}
}

func (s *Sampler) doTask() {
	if s.taskErr = s.beginErr; s.taskErr == nil {
		s.taskErr = s.task()
		return
	}
	s.answer.Fail(s.beginErr)
	if s.instead != nil {
		s.instead()
	}
}

// panicked makes a panic the error of the order that was carried out.
func (s *Sampler) panicked(o order, err error) {
	switch o {
	case orderBegin:
		s.beginErr = err
	case orderPrepare:
		s.prepareErr = err
	case orderDraw:
		s.answer.Fail(err)
		s.row.Return()
	case orderTask:
		s.taskErr = err
		s.answer.Fail(err)
	case orderClose:
	}
}

// This is the way of a token from the row of logits to its text, on the background sampler's
// goroutine but for steps 2 and 6, which are the tick's:
//
//  1. Beside the forward pass, prepareStages asks what the stages want masked, biased or forced
//     (chain.Chain.Prepare).
//  2. After the pass the tick lends the row (Sampler.Draw), and drawToken begins.
//  3. Stages that want the hidden state behind the row are told it. The chain masks the row and
//     runs the stages; the grammar checks what a plugin chose (chain.Chain.Draw).
//  4. The log-probabilities are those of the row as it was.
//  5. The answer takes the token (answer.Answer.Advance): it tells all stages, which may stop the
//     answer or replace its last tokens; keeps the token in the hold window as long as it may be
//     taken back; then adds its bytes to the text and looks for stop strings. Tokens that a plugin
//     has forced to follow are taken in the same way, at once: they need no row
//     (answer.Answer.Follow). The next pass computes them together. If the token is the drafted
//     one, the answer goes on with the row after it: prepareStages, then from step 3.
//  6. The tick collects what is shown and sends it (Sampler.Collect, answer.Answer.Output).

// prepareStages asks the stages what they want of the next row. An error fails the draw from that
// row.
func (s *Sampler) prepareStages() {
	if s.beginErr == nil {
		s.prepareErr = s.chain.Prepare()
	}
}

// drawTokens draws a token from the first row, and further ones from those after it as long as the
// answer is what was drafted.
func (s *Sampler) drawTokens() {
	for s.drawToken(); ; s.drawToken() {
		n := s.answer.Along(s.rows.Context, s.rows.Draft)
		if n <= s.drawn || !s.row.Skip(n-s.drawn) {
			return
		}
		if s.drawn = n; s.chain.Prepares() {
			s.prepareStages()
		}
	}
}

// drawToken draws a token from the row and takes it into the answer.
func (s *Sampler) drawToken() {
	if err := errors.Join(s.beginErr, s.prepareErr); err != nil {
		s.answer.Fail(err)
		return
	}
	logprobs := s.options.Logprobs
	wanted := logprobs >= 0 || s.chain.WantsLogprobs()
	if wanted {
		s.raw = append(s.raw[:0], s.row.Copy()...) // stages may write to the row
	}
	s.chain.TellHiddenStates(s.hiddenStates())
	token, trace, err := s.chain.Draw(&s.row)
	if err != nil {
		s.answer.Fail(err)
		return
	}
	details := answer.Details{Trace: trace}
	if wanted && token >= 0 && int(token) < len(s.raw) {
		all := chain.NewLogprobs(s.raw, token, max(logprobs, 0))
		details.Logprob = &all.Token
		if logprobs >= 0 {
			details.Logprobs = all
		}
	}
	s.answer.Advance(token, details)
	s.chain.TellHiddenStates(nil) // what comes without a row has none
	if tokens, by := s.chain.Following(); len(tokens) > 0 {
		s.answer.Follow(tokens, by)
	}
}

// hiddenStates returns the hidden states of the row that is drawn from; empty: they are not known.
func (s *Sampler) hiddenStates() []float32 {
	rows, at := len(s.rows.Logits), s.drawn-s.rows.First
	width := len(s.rows.States) / rows
	return s.rows.States[at*width : (at+1)*width]
}

// Quota is the processor time that is left to the stages of one answer. They get a quarter of a
// core, averaged over a second. If they use more, they rest until it is made up for. All of this
// is real time, whatever clock the scheduler has.
type Quota struct {
	left time.Duration
	at   time.Time // when that was so
}

const (
	quotaPart   = 0.25
	quotaPeriod = time.Second
	quotaMost   = time.Duration(quotaPart * float64(quotaPeriod))
)

// NewQuota is one of which nothing is spent.
func NewQuota(now time.Time) Quota { return Quota{quotaMost, now} }

// Spend takes used processor time from the quota and returns until when the stages must rest;
// zero: they need not.
func (q *Quota) Spend(used time.Duration, now time.Time) time.Time {
	earned := func(d time.Duration) time.Duration { return time.Duration(quotaPart * float64(d)) }
	q.left = min(q.left+earned(max(now.Sub(q.at)-used, 0)), quotaMost) + earned(used) - used // idle first, then at work
	q.at = now
	if q.left >= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(float64(-q.left) / quotaPart))
}

// Patience is whether the tick waits for a background sampler that draws. Each wait in vain makes
// it give up for more of the next draws: 1, 3, 7, and so on. A draw that is done in time, waited
// for or not, ends that.
type Patience struct {
	vain int // waits in vain, one after another
	none int // draws for which it does not wait now
}

// mostVain bounds the draws without a wait: after the last of 63, a plugin that has become fast is
// found out.
const mostVain = 6

// Awaited reports whether the tick waits for the next draw.
func (p *Patience) Awaited() bool { return p.none == 0 }

// After notes whether a draw was done in time.
func (p *Patience) After(inTime bool) {
	switch {
	case inTime:
		*p = Patience{}
	case p.none > 0:
		p.none--
	default:
		p.vain = min(p.vain+1, mostVain)
		p.none = 1<<p.vain - 1
	}
}
