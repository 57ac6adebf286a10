// SPDX-License-Identifier: MIT

// Package quarantine decides which clients of a plugin wait after repeated faults.
//
// A fault is blamed on what the client sent: nobody is refused for what others did. One
// configuration that faults leaves the client's other configurations alone; several of them do
// not.
package quarantine

import (
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"github.com/penstock/penstock/host/plugin"
)

// Quarantine counts the faults of one plugin by who sent the request. It is safe for concurrent
// use. A new upload is a new plugin.
type Quarantine struct {
	plugin string
	limit  int // faults a minute
	log    *slog.Logger

	mu      sync.Mutex
	total   int
	last    string
	lastAt  time.Time
	records map[sender]*record
}

// New begins a plugin's without any faults. limit is how many in a minute lead to quarantine.
func New(plugin string, limit int, log *slog.Logger) *Quarantine {
	return &Quarantine{plugin: plugin, limit: limit, log: log}
}

// sender is a client with one of its configurations, or with all of them where config is zero.
type sender struct {
	client string
	config [sha256.Size]byte
}

// record is what a sender did since the plugin last served it well.
type record struct {
	last   string        // fault
	faults []time.Time   // of the last minute, at most as many as lead to a pause
	until  time.Time     // it waits; zero: it never had to
	pause  time.Duration // the last one
}

// A sender waits firstPause, and twice as long each time it faults again, up to longestPause.
const (
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	mostRecords  = 1000 // a client that makes up more senders takes only from itself and others like it
)

// Health tells of a plugin's faults since it was loaded or reset.
type Health struct {
	Faults      int
	LastFault   string
	FaultedAt   time.Time // the last one; zero: none
	Quarantined bool      // for a client at least
}

// Health returns the plugin's faults since it was loaded or reset.
func (q *Quarantine) Health() Health {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, quarantined := time.Now(), false
	for _, r := range q.records {
		quarantined = quarantined || r.until.After(now)
	}
	return Health{q.total, q.last, q.lastAt, quarantined}
}

// Reset ends all pauses and forgets the faults.
func (q *Quarantine) Reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total, q.last, q.lastAt, q.records = 0, "", time.Time{}, nil
}

// senders returns who is blamed for a fault of a request: nobody if the client is not known or did
// not choose the plugin.
func senders(r *plugin.RequestInfo) []sender {
	if r.Client == "" || r.Attached {
		return nil
	}
	return []sender{{r.Client, sha256.Sum256(r.Config)}, {client: r.Client}}
}

// Check refuses a request whose sender has to wait. The error is a *plugin.QuarantineError.
func (q *Quarantine) Check(r *plugin.RequestInfo) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.records) == 0 {
		return nil
	}
	wait, last := time.Duration(0), ""
	for _, s := range senders(r) {
		if record := q.records[s]; record != nil && time.Until(record.until) > wait {
			wait, last = time.Until(record.until), record.last
		}
	}
	if wait > 0 {
		return &plugin.QuarantineError{Plugin: q.plugin, Wait: wait, Last: last}
	}
	return nil
}

// Served forgives the sender of a request that was served without a fault.
func (q *Quarantine) Served(r *plugin.RequestInfo) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.records) > 0 {
		for _, s := range senders(r) {
			delete(q.records, s)
		}
	}
}

// Faulted counts a fault of a request. Each fault counts against the configuration it happened
// with, and the first with each configuration against the client.
func (q *Quarantine) Faulted(f *plugin.Fault, r *plugin.RequestInfo) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total++
	now := time.Now()
	told := *f
	told.Plugin = q.plugin // others read it, and what a request calls a script is its client's word
	q.last, q.lastAt = told.Error(), now
	if f.Blameless() || f.Reported() {
		return
	}
	for _, s := range senders(r) {
		record := q.record(s, now)
		record.last = f.Error()
		again := record.recent(now)
		if record.add(now, q.limit) {
			q.log.Warn("a plugin is in quarantine for a client after repeated faults; it ends by itself, or with a reset",
				"plugin", q.plugin, "for", record.pause, "last", q.last)
		}
		if again {
			return // it counts against the client already
		}
	}
}

// record returns a sender's record, and makes one if there is none. The caller holds mu.
func (q *Quarantine) record(s sender, now time.Time) *record {
	if r := q.records[s]; r != nil {
		return r
	}
	if q.records == nil {
		q.records = map[sender]*record{}
	}
	if len(q.records) >= mostRecords {
		q.forget(now)
	}
	r := &record{}
	q.records[s] = r
	return r
}

// forget makes room: it removes senders that need not wait, or else any.
func (q *Quarantine) forget(now time.Time) {
	for s, r := range q.records {
		if r.until.Before(now) {
			delete(q.records, s)
		}
	}
	for s := range q.records {
		if len(q.records) < mostRecords {
			return
		}
		delete(q.records, s)
	}
}

// recent reports whether there was a fault in the last minute, or a pause that is not long over.
func (r *record) recent(now time.Time) bool {
	for len(r.faults) > 0 && now.Sub(r.faults[0]) >= time.Minute {
		r.faults = r.faults[1:]
	}
	return len(r.faults) > 0 || now.Sub(r.until) <= longestPause
}

// add notes a fault and reports whether a pause begins with it.
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
