// SPDX-License-Identifier: MIT

package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

// Fault is what a plugin did wrong in one call. It ends the request it happened in, and no other.
type Fault struct {
	Plugin string
	Export string   // the function that was called
	Cause  error    // one of the Cause errors
	Detail string   // what exactly
	Said   string   // what the plugin said of it, or what quotes the plugin
	Log    []string // the guest's last log lines
}

// Error names plugin, export, cause and detail, in the host's words alone: anybody may read them,
// in the log too. See Told.
func (f *Fault) Error() string {
	if f.Detail == "" {
		return fmt.Sprintf("plugin %s: %s: %v", f.Plugin, f.Export, f.Cause)
	}
	return fmt.Sprintf("plugin %s: %s: %v: %s", f.Plugin, f.Export, f.Cause, f.Detail)
}

// Told is the error with what the guest said of it, and with the last lines of its log. These may
// quote the request, so they are for its own client.
func (f *Fault) Told() string { return f.Error() + f.words() }

func (f *Fault) words() string {
	if f.Said == "" {
		return logEnds(f.Log)
	}
	return ": " + f.Said + logEnds(f.Log)
}

// Told is an error's text with the guest's own message, if it is or wraps a Fault or a Refusal. See
// Fault.Told.
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

// Kind is the cause's name in metrics.
func (f *Fault) Kind() string { return kinds[f.Cause] }

// CauseOf is the cause of a kind of faults, CauseTrap where there is none.
func CauseOf(kind string) error {
	for cause, name := range kinds {
		if name == kind {
			return cause
		}
	}
	return CauseTrap
}

// Blameless tells that the fault says nothing against the plugin: it does not count towards
// quarantine.
func (f *Fault) Blameless() bool {
	return slices.ContainsFunc([]error{CauseConflict, CauseBusy, CauseBudget, CauseCancelled}, func(c error) bool { return errors.Is(f.Cause, c) })
}

// Reported tells that the plugin has said itself what was wrong, as an interpreter does with a
// script: that does not count towards quarantine, either. How long a plan takes is up to the
// machine, too, and its work is bounded by fuel.
func (f *Fault) Reported() bool {
	return errors.Is(f.Cause, CauseError) || errors.Is(f.Cause, CauseTime) && f.Export == abi.ExportPlan && f.Said != ""
}

// Refusal is a plugin's answer that it does not serve a request. The client can fix that.
type Refusal struct {
	Plugin  string
	Export  string
	Message string   // what the plugin said
	Log     []string // the guest's last log lines
}

// Error says that the plugin refuses, in the host's words alone: anybody may read them, in the log
// too. See Told.
func (r *Refusal) Error() string {
	return fmt.Sprintf("plugin %s refuses the request", r.Plugin)
}

// Told is the error with the plugin's own words and the last lines of its log, where the host says
// what it did not accept. They may quote the request, so they are for its own client.
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
