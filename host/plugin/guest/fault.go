// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
)

// Violation says what a guest did wrong. A host function ends the call with it, and the check of
// an answer turns it into a fault.
type Violation struct {
	cause  error
	detail string
}

// Error names cause and detail.
func (v *Violation) Error() string { return v.cause.Error() + ": " + v.detail }

// Violationf makes a violation with a cause of package plugin.
func Violationf(cause error, format string, args ...any) *Violation {
	return &Violation{cause, fmt.Sprintf(format, args...)}
}

// diagnose tells why a call trapped.
func (i *Instance) diagnose(err error) *Violation {
	var v *Violation
	if errors.As(err, &v) {
		return v
	}
	where := innermost(err, i.module.code.Metered.Moves)
	switch exhausted := i.meter.Err(); {
	case errors.Is(exhausted, fuel.ErrStack):
		return Violationf(plugin.CauseStack, "%s", where)
	case errors.Is(exhausted, fuel.ErrFuel):
		return i.outOfFuel(where + i.hint())
	}
	if i.region.Refused() { // the guest trapped since it got no memory, which is not its fault
		return i.module.Env.budget.exceeded()
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return Violationf(plugin.CauseTrap, "%s, %s%s", strings.TrimPrefix(first, "wasm error: "), where, i.hint())
}

// hint says how a build without line numbers that printed no panic is made to tell more.
func (i *Instance) hint() string {
	if len(i.module.code.Metered.Moves) > 0 || slices.ContainsFunc(i.session.log.last(), isPanic) {
		return ""
	}
	return "; a build with --debug tells the text of a panic and the line"
}
