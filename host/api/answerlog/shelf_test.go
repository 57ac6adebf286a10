// SPDX-License-Identifier: MIT

package answerlog

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// still is a stream without events.
type still struct{ serving.Stream }

func (still) ID() string            { return "still" }
func (still) Cancel()               {}
func (still) Done() <-chan struct{} { return nil }

func newReader(id string) *Reader {
	return &Reader{ID: id, Wake: func() {}}
}

// beginNamed has a caller begin an answer, which is found by its name; nil if there is no room.
func (s *Shelf) beginNamed(caller, name string) *Log {
	l := newLog(s, newReader("a"), completion.Caller{ID: caller}, Options{Stay: time.Hour})
	l.reader.log.Store(l)
	l.cancel, l.source = func() {}, &source{stream: still{}}
	if s.reserve(l, &completion.Prompted{Asked: completion.Asked{Caller: l.caller}}) != nil {
		return nil
	}
	l.name = name
	s.put(l)
	return l
}

// has reports whether a log is found by its name.
func (s *Shelf) has(name string) bool {
	l, _ := s.find(name, completion.Caller{ID: "one"})
	m, _ := s.find(name, completion.Caller{ID: "two"})
	return l != nil || m != nil
}

// sums checks that what is counted is what the logs count.
func (s *Shelf) sums(t *testing.T) {
	t.Helper()
	callers := map[string]int64{}
	var total int64
	for _, each := range s.byStream {
		callers[each.caller.ID] += each.bytes
		total += each.bytes
	}
	if total != s.total || len(callers) != len(s.accounts) {
		t.Errorf("%d bytes of %d callers are counted, there are %d of %d", s.total, len(s.accounts), total, len(callers))
	}
	for caller, n := range callers {
		if s.accounts[caller].bytes != n {
			t.Errorf("%s: %d bytes are counted, there are %d", caller, s.accounts[caller].bytes, n)
		}
	}
}

func TestShelf_ACallerHasItsOwnRoom(t *testing.T) {
	s := &Shelf{mostOfCaller: 4 * runningBytes, mostOfAll: 10 * runningBytes}
	for i := range 5 {
		if one := s.beginNamed("one", fmt.Sprint("one", i)); (one != nil) != (i < 4) {
			t.Errorf("answer %d of one: %v", i, one)
		}
	}
	two := s.beginNamed("two", "two")
	if two == nil {
		t.Fatal("one has left no room for two")
	}
	s.remove(two)
	s.remove(two)
	if s.has("two") {
		t.Error("it is found when it is gone")
	}
	s.sums(t)
	if n := s.total; n != 4*runningBytes {
		t.Errorf("%d bytes", n)
	}
}

// What has ended makes room for what begins: of the caller's own the one that was left first,
// unless somebody reads it; and where all have too much, of the caller who has most.
func TestShelf_EndedOnesMakeRoom(t *testing.T) {
	s := &Shelf{mostOfCaller: 4 * runningBytes, mostOfAll: 6 * runningBytes}
	ended := func(caller, name string) *Log {
		l := s.beginNamed(caller, name)
		l.reader.Leave()
		if !l.write(t.Context(), frame{size: runningBytes - endedBytes}, true) || !l.kept {
			t.Fatalf("%s is not kept", name)
		}
		return l
	}
	read := ended("one", "read")
	ended("one", "first")
	ended("one", "second")
	ended("two", "other")
	if !s.take(read) || s.take(&Log{shelved: shelved{gone: true}}) {
		t.Error("one that is there is read again, and one that is gone is not")
	}
	for _, name := range []string{"a", "b"} { // the first has room
		if s.beginNamed("one", name) == nil {
			t.Errorf("%s has no room", name)
		}
	}
	if s.has("first") || !s.has("second") || !s.has("read") || !s.has("other") {
		t.Error("not the one that was left first made room")
	}
	s.startStay(read, true)
	s.beginNamed("three", "c") // all that there is
	if s.beginNamed("three", "d") == nil || s.has("second") || !s.has("other") {
		t.Error("not the caller who has most makes room for others")
	}
	s.sums(t)
	for _, each := range s.byStream {
		s.remove(each)
	}
}

// What nobody has read in a stream counts, too, as much as it may be.
func TestUnreadBytes_CoverEvents(t *testing.T) {
	plain := sampling.Default()
	traced := plain
	traced.Trace = true
	best := 16 * completion.MaxTraced // bytes of the candidates that a survey tells
	stages := len(plain.Chain) + 1    // and what draws
	for name, tc := range map[string]struct {
		request completion.Prompted
		bytes   int64 // of the largest event
	}{
		"plain":             {completion.Prompted{Params: plain, Asked: completion.Asked{Answers: completion.Answers{Logprobs: -1}}}, 45},
		"log-probabilities": {completion.Prompted{Params: plain, Asked: completion.Asked{Answers: completion.Answers{Logprobs: 20}}}, 45 + 64 + 8*20},
		"traced":            {completion.Prompted{Params: traced, Asked: completion.Asked{Answers: completion.Answers{Logprobs: -1}}}, int64(45 + 256 + best + stages*(64+32+96+best))},
	} {
		took := scheduler.DefaultBuffer * tc.bytes
		counts := runningBytes + unreadBytes(&tc.request)
		if took > counts || name == "traced" && 4*took < counts {
			t.Errorf("%s: %d bytes are counted, %d may be taken", name, counts, took)
		}
	}
}
