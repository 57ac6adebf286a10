// SPDX-License-Identifier: MIT

package fuel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The function that a rewritten module imports. See Offer.
const (
	ImportModule = private + "meter"
	importRefill = "refill"
)

// Meter reaches the counters of one instance. It is as little safe for
// concurrent use as the instance is. Nothing allocates after NewMeter.
//
// The counter within the guest holds a slice of the fuel, the Meter the rest.
// When a slice is used up, the guest comes back to Go for the next: guest
// code cannot be preempted, and Go's garbage collector waits for it.
type Meter struct {
	fuel, stack api.MutableGlobal
	reserve     int64 // the part of the limit that was not handed out yet
	slice       int64
	sliceBegan  time.Time

	// Pause is called whenever a slice is used up, in the guest's goroutine,
	// which it may stop for a while. An error ends the call.
	Pause func() error
}

// Slices are sized by the time that the last one took. A guest may compute
// for a while, so that slices grow, and then miss the cache with every
// instruction: the longest slice takes 50 µs in the one case and 3 ms in the
// other.
const (
	firstSlice   = 20_000
	longestSlice = 100_000
	leastSlice   = 2_000
	sliceTime    = 100 * time.Microsecond
)

var errNotMetered = errors.New("the module was not rewritten")

// NewMeter looks up the counters of an instance of a rewritten module.
func NewMeter(instance api.Module) (*Meter, error) {
	fuel, ok := instance.ExportedGlobal(FuelExport).(api.MutableGlobal)
	stack, ok2 := instance.ExportedGlobal(StackExport).(api.MutableGlobal)
	if !ok || !ok2 {
		return nil, fmt.Errorf("no counters in %q: %w", instance.Name(), errNotMetered)
	}
	return &Meter{fuel: fuel, stack: stack, slice: firstSlice}, nil
}

type meterKey struct{}

// WithMeter is the context of calls of the instance that m belongs to. A call
// without it ends with its first slice.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// Offer makes what rewritten modules import known to a runtime.
func Offer(ctx context.Context, r wazero.Runtime) error {
	refill := api.GoFunc(func(ctx context.Context, stack []uint64) {
		m, ok := ctx.Value(meterKey{}).(*Meter)
		if !ok {
			panic(fmt.Errorf("called without its meter: %w", errNotMetered))
		}
		stack[0] = uint64(m.refill(int64(stack[0])))
	})
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := r.NewHostModuleBuilder(ImportModule).NewFunctionBuilder().WithGoFunction(refill, i64, i64).Export(importRefill).Instantiate(ctx)
	return err
}

// Fill sets what the call that begins now may use: fuel in units, stack in
// bytes.
func (m *Meter) Fill(fuel, stack int64, now time.Time) {
	m.reserve, m.sliceBegan = fuel, now
	m.fuel.Set(uint64(m.nextSlice()))
	m.stack.Set(uint64(stack))
}

// nextSlice takes the next slice from the reserve.
func (m *Meter) nextSlice() int64 {
	n := min(m.slice, m.reserve)
	m.reserve -= n
	return n
}

// refill hands the guest its next slice. left is the guest's counter, which is
// negative if the guest owes for what it is about to do.
func (m *Meter) refill(left int64) int64 {
	if int64(m.stack.Get()) < 0 {
		panic(ErrStack)
	}
	m.reserve += left
	m.fuel.Set(0)
	if m.reserve < 0 {
		panic(ErrFuel)
	}
	m.betweenSlices()
	return m.nextSlice()
}

// betweenSlices sizes the next slice and lets others run.
func (m *Meter) betweenSlices() {
	took := time.Since(m.sliceBegan)
	switch {
	case took > 2*sliceTime:
		m.slice = max(m.slice/4, leastSlice)
	case took < sliceTime:
		m.slice = min(m.slice*2, longestSlice)
	}
	if m.Pause != nil {
		if err := m.Pause(); err != nil {
			panic(err)
		}
	}
	m.sliceBegan = time.Now()
}

// Refuel adds fuel for a call that goes on after a wait, as far as what is left
// then does not exceed most. It returns how much it added.
func (m *Meter) Refuel(units, most int64) int64 {
	added := max(min(units, most-m.Left()), 0)
	m.reserve += added
	m.sliceBegan = time.Now()
	return added
}

// Left returns the fuel that is left in units; negative after exhaustion.
func (m *Meter) Left() int64 { return m.reserve + int64(m.fuel.Get()) }

// Charge takes units for a host function's work before it is done. It returns
// false when they are more than is left; the host function must then not work
// but panic, which ends the call. What is left is negative from then on.
func (m *Meter) Charge(units uint64) bool {
	if left := int64(m.fuel.Get()); left >= 0 && m.reserve >= 0 && units <= uint64(left) {
		m.fuel.Set(uint64(left) - units)
		return true
	}
	left := m.Left()
	m.fuel.Set(0)
	if left < 0 || units > math.MaxInt64 || int64(units) > left {
		m.reserve = -1
		return false
	}
	m.reserve = left - int64(units)
	m.betweenSlices()
	m.fuel.Set(uint64(m.nextSlice()))
	return true
}

// Err tells after a call whether it used more than it had: ErrStack, ErrFuel,
// or nil. What is left is not looked at after each instruction, so a call may
// also return with less than nothing.
func (m *Meter) Err() error {
	switch {
	case int64(m.stack.Get()) < 0:
		return ErrStack
	case m.Left() < 0:
		return ErrFuel
	default:
		return nil
	}
}

// SaveGlobals returns the values of the globals named in names, which are
// those of Module.Globals.
func SaveGlobals(instance api.Module, names []string) ([]uint64, error) {
	values := make([]uint64, len(names))
	for i, name := range names {
		g := instance.ExportedGlobal(name)
		if g == nil {
			return nil, fmt.Errorf("no global %q: %w", name, errNotMetered)
		}
		values[i] = g.Get()
	}
	return values, nil
}

// LoadGlobals sets in another instance of the same module what SaveGlobals
// returned.
func LoadGlobals(instance api.Module, names []string, values []uint64) error {
	for i, name := range names {
		g, ok := instance.ExportedGlobal(name).(api.MutableGlobal)
		if !ok || i >= len(values) {
			return fmt.Errorf("no mutable global %q: %w", name, errNotMetered)
		}
		g.Set(values[i])
	}
	return nil
}
