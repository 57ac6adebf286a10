// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
)

// fillDetachable has a key begin answers that outlive their connections until no more are taken,
// and returns how many there are. None ends: the rig's gate must be shut, and its queue have room.
func fillDetachable(r *rig, key string) (begun int) {
	r.t.Helper()
	for {
		p := r.dial()
		if key != "" {
			p = r.dialAs(key)
		}
		refused := make(chan serverFrame, 1)
		go func() {
			for {
				_, data, err := p.conn.Read(context.Background())
				var f serverFrame
				if err != nil {
					return // it is closed below
				}
				if json.Unmarshal(data, &f) == nil && f.Type == "error" {
					refused <- f
					return
				}
			}
		}()
		for i := range 200 { // of a connection
			p.send(`{"type":"generate","id":"%d","detach_ms":60000,"request":{"prompt":"x","max_tokens":1}}`, i)
			select {
			case <-r.inner.submitted:
				begun++
			case f := <-refused:
				if f.Error.Code != "too_many_detachable" {
					r.t.Fatalf("got %+v", f)
				}
				p.conn.CloseNow() //nolint:errcheck // its answers stay
				return begun
			case <-time.After(patience):
				r.t.Fatal("an answer was neither begun nor refused")
			}
		}
		p.conn.CloseNow() //nolint:errcheck // its answers stay
	}
}

// TestSocket_Detachable_OfOneCaller: one client's answers that outlive their connections leave
// room for those of others, and once they have ended for its own.
func TestSocket_Detachable_OfOneCaller(t *testing.T) {
	g, l := newGate(), newLeases()
	r := newRig(t, func(s *setup) { g.on(s); s.queue, s.Keys, s.wrap = 4096, keys("", nil, "one", "two"), l.of })
	defer g.open()
	if n := fillDetachable(r, "one"); n < 100 || n > 1000 {
		t.Errorf("one client has %d", n)
	}
	two := r.dialAs("two")
	two.send(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x","max_tokens":1}}`)
	await(t, r.inner.submitted)
	g.open()
	two.until("end")
	two.conn.CloseNow() //nolint:errcheck // all was read
	l.awaitFree(t)
	one := r.dialAs("one")
	one.send(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x","max_tokens":1}}`)
	if f := one.next(); f.Type != "started" {
		t.Errorf("after all have ended: %+v", f)
	}
}

// leases are models that count who uses them.
type leases struct {
	servingtest.OneModel
	users   atomic.Int32
	changed chan struct{}
}

func newLeases() *leases { return &leases{changed: make(chan struct{}, 1)} }

func (l *leases) of(one servingtest.OneModel) serving.Models {
	l.OneModel = one
	return l
}

func (l *leases) Use(ctx context.Context, name string) (*serving.Model, func(), error) {
	m, release, err := l.OneModel.Use(ctx, name)
	l.users.Add(1)
	return m, func() {
		release()
		l.users.Add(-1)
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}, err
}

// awaitFree waits until nobody uses the model.
func (l *leases) awaitFree(t *testing.T) {
	t.Helper()
	for l.users.Load() > 0 {
		await(t, l.changed)
	}
}

// TestSocket_Detached_EndedHoldsNoModel: an answer that its client may come back to lets go of its
// model when it has ended, whether its client has read it or has gone, and can be had whole from
// then on.
func TestSocket_Detached_EndedHoldsNoModel(t *testing.T) {
	for _, options := range []string{"", `,"parts":true`} {
		for _, reads := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s reads %v", options, reads), func(t *testing.T) {
				l := newLeases()
				r := newRig(t, func(s *setup) { s.wrap = l.of })
				p := r.dial()
				p.send(`{"type":"generate","id":"a","detach_ms":600000%s,"request":{%s,"max_tokens":50,"logprobs":true,"top_logprobs":2,"trace":true}}`, options, hello)
				started := p.until("started")
				var whole strings.Builder
				if reads {
					for f := p.next(); f.Type != "end"; f = p.next() {
						whole.WriteString(f.Text)
					}
				}
				p.conn.CloseNow() //nolint:errcheck // that is the point
				l.awaitFree(t)
				for _, after := range []int{-1, 10, 50} {
					back := r.dial()
					back.send(`{"type":"attach","id":"b \"%d\"","stream":"%s","after":%d}`, after, started.Stream, after)
					var got, content strings.Builder
					want := uint64(after + 1)
					parts := 0
					for f := back.next(); ; f = back.next() {
						if f.ID != fmt.Sprintf(`b "%d"`, after) || f.Type == "error" {
							t.Fatalf("after %d: %+v", after, f)
						}
						if f.Type == "started" && (f.Stream != started.Stream || f.Model != "toy" || f.Prompt != started.Prompt || f.Seed != started.Seed) {
							t.Errorf("after %d: %+v, want %+v", after, f, started)
						}
						if f.Type == "parts" {
							if parts++; f.Reset != (parts == 1) {
								t.Errorf("after %d: parts %d have reset %v", after, parts, f.Reset)
							}
							content.WriteString(f.Content)
							continue
						}
						if f.Type == "end" {
							if f.Reason != "length" || f.Usage.Completion != 50 {
								t.Errorf("after %d: %+v", after, f)
							}
							break
						}
						if f.Seq != want || f.Type == "token" && (f.Logprobs == nil || f.Trace == nil) {
							t.Fatalf("after %d: %+v, want event %d", after, f, want)
						}
						got.WriteString(f.Text)
						want++
					}
					if after == -1 && !reads {
						whole.WriteString(got.String())
					}
					if after == -1 && got.String() != whole.String() || options != "" && content.String() != whole.String() || (parts > 0) != (options != "") {
						t.Errorf("after %d: %q, %d parts %q, want %q", after, got.String(), parts, content.String(), whole.String())
					}
					if most := 4 - after/16; parts > most { // the first have what the client has seen, and a little more
						t.Errorf("after %d: %d parts", after, parts)
					}
					back.send(`{"type":"attach","id":"c","stream":"%s","after":52}`, started.Stream)
					if f := back.next(); f.Error.Code != "events_gone" {
						t.Errorf("after more than there is: %+v", f)
					}
				}
				if n := l.users.Load(); n != 0 {
					t.Errorf("%d hold the model after clients came back", n)
				}
			})
		}
	}
}

// TestSocket_Detached_EndsWithoutReader: an answer whose client has gone before its end is kept
// when it ends, not when its time is up.
func TestSocket_Detached_EndsWithoutReader(t *testing.T) {
	g, l := newGate(), newLeases()
	r := newRig(t, func(s *setup) { g.on(s); s.wrap = l.of })
	p := r.dial()
	p.send(`{"type":"generate","id":"a","detach_ms":600000,"request":{"prompt":"x","max_tokens":20}}`)
	<-g.held
	p.conn.CloseNow() //nolint:errcheck // that is the point
	if n := l.users.Load(); n != 1 {
		t.Errorf("%d hold the model while the answer is computed", n)
	}
	g.open()
	r.outcome()
	l.awaitFree(t)
}
