// SPDX-License-Identifier: MIT

package turns

import (
	"context"
	"sync"
	"time"
)

// Permits are a number of permits that clients take in turns: the client goes first whose work had
// them for the shortest time.
type Permits struct {
	mu      sync.Mutex
	free    int
	waiting Queue[chan struct{}]
}

// NewPermits returns n of them.
func NewPermits(n int) *Permits { return &Permits{free: n} }

// Take waits for a permit until ctx is done. The permit ends with the function that it returns,
// which is called once; an error is that of ctx.
func (p *Permits) Take(ctx context.Context, client string) (give func(), err error) {
	mine := make(chan struct{})
	p.mu.Lock()
	p.waiting.Add(client, mine)
	p.serve()
	p.mu.Unlock()
	select {
	case <-mine:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.waiting.Remove(client, mine) { // it has come meanwhile
			p.end(client, 0)
		}
		return nil, ctx.Err()
	}
	began := time.Now()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.end(client, time.Since(began))
	}, nil
}

func (p *Permits) end(client string, took time.Duration) {
	p.free++
	p.waiting.Served(client, int64(took))
	p.serve()
}

// serve gives away what is free.
func (p *Permits) serve() {
	for p.free > 0 && p.waiting.Len() > 0 {
		next, _ := p.waiting.Next()
		p.free--
		close(next)
	}
}
