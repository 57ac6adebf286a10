// SPDX-License-Identifier: MIT

package plugin

import (
	"crypto/sha256"
	"math"
	"sync"
	"time"
)

// health counts a module's faults and lays them to what a client sent: nobody is refused for what others did. A new upload
// is a new module.
type health struct {
	mu     sync.Mutex
	total  int
	last   string
	blamed map[culprit]*record
}

// culprit is a client with one of its configurations, or with all of them where config is zero.
type culprit struct {
	client string
	config [sha256.Size]byte
}

// record is what a culprit did since the plugin last served it well.
type record struct {
	faults []time.Time   // of the last minute, at most as many as lead to a pause
	until  time.Time     // it waits; zero: it never had to
	pause  time.Duration // the last one
}

// A culprit waits firstPause, and twice as long each time it faults again, up to longestPause.
const (
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	mostBlamed   = 1000 // records; a client that makes up more takes only from itself and others like it
)

// Health is how a module has done since it was loaded or reset.
type Health struct {
	Faults      int
	LastFault   string
	Quarantined bool // for a client at least
}

// Health returns the state of the module.
func (m *Module) Health() Health {
	h := &m.health
	h.mu.Lock()
	defer h.mu.Unlock()
	now, quarantined := time.Now(), false
	for _, r := range h.blamed {
		quarantined = quarantined || r.until.After(now)
	}
	return Health{h.total, h.last, quarantined}
}

// Reset ends all quarantines and forgets the faults.
func (m *Module) Reset() {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	m.health.total, m.health.last, m.health.blamed = 0, "", nil
}

// culprits are who a fault of a request is laid to: none where the client is not known, or is not to wait.
func (r *Request) culprits() []culprit {
	if r.Client == "" {
		return nil
	}
	config := sha256.Sum256(r.Config)
	return []culprit{{r.Client, config}, {client: r.Client}}
}

// allow refuses a culprit that has to wait. The error is a *QuarantineError.
func (m *Module) allow(r *Request) error {
	h := &m.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.blamed) == 0 {
		return nil
	}
	wait := time.Duration(0)
	for _, c := range r.culprits() {
		if record := h.blamed[c]; record != nil {
			wait = max(wait, time.Until(record.until))
		}
	}
	if wait > 0 {
		return &QuarantineError{Plugin: m.Name, Wait: wait, Last: h.last}
	}
	return nil
}

// served tells that a request was served without a fault: what it sent is no culprit any more.
func (m *Module) served(r *Request) {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	if len(m.health.blamed) > 0 {
		for _, c := range r.culprits() {
			delete(m.health.blamed, c)
		}
	}
}

// faulted counts a fault of a request. A configuration is blamed for each of its faults, a client for each configuration.
func (m *Module) faulted(f *Fault, r *Request) {
	m.runtime.observer.PluginFault(m.Name, f.Kind())
	h := &m.health
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total++
	h.last = f.Error()
	if f.Blameless() {
		return
	}
	limit, now := m.runtime.limits.Faults, time.Now()
	for _, c := range r.culprits() {
		record := h.record(c, now)
		again := record.recent(now)
		if record.add(now, limit) {
			m.runtime.log.Warn("a plugin is in quarantine for a client after repeated faults; it ends by itself, or with a reset",
				"plugin", m.Name, "for", record.pause, "last", h.last)
		}
		if again {
			return // the client was blamed for this configuration
		}
	}
}

// record is a culprit's, made if need be. The caller holds mu.
func (h *health) record(c culprit, now time.Time) *record {
	if r := h.blamed[c]; r != nil {
		return r
	}
	if h.blamed == nil {
		h.blamed = map[culprit]*record{}
	}
	if len(h.blamed) >= mostBlamed {
		h.forget(now)
	}
	r := &record{}
	h.blamed[c] = r
	return r
}

// forget makes room: what has been quiet goes, or else any.
func (h *health) forget(now time.Time) {
	for c, r := range h.blamed {
		if r.until.Before(now) {
			delete(h.blamed, c)
		}
	}
	for c := range h.blamed {
		if len(h.blamed) < mostBlamed {
			return
		}
		delete(h.blamed, c)
	}
}

// recent tells whether there was a fault in the last minute, or a pause that is not long over.
func (r *record) recent(now time.Time) bool {
	for len(r.faults) > 0 && now.Sub(r.faults[0]) >= time.Minute {
		r.faults = r.faults[1:]
	}
	return len(r.faults) > 0 || now.Sub(r.until) <= longestPause
}

// add notes a fault and tells whether a pause begins with it.
func (r *record) add(now time.Time, limit int) bool {
	if now.Sub(r.until) > longestPause {
		r.pause = 0 // that was long ago
	}
	r.faults = append(r.faults, now)
	if r.until.After(now) || (r.pause == 0 && len(r.faults) < limit) {
		return false
	}
	r.pause = min(max(firstPause, 2*r.pause), longestPause)
	r.until = now.Add(r.pause)
	r.faults = r.faults[:0]
	return true
}

// QuarantineError refuses a request whose like has faulted too often. It wraps ErrQuarantined.
type QuarantineError struct {
	Plugin string
	Wait   time.Duration
	Last   string // the last fault
}

// Seconds is when to try again, rounded up.
func (e *QuarantineError) Seconds() int { return max(1, int(math.Ceil(e.Wait.Seconds()))) }
