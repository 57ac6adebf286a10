// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"testing"

	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	answers "github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// obedient is a stream without events that does what it is told.
type obedient struct{ serving.Stream }

func (obedient) ID() string                                      { return "obedient" }
func (obedient) Cancel()                                         {}
func (obedient) Done() <-chan struct{}                           { return nil }
func (obedient) Pause(context.Context) error                     { return nil }
func (obedient) Resume(context.Context) error                    { return nil }
func (obedient) Inject(context.Context, []scheduler.Token) error { return nil }
func (obedient) Rewind(context.Context, int) error               { return nil }
func (obedient) SetChain(context.Context, []chain.Stage) error   { return nil }

func (obedient) Next(ctx context.Context) (scheduler.Event, error) {
	<-ctx.Done()
	return scheduler.Event{}, ctx.Err()
}

func (obedient) Conversation(context.Context) (prompt []scheduler.Token, answered answers.Begun, err error) {
	return nil, answers.Begun{}, scheduler.ErrEnded
}

// A frame is refused as the client's mistake, or acted on.
func FuzzFrames(f *testing.F) {
	for _, frame := range []string{
		`{"type":"generate","id":"a","request":{"prompt":"x"},"detach_ms":5}`, `{"type":"generate","id":"a","parts":true,"request":{"prompt":"x"}}`, `{"type":"fork","id":"live","as":"b","parts":true}`, `{"type":"generate","id":"b","request":{"messages":[{"role":"user","content":"x"}]}}`,
		`{"type":"set","id":"live","sampling":{"temperature":1}}`, `{"type":"inject","id":"live","text":"x"}`,
		`{"type":"rewind","id":"live","tokens":3}`, `{"type":"attach","id":"c","stream":"s","after":-1}`, `{"type":"cancel","id":"live"}`, `[]`,
		`{"type":"pause","id":"live"}`, `{"type":"resume","id":"live"}`, `{"type":"authenticate","key":"x"}`,
		`{"type":"watch","every_ms":100}`, `{"type":"watch","every_ms":0}`, `{"type":"watch"}`, `{"type":"watch","every_ms":-9223372036854775808}`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		k, s := connect(t.Context(), obedient{})
		s.takes <- true
		k.handle([]byte(`{"type":"generate","id":"live","request":{"prompt":"x"}}`), func() {})
		k.lanes.Wait()
		live := k.byID["live"]
		defer live.reader.Leave()
		k.out = make(chan any, 2) // what the frame does, and why it is refused
		released := 0
		k.handle(data, func() { released++ })
		k.lanes.Wait()
		k.watch.stop()
		k.watch.running.Wait()
		if released != 1 {
			t.Errorf("the frame's memory was given back %d times", released)
		}
		for len(k.out) > 0 {
			if f, ok := (<-k.out).(errorFrame); ok && (f.Error.Type == "server_error" || f.Error.Type == "unavailable_error") {
				t.Errorf("%+v", f)
			}
		}
	})
}
