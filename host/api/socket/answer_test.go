// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
)

// obedient is a stream that does what it is told, whenever that is.
type obedient struct{ serving.Stream }

func (obedient) Pause(context.Context) error                     { return nil }
func (obedient) Resume(context.Context) error                    { return nil }
func (obedient) Inject(context.Context, []scheduler.Token) error { return nil }
func (obedient) Rewind(context.Context, int) error               { return nil }

// A pause may succeed just before the answer ends. Its id may have begun another answer when the
// client is told of the end, so nothing is told after that.
func TestAnswer_Steer_NoStateAfterTheEnd(t *testing.T) {
	k := &connection{ctx: t.Context(), out: make(chan any, 9), answers: map[string]*answer{}}
	m := &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}}
	a := &answer{connection: k, id: "a", reading: t.Context(), stream: obedient{}, choice: &completion.Choice{Request: submitted(t, m)},
		detachable: &detachable{}, after: -1}
	a.detachable.reader = a
	steer := func(verb string) {
		t.Helper()
		if err := a.steer(clientFrame{Type: verb}); err != nil {
			t.Error(err)
		}
	}
	steer("pause")
	if !a.sendEvent(t.Context(), scheduler.Event{Kind: scheduler.KindEnd, End: &scheduler.End{}}) {
		t.Error("the end was not sent")
	}
	steer("resume")
	steer("pause")
	var got []string
	for len(k.out) > 0 {
		switch f := (<-k.out).(type) {
		case stateFrame:
			got = append(got, f.Type)
		case endFrame:
			got = append(got, f.Type)
		}
	}
	if diff := cmp.Diff([]string{"paused", "end"}, got); diff != "" {
		t.Error(diff)
	}
	if a.detachable.paused.Load() {
		t.Error("a client that comes back is told that the answer, which has ended, is paused")
	}
}

// A pause may succeed just after another connection has taken the answer over: that one is told.
func TestAnswer_Steer_WhoReadsIsTold(t *testing.T) {
	old := &connection{ctx: t.Context(), out: make(chan any, 1)}
	fresh := &connection{ctx: t.Context(), out: make(chan any, 1)}
	d := &detachable{}
	a := &answer{connection: old, id: "a", reading: t.Context(), stream: obedient{}, detachable: d}
	d.reader = &answer{connection: fresh, id: "b", reading: t.Context(), stream: obedient{}, detachable: d}
	if err := a.steer(clientFrame{Type: "pause"}); err != nil {
		t.Error(err)
	}
	if len(old.out) != 0 || len(fresh.out) != 1 || <-fresh.out != any(stateFrame{Type: "paused", ID: "b"}) || !d.paused.Load() {
		t.Error("the pause was told to the connection that has lost the answer")
	}
}
