// SPDX-License-Identifier: MIT

package background

import (
	"slices"
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

func TestPatience_After_WaitsEverMoreSeldomForOneThatIsLate(t *testing.T) {
	var p Patience
	var waited []int
	draw := func(n int, inTime bool) {
		if p.none == 0 {
			waited = append(waited, n)
		}
		p.After(inTime)
	}
	for n := range 200 {
		draw(n, false)
	}
	if want := []int{0, 2, 6, 14, 30, 62, 126, 190}; !slices.Equal(waited, want) {
		t.Errorf("it is always late and waited for at %v, want %v", waited, want)
	}
	waited = nil
	draw(0, true)
	for n := range 4 {
		draw(n+1, n > 0)
	}
	if want := []int{1, 3, 4}; !slices.Equal(waited, want) { // 0 was one of those without a wait
		t.Errorf("late but once it is waited for at %v, want %v", waited, want)
	}
}
