// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"time"

	"github.com/penstock/penstock/host/plugin"
)

// Call runs an export and returns its answer, which is 0 for one that has none. The error is a
// *plugin.Fault.
//
// Here the guest gets its fuel: a number of units for each call. Its own code charges what it does
// (package fuel), and so do host functions (charge.go).
func (i *Instance) Call(e Export, a, b int32) (int32, error) {
	h := &i.hooks[e]
	if h.function == nil {
		*h = hook{i.guest.ExportedFunction(exportNames[e]), i.module.Env.Observer.PluginCalls(i.module.label(), exportNames[e])}
	}
	limits := &i.module.Env.Limits
	units := limits.HookFuel
	switch {
	case e == Plan:
		units = limits.PlanFuel
	case e.setup():
		units = limits.SetupFuel
	case e == Run:
		units = min(units, limits.ProgramFuel)
	}
	i.running, i.fuelLimit = e, units
	if v := i.begin(); v != nil {
		i.end()
		return 0, i.Fail(e, v)
	}
	i.meter.Fill(units, limits.Stack, i.started)
	i.region.Forget()
	i.sizeBefore = len(i.Memory())
	i.stack[0], i.stack[1] = uint64(uint32(a)), uint64(uint32(b))
	i.emitted, i.emits, i.refusal = i.emitted[:0], false, i.refusal[:0]
	i.session.random.moveTo(len(i.session.History))
	watcher := i.session.Watcher
	if watcher != nil {
		watcher.Calling(e, a, b, &i.Buffers)
	}
	err := h.function.CallWithStack(&i.caller, i.stack[:])
	if err == nil {
		err = i.meter.Err() // its last instructions may have overdrawn it
	}
	i.end()
	h.took(time.Since(i.started))
	if err != nil {
		return 0, i.Fail(e, i.diagnose(err))
	}
	answer := int32(0)
	if i.module.answers[e] {
		answer = int32(uint32(i.stack[0]))
	}
	if watcher != nil {
		watcher.Answered(e, answer, &i.Buffers)
	}
	return answer, nil
}

// begin starts the clock of a call, and waits for a turn if it is a set-up call.
func (i *Instance) begin() *Violation {
	limits := &i.module.Env.Limits
	i.started, i.waited, i.rested = now(), 0, 0
	i.yieldedAt = i.started
	most := limits.HookTime
	switch {
	case i.session.request == nil:
		most = limits.LoadTime
	case i.running.setup():
		most = limits.SetupTime
	}
	i.deadline = i.started.Add(most)
	if all := i.session.SetupDeadline; !all.IsZero() && all.Before(i.deadline) {
		i.deadline = all
	}
	if !i.running.setup() {
		return nil
	}
	return i.takeSlice()
}

// epoch is any moment before the first call.
var epoch = time.Now()

// now is time.Now without a look at the wall clock, which would take as long again.
func now() time.Time { return epoch.Add(time.Since(epoch)) }

// end gives the call's turn back.
func (i *Instance) end() {
	i.giveSlice()
	i.running = none
}

// Fail makes the instance unusable, since an export's answer was wrong or a call of it failed, and
// returns the fault. Module.Faulted hears of it.
func (i *Instance) Fail(e Export, v *Violation) *plugin.Fault {
	i.unusable = true
	f := &plugin.Fault{Plugin: i.called(), Export: e.String(), Cause: v.cause, Detail: v.detail, Said: v.said, Log: i.session.log.last()}
	if w := i.session.Watcher; w != nil {
		w.Failed(f)
	}
	if !errors.Is(v.cause, plugin.CauseCancelled) {
		i.module.Env.Observer.PluginFault(i.module.label(), f.Kind())
		if i.session.request != nil && i.module.Faulted != nil {
			i.module.Faulted(f, i.session.request)
		}
	}
	return f
}

// called is the plugin's name in the request.
func (i *Instance) called() string {
	if r := i.session.request; r != nil && r.Name != "" {
		return r.Name
	}
	return i.module.Name
}

// Refusal is what a non-zero answer of a set-up call means.
func (i *Instance) Refusal(e Export) *plugin.Refusal {
	return &plugin.Refusal{Plugin: i.called(), Export: e.String(), Message: cleanText(i.refusal), Log: i.session.log.last()}
}
