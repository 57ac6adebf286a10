// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is also the server of TestStart: a child of the test's own binary.
func TestMain(m *testing.M) {
	if behaviour := os.Getenv(childBehaviour); behaviour != "" {
		os.Exit(child(behaviour, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// script is how a fake server answers: waits, then pieces of text at given distances, on whatever
// clock there is.
type script struct {
	first time.Duration   // to the first piece
	gaps  []time.Duration // between pieces
	usage Usage
	err   error // instead of the end
}

// even is a script of n pieces with equal gaps.
func even(first time.Duration, n int, gap time.Duration, usage Usage) script {
	s := script{first: first, usage: usage}
	for range n - 1 {
		s.gaps = append(s.gaps, gap)
	}
	return s
}

// fake is a server that answers by script and keeps what it was asked.
type fake struct {
	answer func(r Request) script

	mu       sync.Mutex
	requests []Request
	at       []time.Time
	running  int
	most     int
}

func (f *fake) Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error) {
	f.mu.Lock()
	f.requests, f.at = append(f.requests, r), append(f.at, time.Now())
	f.running++
	f.most = max(f.most, f.running)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running--
	}()
	s := f.answer(r)
	for _, wait := range append([]time.Duration{s.first}, s.gaps...) {
		if !sleep(ctx, wait) {
			return Usage{}, ctx.Err()
		}
		arrived(time.Now())
	}
	return s.usage, s.err
}
