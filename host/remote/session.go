// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Host connects with workers.
type Host struct {
	Llama string      // llama.cpp's version
	ID    string      // of this process: a worker serves one host, with any number of sessions
	Name  string      // of this machine, for people
	TLS   *tls.Config // nil: connections are plain
}

// Session is a worker's devices in use by one model. It is there until it is closed: when the
// worker is lost, ggml is answered in its place, and what was computed is not to be used.
type Session struct {
	worker string
	link   *link
	guard  guard
	theirs *os.File // ggml's end of the socket pair
	hello  workerHello
	close  sync.Once
	work   sync.WaitGroup
}

// Open begins a session with the worker at an address, HOST:PORT. Its errors are WorkerErrors.
func (h Host) Open(ctx context.Context, address string) (*Session, error) {
	conn, err := h.dial(ctx, address)
	if err != nil {
		return nil, &WorkerError{Worker: address, Cause: explained(err)}
	}
	s, err := h.begin(ctx, address, conn)
	if err != nil {
		return nil, asWorkerError(address, err)
	}
	return s, nil
}

func asWorkerError(address string, err error) error {
	e := &WorkerError{Worker: address, Cause: err}
	switch {
	case errors.Is(err, ErrRefused):
		e.Kind = ErrRefused
	case errors.Is(err, errNoFrame):
		e.Kind = ErrNoWorker
	}
	return e
}

func (h Host) dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	if h.TLS == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	return (&tls.Dialer{Config: h.TLS}).DialContext(ctx, "tcp", address)
}

// begin greets the worker and joins it with a socket pair for ggml. It has the connection then.
func (h Host) begin(ctx context.Context, address string, conn net.Conn) (*Session, error) {
	s := &Session{worker: address, link: newLink(conn)}
	stop := context.AfterFunc(ctx, func() { s.link.fail(context.Cause(ctx)) })
	err := s.greet(h)
	if err == nil {
		err = s.serveGGML()
	}
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Session) greet(h Host) error {
	sent := s.link.sendHello(hostHello{Protocol: protocol, Llama: h.Llama, Host: h.ID, Name: h.Name})
	if err := s.link.receiveHello(&s.hello, startLimit); err != nil { // first: it may say why nothing could be sent
		return err
	}
	switch {
	case sent != nil:
		return sent
	case s.hello.Llama != h.Llama:
		return &refused{fmt.Sprintf("this host has llama.cpp %s and the worker %s; run the same release of Penstock on both", h.Llama, s.hello.Llama)}
	case len(s.hello.Devices) == 0:
		return &refused{"it has no device to compute on"}
	}
	return nil
}

// serveGGML makes the socket that ggml uses and has the guard serve it.
func (s *Session) serveGGML() error {
	s.link.begin()
	if err := s.greetGGML(); err != nil {
		return err
	}
	ours, theirs, err := SocketPair()
	if err != nil {
		return err
	}
	s.guard.ggml, s.guard.worker, s.theirs = ours, s.link, theirs
	s.work.Go(s.guard.run)
	return nil
}

// greetGGML has ggml's server in the worker say its version, which its client asks for at the
// beginning of each connection.
func (s *Session) greetGGML() error {
	greeting := make([]byte, requestHeader+capsSize)
	greeting[0] = byte(hello)
	binary.LittleEndian.PutUint64(greeting[1:], capsSize)
	if _, err := s.link.Write(greeting); err != nil {
		return err
	}
	slow := time.AfterFunc(startLimit, func() { s.link.fail(errSilent) })
	defer slow.Stop()
	answer := make([]byte, answerHeader+helloSize)
	if _, err := io.ReadFull(s.link, answer); err != nil {
		return err
	}
	if size := binary.LittleEndian.Uint64(answer); size != helloSize {
		return fmt.Errorf("%w: it answered HELLO with %d bytes", errNoFrame, size)
	}
	copy(s.guard.version[:versionSize], answer[answerHeader:]) // no other transport than this one is offered
	return nil
}

// Worker is the worker's address.
func (s *Session) Worker() string { return s.worker }

// Devices are the worker's, in ggml's order.
func (s *Session) Devices() []Device { return s.hello.Devices }

// Socket is the file descriptor that ggml speaks with the worker over. It is open until Close.
func (s *Session) Socket() uintptr { return s.theirs.Fd() }

// Lost is closed once the worker is lost, or the session is closed.
func (s *Session) Lost() <-chan struct{} { return s.link.failed }

// Err is a WorkerError once the worker is lost, nil while it is not.
func (s *Session) Err() error {
	if err := s.link.err(); err != nil {
		return &WorkerError{Worker: s.worker, Kind: ErrLost, Cause: err}
	}
	return nil
}

// Close ends the session. ggml must have freed all that it had of the worker's.
func (s *Session) Close() error {
	s.close.Do(func() {
		s.link.close()
		if s.theirs != nil {
			_ = s.theirs.Close()
			_ = s.guard.ggml.Close()
		}
		s.work.Wait()
	})
	return nil
}
