// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// TestScheduler_CacheSalt_PartsPrefixes: what one salt has left, running, idle or archived, is not
// there for another.
func TestScheduler_CacheSalt_PartsPrefixes(t *testing.T) {
	ask := func(salt string, seed int) scheduler.Request {
		r := request(300, seed, 10)
		r.CacheSalt = salt
		return r
	}
	b := schedulertest.New(scheduler.Limits{Cells: 1000, Context: 600})
	s := newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20})
	finish(t, s, submit(t, s, ask("a", 1)))
	for _, tc := range []struct {
		name string
		r    scheduler.Request
		want int
	}{
		{"idle, of another", ask("b", 1), 0},
		{"idle, of its own", ask("b", 1), 299},
		{"idle, of nobody", ask("", 1), 0},
		{"others take the cells", ask("c", 2), 0},
		{"and these", ask("c", 3), 0},
		{"archived, of another", ask("d", 1), 0},
		{"archived, of its own", ask("a", 1), 299},
	} {
		before := b.Tokens
		got := finish(t, s, submit(t, s, tc.r))[0]
		if cached := got.end.Usage.Cached; cached != tc.want {
			t.Errorf("%s: %d tokens found, want %d", tc.name, cached, tc.want)
		}
		if computed := b.Tokens - before; computed < 300-tc.want {
			t.Errorf("%s: %d tokens computed", tc.name, computed)
		}
	}
	if b.Restored == 0 {
		t.Error("nothing came back from the archive, so it was not tried")
	}
	both := finish(t, s, submit(t, s, ask("e", 4)), submit(t, s, ask("f", 4)))
	if slices.ContainsFunc(both, func(a received) bool { return a.end.Usage.Cached != 0 }) {
		t.Error("two salts at the same time shared a prompt")
	}
}
