// SPDX-License-Identifier: MIT

package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// FuzzSocket_Session plays a script of frames on one connection: each answer begins at most once,
// its events follow each other without a gap, what is taken back was there, it ends exactly once,
// and the connection is of use after all.
func FuzzSocket_Session(f *testing.F) {
	f.Add([]byte{0, 10, 10, 0, 3, 0, 7, 5, 4, 0, 8, 1, 2, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		s := &session{peer: newRig(t, nil).dial(), answers: map[string]*heard{}}
		for i := 0; i+1 < len(script) && i < 80; i += 2 {
			s.play(script[i], int(script[i+1]))
		}
		for _, id := range s.ids {
			s.send(`{"type":"cancel","id":%q}`, id)
		}
		s.settle()
		for slices.ContainsFunc(s.ids, func(id string) bool { return !s.answers[id].over() }) {
			s.hear(s.next())
		}
		s.send(`{"type":"generate","id":"last","request":{"prompt":"x","max_tokens":2}}`)
		if end := s.until("end"); end.ID != "last" || end.Reason != "length" {
			t.Errorf("got %+v", end)
		}
	})
}

// session is a client that knows what it has heard.
type session struct {
	*peer
	ids     []string // of all answers that were asked for, each of its own
	answers map[string]*heard
}

// heard is what came of one answer.
type heard struct {
	refused, started, ended bool
	seq                     uint64
	text                    string
}

func (h *heard) over() bool { return h.refused || h.ended }

// fresh is the id of a new answer.
func (s *session) fresh() string {
	id := fmt.Sprint(len(s.ids))
	s.ids = append(s.ids, id)
	s.answers[id] = &heard{}
	return id
}

// play sends the frame that two bytes of a script mean: what to do, and with what number.
func (s *session) play(verb byte, n int) {
	id := "nobody"
	if len(s.ids) > 0 {
		id = s.ids[n%len(s.ids)]
	}
	switch verb % 11 {
	case 0, 1:
		s.send(`{"type":"generate","id":%q,"parts":%v,"request":{"prompt":%q,"max_tokens":%d,"stop":["\u00%02x"]}}`, s.fresh(), n%2 == 0, strings.Repeat("x", 1+n%7), 1+2*n, n/2)
	case 2:
		s.send(`{"type":"cancel","id":%q}`, id)
	case 3:
		s.send(`{"type":"pause","id":%q}`, id)
	case 4:
		s.send(`{"type":"resume","id":%q}`, id)
	case 5:
		s.send(`{"type":"set","id":%q,"sampling":{"temperature":%d}}`, id, n%4-1)
	case 6:
		s.send(`{"type":"inject","id":%q,"text":%q}`, id, strings.Repeat("y", n%5))
	case 7:
		s.send(`{"type":"rewind","id":%q,"tokens":%d}`, id, n/8-2)
	case 8:
		s.send(`{"type":"fork","id":%q,"as":%q,"parts":%v,"sampling":{"seed":%d}}`, id, s.fresh(), n%3 == 0, n)
	case 9:
		s.send("%s", []string{`{"type":"generate"}`, `[]`, `{"type":"fork","id":"0"}`, `{"type":7}`, "\x00"}[n%5])
	default:
		s.settle()
	}
}

// settle waits until all frames before were acted on.
func (s *session) settle() {
	s.send(`{"type":"authenticate","key":"any"}`)
	for {
		f := s.next()
		if f.Type == "authenticated" {
			return
		}
		s.hear(f)
	}
}

// hear checks a frame against those before it.
func (s *session) hear(f serverFrame) {
	s.t.Helper()
	h := s.answers[f.ID]
	switch {
	case f.Type == "error":
		s.hearError(f)
		return
	case h == nil || h.over():
		s.t.Fatalf("of an answer that is over or unknown: %+v", f)
	}
	switch f.Type {
	case "started":
		if h.started {
			s.t.Fatalf("started twice: %+v", f)
		}
		h.started = true
	case "token":
		if f.Seq != h.seq+1 || !h.started {
			s.t.Fatalf("after event %d, started %v: %+v", h.seq, h.started, f)
		}
		h.seq, h.text = f.Seq, h.text+f.Text
	case "rewound":
		if f.Seq != h.seq+1 || !strings.HasSuffix(h.text, f.Removed) {
			s.t.Fatalf("after event %d and %q: %+v", h.seq, h.text, f)
		}
		h.seq, h.text = f.Seq, strings.TrimSuffix(h.text, f.Removed)
	case "end":
		h.ended = true
		if f.Reason == "error" {
			s.t.Fatalf("failed: %+v", f)
		}
	case "parts", "paused", "resumed":
	default:
		s.t.Fatalf("unknown: %+v", f)
	}
}

// hearError notes an answer that was not begun.
func (s *session) hearError(f serverFrame) {
	s.t.Helper()
	if f.Error.Code == "" || f.Error.Code == "internal_error" {
		s.t.Fatalf("got %+v", f)
	}
	id := f.ID
	switch f.Frame {
	case "fork":
		id = f.As
	case "generate":
	default:
		return
	}
	if h := s.answers[id]; h != nil {
		if h.started {
			s.t.Fatalf("refused after its begin: %+v", f)
		}
		h.refused = true
	}
}
