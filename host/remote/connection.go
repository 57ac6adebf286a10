// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Dialer connects with workers.
type Dialer struct {
	Llama string      // llama.cpp'c version
	ID    string      // of this process: a worker serves one host, with any number of connections
	Name  string      // of this machine, for people
	TLS   *tls.Config // nil: connections are plain
}

// Connection is a worker's devices in use by one model. It is there until it is closed: when the
// worker is lost, ggml is answered in its place, and what was computed is not to be used.
type Connection struct {
	worker string
	link   *link
	guard  guard
	theirs *os.File // ggml'c end of the socket pair
	hello  workerHello
	close  sync.Once
	work   sync.WaitGroup
}

// Open begins a connection with the worker at an address, HOST:PORT. Its errors are WorkerErrors.
func (d Dialer) Open(ctx context.Context, address string) (*Connection, error) {
	conn, err := d.dial(ctx, address)
	if err != nil {
		return nil, &WorkerError{Worker: address, Cause: explainError(err)}
	}
	c, err := d.begin(ctx, address, conn)
	if err != nil {
		return nil, asWorkerError(address, err)
	}
	return c, nil
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

func (d Dialer) dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	if d.TLS == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	return (&tls.Dialer{Config: d.TLS}).DialContext(ctx, "tcp", address)
}

// begin greets the worker and joins it with a socket pair for ggml. It has the connection then.
func (d Dialer) begin(ctx context.Context, address string, conn net.Conn) (*Connection, error) {
	c := &Connection{worker: address, link: newLink(conn)}
	stop := context.AfterFunc(ctx, func() { c.link.fail(context.Cause(ctx)) })
	err := c.greet(d)
	if err == nil {
		err = c.serveGGML()
	}
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Connection) greet(d Dialer) error {
	sent := c.link.sendHello(hostHello{Protocol: protocol, Llama: d.Llama, Host: d.ID, Name: d.Name})
	if err := c.link.receiveHello(&c.hello, startLimit); err != nil { // first: it may say why nothing could be sent
		return err
	}
	switch {
	case sent != nil:
		return sent
	case c.hello.Llama != d.Llama:
		return &refused{fmt.Sprintf("this host has llama.cpp %s and the worker %s; run the same release of Penstock on both", d.Llama, c.hello.Llama)}
	case len(c.hello.Devices) == 0:
		return &refused{"it has no device to compute on"}
	}
	return nil
}

// serveGGML makes the socket that ggml uses and has the guard serve it.
func (c *Connection) serveGGML() error {
	c.link.begin()
	if err := c.greetGGML(); err != nil {
		return err
	}
	ours, theirs, err := SocketPair()
	if err != nil {
		return err
	}
	c.guard.ggml, c.guard.worker, c.theirs = ours, c.link, theirs
	c.work.Go(c.guard.run)
	return nil
}

// greetGGML has ggml's server in the worker say its version, which its client asks for at the
// beginning of each connection.
func (c *Connection) greetGGML() error {
	greeting := make([]byte, requestHeader+capsSize)
	greeting[0] = byte(hello)
	binary.LittleEndian.PutUint64(greeting[1:], capsSize)
	if _, err := c.link.Write(greeting); err != nil {
		return err
	}
	slow := time.AfterFunc(startLimit, func() { c.link.fail(errSilent) })
	defer slow.Stop()
	answer := make([]byte, answerHeader+helloSize)
	if _, err := io.ReadFull(c.link, answer); err != nil {
		return err
	}
	if size := binary.LittleEndian.Uint64(answer); size != helloSize {
		return fmt.Errorf("%w: it answered HELLO with %d bytes", errNoFrame, size)
	}
	copy(c.guard.version[:versionSize], answer[answerHeader:]) // no other transport than this one is offered
	return nil
}

// Worker is the worker's address.
func (c *Connection) Worker() string { return c.worker }

// Devices are the worker's, in ggml's order.
func (c *Connection) Devices() []Device { return c.hello.Devices }

// Socket is the file descriptor that ggml speaks with the worker over. It is open until Close.
func (c *Connection) Socket() uintptr { return c.theirs.Fd() }

// Lost is closed once the worker is lost, or the connection is closed.
func (c *Connection) Lost() <-chan struct{} { return c.link.failed }

// Err is a WorkerError once the worker is lost, nil while it is not.
func (c *Connection) Err() error {
	if err := c.link.err(); err != nil {
		return &WorkerError{Worker: c.worker, Kind: ErrLost, Cause: err}
	}
	return nil
}

// Close ends the connection. ggml must have freed all that it had of the worker's.
func (c *Connection) Close() error {
	c.close.Do(func() {
		c.link.close()
		if c.theirs != nil {
			_ = c.theirs.Close()
			_ = c.guard.ggml.Close()
		}
		c.work.Wait()
	})
	return nil
}

// MutualTLS is how a host and its workers prove to each other who they are: each has a certificate
// of an authority that the other trusts. All three are files with PEM.
func MutualTLS(certificate, key, authority string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("use %s with %s (--tls-cert, --tls-key): %w", certificate, key, err)
	}
	text, err := os.ReadFile(authority)
	if err != nil {
		return nil, fmt.Errorf("read --tls-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--tls-ca %s has no certificate in PEM", authority)
	}
	return mutualTLS(pair, pool), nil
}

func mutualTLS(pair tls.Certificate, pool *x509.CertPool) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert}
}
