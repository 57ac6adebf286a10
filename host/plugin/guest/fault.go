// SPDX-License-Identifier: MIT

package guest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
)

// Violation says what a guest did wrong. A host function ends the call with it, and the check of
// an answer turns it into a fault.
type Violation struct {
	cause  error
	detail string
	said   string // by the guest, or what quotes it
}

// Error names cause and detail.
func (v *Violation) Error() string { return v.cause.Error() + ": " + v.detail }

// Violationf makes a violation with a cause of package plugin.
func Violationf(cause error, format string, args ...any) *Violation {
	return &Violation{cause: cause, detail: fmt.Sprintf(format, args...)}
}

// diagnose tells why a call trapped: as the guest itself has said in this call, where it ended the
// call by itself.
func (i *Instance) diagnose(err error) *Violation {
	var v *Violation
	exits := errors.As(err, &v)
	if exits && !errors.Is(v.cause, plugin.CauseExit) {
		switch {
		case errors.Is(v.cause, plugin.CauseFuel): // in a function of the host's
			return cmp.Or(i.reported(), v)
		case errors.Is(v.cause, plugin.CauseTime): // which is the machine's, too
			v.said = cleanText(i.refusal)
		}
		return v
	}
	where := ""
	if !exits {
		where = innermost(err, i.module.code.Metered.Moves)
		switch exhausted := i.meter.Err(); {
		case errors.Is(exhausted, fuel.ErrStack):
			return Violationf(plugin.CauseStack, "%s", where)
		case errors.Is(exhausted, fuel.ErrFuel):
			return cmp.Or(i.reported(), i.outOfFuel(where+i.growth()+i.hint()))
		}
	}
	if i.region.Refused() { // the guest ended since it got no memory, which is not its fault
		return i.exceeded()
	}
	if !exits {
		first, _, _ := strings.Cut(err.Error(), "\n")
		v = Violationf(plugin.CauseTrap, "%s, %s%s", strings.TrimPrefix(first, "wasm error: "), where, i.hint())
	}
	return cmp.Or(i.reported(), i.outOfMemory(v.Error()), v)
}

// reported is the violation of a call that has told fail why it would end; nil: it has not.
func (i *Instance) reported() *Violation {
	if len(i.refusal) == 0 {
		return nil
	}
	return &Violation{cause: plugin.CauseError, said: cleanText(i.refusal)}
}

// outOfMemory is the violation of a call that asked for more memory than an instance may have, and
// then ended as text says; nil: it did not ask.
func (i *Instance) outOfMemory(text string) *Violation {
	asked, limit := i.region.Exceeded()
	if asked == 0 {
		return nil
	}
	return Violationf(plugin.CauseLimit, "out of memory: it asked for %s, an instance has at most %s; %s", mebibytes(asked), mebibytes(limit), text)
}

// growth says how a call that used up its fuel has used memory, if that was much: filling memory
// and collecting garbage cost fuel.
func (i *Instance) growth() string {
	const much = 8 << 20
	size := len(i.Memory())
	switch asked, limit := i.region.Exceeded(); {
	case asked > 0:
		return fmt.Sprintf("; it was out of memory: it asked for %s, an instance has at most %s", mebibytes(asked), mebibytes(limit))
	case size-i.sizeBefore > much:
		return fmt.Sprintf("; its memory grew from %s to %s in this call", mebibytes(uint64(i.sizeBefore)), mebibytes(uint64(size)))
	}
	return ""
}

// mebibytes writes a size with at most one decimal.
func mebibytes(bytes uint64) string {
	return strconv.FormatFloat(math.Ceil(float64(bytes)/(1<<20)*10)/10, 'f', -1, 64) + " MiB"
}

// hint says how a build without line numbers that printed no panic is made to tell more. One that
// can print, as all of Go's own compiler can, has told all it knows.
func (i *Instance) hint() string {
	if len(i.module.code.Metered.Moves) > 0 || i.module.imports("fd_write", wasiModule) || slices.ContainsFunc(i.session.log.last(), isPanic) {
		return ""
	}
	return "; a build with --debug tells the text of a panic and the line"
}
