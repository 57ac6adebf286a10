// SPDX-License-Identifier: MIT

package bench

import "time"

// record says what happened to one request.
type record struct {
	class   int
	sent    time.Time
	arrived []time.Time // of each piece of text
	ended   time.Time
	usage   Usage
	cut     bool  // the run ended before the answer did
	err     error // of a request that failed
}

// begun reports whether text has arrived.
func (r *record) begun() bool { return len(r.arrived) > 0 }

// window is the time that is measured: [from, to).
type window struct{ from, to time.Time }

func (w window) contains(t time.Time) bool { return !t.Before(w.from) && t.Before(w.to) }

func (w window) length() time.Duration { return w.to.Sub(w.from) }

// overlap is the part of [from, to) that lies in the window, from 0 to 1.
func (w window) overlap(from, to time.Time) float64 {
	whole := to.Sub(from)
	if whole <= 0 {
		if w.contains(from) {
			return 1
		}
		return 0
	}
	if from.Before(w.from) {
		from = w.from
	}
	if to.After(w.to) {
		to = w.to
	}
	return max(0, float64(to.Sub(from))/float64(whole))
}
