// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// A worker waits after an error of accepting that may go away, such as too many open files:
// firstWait, and twice as long each time up to longestWait.
const (
	firstWait   = 5 * time.Millisecond
	longestWait = time.Second
)

// accept returns the next connection. Errors that may go away are logged and tried again, as
// net/http does.
func accept(ctx context.Context, listener net.Listener, log *slog.Logger) (net.Conn, error) {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		conn, err := listener.Accept()
		var passing interface{ Temporary() bool }
		if err == nil || !errors.As(err, &passing) || !passing.Temporary() {
			return conn, err
		}
		log.Warn("a host's connection cannot be accepted; it is tried again", slog.Any("error", err), slog.Duration("after", wait))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// mostPending is how many connections may be there of peers that have not shown that this worker
// can serve them.
const mostPending = 64

// pending are the connections that are not admitted, the oldest first. It is safe for concurrent
// use.
type pending struct {
	mu    sync.Mutex
	conns []net.Conn
}

// add takes a connection in, and closes the oldest in its place if there are too many: a host says
// in milliseconds who it is, so who has been silent for longest is the least likely to be one.
func (p *pending) add(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) == mostPending {
		_ = p.conns[0].Close()
		p.conns = p.conns[1:]
	}
	p.conns = append(p.conns, conn)
}

// remove takes a connection out, if it is still there.
func (p *pending) remove(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(c net.Conn) bool { return c == conn })
}
