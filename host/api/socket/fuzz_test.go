// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"testing"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	answers "github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// still is a stream without events.
type still struct{ serving.Stream }

func (still) ID() string { return "still" }
func (still) Cancel()    {}

func (still) SetChain(context.Context, []chain.Stage) error { return nil }

func (still) Conversation(context.Context) (prompt []scheduler.Token, answered answers.Begun, err error) {
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
		m := &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}, Scheduler: servingtest.NoScheduler{}}
		k := newConnection(t.Context(), &API{Server: &wire.Server{Service: completion.NewService(servingtest.OneModel{Model: m})}})
		k.allow, k.out = anybody, make(chan any, 2) // what the frame does, and why it is refused
		a := &answer{connection: k, id: "live", lane: lane{room: make(chan struct{}, 1)}, ready: make(chan struct{}), begun: true, reading: t.Context(),
			stream: obedient{still{}}, choice: &completion.Choice{Request: submitted(t, m)}}
		close(a.ready)
		k.answers["live"] = a
		released := 0
		k.handle(data, func() { released++ })
		k.forwarding.Wait()
		k.lanes.Wait()
		if k.unwatch != nil {
			k.unwatch()
			k.watcher.Wait()
		}
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
