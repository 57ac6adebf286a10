// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"slices"
	"sync"
	"time"
)

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
