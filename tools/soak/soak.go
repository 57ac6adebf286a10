// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// soak is one run.
type soak struct {
	options
	place     *place
	out       io.Writer
	http      *http.Client
	slow      *http.Client // whose connections take little at a time
	questions []question
	ties      int // questions that were left out
	tally     *tally
}

// slowBuffer is what a slow reader's connection takes before it is read, in bytes.
const slowBuffer = 32 << 10

func newSoak(o options, p *place, out io.Writer) *soak {
	return &soak{options: o, place: p, out: out, http: newClient(0), slow: newClient(slowBuffer), tally: newTally()}
}

func (s *soak) close() {
	s.http.CloseIdleConnections()
	s.slow.CloseIdleConnections()
}

// whole learns the answers, puts the load on twice, first to have all made that is made once, and
// reports the second time.
func (s *soak) whole(ctx context.Context) (*report, error) {
	if err := s.learn(ctx); err != nil {
		return nil, err
	}
	if _, err := s.load(ctx, s.warmup, 0); err != nil {
		return nil, err
	}
	before, err := s.settle(ctx, nil)
	if err != nil {
		return nil, err
	}
	s.tally = newTally()
	began := time.Now()
	peak, err := s.load(ctx, s.lasting, 1)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := s.settle(ctx, &before)
	if err != nil {
		return nil, err
	}
	return &report{soak: s, before: before, peak: peak, after: after, took: took}, nil
}

// patience is how long a step of a client may take, which is some requests at most.
const patience = 2 * time.Minute

// load has all clients take step after step for a while. It returns the most that was used
// meanwhile.
func (s *soak) load(ctx context.Context, lasting time.Duration, round uint64) (resources, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	over := time.Now().Add(lasting)
	actors := chosen(s.only)
	var group sync.WaitGroup
	for client := range s.clients {
		group.Go(func() {
			for step := uint64(0); time.Now().Before(over) && ctx.Err() == nil; step++ {
				// A step's choices follow from its number and not from what came before, which
				// time has a part in.
				rng := rand.New(rand.NewPCG(s.seed, round<<56|uint64(client)<<32|step))
				a := draw(actors, rng)
				if err := s.take(ctx, a, rng); err != nil {
					fail(fmt.Errorf("seed %d, client %d, step %d, %s: %w", s.seed, client, step, a.name, err))
				}
			}
		})
	}
	peak := s.watch(ctx, &group)
	if cause := context.Cause(ctx); cause != nil {
		return peak, cause
	}
	return peak, nil
}

// take takes a step of an actor.
func (s *soak) take(ctx context.Context, a actor, rng *rand.Rand) error {
	ctx, done := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it was not over within %v", patience))
	defer done()
	err := a.act(ctx, s, rng)
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// say prints a line of progress.
func (s *soak) say(format string, values ...any) { fmt.Fprintf(s.out, format+"\n", values...) }
