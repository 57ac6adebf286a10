// SPDX-License-Identifier: MIT

package compile

import (
	"context"
	"sync"
	"time"
)

// spareTime is how long a child waits for an order. Who works on a plugin, or uploads several,
// comes back within it.
const spareTime = 5 * time.Minute

// spare keeps a child that waits for an order, once one was needed: starting it takes as long as
// compiling a small module. It is safe for concurrent use.
type spare struct {
	mu      sync.Mutex
	waiting *child // nil: none
	end     *time.Timer
	closed  bool
}

// run compiles a module in a child: in the one that waits, unless it has ended, or else in a new
// one. Then the next one is started, and nobody waits for that.
func (s *spare) run(ctx context.Context, wasm []byte, order compileOrder) childEnd {
	k := s.take()
	if k == nil || k.order(order) != nil {
		if k != nil {
			k.dismiss()
		}
		var err error
		if k, err = startChild(); err != nil {
			return childEnd{code: -1, err: err}
		}
		_ = k.order(order) // if it has ended already, its end tells why
	}
	end := k.compile(ctx, wasm)
	if end.code != exitFailed {
		go s.prepare()
	}
	return end
}

// take returns the child that waits, if there is one.
func (s *spare) take() *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.waiting
	if s.waiting = nil; k != nil {
		s.end.Stop()
	}
	return k
}

// prepare starts a child that waits, for a time.
func (s *spare) prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.waiting != nil {
		return
	}
	k, err := startChild()
	if err != nil {
		return // whoever needs one tries again, and tells
	}
	lowerPriority(k.cmd.Process.Pid) // nobody waits for it, so it gives way to the streams from the start
	s.waiting = k
	s.end = time.AfterFunc(spareTime, func() { s.dismiss(k) })
}

// dismiss ends a child if it still waits.
func (s *spare) dismiss(k *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == k {
		s.waiting = nil
		k.dismiss()
	}
}

// close ends the child that waits, and starts no more.
func (s *spare) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if k := s.take(); k != nil {
		k.dismiss()
	}
}
