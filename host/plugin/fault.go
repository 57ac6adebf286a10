// SPDX-License-Identifier: MIT

package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fault is what a plugin did wrong in one call. It ends the request it happened in, and no other.
type Fault struct {
	Plugin string
	Export string   // the function that was called
	Cause  error    // one of the Cause errors
	Detail string   // what exactly
	Log    []string // the guest's last log lines
}

// Error names plugin, export, cause, detail and the last lines of the guest's log.
func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plugin %s: %s: %v", f.Plugin, f.Export, f.Cause)
	if f.Detail != "" {
		b.WriteString(": " + f.Detail)
	}
	b.WriteString(logEnds(f.Log))
	return b.String()
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

// Blameless tells that the fault says nothing against the plugin: it does not count towards quarantine.
func (f *Fault) Blameless() bool {
	return slices.ContainsFunc([]error{CauseConflict, CauseBusy, CauseBudget, CauseCancelled}, func(c error) bool { return errors.Is(f.Cause, c) })
}

// Refusal is a plugin's answer that it does not serve a request. It is the client's to mend.
type Refusal struct {
	Plugin  string
	Export  string
	Message string   // what the plugin said
	Log     []string // the guest's last log lines
}

// Error gives the plugin's own words and the last lines of its log, where the host says what it did not accept.
func (r *Refusal) Error() string {
	if r.Message == "" {
		return fmt.Sprintf("plugin %s refuses the request (%s) and gives no reason%s", r.Plugin, r.Export, logEnds(r.Log))
	}
	return fmt.Sprintf("plugin %s refuses the request: %s%s", r.Plugin, r.Message, logEnds(r.Log))
}

// Param names the field of a request that a refusal is about.
func (r *Refusal) Param() string { return "plugins" }
