// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/plugin/memory"
)

// instance is a module's instance at the service of one session. Calls must not overlap. After a fault only close is
// left: a guest that trapped has a corrupt stack.
type instance struct {
	module  *Module
	session *session
	guest   api.Module
	region  *memory.Region
	meter   *fuel.Meter

	functions [hooks]api.Function // resolved at the first call: looking one up is slow
	stack     [2]uint64           // parameters and result of every call
	caller    caller

	running  hook
	started  time.Time
	until    time.Time     // the call must be over
	held     time.Time     // since when it is this instance's turn; zero: it has none
	yielded  time.Time     // when others were last let run
	waited   time.Duration // of the call
	given    int64         // fuel of the last call
	buffers  buffers
	emitted  []byte
	refusal  []byte // what fail was given
	grammars []Grammar
	clock    uint64 // of WASI, in ns
	dead     bool
}

// caller is the context of all calls: host functions find their instance in it without a search.
type caller struct {
	context.Context
	instance *instance
}

// call runs an export and returns its answer, which is 0 for one that has none. The error is a *Fault.
func (i *instance) call(h hook, a, b int32) (int32, error) {
	f := i.functions[h]
	if f == nil {
		f = i.guest.ExportedFunction(hookNames[h])
		i.functions[h] = f
	}
	limits := &i.module.runtime.limits
	units := limits.HookFuel
	if h.setup() {
		units = limits.SetupFuel
	}
	i.running, i.given = h, units
	if v := i.start(); v != nil {
		i.stop()
		return 0, i.fault(h, v)
	}
	i.meter.Fill(units, limits.Stack)
	i.stack[0], i.stack[1] = uint64(uint32(a)), uint64(uint32(b))
	i.emitted, i.refusal = i.emitted[:0], i.refusal[:0]
	i.session.random.at(len(i.session.history))
	err := f.CallWithStack(&i.caller, i.stack[:])
	if err == nil {
		err = i.meter.Fault() // by its last instructions
	}
	i.stop()
	i.module.runtime.observer.PluginCall(i.module.Name, hookNames[h], time.Since(i.started))
	if err != nil {
		return 0, i.fault(h, i.diagnose(err))
	}
	if !i.module.answers[h] {
		return 0, nil
	}
	return int32(uint32(i.stack[0])), nil
}

// fault ends the instance's use and reports why.
func (i *instance) fault(h hook, v *violation) *Fault {
	i.dead = true
	f := &Fault{Plugin: i.module.Name, Export: h.String(), Cause: v.cause, Detail: v.detail, Log: i.session.capture.last()}
	if !errors.Is(v.cause, CauseCancelled) {
		i.module.faulted(f, &i.session.request)
	}
	return f
}

// refuse is what a non-zero answer of a set-up call means.
func (i *instance) refuse(h hook) error {
	return &Refusal{Plugin: i.module.Name, Export: h.String(), Message: cleanText(i.refusal), Log: i.session.capture.last()}
}

// work is a pause before a host function does something that takes longer than its fuel may tell.
func (i *instance) work() {
	if err := i.pause(); err != nil {
		panic(err)
	}
}

// pay takes fuel for the work of a host function or ends the call.
func (i *instance) pay(units uint64) {
	if !i.meter.Charge(units) {
		panic(wrong(CauseFuel, "in a host function"))
	}
}

// charge pays for n bytes.
func (i *instance) charge(n int) { i.pay(uint64(n) / 16) }

// memory returns n bytes of guest memory from ptr on, or ends the call.
func (i *instance) memory(ptr, n uint64) []byte {
	all := i.region.Bytes()
	if size := uint64(len(all)); n > size || ptr > size-n {
		panic(wrong(CauseMemory, "%d bytes at %d, the memory has %d", n, ptr, size))
	}
	return all[ptr : ptr+n : ptr+n]
}

// close gives everything back. The guest is told unless it faulted or never began.
func (i *instance) close(tell bool) error {
	if tell && !i.dead && i.module.exports(hookClose) {
		// A fault of the last call concerns no request any more; it was counted.
		_, _ = i.call(hookClose, 0, 0)
	}
	i.dead = true
	for _, g := range i.grammars {
		_ = g.Close() // a grammar has nothing to report that anyone could use
	}
	i.grammars = nil
	i.buffers = buffers{}
	return i.guest.Close(context.Background())
}
