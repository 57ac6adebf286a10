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
// (connection.go) is a worker's devices in use by one model of a host; a Server (server.go) has a
// child process for each.
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
// (host/remote/compute/cache.go).
package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
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
