// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// liveModel is what a test reads of a model in a live frame.
type liveModel struct {
	Name, State string
	Slots       []struct {
		State, ID string
		WaitsFor  string `json:"waits_for"`
		Prompt    int    `json:"prompt_tokens"`
		Tokens    int    `json:"generated_tokens"`
	}
	Queue struct {
		Waiting int
		For     map[string]int
		Own     []struct {
			ID       string
			Place    int
			WaitsFor string `json:"waits_for"`
		}
	}
	Cells struct{ Total, Used, Cached int }
	Ticks struct{ Decode, Prefill []int }
}

// look reads the next live frame, and what it is as text.
func (p *peer) look() (liveModel, string) {
	p.t.Helper()
	for {
		ctx, stop := context.WithTimeout(context.Background(), patience)
		_, data, err := p.conn.Read(ctx)
		stop()
		var f struct {
			Type   string
			Models []liveModel
		}
		if err != nil || json.Unmarshal(data, &f) != nil {
			p.t.Fatalf("%v in %s", err, data)
		}
		if f.Type == "live" && len(f.Models) == 1 {
			return f.Models[0], string(data)
		}
	}
}

// Two connections see the same slots, each its own answers by its own names, and nothing of the
// other's but numbers.
func TestSocket_Watch_OwnAnswersByName(t *testing.T) {
	g := newGate()
	r := newRig(t, func(s *setup) { g.on(s); s.slots = 1 })
	mine, theirs := r.dial(), r.dial()
	started := mine.hold(r, g, "my-first", "")
	theirs.send(`{"type":"generate","id":"their-secret","request":{"prompt":"their question","max_tokens":8000}}`)
	stream := theirs.until("started").Stream
	theirs.send(`{"type":"pause","id":"their-secret"}`)
	await(t, r.inner.pausing)
	theirs.send(`{"type":"watch","every_ms":100}`)
	mine.send(`{"type":"watch","every_ms":100}`)
	for {
		seen, text := mine.look()
		for _, secret := range []string{"their-secret", "their question", stream, started.Stream} {
			if strings.Contains(text, secret) {
				t.Fatalf("%q is in %s", secret, text)
			}
		}
		if slot := seen.Slots[0]; len(seen.Slots) == 1 && slot.WaitsFor == "paused" && slot.ID == "" {
			q := seen.Queue
			if seen.Name != "toy" || seen.State != "loaded" || slot.State != "parked" || slot.Prompt != len("their question") || slot.Tokens == 0 ||
				q.Waiting != 1 || q.For["paused"] != 1 || len(q.Own) != 1 || q.Own[0].ID != "my-first" || q.Own[0].Place != 1 || q.Own[0].WaitsFor != "paused" ||
				seen.Cells.Total != 8192 || seen.Cells.Used < slot.Prompt+slot.Tokens-1 {
				t.Errorf("got %s", text)
			}
			break
		}
	}
	for {
		seen, text := theirs.look()
		if seen.Slots[0].WaitsFor != "paused" {
			continue
		}
		if seen.Slots[0].ID != "their-secret" || len(seen.Queue.Own) != 0 || strings.Contains(text, "my-first") || strings.Contains(text, stream) {
			t.Errorf("got %s", text)
		}
		break
	}
	theirs.send(`{"type":"cancel","id":"their-secret"}`)
	mine.send(`{"type":"cancel","id":"my-first"}`)
}

// A client that takes nothing for a while loses live frames and no token, and its answer's events
// are in order.
func TestSocket_Watch_SlowReaderLosesOnlyLiveFrames(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	p.send(`{"type":"watch","every_ms":100}`)
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":2000,"logprobs":5}}`)
	await(t, r.inner.submitted)
	for { // until the answer is parked, since its reader does not read
		snap := must.Get(r.scheduler.Inspect(t.Context(), 0))(t)
		if snap.Slots[0].Wait == "reader" {
			break
		}
	}
	for seq := uint64(0); ; {
		f := p.next()
		switch f.Type {
		case "token":
			if f.Seq <= seq {
				t.Fatalf("token %d after %d", f.Seq, seq)
			}
			seq = f.Seq
		case "end":
			if f.Usage.Completion != 2000 || seq != 2000 {
				t.Errorf("got %+v after %d", f, seq)
			}
			return
		case "live", "started":
		default:
			t.Fatalf("got %+v", f)
		}
	}
}

// A watch is no answer: it takes no name, and goes on beside others until it is ended.
func TestSocket_Watch_Ends(t *testing.T) {
	p := newRig(t, nil).dial()
	p.send(`{"type":"watch","every_ms":100}`)
	p.until("live")
	p.until("live")
	p.send(`{"type":"watch","every_ms":60}`)
	if f := p.until("error"); f.Frame != "watch" || f.Error.Code != "invalid_value" || f.Error.Param != "every_ms" {
		t.Errorf("got %+v", f)
	}
	p.until("live") // a refused one changes nothing
	p.send(`{"type":"watch","every_ms":0}`)
	p.send(`{"type":"authenticate"}`)
	p.until("authenticated")
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":2000}}`)
	for f := p.next(); f.Type != "end"; f = p.next() {
		if f.Type == "live" {
			t.Fatal("a live frame after the end of the watch")
		}
	}
}
