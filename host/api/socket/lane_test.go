// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/api/answerlog"
	"github.com/penstock/penstock/scheduler"
	answers "github.com/penstock/penstock/scheduler/answer"
)

// noting is a stream that notes what it is told, each time after the last is let go on.
type noting struct {
	obedient
	told *[]string
	goOn chan struct{}
}

func (n noting) note(what string) error {
	*n.told = append(*n.told, what)
	<-n.goOn
	return nil
}

func (n noting) Cancel()                                         { _ = n.note("cancel") }
func (n noting) Pause(context.Context) error                     { return n.note("pause") }
func (n noting) Resume(context.Context) error                    { return n.note("resume") }
func (n noting) Inject(context.Context, []scheduler.Token) error { return n.note("inject") }
func (n noting) Rewind(context.Context, int) error               { return n.note("rewind") }

func (n noting) Conversation(context.Context) (prompt []scheduler.Token, answered answers.Begun, err error) {
	return []scheduler.Token{1}, answers.Begun{}, n.note("fork")
}

// laneTest has a connection with an answer "a" that is being prepared, until the test says whether
// it is begun.
func laneTest(t *testing.T, test func(k *connection, begun chan<- bool, stream noting)) {
	synctest.Test(t, func(t *testing.T) {
		stream := noting{told: &[]string{}, goOn: make(chan struct{})}
		k, s := connect(t.Context(), stream)
		k.out = make(chan any, 1000)
		k.handleAll(`{"type":"generate","id":"a","request":{"prompt":"x"}}`)
		a := k.byID["a"]
		test(k, s.takes, stream)
		k.lanes.Wait()
		if len(k.incoming.room) != 0 || len(a.lane.room) != 0 {
			t.Errorf("%d goroutines and %d frames still have room", len(k.incoming.room), len(a.lane.room))
		}
		close(stream.goOn)
		a.reader.Leave()
	})
}

func (k *connection) handleAll(frames ...string) {
	for _, f := range frames {
		k.handle([]byte(f), func() {})
	}
}

// Frames for an answer are acted on in their order, the fork of it too, and the reader waits for
// none of them.
func TestAnswer_InTurn_InOrder(t *testing.T) {
	laneTest(t, func(k *connection, begun chan<- bool, stream noting) {
		k.handleAll(`{"type":"inject","id":"a","text":"x"}`, `{"type":"fork","id":"a","as":"b"}`, `{"type":"rewind","id":"a","tokens":1}`)
		synctest.Wait()
		if len(*stream.told) != 0 {
			t.Errorf("acted on before it was ready: %v", *stream.told)
		}
		begun <- true
		synctest.Wait()
		k.handleAll(`{"type":"pause","id":"a"}`, `{"type":"cancel","id":"a"}`)
		want := []string{"inject", "fork", "rewind", "pause", "cancel"}
		for i := range want {
			synctest.Wait()
			if diff := cmp.Diff(want[:i+1], *stream.told); diff != "" {
				t.Errorf("after %d: %s", i, diff)
			}
			stream.goOn <- struct{}{}
		}
	})
}

// A fork that is cancelled while it waits for its turn is told so at once, and holds up nothing.
func TestConnection_Fork_CancelledBeforeItsTurn(t *testing.T) {
	laneTest(t, func(k *connection, begun chan<- bool, stream noting) {
		k.handleAll(`{"type":"fork","id":"a","as":"b"}`, `{"type":"pause","id":"a"}`, `{"type":"cancel","id":"b"}`)
		synctest.Wait()
		if len(k.out) != 1 {
			t.Fatalf("%d frames", len(k.out))
		}
		if f, ok := (<-k.out).(answerlog.EndFrame); !ok || f.ID != "b" || f.Reason != "cancelled" {
			t.Errorf("got %+v", f)
		}
		begun <- true
		stream.goOn <- struct{}{}
		if diff := cmp.Diff([]string{"pause"}, *stream.told); diff != "" {
			t.Error(diff)
		}
	})
}

// What waits for an answer that is not begun is refused, and so is a fork of it.
func TestAnswer_InTurn_OfAnAnswerThatIsNotBegun(t *testing.T) {
	laneTest(t, func(k *connection, begun chan<- bool, stream noting) {
		k.handleAll(`{"type":"inject","id":"a","text":"x"}`, `{"type":"fork","id":"a","as":"b"}`)
		begun <- false
		synctest.Wait()
		if len(*stream.told) != 0 || len(k.out) != 3 {
			t.Fatalf("told %v, and %d frames", *stream.told, len(k.out))
		}
		if f, ok := (<-k.out).(errorFrame); !ok || f.Frame != "generate" {
			t.Errorf("got %+v", f)
		}
		for range 2 {
			if f, ok := (<-k.out).(errorFrame); !ok || f.Error.Code != "unknown_id" {
				t.Errorf("got %+v", f)
			}
		}
	})
}

// The reader waits where a client sends frames for a running answer faster than they can be acted
// on.
func TestAnswer_InTurn_IsBounded(t *testing.T) {
	laneTest(t, func(k *connection, begun chan<- bool, stream noting) {
		begun <- true
		synctest.Wait()
		read := 0
		go func() {
			for range 3 * maxWaiting {
				k.handleAll(`{"type":"pause","id":"a"}`)
				read++
			}
		}()
		for acted := range 3 * maxWaiting {
			synctest.Wait()
			if want := min(acted+maxWaiting, 3*maxWaiting); read != want {
				t.Errorf("%d frames are read, and %d acted on", read, acted)
			}
			stream.goOn <- struct{}{}
		}
	})
}
