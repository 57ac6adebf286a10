// SPDX-License-Identifier: MIT

package socket

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// beginNamed has a caller begin an answer, which is found by its name.
func (d *detachables) beginNamed(t *testing.T, caller, name string) *detachable {
	t.Helper()
	begun, err := d.begin(&API{}, &completion.Prompted{Asked: completion.Asked{Caller: completion.Caller{ID: caller}}}, time.Hour)
	if err != nil {
		return nil
	}
	begun.name = name
	d.add(begun)
	return begun
}

// sums checks that what is counted is what the answers count.
func (d *detachables) sums(t *testing.T) {
	t.Helper()
	callers := map[string]int64{}
	var total int64
	for _, each := range d.byStream {
		callers[each.caller.ID] += each.bytes
		total += each.bytes
	}
	if total != d.total || len(callers) != len(d.accounts) {
		t.Errorf("%d bytes of %d callers are counted, there are %d of %d", d.total, len(d.accounts), total, len(callers))
	}
	for caller, n := range callers {
		if d.accounts[caller].bytes != n {
			t.Errorf("%s: %d bytes are counted, there are %d", caller, d.accounts[caller].bytes, n)
		}
	}
}

func TestDetachables_ACallerHasItsOwnRoom(t *testing.T) {
	d := &detachables{mostOfCaller: 4 * runningBytes, mostOfAll: 10 * runningBytes}
	for i := range 5 {
		if one := d.beginNamed(t, "one", fmt.Sprint("one", i)); (one != nil) != (i < 4) {
			t.Errorf("answer %d of one: %v", i, one)
		}
	}
	two := d.beginNamed(t, "two", "two")
	if two == nil {
		t.Fatal("one has left no room for two")
	}
	d.remove(two)
	d.remove(two)
	if d.find("two") != nil {
		t.Error("it is found when it is gone")
	}
	d.sums(t)
	if n := d.total; n != 4*runningBytes {
		t.Errorf("%d bytes", n)
	}
}

// What has ended makes room for what begins: of the caller's own the one that was left first,
// unless somebody reads it; and where all have too much, of the caller who has most.
func TestDetachables_EndedOnesMakeRoom(t *testing.T) {
	d := &detachables{mostOfCaller: 4 * runningBytes, mostOfAll: 6 * runningBytes}
	ended := func(caller, name string) *detachable {
		a := d.beginNamed(t, caller, name)
		d.left(a)
		if !d.keep(a, &kept{bytes: runningBytes - keptBytes}) {
			t.Fatalf("%s is not kept", name)
		}
		return a
	}
	read := ended("one", "read")
	ended("one", "first")
	ended("one", "second")
	ended("two", "other")
	if !d.take(read) || d.take(&detachable{removed: true}) {
		t.Error("one that is there is read again, and one that is gone is not")
	}
	for _, name := range []string{"a", "b"} { // the first has room
		if d.beginNamed(t, "one", name) == nil {
			t.Errorf("%s has no room", name)
		}
	}
	if d.find("first") != nil || d.find("second") == nil || d.find("read") == nil || d.find("other") == nil {
		t.Error("not the one that was left first made room")
	}
	d.left(read)
	d.beginNamed(t, "three", "c") // all that there is
	if d.beginNamed(t, "three", "d") == nil || d.find("second") != nil || d.find("other") == nil {
		t.Error("not the caller who has most makes room for others")
	}
	d.sums(t)
	for _, each := range d.byStream {
		if each.expiry != nil {
			each.expiry.Stop()
		}
	}
}

// forgetful is a stream that notes whether it is to forget.
type forgetful struct {
	still
	forgot bool
}

func (f *forgetful) Forget() { f.forgot = true }

// An answer whose events take too much is not kept any more: it holds no memory but its stream's,
// and nobody can come back to it.
func TestDetachable_Noted_IsBounded(t *testing.T) {
	d := &detachables{mostOfCaller: runningBytes + 64<<10}
	a := d.beginNamed(t, "one", "a")
	st := &forgetful{}
	a.stream = st
	text := strings.Repeat("x", 1000)
	for seq := range uint64(200) {
		a.noted(scheduler.Event{Seq: seq, Kind: scheduler.KindToken, Text: text})
		a.noted(scheduler.Event{Seq: seq / 2, Kind: scheduler.KindToken, Text: text}) // which a client that came back is told again
		if d.total > d.mostOfCaller {
			t.Fatalf("after event %d: %d bytes", seq, d.total)
		}
		if kept := seq < 55; kept && st.forgot || seq > 65 && !st.forgot {
			t.Fatalf("after event %d of 1 KB: forgot %v", seq, st.forgot)
		}
	}
	if !a.forgot.Load() || d.find("a") != nil || d.total != 0 {
		t.Errorf("forgot %v, found %v, %d bytes", a.forgot.Load(), d.find("a"), d.total)
	}
}

// What nobody has read of an answer counts, too, as much as it may be.
func TestUnreadBytes_CoverEvents(t *testing.T) {
	plain := sampling.Default()
	traced := plain
	traced.Trace = true
	best := chain.Survey{Best: make([]chain.Score, completion.MaxTraced)}
	stages := len(plain.Chain) + 1 // and what draws
	trace := &chain.Trace{Before: best, Prepared: make([]chain.PreparedTrace, stages), Accepted: make([]chain.Timed, stages)}
	for range stages {
		trace.Stages = append(trace.Stages, chain.StageTrace{After: best})
	}
	for name, tc := range map[string]struct {
		request completion.Prompted
		event   scheduler.Event
	}{
		"plain":             {completion.Prompted{Params: plain, Asked: completion.Asked{Answers: completion.Answers{Logprobs: -1}}}, scheduler.Event{Text: " word"}},
		"log-probabilities": {completion.Prompted{Params: plain, Asked: completion.Asked{Answers: completion.Answers{Logprobs: 20}}}, scheduler.Event{Text: " word", Logprobs: &chain.Logprobs{Top: make([]chain.Candidate, 20)}}},
		"traced":            {completion.Prompted{Params: traced, Asked: completion.Asked{Answers: completion.Answers{Logprobs: -1}}}, scheduler.Event{Text: " word", Trace: trace}},
	} {
		took := completion.KeptBuffer * bytesOf(tc.event)
		counts := runningBytes + unreadBytes(&tc.request)
		if took > counts || 4*took < counts {
			t.Errorf("%s: %d bytes are counted, %d may be taken", name, counts, took)
		}
	}
}

func TestKeptFrame_Named(t *testing.T) {
	k := &kept{}
	for _, frame := range []any{tokenFrame{Type: "token", Seq: 3, Text: `"id":""`}, startedFrame{Type: "started", Stream: `"id":""`}, endFrame{Type: "end"}, partsFrame{Type: "parts"}} {
		if err := k.add(3, frame); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{`{"type":"token","id":"a\"\u003c","seq":3,"text":"\"id\":\"\""`, `{"type":"started","id":"a\"\u003c","stream":"\"id\"`, `{"type":"end","id":"a\"\u003c",`, `{"type":"parts","id":"a\"\u003c"`} {
		if got := string(k.frames[i].named(`a"<`)); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
