// SPDX-License-Identifier: MIT

package background

import "time"

// Quota is the processor time that is left to the stages of one answer. They get a quarter of a
// core, averaged over a second. If they use more, they rest until it is made up for. All of this
// is real time, whatever clock the scheduler has.
type Quota struct {
	left time.Duration
	at   time.Time // when that was so
}

const (
	quotaPart   = 0.25
	quotaPeriod = time.Second
	quotaMost   = time.Duration(quotaPart * float64(quotaPeriod))
)

// NewQuota is one of which nothing is spent.
func NewQuota(now time.Time) Quota { return Quota{quotaMost, now} }

// Spend takes used processor time from the quota and returns until when the stages must rest;
// zero: they need not.
func (q *Quota) Spend(used time.Duration, now time.Time) time.Time {
	earned := func(d time.Duration) time.Duration { return time.Duration(quotaPart * float64(d)) }
	q.left = min(q.left+earned(max(now.Sub(q.at)-used, 0)), quotaMost) + earned(used) - used // idle first, then at work
	q.at = now
	if q.left >= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(float64(-q.left) / quotaPart))
}
