// SPDX-License-Identifier: MIT

package plugin

import (
	"sync"
	"time"
)

// health counts a module's faults: too many in a minute put it into quarantine. A new upload is a new module.
type health struct {
	mu          sync.Mutex
	recent      []time.Time // of the last minute
	total       int
	last        string
	quarantined bool
}

// Health is how a module has done since it was loaded or reset.
type Health struct {
	Faults      int
	LastFault   string
	Quarantined bool
}

// Health returns the state of the module.
func (m *Module) Health() Health {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	return Health{m.health.total, m.health.last, m.health.quarantined}
}

// Reset ends a quarantine and forgets the faults.
func (m *Module) Reset() {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	m.health.recent, m.health.total, m.health.last, m.health.quarantined = nil, 0, "", false
}

// faulted counts a fault.
func (m *Module) faulted(f *Fault) {
	m.runtime.observer.PluginFault(m.Name, f.Kind())
	h := &m.health
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for len(h.recent) > 0 && now.Sub(h.recent[0]) >= time.Minute {
		h.recent = h.recent[1:]
	}
	h.total++
	h.last = f.Error()
	if f.Blameless() {
		return
	}
	h.recent = append(h.recent, now)
	if !h.quarantined && len(h.recent) >= m.runtime.limits.Faults {
		h.quarantined = true
		m.runtime.log.Warn("plugin quarantined after repeated faults; reset it or upload another", "plugin", m.Name, "last", h.last)
	}
}
