// SPDX-License-Identifier: MIT

package plugin

import (
	"errors"
	"fmt"
)

// Why a module is refused. Each error wraps one of these, names what is wrong and says what to do.
var (
	ErrNotWasm     = errors.New("not a WebAssembly module that can be loaded")
	ErrTooLarge    = errors.New("module too large")
	ErrUnsupported = errors.New("unsupported WebAssembly feature")
	ErrVersion     = errors.New("not a plugin of ABI v1")
	ErrImport      = errors.New("import that the host does not offer")
	ErrExport      = errors.New("wrong export")
	ErrManifest    = errors.New("bad manifest")
	ErrLimit       = errors.New("limit exceeded")
)

// Why a plugin cannot be used.
var (
	ErrUnknown     = errors.New("no such plugin")
	ErrQuarantined = errors.New("plugin in quarantine")
	ErrBusy        = errors.New("the host is busy, try again")
	ErrConfig      = errors.New("bad plugin configuration")
	ErrClosed      = errors.New("plugin runtime is closed")
)

//lint:file-ignore ST1012 a cause says why a Fault came to be; no function returns one alone

// The causes of a Fault.
var (
	CauseTrap   = errors.New("trap")
	CauseFuel   = errors.New("fuel exhausted")
	CauseStack  = errors.New("guest call stack exhausted")
	CauseTime   = errors.New("too slow")
	CauseMemory = errors.New("access out of bounds")
	CauseBuffer = errors.New("buffer not usable")
	CauseAnswer = errors.New("wrong answer")
	CauseCall   = errors.New("host function not allowed here")
	CauseExit   = errors.New("exit")
	CauseLimit  = errors.New("limit exceeded")

	// CauseConflict is a fault that the request has a part in, or another of its plugins: it leads to no
	// quarantine.
	CauseConflict = errors.New("conflict")

	CauseBusy      = errors.New("other plugins took the time")
	CauseBudget    = errors.New("no memory is left for plugins")
	CauseCancelled = errors.New("nobody waits for it any more")
)

// kinds are the names of causes in metrics.
var kinds = map[error]string{
	CauseTrap: "trap", CauseFuel: "fuel", CauseStack: "stack", CauseTime: "time", CauseMemory: "memory",
	CauseBuffer: "buffer", CauseAnswer: "answer", CauseCall: "call", CauseExit: "exit", CauseLimit: "limit",
	CauseConflict: "conflict", CauseBusy: "busy", CauseBudget: "budget", CauseCancelled: "cancelled",
}

func unknown(name string) error {
	return fmt.Errorf("%w: %q; GET /v1/plugins lists those there are", ErrUnknown, name)
}

// Error names the plugin, the time to wait, and the last fault.
func (e *QuarantineError) Error() string {
	return fmt.Sprintf("%v: %q faulted repeatedly for what you send it; change the request or try again in %d s; the last fault: %s", ErrQuarantined, e.Plugin, e.Seconds(), e.Last)
}

// Unwrap gives ErrQuarantined.
func (e *QuarantineError) Unwrap() error { return ErrQuarantined }
