// SPDX-License-Identifier: MIT

package embedding

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/portion"
)

// Most numbers in the result of one request, and of all requests that wait, are computed or are
// being sent. 16 Mi are 64 MiB, and some 200 MiB as JSON, which is written piece by piece.
const (
	maxNumbers    = 16 << 20
	maxAllNumbers = 4 * maxNumbers
)

// TooLongError refuses an input that one pass cannot take. It is an ErrInvalid.
type TooLongError struct {
	Input  int // its index
	Tokens int // that it has
	Limit  int // that there may be
}

// Error implements error.
func (e TooLongError) Error() string {
	return fmt.Sprintf("input %d has %d tokens, and at most %d can be computed at once", e.Input, e.Tokens, e.Limit)
}

// Is makes it an ErrInvalid.
func (e TooLongError) Is(target error) bool { return target == ErrInvalid }

// job is a request on its way.
type job struct {
	request Task
	width   int   // of a vector
	numbers int64 // of the result
	waits   bool  // it has a place in the queue
	counted bool  // its numbers count
	next    int   // the first input that was not taken
	left    int   // inputs that were not computed
	told    []int // of each input, tokens that Row was told of, where none are pooled
	result  Result
	err     error
	done    chan struct{}
}

// newJob checks a request.
func newJob(r Task, l Limits) (*job, error) {
	if len(r.Inputs) == 0 {
		return nil, fmt.Errorf("%w: there is no text", ErrInvalid)
	}
	if err := r.Pooling.check(); err != nil {
		return nil, err
	}
	if err := CheckNormalize(r.Normalize); err != nil {
		return nil, err
	}
	j := &job{request: r, width: l.Width, left: len(r.Inputs), done: make(chan struct{})}
	for i, in := range r.Inputs {
		switch {
		case len(in) == 0:
			return nil, fmt.Errorf("%w: input %d is empty", ErrInvalid, i)
		case len(in) > l.Input:
			return nil, TooLongError{Input: i, Tokens: len(in), Limit: l.Input}
		}
		j.result.Tokens += len(in)
	}
	vectors := len(r.Inputs)
	if r.Pooling == PoolingNone {
		vectors = j.result.Tokens
	}
	if j.numbers = int64(vectors) * int64(l.Width); j.numbers > maxNumbers {
		return nil, fmt.Errorf("%w: the answer would have %d vectors of %d numbers, and at most %d numbers are given at once; send the texts in several requests",
			ErrInvalid, vectors, l.Width, maxNumbers)
	}
	j.result.Vectors, j.told = make([][][]float32, len(r.Inputs)), make([]int, len(r.Inputs))
	return j, nil
}

// item is one input of a job.
type item struct {
	job   *job
	index int
}

func (i item) tokens() []int32 { return i.job.request.Inputs[i.index] }

// pool is what gathers the vectors of the input.
func (i item) pool() pool {
	p := pool{kind: i.job.request.Pooling, width: i.job.width}
	if p.kind == PoolingNone {
		p.row, p.told = i.job.request.Row, &i.job.told[i.index]
	}
	return p
}

// queue is the jobs that have inputs to compute, by their callers. The first caller's turn is next.
type queue struct {
	lines   []*line
	jobs    portion.Pool // that have not ended
	numbers portion.Pool // of the results of all jobs, until they are released
}

// line is the jobs of one caller. The first one's turn is next.
type line struct {
	caller string
	jobs   []*job
}

func newQueue(jobs int) queue {
	return queue{jobs: portion.Pool{Limit: int64(jobs), Least: 1}, numbers: portion.Pool{Limit: maxAllNumbers, Least: maxNumbers}}
}

// add queues a job, unless there are too many, or too many of its caller's.
func (q *queue) add(j *job) error {
	caller := j.request.Caller
	verdict := q.jobs.Take(caller, 1)
	if verdict == portion.Taken {
		if verdict = q.numbers.Take(caller, j.numbers); verdict != portion.Taken {
			q.jobs.Give(caller, 1)
		}
	}
	switch verdict {
	case portion.Enough:
		return ErrShare
	case portion.TooFew:
		return ErrQueueFull
	}
	j.waits, j.counted = true, true
	for _, l := range q.lines {
		if l.caller == caller {
			l.jobs = append(l.jobs, j)
			return nil
		}
	}
	q.lines = append(q.lines, &line{caller, []*job{j}})
	return nil
}

// take removes the inputs of the next pass: of each caller in turn the next one, of its jobs in
// turn, if it still fits. The first caller's first always does, and another caller is the first of
// the next pass; so every caller's inputs come up after at most as many passes as there are
// callers.
func (q *queue) take(l Limits) (pass []item) {
	tokens := 0
	for again := true; again; {
		again = false
		for _, of := range q.lines {
			if len(pass) == l.Inputs {
				break
			}
			i := slices.IndexFunc(of.jobs, func(j *job) bool {
				return j.next < len(j.request.Inputs) && tokens+len(j.request.Inputs[j.next]) <= l.Tokens
			})
			if i < 0 {
				continue
			}
			j := of.jobs[i]
			tokens += len(j.request.Inputs[j.next])
			pass = append(pass, item{j, j.next})
			j.next++
			of.jobs = append(slices.Delete(of.jobs, i, i+1), j) // another of the caller's is next
			again = true
		}
	}
	if len(q.lines) > 1 {
		q.lines = append(q.lines[1:], q.lines[0])
	}
	q.takeOut(func(j *job) bool { return j.next == len(j.request.Inputs) })
	return pass
}

// takeOut takes jobs out of the lines.
func (q *queue) takeOut(out func(*job) bool) {
	for _, l := range q.lines {
		l.jobs = slices.DeleteFunc(l.jobs, out)
	}
	q.lines = slices.DeleteFunc(q.lines, func(l *line) bool { return len(l.jobs) == 0 })
}

// finish notes that an input was computed, or why not.
func (q *queue) finish(it item, err error) {
	j := it.job
	if j.err != nil || j.left == 0 { // it has ended
		return
	}
	j.left--
	if err != nil {
		j.err, j.left = err, 0
	}
	if j.left == 0 {
		q.drop(j)
		close(j.done)
	}
}

// drop forgets a job, whose end nobody waits for or is about to be told. To drop it again is
// harmless.
func (q *queue) drop(j *job) {
	if !j.waits {
		return
	}
	j.waits = false
	q.jobs.Give(j.request.Caller, 1)
	q.takeOut(func(other *job) bool { return other == j })
}

// release gives back what the result of a job takes. To release it again is harmless.
func (q *queue) release(j *job) {
	if j.counted {
		j.counted = false
		q.numbers.Give(j.request.Caller, j.numbers)
	}
}

// fail ends all jobs.
func (q *queue) fail(err error) {
	for _, l := range slices.Clone(q.lines) {
		for _, j := range slices.Clone(l.jobs) {
			q.finish(item{j, 0}, err)
		}
	}
}
