// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/plugin/memory"
	"github.com/penstock/penstock/host/turns"
)

// Instance is a module's instance at the service of one session. Calls must not overlap. After a
// fault only Close is left: a guest that trapped has a corrupt stack.
type Instance struct {
	Buffers Buffers // parts of its memory that the guest bound in open

	module  *Module
	session *Session
	guest   api.Module
	region  *memory.Region
	meter   *fuel.Meter

	hooks  [exports]hook // resolved at the first call: looking one up is slow
	stack  [2]uint64     // parameters and result of every call
	caller caller
	call   call // the guest's call of a host function

	hold     int           // how many tokens it may take back in this request
	declined [exports]bool // exports that the guest has declined in this request

	running       Export
	started       time.Time
	deadline      time.Time     // of the call
	slice         *turns.Turn   // nil: it has no time slice
	sliceSince    time.Time     // when it got the time slice
	yieldedAt     time.Time     // when others were last let run
	thread        int           // that it was resumed on then
	threadTime    time.Duration // and what that had used of a processor
	waited        time.Duration // of the call, for time slices
	rested        time.Duration // of the call, between them
	fuelLimit     int64         // fuel of the last call
	emitted       []byte
	emits         bool   // the last call has called emit
	refusal       []byte // what fail was given
	grammars      []plugin.Grammar
	grammarReason string    // why the last one was refused; empty if it was not
	branches      *branches // of a program; nil: it is none, or does not run
	clock         uint64    // of WASI, in ns
	sizeBefore    int       // of its memory in bytes, when the call began
	unusable      bool
}

// hook is an export, and the observer of its calls' times.
type hook struct {
	function api.Function
	took     func(time.Duration)
}

// caller is the context of all calls: host functions find their instance in it without a search.
type caller struct {
	context.Context
	instance *Instance
}

// NewInstance makes an instance that Open can be called on.
func (m *Module) NewInstance(ctx context.Context, s *Session) (*Instance, error) {
	i, err := m.instantiate(ctx, s)
	if err != nil {
		return nil, err
	}
	if m.image == nil {
		err = i.initializeAndWarm()
	} else {
		err = i.restore(m.image)
	}
	if err != nil {
		_ = i.Close(false) // the reason is in err
		return nil, err
	}
	return i, nil
}

// instantiate makes an instance that has run nothing yet.
func (m *Module) instantiate(ctx context.Context, s *Session) (_ *Instance, err error) {
	region, err := memory.New(uint64(m.code.Metered.MemoryPages)<<16, m.account(s))
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", m.Name, err)
	}
	i := &Instance{module: m, session: s, region: region, hold: m.Hold}
	defer func() {
		if p := recover(); p != nil { // without memory, wazero panics instead of returning an error
			err = i.memoryError(p)
		}
		if err != nil {
			region.Free()
		}
	}()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	i.guest, err = m.code.Runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, region), m.code.Compiled, config)
	if err != nil { // a data or element segment that does not fit
		return nil, fmt.Errorf("%w: plugin %s cannot be instantiated: %w", plugin.ErrNotWasm, m.Name, err)
	}
	if i.meter, err = fuel.NewMeter(i.guest); err != nil {
		_ = i.guest.Close(ctx)
		return nil, fmt.Errorf("plugin %s: %w", m.Name, err)
	}
	i.meter.Pause = i.pause
	i.caller = caller{fuel.WithMeter(context.Background(), i.meter), i}
	return i, nil
}

// memoryError tells why an instance got no memory.
func (i *Instance) memoryError(why any) error {
	if i.region.Refused() {
		return i.Fail(Open, i.exceeded())
	}
	return fmt.Errorf("%w: plugin %s: no memory for an instance: %v", plugin.ErrLimit, i.module.Name, why)
}

// initializeAndWarm runs the instance's initialisation and its warm. Without a model there is
// nothing to warm for.
func (i *Instance) initializeAndWarm() error {
	if err := i.initialize(); err != nil {
		return err
	}
	if !i.module.Has(Warm) || !i.module.Env.HasModel() {
		return nil
	}
	if answer, err := i.Call(Warm, 0, 0); err != nil {
		return err
	} else if answer != 0 {
		return i.Refusal(Warm)
	}
	return nil
}

// initialize runs what a module wants to run before anything else.
func (i *Instance) initialize() error {
	for _, e := range []Export{Start, Initialize} {
		if i.module.Has(e) {
			if _, err := i.Call(e, 0, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// Has reports whether an export is to be called: the module has it, and the guest has not declined
// it.
func (i *Instance) Has(e Export) bool { return i.module.Has(e) && !i.declined[e] }

// Declined lists the exports that the module has and the guest has declined.
func (i *Instance) Declined() (list []string) {
	for e := range exports {
		if i.declined[e] && i.module.Has(e) {
			list = append(list, exportNames[e])
		}
	}
	return list
}

// Hold returns how many tokens the guest may take back in its request.
func (i *Instance) Hold() int { return i.hold }

// Memory returns all of the guest's memory. A call may grow it; it never moves.
func (i *Instance) Memory() []byte { return i.region.Bytes() }

// Emits reports whether the last call has called emit, be it with an empty text.
func (i *Instance) Emits() bool { return i.emits }

// Emitted returns the text that the last call handed to emit.
func (i *Instance) Emitted() string { return cleanText(i.emitted) }

// Fuel tells what the last call used of its fuel, in units.
func (i *Instance) Fuel() (used, limit int64) { return i.fuelLimit - i.meter.Left(), i.fuelLimit }

// Close frees the instance. With tell, penstock_close is called first, unless the guest faulted.
func (i *Instance) Close(tell bool) error {
	if tell && !i.unusable && i.Has(Close) {
		// A fault of the last call concerns no request any more; it was counted.
		_, _ = i.Call(Close, 0, 0)
	}
	i.unusable = true
	for _, g := range i.grammars {
		_ = g.Close() // a grammar has nothing to report that anyone could use
	}
	i.grammars = nil
	i.Buffers = Buffers{}
	return i.guest.Close(context.Background())
}

// Call runs an export and returns its answer, which is 0 for one that has none. The error is a
// *plugin.Fault.
//
// Here the guest gets its fuel: a number of units for each call. Its own code charges what it does
// (package fuel), and so do host functions (hostcall.go).
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
	if v := i.startCall(); v != nil {
		i.endCall()
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
	i.endCall()
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

// startCall starts the clock of a call. A set-up call waits for its time slice first.
func (i *Instance) startCall() *Violation {
	limits := &i.module.Env.Limits
	i.started, i.waited, i.rested = monotonicNow(), 0, 0
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
	v := i.takeSlice()
	i.resume(time.Now())
	return v
}

// epoch is any moment before the first call.
var epoch = time.Now()

// monotonicNow is time.Now without reading the wall clock, which would double its cost.
func monotonicNow() time.Time { return epoch.Add(time.Since(epoch)) }

// endCall gives the call's time slice back.
func (i *Instance) endCall() {
	i.giveSlice()
	i.running = none
}

// Fail makes the instance unusable after an export's answer was wrong or its call failed. It
// returns the fault and reports it to Module.Faulted.
func (i *Instance) Fail(e Export, v *Violation) *plugin.Fault {
	i.unusable = true
	f := &plugin.Fault{Plugin: i.pluginName(), Export: e.String(), Cause: v.cause, Detail: v.detail, Said: v.said, Log: i.session.log.last()}
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

// pluginName is the plugin's name in the request.
func (i *Instance) pluginName() string {
	if r := i.session.request; r != nil && r.Name != "" {
		return r.Name
	}
	return i.module.Name
}

// Refusal returns the refusal that a non-zero answer of a set-up call means.
func (i *Instance) Refusal(e Export) *plugin.Refusal {
	return &plugin.Refusal{Plugin: i.pluginName(), Export: e.String(), Message: cleanText(i.refusal), Log: i.session.log.last()}
}
