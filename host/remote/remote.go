// SPDX-License-Identifier: MIT

// Package remote has devices of other machines compute for a model of this one: it serves a
// worker's devices, and connects a host with workers.
//
// llama.cpp's RPC backend does the work: ggml's client in the host sends tensors and graphs, and
// ggml's server in a child process of the worker computes them. This package is what lies between
// the two:
//
//	ggml in the host ─socketpair─ guard ─── link, TLS ─── Server ─socketpair─ ggml in a child of the worker
//
// A link (link.go) carries bytes in frames, so that either side can tell a peer that computes for
// long from one that is gone. The guard (guard.go) knows ggml's protocol well enough to answer in
// a lost worker's place, because ggml ends its process when a worker does not answer. A Connection
// is a worker's devices in use by one model of a host; a Server (server.go) has a child process for
// each.
//
// # Why is ggml's transport replaced?
//
// transport.h in llama.cpp is a small interface between its RPC backend and sockets. Its own
// implementation connects over TCP and listens on a port, both plain: on a machine with several
// users, any of them could connect to the guard's port first and take the worker. Ours
// (native/llama.cpp/rpc/transport.cpp) has an address mean a socket that Go has made. ggml-rpc.cpp
// beside it is compiled as it is. Nothing listens but `penstock worker`, which asks for a
// certificate.
//
// # Why does each connection have an endpoint of its own?
//
// ggml keeps forever, by the address, which devices there are, their alignment, the sizes of
// tensors and the last graph. After a worker's return, or after an answer of the guard's, these
// may be wrong.
//
// # Why does a worker start a process for each connection?
//
// ggml's server asserts what it is sent, serves one connection at a time and frees a device's
// memory only when it ends. In a process of its own an assertion ends one connection, its last
// words reach the host, two models of one host are two processes, and what was allocated is free
// when it ends. A second host is refused while there are connections of the first: both would count
// the same memory as free.
//
// # How is a worker that computes for long told from one that is gone?
//
// Both say nothing for a while. So each side sends a frame every two seconds, whatever its ggml
// does, and ten seconds without any end the connection. A side that does not take data is not gone:
// while a device computes, the next graph waits in the connection. Only an answer that takes ten
// minutes counts as a device that hangs. The worker's frames begin before its devices are found,
// which may take a GPU's driver a minute.
//
// # Why is a model served by workers loaded twice, once without weights?
//
// The requests that wait when a worker is lost have sampler chains, grammars and prompts made
// with the model, and these keep it in memory. If it were the one with the weights, the weights
// that lie on this machine could not be freed before they are loaded again. So texts are made
// with a model of the vocabulary alone, which takes a few MB, and the one with the weights is
// replaced under it (host/engine/engine.go). The queue knows nothing of it: the scheduler ends
// the answers in slots, forgets the KV cache and goes on when it is told to
// (scheduler/fault.go).
//
// # Why are cached weights checked, though ggml's server has their hash?
//
// It has the hash of what it was to write. It writes in place and does not look whether that
// worked, so a process that was killed, or a full disk, leaves a short file, which a later load
// would take for the weights. The worker hashes each new file once before the next connection
// (host/remote/compute/compute.go).
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
	"strings"
	"sync"
	"syscall"
	"time"
)

// Device is one that a worker offers.
type Device struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Backend     string `json:"backend"`
	Kind        string `json:"kind"`            // cpu, gpu, igpu or accelerator
	Free        uint64 `json:"free,omitempty"`  // bytes of memory when the connection began; 0 where unknown
	Total       uint64 `json:"total,omitempty"` // likewise
}

// Limits of time. They hold for the peer's signs of life, not for its work.
const (
	pingEvery      = 2 * time.Second
	silence        = 10 * time.Second // after which a peer is gone
	handshakeLimit = 10 * time.Second // of TLS, and of a host's first frame
	startLimit     = time.Minute      // in which a worker's child finds its devices: drivers of GPUs are slow to start
	leaveLimit     = 4 * time.Second  // in which a worker is free again once its host has gone
	endLimit       = 2 * time.Second  // in which a peer takes the reason for an end
	answerLimit    = 10 * time.Minute // of one answer of a worker that gives signs of life: its device hangs
)

// Errors of connections; compare with errors.Is.
var (
	// ErrLost: the worker was there and is gone.
	ErrLost = errors.New("the worker was lost")
	// ErrRefused: the worker does not serve this host.
	ErrRefused = errors.New("the worker refuses")
	// ErrNoWorker: what answers is no worker of Penstock's.
	ErrNoWorker = errors.New("no Penstock worker answers there")
)

// WorkerError is an error of one worker, which it names.
type WorkerError struct {
	Worker string // its address
	Kind   error  // ErrLost, ErrRefused, ErrNoWorker, or nil where the worker cannot be reached
	Cause  error
}

func (e *WorkerError) Error() string {
	switch {
	case errors.Is(e.Kind, ErrLost):
		return fmt.Sprintf("the worker %s was lost: %v", e.Worker, e.Cause)
	case errors.Is(e.Kind, ErrRefused):
		return fmt.Sprintf("the worker %s refuses: %v", e.Worker, e.Cause)
	case errors.Is(e.Kind, ErrNoWorker):
		return fmt.Sprintf("no Penstock worker answers at %s: %v", e.Worker, e.Cause)
	}
	return fmt.Sprintf("the worker %s cannot be reached: %v", e.Worker, e.Cause)
}

func (e *WorkerError) Unwrap() []error { return []error{e.Kind, e.Cause} }

var (
	errSilent       = fmt.Errorf("it gave no sign of life for %v", silence)
	errSlow         = fmt.Errorf("it did not answer in %v", answerLimit)
	errClosed       = errors.New("the connection was closed")
	errNoFrame      = errors.New("it does not speak the protocol of Penstock's workers")
	errShuttingDown = errors.New("it is shutting down")
	errTLS          = errors.New("it speaks TLS; name a certificate with --tls-cert, --tls-key and --tls-ca")
)

// explainError makes a sentence of what went wrong with a connection.
func explainError(err error) error {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return errSilent
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errors.New("it closed the connection")
	case errors.As(err, &authority):
		return errors.New("its certificate is of another authority than --tls-ca names")
	case errors.As(err, &name):
		return fmt.Errorf("its certificate is for another name: %w", err)
	case errors.As(err, &record):
		return errors.New("it does not speak TLS; start it with --tls-cert, --tls-key and --tls-ca")
	case errors.As(err, &alert) || strings.Contains(err.Error(), "remote error: tls: "):
		return fmt.Errorf("it does not accept this host's certificate, which must be of the authority that the worker's --tls-ca names: %w", err)
	}
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" {
		return operation.Err
	}
	return err
}

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
