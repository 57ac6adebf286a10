// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/scheduler/chain"
)

// crew is the goroutine of a job that asks for more than a token of one native stage. While the forward pass runs it lets the
// stages prepare; when the row is there it runs the chain, accepts the token and finds what it shows. The tick waits for
// it only a moment: a job that is late sits out until it is done, and delays nobody else.
type crew struct {
	orders chan order
	done   chan struct{} // one message for each row or task

	// The tick's side.
	prepares bool        // a stage has something to prepare
	foreign  bool        // its work counts against the share
	prepared bool        // asked to prepare since the last row
	busy     bool        // it has a row or a task: the job is its own until it says done
	reply    func(error) // who waits for the task
	rest     time.Time   // its work has used up its share until then
	share    share

	copied  *sync.WaitGroup // of the tick: rows not copied yet
	copying sync.Mutex      // held by who copies the row
	waiting bool            // the row is not copied yet
	row     []float32       // the copy
	source  []float32       // the backend's row, until copied
	raw     []float32       // another copy, where log-probabilities are asked for
	worked  atomic.Int64    // processor time since the tick last looked, in ns; it looks while the stages are closed, too

	interruptible []chain.Interruptible

	task    func(*job) error // of a control call
	taskErr error

	view        chain.View
	tracer      *tracer // nil: nobody asked
	restriction restriction
	err         error // of prepare
	refused     error // the stages could not begin
}

type order uint8

const (
	orderOpen order = iota
	orderPrepare
	orderRow
	orderTask
	orderClose
)

// crewed tells whether a request needs a goroutine of its own: for plugins, or for log-probabilities, which cost more than a draw.
func (r *Request) crewed() bool { return r.foreign() || r.Trace > 0 || r.Logprobs >= 0 }

// foreign tells whether a request brings code that may take any time.
func (r *Request) foreign() bool {
	return len(r.Chain) != 1 || !r.Chain[0].Native() || len(r.Rules) > 0
}

func newCrew(copied *sync.WaitGroup, trace int) *crew {
	return &crew{orders: make(chan order, 4), done: make(chan struct{}, 1), copied: copied, tracer: newTracer(trace), restriction: restriction{by: -1, forced: -1}, share: newShare(time.Now())}
}

// interrupt makes the stages return soon, whatever they do: nobody waits for them any more.
func (c *crew) interrupt() {
	if c == nil {
		return
	}
	for _, stage := range c.interruptible {
		stage.Interrupt()
	}
}

// run is the goroutine.
func (c *crew) run(j *job) {
	for o := range c.orders {
		runtime.LockOSThread() // whose time is taken
		start := threadTime()
		if err := guarded(func() error { c.obey(o, j); return nil }); err != nil {
			c.fail(o, j, err)
		}
		c.worked.Add(int64(threadTime() - start))
		runtime.UnlockOSThread() // or, closed, it would end with the goroutine
		switch o {
		case orderRow, orderTask:
			c.done <- struct{}{}
			j.stream.scheduler.inbox.signal() // the tick may have stopped waiting
		case orderClose:
			return
		}
	}
}

func (c *crew) obey(o order, j *job) {
	switch o {
	case orderOpen:
		c.refused = rewind(j.req.Chain, j)
	case orderPrepare:
		c.tracer.enter()
		c.prepare(j)
		c.tracer.prepare()
	case orderRow:
		c.sample(j)
		c.release()
	case orderTask:
		c.taskErr = c.task(j)
	case orderClose:
		closeStages(j.req.Chain, j.req.Rules)
	}
}

// fail notes that an order ended in a panic.
func (c *crew) fail(o order, j *job, err error) {
	switch o {
	case orderOpen:
		c.refused = err
	case orderPrepare:
		c.err = err
	case orderRow:
		j.fail(err)
		c.release()
	case orderTask:
		c.taskErr = err
		j.fail(err)
	case orderClose:
	}
}

// copyRow takes the row out of the backend's memory: the next pass overwrites it, and stages may write to it. The tick and the
// goroutine both call it and may come at the same time: when it returns, the row is copied, whoever did it.
func (c *crew) copyRow() {
	c.copying.Lock()
	defer c.copying.Unlock()
	if c.waiting {
		c.row, c.waiting = append(c.row[:0], c.source...), false
		c.copied.Done()
	}
}

// release tells the tick that the row is not needed any more, if it was not copied.
func (c *crew) release() {
	c.copying.Lock()
	defer c.copying.Unlock()
	if c.waiting {
		c.waiting = false
		c.copied.Done()
	}
}

// restricted is the row with what the stages asked for. Under a mask it is written elsewhere, straight from the backend's memory: a
// row is half a megabyte, and those of all slots are read at once.
func (c *crew) restricted() []float32 {
	if len(c.restriction.mask) == 0 {
		c.copyRow()
		return c.restriction.apply(c.row)
	}
	c.copying.Lock()
	defer c.copying.Unlock()
	if c.waiting {
		return c.restriction.apply(c.source)
	}
	return c.restriction.apply(c.row)
}

// sample draws a token and advances the job.
func (c *crew) sample(j *job) {
	if err := errors.Join(c.refused, c.err); err != nil {
		j.fail(err)
		return
	}
	if j.req.Logprobs >= 0 || c.tracer != nil {
		c.copyRow()
	}
	if j.req.Logprobs >= 0 {
		c.raw = append(c.raw[:0], c.row...) // stages may write to the row
	}
	t, err := c.draw(j)
	if err != nil {
		j.fail(err)
		return
	}
	a := about{trace: c.tracer.take()}
	if j.req.Logprobs >= 0 && t >= 0 && int(t) < len(c.raw) {
		a.logprobs = newLogprobs(c.raw, t, j.req.Logprobs)
	}
	j.advance(t, a)
}

// draw applies what was prepared and runs the chain. Where masks and bans leave no token that grammar and biases of the
// request allow, the last stage that took one away is refused; if the request goes on without it, the chain runs again.
func (c *crew) draw(j *job) (Token, error) {
	r := &c.restriction
	if r.forced >= 0 {
		return r.forced, nil
	}
	for {
		t, err := c.runChain(j)
		if r.by < 0 || !errors.Is(err, chain.ErrNoToken) {
			return t, err
		}
		why := fmt.Errorf("%w: mask or bans leave nothing of it: %w", chain.ErrNotAllowed, err)
		if err := j.refuse(r.by, chain.ActMask, why); err != nil {
			return -1, err
		}
		r.drop(r.by)
		if err := r.join(j); err != nil {
			return -1, err
		}
	}
}

// runChain runs the chain once. What a plugin chose is tested first.
func (c *crew) runChain(j *job) (Token, error) {
	v := &c.view
	v.N, v.Chosen = -1, -1
	if c.tracer != nil { // sample has copied the row
		v.Row = c.row
		c.tracer.begin(v)
	}
	v.Row = c.restricted()
	if r := &c.restriction; len(r.bias) > 0 || len(r.mask) > 0 {
		c.tracer.restrict(v)
	}
	for i, stage := range j.req.Chain {
		c.tracer.enter()
		if err := stage.Apply(v); err != nil {
			return -1, err
		}
		if v.Chosen >= 0 {
			why, err := j.notAllowed(i, v.Chosen)
			if why != nil && err == nil {
				v.Chosen = -1
				err = j.refuse(i, chain.ActChoose, why)
			}
			if err != nil {
				return -1, err
			}
		}
		c.tracer.leave(stage, v)
		if v.Chosen >= 0 {
			return v.Chosen, nil
		}
	}
	return -1, errNoCandidate
}

// late tells whether the job's goroutine is still at its last row, or must rest. A late job's state is not the tick's.
func (c *crew) late() bool { return c != nil && c.busy }

// account makes the crew rest when plugins have used up their share of the processor.
func (c *crew) account() {
	worked := time.Duration(c.worked.Swap(0))
	if c.foreign {
		c.rest = c.share.spend(worked, time.Now())
	}
}

// resting tells whether the stages have used up their share of a core for now.
func (c *crew) resting() bool { return c != nil && time.Now().Before(c.rest) }
