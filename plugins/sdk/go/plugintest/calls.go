// SPDX-License-Identifier: MIT

package plugintest

import (
	"math"
	"slices"
	"unicode/utf8"
	"unsafe"

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
	a := s.accept(t)
	s.Logprob = nil
	if len(a.Tokens) > 0 {
		s.HiddenState = nil // those come without
	}
	for _, t := range a.Tokens {
		next := s.accept(t)
		if next.Splice {
			s.t.Fatal("accept answered a token of its own splice with another splice")
		}
		a.Stop = a.Stop || next.Stop
	}
	return a
}

func (s *Session) accept(t penstock.Token) (a Accepted) {
	s.t.Helper()
	s.History = append(s.History, t)
	if !s.has(penstock.CallAccept, guest.Accept != nil) {
		return a
	}
	answer := s.call(penstock.CallAccept, true, func() int32 { return guest.Accept(int32(t)) })
	if answer < abi.AcceptContinue || answer > abi.AcceptSplice {
		s.t.Fatalf("accept answers %d", answer)
	}
	a.Stop, a.Splice = answer == abi.AcceptStop, answer == abi.AcceptSplice && !s.again // what is told again was made then
	if a.Splice {
		a.Backtrack, a.Tokens = s.splice(min(len(s.History)-len(s.Prompt), s.hold))
		s.History = s.History[:len(s.History)-a.Backtrack]
	}
	return a
}

// shown is text that the plugin's stop rule was shown.
type shown struct {
	token   penstock.Token
	text    string
	after   int // tokens of the history then
	verdict penstock.Verdict
}

// Stop shows the plugin new text.
func (s *Session) Stop(t penstock.Token, text string) penstock.Verdict {
	s.t.Helper()
	if size := len(s.buffers[abi.BufferText]); guest.Stop != nil && len(text) > size {
		s.t.Fatalf("%d bytes of text for a buffer of %d", len(text), size)
	}
	copy(s.buffers[abi.BufferText], text)
	v := penstock.Verdict(s.call(penstock.CallStop, guest.Stop != nil, func() int32 { return guest.Stop(int32(t), int32(len(text))) }))
	held := text // since the last Show
	for i := len(s.texts) - 1; i >= 0 && s.texts[i].verdict != penstock.Show; i-- {
		held = s.texts[i].text + held
	}
	if n := int(-1 - v); v > penstock.Hold || n > len(held) || n >= 0 && n < len(held) && !utf8.RuneStart(held[n]) {
		s.t.Fatalf("stop answers %d; text that is not shown yet: %q", v, held)
	}
	s.texts = append(s.texts, shown{t, text, len(s.History), v})
	return v
}

// filtered is a text that the plugin's filter was given.
type filtered struct {
	text  string
	after int    // tokens of the history then
	held  string // what was kept back
}

// Filter gives the plugin text that is about to be shown, after what it kept back, and returns what
// is shown now. Last: nothing follows.
func (s *Session) Filter(text string, last bool) string {
	s.t.Helper()
	given := text
	if n := len(s.filtered); n > 0 {
		given = s.filtered[n-1].held + text
	}
	if size := len(s.buffers[abi.BufferText]); guest.Filter != nil && len(given) > size {
		s.t.Fatalf("%d bytes of text, with what was kept back, for a buffer of %d", len(given), size)
	}
	copy(s.buffers[abi.BufferText], given)
	end := int32(0)
	if last {
		end = 1
	}
	keep := int(s.call(penstock.CallFilter, guest.Filter != nil, func() int32 { return guest.Filter(int32(len(given)), end) }))
	at := len(given) - keep
	if keep < 0 || at < 0 || last && keep > 0 || keep > abi.LimitHeldBytes || keep > 0 && !utf8.RuneStart(given[at]) {
		s.t.Fatalf("filter keeps %d bytes back of %q; the last text: %v", keep, given, last)
	}
	s.filtered = append(s.filtered, filtered{text, len(s.History), given[at:]})
	if s.emits {
		return s.emitted
	}
	return given[:at]
}

// Rewind takes tokens back, as another plugin or a user would: n are left, prompt included. A
// plugin without a method for it is started again if it was told something that no longer holds;
// then the tokens and the text are told it again.
func (s *Session) Rewind(n int) {
	s.t.Helper()
	if n < len(s.Prompt) || n > len(s.History) {
		s.t.Fatalf("%d tokens cannot be left of %d, of which the prompt has %d", n, len(s.History), len(s.Prompt))
	}
	seen := len(s.texts) + len(s.filtered)
	s.texts = slices.DeleteFunc(s.texts, func(text shown) bool { return text.after > n })
	s.filtered = slices.DeleteFunc(s.filtered, func(f filtered) bool { return f.after > n })
	s.History = s.History[:n]
	switch {
	case s.has(penstock.CallRewind, guest.Rewind != nil):
		if s.call(penstock.CallRewind, true, func() int32 { return guest.Rewind(int32(n)) }) != 0 {
			s.t.Fatalf("rewind to %d tokens: %s", n, s.refusal)
		}
	case s.has(penstock.CallAccept, guest.Accept != nil) || len(s.texts)+len(s.filtered) < seen:
		s.beginAgain()
	}
}

// beginAgain replaces a plugin by a new one, which is told what is left.
func (s *Session) beginAgain() {
	s.t.Helper()
	history, texts, given := s.History, s.texts, s.filtered
	s.History, s.texts, s.filtered, s.again = slices.Clone(s.Prompt), nil, nil, true
	defer func() { s.again = false }()
	if err := s.begin(); err != nil {
		s.t.Fatal(err)
	}
	for i := len(s.Prompt); i <= len(history); i++ {
		for ; len(texts) > 0 && (texts[0].after <= i || i == len(history)); texts = texts[1:] {
			s.Stop(texts[0].token, texts[0].text)
		}
		for ; len(given) > 0 && (given[0].after <= i || i == len(history)); given = given[1:] {
			s.Filter(given[0].text, false)
		}
		if i < len(history) {
			s.accept(history[i])
		}
	}
}

// Draft returns the plugin's draft of the next tokens.
func (s *Session) Draft() []penstock.Token {
	s.t.Helper()
	room := s.words(abi.BufferSplice)[2:]
	room = room[:min(abi.LimitDraft, len(room))]
	n := s.call(penstock.CallDraft, guest.Draft != nil, func() int32 { return guest.Draft(int32(len(room))) })
	if n < 0 || int(n) > len(room) {
		s.t.Fatalf("draft answers %d; there is room for %d tokens", n, len(room))
	}
	s.mustKnow("draft", room[:n]...)
	return slices.Clone(room[:n])
}

// mustKnow ends the test if what the plugin answers names a token that there is not.
func (s *Session) mustKnow(what string, tokens ...penstock.Token) {
	s.t.Helper()
	for _, t := range tokens {
		if int(t) >= len(s.Pieces) {
			s.t.Fatalf("%s names token %d; there are %d", what, t, len(s.Pieces))
		}
	}
}

// words is a buffer that the plugin reads or fills; nil: it has none.
func (s *Session) words(kind int) []uint32 {
	b := s.buffers[kind]
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

func floats(words []uint32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(words))), len(words))
}

// Sample shows the plugin candidates, best first, or none if its view is None. It returns the
// plugin's choice, and writes the result to ids and logits: candidates that the plugin did not keep
// have the logit −Inf. Candidates with a logit of −Inf come last and are not shown.
func (s *Session) Sample(ids []penstock.Token, logits []float32) penstock.Choice {
	s.t.Helper()
	n := len(logits)
	for n > 0 && logits[n-1] < -math.MaxFloat32 {
		n--
	}
	view := s.words(abi.BufferCandidates)
	room := len(view) / 2
	if n > room || len(ids) != len(logits) {
		s.t.Fatalf("%d tokens with %d logits for a view of %d candidates", len(ids), n, room)
	}
	return s.sample(ids[:n], view[:room], logits[:n], floats(view[room:]))
}

// SampleRow shows the plugin a whole row. It returns the plugin's choice, and writes the result to
// the logits.
func (s *Session) SampleRow(row []float32) penstock.Choice {
	s.t.Helper()
	view := floats(s.words(abi.BufferLogits))
	if len(view) != len(row) {
		s.t.Fatalf("%d logits for a view of %d", len(row), len(view))
	}
	return s.sample(nil, nil, row, view)
}

// sample shows the plugin these logits of candidates, without ids of a row, in its view.
func (s *Session) sample(ids, viewIDs []penstock.Token, logits, view []float32) penstock.Choice {
	s.t.Helper()
	copy(viewIDs, ids)
	copy(view, logits)
	choice := penstock.Choice(s.call(penstock.CallSample, guest.Sample != nil, func() int32 { return guest.Sample(int32(len(logits))) }))
	switch kept := int(-1 - choice); {
	case choice == penstock.Biased:
		for t, amount := range s.biases() {
			for k := range logits {
				if ids == nil && penstock.Token(k) == t || ids != nil && ids[k] == t {
					logits[k] = min(logits[k]+amount, math.MaxFloat32)
				}
			}
		}
	case kept > len(ids):
		s.t.Fatalf("sample keeps %d candidates of %d", kept, len(ids))
	case kept > 0:
		for i := range logits[kept:] {
			logits[kept+i] = float32(math.Inf(-1))
		}
	default:
		copy(ids, viewIDs)
		copy(logits, view)
		if t, ok := choice.Token(); ok {
			s.mustKnow("sample", t)
		}
	}
	if len(logits) > 0 && !(math.Abs(float64(slices.Max(logits))) <= math.MaxFloat32) {
		s.t.Fatalf("sample leaves %v: some logit must be above −Inf, and none may be NaN or +Inf", logits)
	}
	return choice
}

// biases are the plugin's, those of a token as their sum.
func (s *Session) biases() map[penstock.Token]float32 {
	s.t.Helper()
	w, all := s.words(abi.BufferBias), map[penstock.Token]float32{}
	for i := range int(w[0]) {
		t, amount := w[1+2*i], math.Float32frombits(w[2+2*i])
		if s.mustKnow("a bias", t); !(amount <= math.MaxFloat32) {
			s.t.Fatalf("the bias of token %d is %v", t, amount)
		}
		all[t] += amount
	}
	return all
}

// Prepared has the plugin's constraints for the next token.
type Prepared struct {
	Mask   []uint32 // a bit for each token that may come; nil: any may
	Bias   map[penstock.Token]float32
	Forced []penstock.Token // what comes next, whatever the logits
}

// Prepare calls the plugin's Prepare.
func (s *Session) Prepare() (p Prepared) {
	s.t.Helper()
	filled := s.call(penstock.CallPrepare, guest.Prepare != nil, guest.Prepare)
	if filled&^(abi.PrepareMask|abi.PrepareBias|abi.PrepareForce) != 0 {
		s.t.Fatalf("prepare answers %#x, with bits that mean nothing", filled)
	}
	if filled&abi.PrepareMask != 0 {
		p.Mask = slices.Clone(s.words(abi.BufferMask))
		if slices.Max(p.Mask) == 0 {
			s.t.Fatal("the mask allows no token")
		}
	}
	if filled&abi.PrepareBias != 0 {
		p.Bias = s.biases()
	}
	if filled&abi.PrepareForce != 0 {
		_, p.Forced = s.splice(0)
	}
	return p
}

// splice reads how many tokens the plugin takes back, of so many, and what comes instead.
func (s *Session) splice(most int) (backtrack int, tokens []penstock.Token) {
	s.t.Helper()
	w := s.words(abi.BufferSplice)
	if int(w[1]) > len(w)-2 || int(w[0]) > most {
		s.t.Fatalf("%d tokens come instead of %d: there is room for %d (the manifest's Splice), and %d may be taken back (its Hold, and what was generated)",
			w[1], w[0], len(w)-2, most)
	}
	tokens = slices.Clone(w[2 : 2+w[1]])
	s.mustKnow("what comes instead", tokens...)
	return int(w[0]), tokens
}
