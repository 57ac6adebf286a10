// SPDX-License-Identifier: MIT

package residency

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// A rest comes once after the last request and after an unloading, not between requests, and not
// for a closed set.
func TestSet_Rest(t *testing.T) {
	rests := 0
	o := Options[*fake]{Rest: func() { rests++ }}
	with(t, o, func(t *testing.T, s *Set[*fake], _ *fakes) {
		after := func(pause time.Duration, want int) {
			t.Helper()
			time.Sleep(pause)
			synctest.Wait()
			if rests != want {
				t.Errorf("%d rests, want %d", rests, want)
			}
		}
		release := use(t, s, "a")
		after(time.Hour, 0)
		release()
		after(restAfter/2, 0)
		release = use(t, s, "a")
		after(time.Hour, 0)
		release()
		after(time.Hour, 1)
		must.Do(t, s.Unload("a"))
		after(time.Hour, 2)
		use(t, s, "b")()
		s.Stop()
		after(time.Hour, 2)
	})
}
