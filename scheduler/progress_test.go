// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

func TestScheduler_Progress_TellsOfEachChunk(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{Batch: 16}), scheduler.Config{Slots: 1})
		r := request(40, 1, 2)
		r.Progress = wanted
		var got []int
		for _, e := range finish(t, s, submit(t, s, r))[0].events {
			if e.Kind == scheduler.KindProgress {
				got = append(got, e.Computed)
			}
		}
		want := []int{16, 32, 40}
		if !wanted {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asked for %v: %s", wanted, diff)
		}
	}
}

// The token that ended an answer is told with the end.
func TestScheduler_End_TellsTheToken(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	b.End = 23
	s := newScheduler(t, b, scheduler.Config{})
	r := request(20, 1, 0)
	r.Logprobs = 1
	a := finish(t, s, submit(t, s, r))[0]
	if e := a.end.EndToken; a.end.Reason != answer.ReasonStop || e == nil || e.Token != schedulertest.EndToken || e.Logprobs == nil {
		t.Errorf("%+v", a.end)
	}
	if a := finish(t, s, submit(t, s, request(2, 1, 3)))[0]; a.end.EndToken != nil {
		t.Errorf("an answer that ended for its length: %+v", a.end)
	}
}
