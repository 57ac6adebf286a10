// SPDX-License-Identifier: MIT

package scheduler

import "time"

// share is what the stages of one request may still use of the processor. They have a quarter of a core, averaged over a
// second; what they use beyond that they wait off. All of this is real time, whatever clock the scheduler has.
type share struct {
	left time.Duration
	at   time.Time // when left was right
}

const (
	sharePart  = 0.25
	shareBurst = time.Second
	shareMost  = time.Duration(sharePart * float64(shareBurst))
)

func newShare(now time.Time) share { return share{shareMost, now} }

// spend takes used processor time from the share and returns until when the stages must rest, which may be over already.
func (s *share) spend(used time.Duration, now time.Time) time.Time {
	earned := func(d time.Duration) time.Duration { return time.Duration(sharePart * float64(d)) }
	s.left = min(s.left+earned(max(now.Sub(s.at)-used, 0)), shareMost) + earned(used) - used // idle first, then at work
	s.at = now
	if s.left >= 0 {
		return now
	}
	return now.Add(time.Duration(float64(-s.left) / sharePart))
}
