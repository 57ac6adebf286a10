// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"testing"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/completion/completiontest"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// still is a stream without events.
type still struct{ completion.Stream }

func (still) ID() string { return "still" }
func (still) Cancel()    {}

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
		var frame clientFrame
		err := wire.Decode(data, &frame)
		if err == nil {
			m := &completion.Model{Info: completiontest.Info(), Engine: completiontest.Toy{}, Scheduler: refusing{}}
			a := &API{Server: &wire.Server{Service: completion.NewService(completiontest.OneModel{Model: m})}}
			k := &connection{api: a, allow: anybody, ctx: t.Context(), out: make(chan any, 1), answers: map[string]*answer{}}
			r := &completion.Request{Model: m, Params: sampling.Default()}
			k.answers["live"] = &answer{connection: k, id: "live", reading: t.Context(), stream: obedient{still{}}, choice: &completion.Choice{Request: r}}
			err = k.dispatch(frame)
			if k.unwatch != nil {
				k.unwatch()
				k.watcher.Wait()
			}
		}
		if err == nil {
			return
		}
		if e := completion.AsError(err, "prompt"); e.Status < 400 || e.Status > 499 {
			t.Errorf("status %d: %v", e.Status, err)
		}
	})
}

// refusing is a scheduler that takes nothing.
type refusing struct{ completion.Scheduler }

func (refusing) SubmitBuilt(int, func() ([]scheduler.Request, error)) ([]completion.Stream, error) {
	return nil, scheduler.ErrQueueFull
}

func (refusing) Inspect(context.Context, int) (scheduler.Snapshot, error) {
	return scheduler.Snapshot{}, scheduler.ErrClosed
}
