// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"fmt"
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
	switch exhausted := i.meter.Err(); {
	case errors.Is(exhausted, fuel.ErrStack):
		return Violationf(plugin.CauseStack, "%s", innermost(err))
	case errors.Is(exhausted, fuel.ErrFuel):
		return i.outOfFuel(innermost(err))
	}
	if i.region.Refused() { // the guest trapped since it got no memory, which is not its fault
		return i.module.Env.budget.exceeded()
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return Violationf(plugin.CauseTrap, "%s, %s", strings.TrimPrefix(first, "wasm error: "), innermost(err))
}
