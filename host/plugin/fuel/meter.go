// SPDX-License-Identifier: MIT

package fuel

import (
	"errors"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero/api"
)

// Meter reaches the counters of one instance. It is as little safe for
// concurrent use as the instance is. Nothing allocates after NewMeter.
type Meter struct {
	fuel, stack api.MutableGlobal
}

var errNotMetered = errors.New("the module was not rewritten")

// NewMeter looks up the counters of an instance of a rewritten module.
func NewMeter(instance api.Module) (*Meter, error) {
	fuel, ok := instance.ExportedGlobal(FuelExport).(api.MutableGlobal)
	stack, ok2 := instance.ExportedGlobal(StackExport).(api.MutableGlobal)
	if !ok || !ok2 {
		return nil, fmt.Errorf("no counters in %q: %w", instance.Name(), errNotMetered)
	}
	return &Meter{fuel: fuel, stack: stack}, nil
}

// Fill sets what the next call may use: fuel in units, stack in bytes.
func (m *Meter) Fill(fuel, stack int64) {
	m.fuel.Set(uint64(fuel))
	m.stack.Set(uint64(stack))
}

// Left returns the fuel that is left in units; negative after exhaustion.
func (m *Meter) Left() int64 { return int64(m.fuel.Get()) }

// Charge takes units for a host function's work before it is done. It returns
// false when they are more than is left; the host function must then not work
// but panic, which ends the call. The counter is negative from then on.
func (m *Meter) Charge(units uint64) bool {
	left := m.Left()
	if left < 0 || units > math.MaxInt64 || int64(units) > left {
		m.fuel.Set(math.MaxUint64) // −1
		return false
	}
	m.fuel.Set(uint64(left - int64(units)))
	return true
}

// ChargeBytes is Charge at the rate of bulk operations, a unit for 16 bytes.
func (m *Meter) ChargeBytes(n uint64) bool { return m.Charge(n / 16) }

// Fault tells after a trap whether a counter caused it: ErrStack, ErrFuel, or
// nil where the guest trapped by itself.
func (m *Meter) Fault() error {
	switch {
	case int64(m.stack.Get()) < 0:
		return ErrStack
	case m.Left() < 0:
		return ErrFuel
	default:
		return nil
	}
}
