// SPDX-License-Identifier: MIT

package worker

import "time"

// quota is the processor time that the stages of one answer may still use. They get a quarter of a core, averaged over a second. If
// they use more, they rest until it is made up for. All of this is real time, whatever clock the scheduler has.
type quota struct {
	left time.Duration
	at   time.Time // when that was so
}

const (
	quotaPart   = 0.25
	quotaPeriod = time.Second
	quotaMost   = time.Duration(quotaPart * float64(quotaPeriod))
)

func newQuota(now time.Time) quota { return quota{quotaMost, now} }

// spend takes used processor time from the quota and returns until when the stages must rest; zero: they need not.
func (q *quota) spend(used time.Duration, now time.Time) time.Time {
	earned := func(d time.Duration) time.Duration { return time.Duration(quotaPart * float64(d)) }
	q.left = min(q.left+earned(max(now.Sub(q.at)-used, 0)), quotaMost) + earned(used) - used // idle first, then at work
	q.at = now
	if q.left >= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(float64(-q.left) / quotaPart))
}
