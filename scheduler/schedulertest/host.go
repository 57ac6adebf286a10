// SPDX-License-Identifier: MIT

package schedulertest

import (
	"time"

	"github.com/penstock/penstock/scheduler"
)

// Host is a Backend with processors beside it, in a bubble of testing/synctest: a pass takes its
// cost of the bubble's time, and so do draws and plugins, which share the processors.
type Host struct {
	*Backend
	Draw      time.Duration // of a native chain
	Computing time.Duration // that passes have taken so far

	processors chan struct{}
}

// NewHost makes one with some processors.
func NewHost(b *Backend, processors int) *Host {
	return &Host{Backend: b, processors: make(chan struct{}, processors)}
}

// Now is the bubble's time.
func (h *Host) Now() time.Time { return time.Now() }

// Wait implements scheduler.Backend.
func (h *Host) Wait() error {
	before := h.Backend.Now()
	err := h.Backend.Wait()
	cost := h.Backend.Now().Sub(before)
	h.Computing += cost
	time.Sleep(cost)
	return err
}

// SampleRows implements scheduler.Backend: the processors draw beside each other.
func (h *Host) SampleRows(draws []scheduler.Draw) {
	h.Backend.SampleRows(draws)
	rounds := (len(draws) + cap(h.processors) - 1) / cap(h.processors)
	time.Sleep(time.Duration(rounds) * h.Draw)
}

// Work takes a processor for some time.
func (h *Host) Work(d time.Duration) {
	h.processors <- struct{}{}
	time.Sleep(d)
	<-h.processors
}
