// SPDX-License-Identifier: MIT

package background

import (
	"testing"
	"time"
)

// However long each piece of work is, and however often it comes, a request uses a quarter of the
// time in the long run.
func TestQuota_Spend_AQuarterOfTheTime(t *testing.T) {
	for _, work := range []time.Duration{100 * time.Microsecond, 3 * time.Millisecond, 60 * time.Millisecond, 2 * time.Second} {
		start := time.Unix(0, 0)
		now, used := start, time.Duration(0)
		q := NewQuota(start)
		for now.Sub(start) < max(time.Minute, 300*work) {
			used += work
			if now = now.Add(work); q.Spend(work, now).After(now) {
				now = q.Spend(0, now)
			}
		}
		if part := used.Seconds() / now.Sub(start).Seconds(); part < 0.24 || part > 0.27 {
			t.Errorf("pieces of %v: %.3f of the time", work, part)
		}
	}
}

// Work that is far apart rests only where it is more than a second's quota, however long nothing
// was used.
func TestQuota_Spend_Bursts(t *testing.T) {
	now := time.Unix(0, 0)
	q := NewQuota(now)
	for range 100 {
		now = now.Add(time.Hour + 333*time.Millisecond)
		if rest := q.Spend(333*time.Millisecond, now); rest.After(now) {
			t.Fatalf("it rests for %v", rest.Sub(now))
		}
		now = now.Add(time.Hour + time.Second)
		if rest := q.Spend(time.Second, now); rest.Sub(now) != 2*time.Second {
			t.Fatalf("after a second of work it rests for %v", rest.Sub(now))
		}
	}
}
