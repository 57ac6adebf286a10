// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// afterFailure is how long a client waits after a request that failed, so that a dead server is
// not hammered.
const afterFailure = 100 * time.Millisecond

// run is one run of a load.
type run struct {
	load     Load
	streamer Streamer
	begin    time.Time
	window   window        // its end is zero where the load has no duration
	changed  chan struct{} // waiting has become 0

	mu      sync.Mutex
	taken   []int           // requests begun, by class
	first   []chan struct{} // closed when the class has got its first text
	waiting int             // requests sent before the window's end that have neither text nor end
	records []*record
}

// Run puts the load on the server. Requests that fail are part of the result. The error is that of
// ctx, or says that the load took longer than its limit.
func Run(ctx context.Context, s Streamer, load Load) (Result, error) {
	if err := load.Validate(); err != nil {
		return Result{}, err
	}
	tooLong := fmt.Errorf("the load has not ended within its limit of %v; lessen it, or raise the limit", load.limit())
	limited, release := context.WithTimeoutCause(ctx, load.limit(), tooLong)
	defer release()
	loaded, end := context.WithCancel(limited)
	defer end()
	r := newRun(s, load)
	var clients sync.WaitGroup
	for i, c := range load.Classes {
		if c.Rate > 0 {
			clients.Go(func() { r.arrivals(loaded, i) })
		}
		for range c.Clients {
			clients.Go(func() { r.client(loaded, i) })
		}
	}
	if load.Duration > 0 {
		clients.Go(func() {
			r.settle(loaded)
			end()
		})
	}
	clients.Wait()
	if limited.Err() != nil {
		return Result{}, context.Cause(limited)
	}
	return r.result(), nil
}

func newRun(s Streamer, load Load) *run {
	r := &run{load: load, streamer: s, begin: time.Now(), changed: make(chan struct{}, 1), taken: make([]int, len(load.Classes))}
	r.window.from = r.begin.Add(load.Warmup)
	if load.Duration > 0 {
		r.window.to = r.window.from.Add(load.Duration)
	} else {
		r.window.from = r.begin
	}
	for range load.Classes {
		r.first = append(r.first, make(chan struct{}))
	}
	return r
}

// settle waits until the window is over and all requests sent before its end have got text: how
// fast a prompt was computed in the window is known once it is done. The load goes on meanwhile:
// it is what they were sent into.
func (r *run) settle(ctx context.Context) {
	if !sleep(ctx, time.Until(r.window.to)) {
		return
	}
	for {
		r.mu.Lock()
		done := r.waiting == 0
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			return
		}
	}
}

// take gives out the number of the class's next request; false if it has had all.
func (r *run) take(class int) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.taken[class]
	if bound := r.load.Classes[class].Requests; bound > 0 && n >= bound {
		return 0, false
	}
	r.taken[class]++
	return n, true
}

// request sends one request and records what comes of it. It reports whether the request failed.
func (r *run) request(ctx context.Context, class, n int) (failed bool) {
	c := r.load.Classes[class]
	request := Request{Prompt: r.load.prompt(class, n), Picture: r.load.picture(class, n), MaxTokens: c.MaxTokens, Temperature: r.load.Temperature,
		Seed: r.load.random(class, n).Uint32()}
	rec := &record{class: class, arrived: make([]time.Time, 0, c.MaxTokens), sent: time.Now()}
	counted := rec.sent.Before(r.window.to)
	settled := !counted
	r.count(counted, 1)
	usage, err := r.streamer.Stream(ctx, request, func(at time.Time) {
		rec.arrived = append(rec.arrived, at)
		if len(rec.arrived) == 1 {
			r.begun(class)
			r.count(!settled, -1)
			settled = true
		}
	})
	r.count(!settled, -1)
	r.begun(class) // without text, too: who waits for it would wait forever
	rec.ended, rec.usage = time.Now(), usage
	if rec.cut = err != nil && ctx.Err() != nil; !rec.cut {
		rec.err = err
	}
	r.mu.Lock()
	r.records = append(r.records, rec)
	r.mu.Unlock()
	return rec.err != nil
}

// begun lets the classes begin that wait for this one's first text.
func (r *run) begun(class int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.first[class]:
	default:
		close(r.first[class])
	}
}

func (r *run) count(really bool, n int) {
	if !really {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting += n
	if r.waiting == 0 {
		select {
		case r.changed <- struct{}{}:
		default:
		}
	}
}

// sleep waits; false where ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// await waits until the class may begin; false where it never may.
func (r *run) await(ctx context.Context, class int) bool {
	c := r.load.Classes[class]
	if c.After != "" {
		other := slices.IndexFunc(r.load.Classes, func(o Class) bool { return o.Name == c.After })
		select {
		case <-r.first[other]:
		case <-ctx.Done():
			return false
		}
	}
	return sleep(ctx, c.Delay)
}

// client is one of a closed loop.
func (r *run) client(ctx context.Context, class int) {
	if !r.await(ctx, class) {
		return
	}
	for ctx.Err() == nil {
		n, ok := r.take(class)
		if !ok {
			return
		}
		pause := r.load.Classes[class].Think
		if r.request(ctx, class, n) {
			pause = max(pause, afterFailure)
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// arrivals is the open loop of a class: requests arrive at random times, regardless of the
// requests before.
func (r *run) arrivals(ctx context.Context, class int) {
	if !r.await(ctx, class) {
		return
	}
	var requests sync.WaitGroup
	defer requests.Wait()
	gaps := r.load.random(class, arrivalTimes)
	next := time.Now() // from the plan, not from the last arrival: being late once must not lower the rate
	for {
		n, ok := r.take(class)
		if !ok {
			return
		}
		next = next.Add(time.Duration(gaps.ExpFloat64() / r.load.Classes[class].Rate * float64(time.Second)))
		if !sleep(ctx, time.Until(next)) {
			return
		}
		requests.Go(func() { r.request(ctx, class, n) })
	}
}
