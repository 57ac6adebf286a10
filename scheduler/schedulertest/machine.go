// SPDX-License-Identifier: MIT

package schedulertest

import (
	"time"

	"github.com/penstock/penstock/scheduler"
)

// Machine is a Backend with processors beside it, in a bubble of testing/synctest: a pass takes its
// cost of the bubble's time, and so do draws and plugins, which share the processors.
type Machine struct {
	*Backend
	Draw      time.Duration // of a native chain
	Computing time.Duration // that passes have taken so far

	processors chan struct{}
}

// NewMachine makes one with some processors.
func NewMachine(b *Backend, processors int) *Machine {
	return &Machine{Backend: b, processors: make(chan struct{}, processors)}
}

// Now is the bubble's time.
func (m *Machine) Now() time.Time { return time.Now() }

// Wait implements scheduler.Backend.
func (m *Machine) Wait() error {
	before := m.Backend.Now()
	err := m.Backend.Wait()
	cost := m.Backend.Now().Sub(before)
	m.Computing += cost
	time.Sleep(cost)
	return err
}

// SampleRows implements scheduler.Backend: the processors draw beside each other.
func (m *Machine) SampleRows(draws []scheduler.Draw) {
	m.Backend.SampleRows(draws)
	rounds := (len(draws) + cap(m.processors) - 1) / cap(m.processors)
	time.Sleep(time.Duration(rounds) * m.Draw)
}

// Work takes a processor for some time.
func (m *Machine) Work(d time.Duration) {
	m.processors <- struct{}{}
	time.Sleep(d)
	<-m.processors
}
