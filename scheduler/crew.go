// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// crew is the goroutine of a job whose chain is more than one native stage. While the forward pass runs it lets the
// stages prepare; when the row is there it runs the chain, accepts the token and finds what it shows. The tick waits for
// it only a moment: a job that is late sits out until it is done, and delays nobody else.
type crew struct {
	orders chan order
	done   chan struct{} // one message for each row or task

	// The tick's side.
	prepared bool        // asked to prepare since the last row
	busy     bool        // it has a row or a task: the job is its own until it says done
	reply    func(error) // who waits for the task
	rest     time.Time   // its work has used up its share until then
	began    time.Time

	copied  *sync.WaitGroup // of the tick: rows not copied yet
	copying sync.Mutex      // held by who copies the row
	waiting bool            // the row is not copied yet
	missed  atomic.Bool     // the tick has stopped waiting and wants to be woken
	row     []float32       // the copy
	source  []float32       // the backend's row, until copied
	worked  time.Duration

	task    func(*job) error // of a control call
	taskErr error

	view     View
	tracer   *tracer // nil: nobody asked
	mask     []uint32
	bias     []Bias
	bannedBy int // the last stage that narrowed the mask
	forced   Token
	err      error // of prepare
	refused  error // the stages could not begin
}

type order uint8

const (
	orderOpen order = iota
	orderPrepare
	orderRow
	orderTask
	orderClose
)

// crewed tells whether a request needs a goroutine of its own.
func (r *Request) crewed() bool { return r.Trace > 0 || len(r.Chain) != 1 || !r.Chain[0].Native() }

func newCrew(copied *sync.WaitGroup, trace int) *crew {
	return &crew{orders: make(chan order, 4), done: make(chan struct{}, 1), copied: copied, tracer: newTracer(trace), forced: -1, began: time.Now()}
}

// run is the goroutine.
func (c *crew) run(j *job) {
	for o := range c.orders {
		start := time.Now()
		switch o {
		case orderOpen:
			c.refused = rewind(j.req.Chain, j)
		case orderPrepare:
			c.tracer.enter()
			c.prepare(j.req.Chain)
			c.tracer.prepare()
		case orderRow:
			c.copyRow()
			c.sample(j)
		case orderTask:
			c.taskErr = c.task(j)
		case orderClose:
			closeStages(j.req.Chain, j.req.Rules)
			return
		}
		c.worked += time.Since(start)
		if o == orderRow || o == orderTask {
			c.done <- struct{}{}
			if c.missed.Swap(false) {
				j.stream.nudge()
			}
		}
	}
}

// prepare asks the stages for masks, biases and a forced token.
func (c *crew) prepare(chain []Stage) {
	if c.refused != nil {
		return
	}
	c.mask, c.bias, c.forced, c.err, c.bannedBy = c.mask[:0], c.bias[:0], -1, nil, -1
	for i, stage := range chain {
		p, ok := stage.(Preparer)
		if !ok {
			continue
		}
		prepared, err := p.Prepare()
		if err != nil {
			c.err = err
			return
		}
		if prepared.Forced && c.forced < 0 {
			c.forced = prepared.Token
		}
		c.bias = append(c.bias, prepared.Bias...)
		if prepared.Mask != nil && c.narrow(prepared.Mask) {
			c.bannedBy = i
		}
	}
}

// narrow joins a mask to those before it and tells whether it took anything away.
func (c *crew) narrow(mask []uint32) bool {
	if len(c.mask) == 0 {
		c.mask = append(c.mask, mask...)
		return true
	}
	changed := false
	for i, word := range mask[:min(len(mask), len(c.mask))] {
		joined := c.mask[i] & word
		changed = changed || joined != c.mask[i]
		c.mask[i] = joined
	}
	return changed
}

// copyRow takes the row out of the backend's memory, since the next pass overwrites it. The tick and the goroutine both
// call it and may come at the same time: when it returns, the row is copied, whoever did it.
func (c *crew) copyRow() {
	c.copying.Lock()
	defer c.copying.Unlock()
	if c.waiting {
		c.row, c.waiting = append(c.row[:0], c.source...), false
		c.copied.Done()
	}
}

// sample draws a token and advances the job.
func (c *crew) sample(j *job) {
	if err := errors.Join(c.refused, c.err); err != nil {
		j.fail(err)
		return
	}
	raw := c.row
	if j.req.Logprobs >= 0 {
		j.raw = append(j.raw[:0], c.row...)
		raw = j.raw
	}
	t, err := c.draw(j.req.Chain)
	if err != nil {
		j.fail(err)
		return
	}
	var logprobs *Logprobs
	if j.req.Logprobs >= 0 && t >= 0 && int(t) < len(raw) {
		logprobs = newLogprobs(raw, t, j.req.Logprobs)
	}
	j.advance(t, about{logprobs, c.tracer.take()})
}

// draw applies what was prepared and runs the chain.
func (c *crew) draw(chain []Stage) (Token, error) {
	if c.forced >= 0 {
		return c.forced, nil
	}
	v := &c.view
	v.Row, v.N, v.Chosen = c.row, -1, -1
	c.tracer.begin(v)
	if err := c.restrict(chain); err != nil {
		return -1, err
	}
	for _, stage := range chain {
		c.tracer.enter()
		if err := stage.Apply(v); err != nil {
			return -1, err
		}
		c.tracer.leave(stage, v)
		if v.Chosen >= 0 {
			return v.Chosen, nil
		}
	}
	return -1, errNoCandidate
}

// restrict applies masks and biases to the row.
func (c *crew) restrict(chain []Stage) error {
	if len(c.bias) == 0 && len(c.mask) == 0 {
		return nil
	}
	for _, b := range c.bias {
		if b.Token >= 0 && int(b.Token) < len(c.row) {
			c.row[b.Token] += b.Value
		}
	}
	if len(c.mask) > 0 && !applyMask(c.row, c.mask) {
		if m, ok := chain[max(c.bannedBy, 0)].(MaskError); ok {
			return m.EmptyMask()
		}
		return errNoCandidate
	}
	c.tracer.restrict(&c.view)
	return nil
}

// applyMask sets the logits of tokens that are not allowed to −Inf and tells whether any is left.
func applyMask(row []float32, mask []uint32) bool {
	left := false
	for i, word := range mask {
		at := i * 32
		if at >= len(row) {
			break
		}
		block := row[at:min(at+32, len(row))]
		switch word {
		case 0:
			copy(block, banned[:])
		case ^uint32(0):
			left = true
		default:
			left = true
			for k := range block {
				if word&(1<<k) == 0 {
					block[k] = banned[0]
				}
			}
		}
	}
	return left
}

// late tells whether the job's goroutine is still at its last row, or must rest. A late job's state is not the tick's.
func (c *crew) late() bool { return c != nil && c.busy }

// crewShare is the part of a core that the stages of one request may use, averaged over crewBurst. What they use is
// measured on the wall: on a busy machine that is more than they did, so no rest is longer than crewRest.
const (
	crewShare = 0.25
	crewBurst = time.Second
	crewRest  = 50 * time.Millisecond
)

// account makes the crew rest when its work so far exceeds its share of the time since it began. All of this is real
// time, whatever clock the scheduler has.
func (c *crew) account() {
	now := time.Now()
	allowed := time.Duration(crewShare * float64(now.Sub(c.began)+crewBurst))
	if over := c.worked - allowed; over > 0 {
		c.rest = now.Add(min(time.Duration(float64(over)/crewShare), crewRest))
		c.worked = allowed
	}
}

// resting tells whether the stages have used up their share of a core for now.
func (c *crew) resting() bool { return c != nil && time.Now().Before(c.rest) }
