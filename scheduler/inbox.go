// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"fmt"
	"sync"

	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/portion"
)

// inbox carries commands from any goroutine to the tick, and counts the requests in the system.
type inbox struct {
	wake    chan struct{}
	drained chan struct{}

	mu       sync.Mutex
	commands []func(*Scheduler)
	requests int          // submitted and not ended, those included that room is reserved for
	room     portion.Pool // for them
	expected int          // on their way to be submitted
	tells    bool         // whether expect was ever called
	draining bool
	closed   bool
}

func newInbox(slots, queue int) *inbox {
	return &inbox{wake: make(chan struct{}, 1), drained: make(chan struct{}), room: portion.Pool{Limit: int64(slots + queue), Free: int64(slots)}}
}

// reserve takes room for n requests of a caller, if there is room for all. They count as submitted
// from then on.
func (in *inbox) reserve(caller string, n int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.draining || in.closed:
		return ErrClosed
	case int64(n) > in.room.Limit:
		return fmt.Errorf("%w: %d, there is room for %d in all", ErrTooMany, n, in.room.Limit)
	case caller != "" && int64(n) > in.room.Most():
		return fmt.Errorf("%w: %d, one client may have %d", ErrTooMany, n, in.room.Most())
	}
	switch in.room.Take(caller, int64(n)) {
	case portion.Enough:
		return ErrQueueShare
	case portion.TooFew:
		return ErrQueueFull
	}
	in.requests += n
	return nil
}

// expect counts requests that are on their way. The tick may wait for the last of them.
func (in *inbox) expect(n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.tells = true
	if in.expected += n; in.expected == 0 {
		in.signal()
	}
}

// told reports whether requests are announced at all before they are submitted.
func (in *inbox) told() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.tells
}

func (in *inbox) expects() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.expected > 0
}

// post hands a command to the tick; false: there will be no tick any more.
func (in *inbox) post(command func(*Scheduler)) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return false
	}
	in.commands = append(in.commands, command)
	in.signal()
	return true
}

// ask has the tick run a command and waits until it has. Errors: ErrClosed, the context's, and the
// command's panic.
func (s *Scheduler) ask(ctx context.Context, command func(*Scheduler)) error {
	done := make(chan error, 1)
	ran := func(s *Scheduler) {
		err := panics.Try(func() error { command(s); return nil })
		s.logPanic(err)
		done <- err
	}
	if !s.inbox.post(ran) {
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signal wakes the tick if it sleeps, or else lets it look once more before it does.
func (in *inbox) signal() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// swap takes the commands against an empty slice, whose memory is used again.
func (in *inbox) swap(spare []func(*Scheduler)) []func(*Scheduler) {
	in.mu.Lock()
	defer in.mu.Unlock()
	taken := in.commands
	in.commands = spare[:0]
	return taken
}

// count is how many requests are submitted and not ended.
func (in *inbox) count() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.requests
}

// ended counts requests of a caller out.
func (in *inbox) ended(caller string, n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.requests -= n
	in.room.Give(caller, int64(n))
	in.checkDrained()
}

func (in *inbox) drain() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.draining {
		in.draining = true
		in.checkDrained()
	}
}

func (in *inbox) checkDrained() {
	if in.draining && in.requests == 0 {
		close(in.drained)
	}
}

func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
}
