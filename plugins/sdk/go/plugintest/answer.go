// SPDX-License-Identifier: MIT

package plugintest

import (
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Accepted is the plugin's answer to a token.
type Accepted struct {
	Stop      bool             // the answer ends after this token
	Splice    bool             // tokens are taken back, or others put in their place:
	Backtrack int              // how many, this token included
	Tokens    []penstock.Token // what comes instead
}

// Accept appends a token to the history and calls the plugin's Accept, if it has one. If the plugin
// asks for a splice, the splice is made, and the inserted tokens are accepted as well. History has
// the result.
func (s *Session) Accept(t penstock.Token) Accepted {
	s.t.Helper()
	a := s.accept(t, true)
	s.Logprob = nil
	if len(a.Tokens) > 0 {
		s.HiddenState = nil // those come without
	}
	for _, t := range a.Tokens {
		a.Stop = s.accept(t, true).Stop || a.Stop
	}
	return a
}

// accept is Accept of one token. If the token is replayed after the plugin was started again, the
// call is not recorded.
func (s *Session) accept(t penstock.Token, first bool) (a Accepted) {
	s.t.Helper()
	s.History = append(s.History, t)
	done := call{Call: "accept", Token: &t}
	if first {
		done.Logprob = (*logit)(s.Logprob)
	}
	if guest.Accept != nil {
		s.accepting = first
		answer := s.callWithState(with(guest.Accept, int32(t)))
		s.accepting = false
		done.Answer = &answer
		switch answer {
		case abi.AcceptContinue:
		case abi.AcceptStop:
			a.Stop = true
		case abi.AcceptSplice:
			if a.Splice = first; first {
				a.Backtrack, a.Tokens = s.splice()
				done.Splice = &splice{a.Backtrack, a.Tokens}
				s.History = s.History[:len(s.History)-a.Backtrack]
			}
		default:
			s.t.Fatalf("accept answered %d", answer)
		}
	}
	if first {
		s.note(done)
	}
	return a
}

// splice reads which tokens the plugin takes back and inserts.
func (s *Session) splice() (backtrack int, tokens []penstock.Token) {
	s.t.Helper()
	w := numbers[uint32](s.bound(abi.BufferSplice))
	generated, hold := len(s.History)-len(s.Prompt), s.hold
	if int(w[1]) > len(w)-2 || int(w[0]) > min(generated, hold) {
		s.t.Fatalf("a splice of %d tokens that takes %d back: there is room for %d (the manifest's Splice), %d may be taken back (its Hold) and %d were generated",
			w[1], w[0], len(w)-2, hold, generated)
	}
	return int(w[0]), slices.Clone(w[2 : 2+w[1]])
}

// Rewind takes tokens back, as another plugin or a user would: n are left, prompt included. A
// plugin without a method for it is started again if it was told something that no longer holds;
// then the tokens and the text are replayed to it.
func (s *Session) Rewind(n int) {
	s.t.Helper()
	s.History = s.History[:n]
	unseen := s.takeTextBack(n)
	switch {
	case guest.Rewind != nil:
		if s.call(with(guest.Rewind, int32(n))) != 0 {
			s.t.Fatalf("rewind to %d tokens: %s", n, s.refusal)
		}
	case guest.Accept != nil || guest.Stop != nil && unseen:
		s.beginAnew()
	}
	s.note(call{Call: "rewind", Keep: &n})
}

// Stop shows the plugin new text.
func (s *Session) Stop(t penstock.Token, text string) penstock.Verdict {
	s.t.Helper()
	answer := s.show(t, text)
	s.stopTexts = append(s.stopTexts, shown{t, text, len(s.History)})
	s.note(call{Call: "stop", Token: &t, Text: newText(text), Answer: &answer})
	return penstock.Verdict(answer)
}

// show is Stop without a record.
func (s *Session) show(t penstock.Token, text string) int32 {
	s.t.Helper()
	buffer := s.bound(abi.BufferText)
	if len(text) > len(buffer) {
		s.t.Fatalf("%d bytes of text for a buffer of %d", len(text), len(buffer))
	}
	copy(buffer, text)
	answer := s.callWithState(func() int32 { return guest.Stop(int32(t), int32(len(text))) })
	if answer > abi.StopHold {
		s.t.Fatalf("stop answered %d", answer)
	}
	return answer
}
