// SPDX-License-Identifier: MIT

package worker

import "time"

// quota is what the stages of one request may still use of the processor. They have a quarter of a core, averaged over a
// second; what they use beyond that they wait off. All of this is real time, whatever clock the scheduler has.
type quota struct {
	left time.Duration
	at   time.Time // when left was right
}

const (
	quotaPart   = 0.25
	quotaPeriod = time.Second
	quotaMost   = time.Duration(quotaPart * float64(quotaPeriod))
)

func newQuota(now time.Time) quota { return quota{quotaMost, now} }

// spend takes used processor time from the quota and returns until when the stages must rest, which may be over already.
func (q *quota) spend(used time.Duration, now time.Time) time.Time {
	earned := func(d time.Duration) time.Duration { return time.Duration(quotaPart * float64(d)) }
	q.left = min(q.left+earned(max(now.Sub(q.at)-used, 0)), quotaMost) + earned(used) - used // idle first, then at work
	q.at = now
	if q.left >= 0 {
		return now
	}
	return now.Add(time.Duration(float64(-q.left) / quotaPart))
}
