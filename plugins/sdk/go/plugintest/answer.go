// SPDX-License-Identifier: MIT

package plugintest

import (
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/accept"
	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/stop"
)

// Accept appends a token to the history and tells the plugin, if it accepts. If the answer is accept.Splice, it takes back
// and inserts what the plugin asks for; the inserted tokens are accepted as well. History is what came of it.
func (s *Session) Accept(t penstock.Token) accept.Answer {
	s.t.Helper()
	done := call{Export: "penstock_accept", Token: t}
	answer := s.accept(t)
	if answer == accept.Splice {
		done.Backtrack, done.Tokens = s.splice()
		s.History = s.History[:len(s.History)-done.Backtrack]
		for _, t := range done.Tokens {
			if s.accept(t) == accept.Splice {
				s.t.Fatal("a splice in answer to a token that was spliced itself")
			}
		}
	}
	done.Answer = int32(answer)
	s.note(done)
	return answer
}

func (s *Session) accept(t penstock.Token) accept.Answer {
	s.t.Helper()
	s.History = append(s.History, t)
	if guest.Accept == nil {
		return accept.Continue
	}
	answer := accept.Answer(s.call(with(guest.Accept, t)))
	if answer < accept.Continue || answer > accept.Splice {
		s.t.Fatalf("accept answered %d", answer)
	}
	return answer
}

// splice reads what the plugin wants taken back and inserted.
func (s *Session) splice() (backtrack int, tokens []penstock.Token) {
	s.t.Helper()
	w := numbers[uint32](s.bound(abi.BufferSplice))
	generated, hold := len(s.History)-len(s.Prompt), penstock.Registered().Hold
	if int(w[1]) > len(w)-2 || int(w[0]) > min(generated, hold) {
		s.t.Fatalf("a splice of %d tokens that takes %d back: it has room for %d, hold is %d and %d were generated", w[1], w[0], len(w)-2, hold, generated)
	}
	for _, t := range w[2 : 2+w[1]] {
		tokens = append(tokens, penstock.Token(t))
	}
	return int(w[0]), tokens
}

// Rewind takes tokens back, as another plugin or a user would: n are left, prompt included. A plugin that accepts but does not
// rewind is opened anew, and told all tokens again.
func (s *Session) Rewind(n int) {
	s.t.Helper()
	s.History = s.History[:n]
	switch {
	case guest.Rewind != nil:
		if s.call(with(guest.Rewind, int32(n))) != 0 {
			s.t.Fatalf("rewind to %d tokens: %s", n, s.refusal)
		}
	case guest.Accept != nil:
		generated := slices.Clone(s.History[len(s.Prompt):])
		s.History = s.History[:len(s.Prompt)]
		if err := s.open(); err != nil {
			s.t.Fatal(err)
		}
		for _, t := range generated {
			s.accept(t)
		}
	}
	s.note(call{Export: "penstock_rewind", Token: int32(n)})
}

// Stop shows the plugin new text.
func (s *Session) Stop(t penstock.Token, text string) stop.Answer {
	s.t.Helper()
	buffer := s.bound(abi.BufferText)
	if len(text) > len(buffer) {
		s.t.Fatalf("%d bytes of text for a buffer of %d", len(text), len(buffer))
	}
	copy(buffer, text)
	answer := s.call(func() int32 { return guest.Stop(t, int32(len(text))) })
	if answer > abi.StopHold {
		s.t.Fatalf("stop answered %d", answer)
	}
	s.note(call{Export: "penstock_stop", Token: t, Text: text, Answer: answer})
	return stop.Answer(answer)
}
