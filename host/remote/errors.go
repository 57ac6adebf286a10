// SPDX-License-Identifier: MIT

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

// explained makes a sentence of what went wrong with a connection.
func explained(err error) error {
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
