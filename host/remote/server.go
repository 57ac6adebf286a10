// SPDX-License-Identifier: MIT

package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// Server serves a machine's devices to one host at a time. Each connection has ggml's server in a
// process of its own: ggml ends its process on a request that it does not understand, or when a
// device fails, and what a process had of a device's memory is free when it ends.
type Server struct {
	Llama string // llama.cpp's version
	TLS   *tls.Config
	// Start starts ggml's server for a connection.
	Start func() (Child, error)
	Log   *slog.Logger

	mu      sync.Mutex
	host    tenant
	pending pending
	work    sync.WaitGroup
}

// Child is a process with ggml's server. What it first writes to its connection are its devices,
// as a line of JSON.
type Child interface {
	Conn() net.Conn
	// Close ends the process and returns its last words, if it did not end as it should.
	Close() error
}

// tenant is the host that a worker serves.
type tenant struct {
	id, name    string
	since       time.Time
	connections int
	left        chan struct{} // closed once there are none
}

// Serve accepts connections until ctx is done or the listener fails permanently.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.work.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		conn, err := accept(ctx, listener, s.Log)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("accept a host: %w", err)
		}
		s.pending.add(conn)
		s.work.Go(func() { s.serveConnection(ctx, conn) })
	}
}

// serveConnection serves one connection to its end.
func (s *Server) serveConnection(ctx context.Context, conn net.Conn) {
	accepted := conn
	defer s.pending.remove(accepted)
	log := s.Log.With(slog.String("host", conn.RemoteAddr().String()))
	if s.TLS != nil {
		secured := tls.Server(conn, s.TLS)
		limited, cancel := context.WithTimeout(ctx, handshakeLimit)
		defer cancel()
		if err := secured.HandshakeContext(limited); err != nil {
			log.Warn("a host is refused: its connection is not the mutual TLS that this worker asks for", slog.Any("error", err))
			reason := ""
			if record := (tls.RecordHeaderError{}); errors.As(err, &record) { // a host that speaks none understands a frame
				reason = errTLS.Error()
			}
			hearOut(conn, reason)
			return
		}
		conn = secured
	}
	l := newLink(conn)
	defer l.close()
	stop := context.AfterFunc(ctx, func() { l.end(errShuttingDown.Error()) })
	defer stop()
	release, err := s.admit(l)
	if err != nil {
		log.Warn("a host is refused", slog.Any("error", err))
		return
	}
	defer release()
	s.pending.remove(accepted)
	log.Info("a host's connection begins")
	if err = s.compute(l); ctx.Err() != nil {
		err = errShuttingDown
	}
	log.Info("a host's connection has ended", slog.Any("because", err))
}

// admit hears who a host is, and refuses it unless this worker can serve it.
func (s *Server) admit(l *link) (release func(), err error) {
	var h hostHello
	if err := l.receiveHello(&h, handshakeLimit); err != nil {
		if errors.Is(err, errTLS) { // it takes any frame for an answer without TLS
			hearOut(l.conn, "this worker speaks no TLS")
		}
		return nil, err
	}
	reason := h.refusal(s.Llama)
	if reason == "" {
		reason = s.awaitWorker(h)
	}
	if reason != "" {
		_ = l.send(endFrame, []byte(reason))
		return nil, errors.New(reason)
	}
	return s.leave, nil
}

// awaitWorker gives the worker to a host, or says why it cannot have it. A host that is started
// again comes while the worker still clears up after the one before, so it waits a little.
func (s *Server) awaitWorker(h hostHello) (reason string) {
	patience := time.NewTimer(leaveLimit)
	defer patience.Stop()
	for {
		reason, left := s.rent(h)
		if reason == "" {
			return ""
		}
		select {
		case <-left:
		case <-patience.C:
			return reason
		}
	}
}

// rent gives the worker to a host, or says why it cannot have it, until the host that has it has
// left.
func (s *Server) rent(h hostHello) (reason string, left <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host.connections > 0 && s.host.id != h.Host {
		return fmt.Sprintf("it serves the host %s since %s, and a worker serves one host at a time", s.host.name, s.host.since.Format(time.RFC3339)), s.host.left
	}
	if s.host.connections == 0 {
		s.host = tenant{id: h.Host, name: h.Name, since: time.Now(), left: make(chan struct{})}
	}
	s.host.connections++
	return "", nil
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host.connections--; s.host.connections == 0 {
		close(s.host.left)
	}
}

// compute relays between a host and a child until either ends, and returns why. It may take a
// while until a child knows its devices: signs of life go out meanwhile.
func (s *Server) compute(l *link) error {
	l.startPinging()
	child, err := s.Start()
	if err != nil {
		_ = l.send(endFrame, []byte("it cannot start ggml's server: "+err.Error()))
		return err
	}
	var relays sync.WaitGroup
	defer relays.Wait()
	fromChild := bufio.NewReader(child.Conn())
	if err := s.introduce(l, child, fromChild); err != nil {
		err = errors.Join(err, child.Close())
		_ = l.send(endFrame, []byte("ggml's server did not start: "+err.Error()))
		return err
	}
	l.begin()
	relays.Go(func() {
		_, _ = io.Copy(child.Conn(), plain{l}) // until the link fails or ends, or the child does
		_ = child.Conn().Close()
	})
	_, _ = io.Copy(plain{l}, fromChild) // until the child's connection is closed, by either side
	if err := l.err(); err != nil {
		_ = child.Close() // which ends as it is meant to
		return err
	}
	err = child.Close()
	if err == nil {
		err = errors.New("it closed its connection")
	}
	err = fmt.Errorf("ggml's server ended: %w", err)
	l.end(err.Error())
	return err
}

// introduce tells the host the child's devices.
func (s *Server) introduce(l *link, child Child, from *bufio.Reader) error {
	slow := time.AfterFunc(startLimit, func() { _ = child.Conn().Close() })
	defer slow.Stop()
	line, err := from.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("it told of no devices: %w", err)
	}
	answer := workerHello{Llama: s.Llama}
	if err := json.Unmarshal(line, &answer.Devices); err != nil {
		return fmt.Errorf("it told of its devices %q: %w", line, err)
	}
	return l.sendHello(answer)
}

// hearOut tells a peer why it is refused, unless TLS has, and closes the connection once the peer
// has. To close it with bytes unread would make the system throw away what was written.
func hearOut(conn net.Conn, reason string) {
	_ = conn.SetDeadline(time.Now().Add(endLimit))
	if reason != "" {
		_ = newLink(conn).send(endFrame, []byte(reason))
	}
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// plain hides from io.Copy what else a value can do.
type plain struct{ io.ReadWriter }

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
