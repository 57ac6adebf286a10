// SPDX-License-Identifier: MIT

package embedding

import (
	"fmt"
	"slices"
)

// Most numbers in the result of one request, and of all requests that wait. 16 Mi are 64 MiB, and
// some 200 MiB as JSON.
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
	width   int // of a vector
	numbers int // of the result
	next    int // the first input that was not taken
	left    int // inputs that were not computed
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
	if j.numbers = vectors * l.Width; j.numbers > maxNumbers {
		return nil, fmt.Errorf("%w: the answer would have %d vectors of %d numbers, and at most %d numbers are given at once; send the texts in several requests",
			ErrInvalid, vectors, l.Width, maxNumbers)
	}
	j.result.Vectors = make([][][]float32, len(r.Inputs))
	return j, nil
}

func (j *job) pool() pool { return newPool(j.request.Pooling, j.width) }

// item is one input of a job.
type item struct {
	job   *job
	index int
}

func (i item) tokens() []int32 { return i.job.request.Inputs[i.index] }

// queue is the jobs that have inputs to compute. The first one's turn is next.
type queue struct {
	waiting []*job
	numbers int // of the results of all jobs that have not ended
	jobs    int
}

// add queues a job, unless there are too many.
func (q *queue) add(j *job, limit int) bool {
	if q.jobs >= limit || q.numbers+j.numbers > maxAllNumbers {
		return false
	}
	q.waiting = append(q.waiting, j)
	q.numbers += j.numbers
	q.jobs++
	return true
}

// take removes the inputs of the next pass: of each job in turn the next one, if it still fits.
// The first job's always does, and another job is the first of the next pass; so every input comes
// up after at most as many passes as there are jobs.
func (q *queue) take(l Limits) (pass []item) {
	tokens := 0
	for again := true; again; {
		again = false
		for _, j := range q.waiting {
			if j.next == len(j.request.Inputs) || len(pass) == l.Inputs {
				continue
			}
			it := item{j, j.next}
			if tokens+len(it.tokens()) > l.Tokens {
				continue
			}
			tokens += len(it.tokens())
			pass = append(pass, it)
			j.next++
			again = true
		}
	}
	if len(q.waiting) > 1 {
		q.waiting = append(q.waiting[1:], q.waiting[0])
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(j *job) bool { return j.next == len(j.request.Inputs) })
	return pass
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
	if j.numbers == 0 {
		return
	}
	q.numbers -= j.numbers
	q.jobs--
	j.numbers = 0
	q.waiting = slices.DeleteFunc(q.waiting, func(other *job) bool { return other == j })
}

// fail ends all jobs.
func (q *queue) fail(err error) {
	for _, j := range slices.Clone(q.waiting) {
		q.finish(item{j, 0}, err)
	}
}
