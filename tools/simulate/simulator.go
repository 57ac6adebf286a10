// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"os"
	"sync"
	"time"
)

// simulator runs simulations, some at once. Each has one goroutine, and none knows of the others.
type simulator struct {
	seed    uint64
	workers int
}

// all runs simulations of chats, polled as usual where a setup does not say otherwise.
func (s simulator) all(setups []setup) ([]*result, error) {
	results := make([]*result, len(setups))
	err := s.each(len(setups), func(i int) (err error) {
		results[i], err = s.one(setups[i])
		return err
	})
	return results, err
}

// Caches fill while a simulation warms up. Then it is measured until there are enough messages for
// a p99: a hundred are slower.
const (
	warm     = 3 * time.Minute
	messages = 10_000
	shortest = time.Minute
)

// one runs a simulation.
func (s simulator) one(x setup) (*result, error) {
	x.workload, x.warm, x.seed = chats, warm, s.seed
	cycle := newPopulation(x.workload, x.seed).cycle // in which each user sends a message
	x.measure = max(messages*cycle/time.Duration(x.users), shortest)
	r, err := simulate(x)
	if err != nil {
		return nil, fmt.Errorf("%d × %s, %s: %w", x.size, x.hardware.name, x.policy, err)
	}
	fmt.Fprintf(os.Stderr, "%d × %s, %s, %d users: %s\n", x.size, x.hardware.name, x.policy, x.users, r.row())
	return r, nil
}

// each calls f with each number below n, some at once, and returns the first error by number.
func (s simulator) each(n int, f func(int) error) error {
	errs := make([]error, n)
	work := make(chan int)
	var workers sync.WaitGroup
	for range s.workers {
		workers.Go(func() {
			for i := range work {
				errs[i] = f(i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// enough is the smallest fleet that keeps the goal of its hardware. If not even one with most
// times the replicas of the first guess does, size is 0 and best is that of this one.
func (s simulator) enough(x setup) (size int, best *result, err error) {
	const most = 4
	guess := max(x.users/x.hardware.users, 1)
	size, err = fewest(guess, most*guess, func(size int) (bool, error) {
		x.size = size
		r, err := s.one(x)
		if err != nil {
			return false, err
		}
		keeps := r.keeps(x.hardware.goal)
		if keeps || size >= most*guess {
			best = r
		}
		return keeps, nil
	})
	return size, best, err
}

// precise is how precise fewest is: to within one, or to within one of so many parts.
const precise = 10

// fewest is the smallest number that is enough, if all larger ones are, too; 0 if it is above
// most. It looks at a guess first. Of the numbers it tried and found enough, the one that it
// returns was the last.
func fewest(guess, most int, enough func(int) (bool, error)) (int, error) {
	low, high := 0, math.MaxInt // too few, and enough
	for n := guess; high-low > max(high/precise, 1); {
		ok, err := enough(n)
		switch {
		case err != nil:
			return 0, err
		case ok:
			high = n
		case n >= most:
			return 0, nil
		default:
			low = n
		}
		if n = min(2*n, most); high < math.MaxInt {
			n = (low + high) / 2
		}
	}
	return high, nil
}
