// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// scriptedListener accepts what it is given; an error where there is one.
type scriptedListener struct {
	next chan any // net.Conn or error
}

func (l *scriptedListener) Accept() (net.Conn, error) {
	switch next := (<-l.next).(type) {
	case net.Conn:
		return next, nil
	case error:
		return nil, next
	}
	return nil, net.ErrClosed
}

func (l *scriptedListener) Close() error   { close(l.next); return nil }
func (l *scriptedListener) Addr() net.Addr { return &net.TCPAddr{} }

// connect has the listener accept one end of a connection, and returns the other.
func (l *scriptedListener) connect() net.Conn {
	near, far := net.Pipe()
	l.next <- far
	return near
}

// serveScripted serves what the listener accepts. end stops that and returns the result.
func serveScripted() (l *scriptedListener, end func() error) {
	l = &scriptedListener{next: make(chan any)}
	s := &Server{Llama: "v1", Log: slog.New(slog.DiscardHandler), Start: func() (Child, error) { return startFake(&fakeGGML{}), nil }}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	return l, func() error { cancel(); return <-ended }
}

// isServed reports whether the peer of a connection is a worker that answers: one that is asked
// for another version refuses.
func isServed(t *testing.T, conn net.Conn) bool {
	t.Helper()
	_, err := Dialer{Llama: "v2", ID: "1"}.begin(t.Context(), "a:1", conn)
	return errors.Is(err, ErrRefused)
}

// A worker that runs out of files serves the next host once there are some again.
func TestServer_Serve_RetriesAccepting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, end := serveScripted()
		begin := time.Now()
		for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EMFILE} {
			l.next <- &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
		}
		if !isServed(t, l.connect()) {
			t.Error("no host is served after errors of accepting")
		}
		if waited := time.Since(begin); waited != 35*time.Millisecond {
			t.Errorf("it waited %v, want 5 + 10 + 20 ms", waited)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// A worker that waits for files ends when it is told to, and one whose listener is gone ends by
// itself.
func TestServer_Serve_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, end := serveScripted()
		begin := time.Now()
		l.next <- syscall.EMFILE
		if err := end(); err != nil || time.Since(begin) != 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		l, end = serveScripted()
		l.next <- net.ErrClosed
		synctest.Wait() // it has ended before it is told to
		if err := end(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// Connections that say nothing are bounded, in number and in time, and keep no host out.
func TestServer_Serve_BoundsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, end := serveScripted()
		begin := time.Now()
		const more = 10
		var silent []net.Conn
		for range mostPending + more {
			silent = append(silent, l.connect())
		}
		if !isServed(t, l.connect()) {
			t.Error("a host is kept out")
		}
		for i, conn := range silent {
			_, _ = io.Copy(io.Discard, conn)
			want := time.Duration(0)
			if i > more { // the host has taken the place of one more
				want = handshakeLimit
			}
			if took := time.Since(begin); took != want {
				t.Errorf("connection %d of %d was there for %v, want %v", i, len(silent), took, want)
			}
			_ = conn.Close()
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}
