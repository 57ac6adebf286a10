// SPDX-License-Identifier: MIT

package plugin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/plugins/abi"
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
	ErrScript      = errors.New("there is a mistake in the script")
	ErrLocked      = errors.New("not one of the modules that may be loaded")
)

// Why a plugin cannot be used.
var (
	ErrUnknown     = errors.New("no such plugin")
	ErrLoading     = errors.New("the plugin is being loaded")
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

	// CauseError is a trap before which the plugin has said why, as an interpreter does of a mistake
	// in a script. It does not count towards quarantine.
	CauseError = errors.New("error of the plugin")

	// CauseConflict is a conflict with the request or with another of its plugins. It does not
	// count towards quarantine.
	CauseConflict = errors.New("conflict")

	CauseBusy      = errors.New("other plugins took the time")
	CauseBudget    = errors.New("no memory is left for plugins")
	CauseCancelled = errors.New("nobody waits for it any more")
)

// kinds maps causes to their names in metrics.
var kinds = map[error]string{
	CauseTrap: "trap", CauseFuel: "fuel", CauseStack: "stack", CauseTime: "time", CauseMemory: "memory",
	CauseBuffer: "buffer", CauseAnswer: "answer", CauseError: "error", CauseCall: "call", CauseExit: "exit", CauseLimit: "limit",
	CauseConflict: "conflict", CauseBusy: "busy", CauseBudget: "budget", CauseCancelled: "cancelled",
}

// Unknown returns the error of a name that no plugin has. It wraps ErrUnknown.
func Unknown(name string) error {
	return fmt.Errorf("%w: %q; GET /v1/plugins lists those there are", ErrUnknown, name)
}

// ModelError says why a plugin cannot be used with a model: it failed when it was warmed for it.
// It may work with others.
type ModelError struct {
	Plugin string
	Model  string // its name
	Err    error  // a *Fault or *Refusal
}

// Error names the plugin, the model and the reason.
func (e *ModelError) Error() string {
	return fmt.Sprintf("plugin %q cannot be used with the model %q: %v", e.Plugin, e.Model, e.Err)
}

// Unwrap gives the reason.
func (e *ModelError) Unwrap() error { return e.Err }

// ConfigError says what in a plugin's configuration does not fit its schema. It wraps ErrConfig.
type ConfigError struct {
	Field   string // path within the configuration: "" is all of it, then ".threshold", ".list[2]"
	Message string
}

// Error names field and reason.
func (e *ConfigError) Error() string { return "config" + e.Field + ": " + e.Message }

// Unwrap gives ErrConfig.
func (e *ConfigError) Unwrap() error { return ErrConfig }

// QuarantineError refuses a request like those that made a plugin fault too often. It wraps
// ErrQuarantined.
type QuarantineError struct {
	Plugin string
	Wait   time.Duration
	Last   string // the sender's last fault
}

// Error names the plugin, the time to wait, and the sender's last fault.
func (e *QuarantineError) Error() string {
	return fmt.Sprintf("%v: %q faulted repeatedly for what you send it; change the request or try again in %d s; the last fault: %s", ErrQuarantined, e.Plugin, e.Seconds(), e.Last)
}

// Seconds is when to try again, rounded up.
func (e *QuarantineError) Seconds() int { return max(1, int(math.Ceil(e.Wait.Seconds()))) }

// Unwrap gives ErrQuarantined.
func (e *QuarantineError) Unwrap() error { return ErrQuarantined }

// Fault is what a plugin did wrong in one call. It ends only the request that it happened in.
type Fault struct {
	Plugin string
	Export string   // the function that was called
	Cause  error    // one of the Cause errors
	Detail string   // what exactly, in the host's words
	Said   string   // the plugin's words, or a text that quotes the plugin
	Log    []string // the guest's last log lines
}

// Error names plugin, export, cause and detail in the host's words, which anybody may read, also in
// the log. See Told.
func (f *Fault) Error() string {
	if f.Detail == "" {
		return fmt.Sprintf("plugin %s: %s: %v", f.Plugin, f.Export, f.Cause)
	}
	return fmt.Sprintf("plugin %s: %s: %v: %s", f.Plugin, f.Export, f.Cause, f.Detail)
}

// Told returns the error with the guest's own words and the last lines of its log. These may quote
// the request, so only its own client may read them.
func (f *Fault) Told() string { return f.Error() + f.words() }

func (f *Fault) words() string {
	if f.Said == "" {
		return logEnds(f.Log)
	}
	return ": " + f.Said + logEnds(f.Log)
}

// Told returns an error's text, with the guest's own words if it is or wraps a Fault or a Refusal.
// See Fault.Told.
func Told(err error) string {
	var fault *Fault
	var refusal *Refusal
	switch {
	case errors.As(err, &fault):
		return err.Error() + fault.words()
	case errors.As(err, &refusal):
		return err.Error() + refusal.words()
	}
	return err.Error()
}

func logEnds(log []string) string {
	if len(log) == 0 {
		return ""
	}
	return "; its log ends with: " + strings.Join(log, " | ")
}

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// Kind returns the cause's name in metrics.
func (f *Fault) Kind() string { return kinds[f.Cause] }

// CauseOf returns the cause of a kind; CauseTrap if there is no such kind.
func CauseOf(kind string) error {
	for cause, name := range kinds {
		if name == kind {
			return cause
		}
	}
	return CauseTrap
}

// Blameless reports whether the plugin is not to blame for the fault, which then does not count
// towards quarantine.
func (f *Fault) Blameless() bool {
	return slices.ContainsFunc([]error{CauseConflict, CauseBusy, CauseBudget, CauseCancelled}, func(c error) bool { return errors.Is(f.Cause, c) })
}

// Reported reports whether the plugin itself said what was wrong, as an interpreter does with a
// script. Such a fault does not count towards quarantine, either. It includes a plan that took too
// long, since its time depends on the machine as well, and fuel bounds its work.
func (f *Fault) Reported() bool {
	return errors.Is(f.Cause, CauseError) || errors.Is(f.Cause, CauseTime) && f.Export == abi.ExportPlan && f.Said != ""
}

// Refusal is a plugin's answer that it does not serve a request. The client can fix the request.
type Refusal struct {
	Plugin  string
	Export  string
	Message string   // what the plugin said
	Log     []string // the guest's last log lines
}

// Error says that the plugin refuses in the host's words, which anybody may read, also in the log.
// See Told.
func (r *Refusal) Error() string {
	return fmt.Sprintf("plugin %s refuses the request", r.Plugin)
}

// Told returns the error with the plugin's own words and the last lines of its log, in which the
// host says what it did not accept. These may quote the request, so only its own client may read
// them.
func (r *Refusal) Told() string { return r.Error() + r.words() }

func (r *Refusal) words() string {
	if r.Message == "" {
		return fmt.Sprintf(" (%s) and gives no reason", r.Export) + logEnds(r.Log)
	}
	return ": " + r.Message + logEnds(r.Log)
}

// OfConfig reports whether the plugin refuses its configuration, whatever the request is.
func (r *Refusal) OfConfig() bool { return r.Export == abi.ExportPlan }

// Param names the field of a request that a refusal is about.
func (r *Refusal) Param() string { return "plugins" }
