// SPDX-License-Identifier: MIT

package scheduler

import "time"

// times are the moments a request has reached; the others are zero.
type times struct {
	first, last time.Time // tokens
	submitted   time.Time
	admitted    time.Time // to a slot, for the first time
	row         time.Time // the first one that a program got: it may show its first token when all is computed
}

// timing splits a request's time at those moments.
func (t *times) timing(now time.Time) Timing {
	switch {
	case t.admitted.IsZero():
		return Timing{Queued: now.Sub(t.submitted)}
	case !t.row.IsZero():
		return Timing{Queued: t.admitted.Sub(t.submitted), Prefill: t.row.Sub(t.admitted), Decode: now.Sub(t.row)}
	case t.first.IsZero():
		return Timing{Queued: t.admitted.Sub(t.submitted), Prefill: now.Sub(t.admitted)}
	}
	return Timing{Queued: t.admitted.Sub(t.submitted), Prefill: t.first.Sub(t.admitted), Decode: now.Sub(t.first)}
}

// recordToken notes when a token came and reports the latency it had.
func (s *Scheduler) recordToken(j *job, now time.Time) {
	t := &j.times
	if t.first.IsZero() {
		t.first = now
		s.config.Observer.First(now.Sub(t.submitted))
	} else {
		s.config.Observer.Token(now.Sub(t.last))
	}
	t.last = now
	s.rates.shown++
}
