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

// Patience is whether the tick waits for a background sampler that draws. Each wait in vain makes
// it give up for more of the next draws: 1, 3, 7, and so on. A draw that is done in time, waited
// for or not, ends that.
type Patience struct {
	vain int // waits in vain, one after another
	none int // draws for which it does not wait now
}

// mostVain bounds the draws without a wait: after the last of 63, a plugin that has become fast is
// found out.
const mostVain = 6

// Awaited reports whether the tick waits for the next draw.
func (p *Patience) Awaited() bool { return p.none == 0 }

// After notes whether a draw was done in time.
func (p *Patience) After(inTime bool) {
	switch {
	case inTime:
		*p = Patience{}
	case p.none > 0:
		p.none--
	default:
		p.vain = min(p.vain+1, mostVain)
		p.none = 1<<p.vain - 1
	}
}
