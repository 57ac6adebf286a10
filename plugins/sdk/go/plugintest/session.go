// SPDX-License-Identifier: MIT

package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Session is a plugin that serves one request. Its methods end the test if the plugin breaks the
// ABI.
//
// Natively only one plugin is active at a time: opening a session ends the one before.
type Session struct {
	Request
	History []penstock.Token // prompt first; Accept and Rewind change it
	Notes   []string         // what the plugin said of tokens
	Logs    []string         // what the plugin logged
	Outputs []string         // JSON, what the plugin gave the client
	Logprob *float32         // of the token that Accept tells next, and of no other; nil: it is not known

	HiddenState []float32 // what HiddenState gives in Sample, Accept and Stop until it is changed; empty: it is not known

	Part *penstock.Part // what AnswerPart gives; nil: it is not known

	t         testing.TB
	plugin    *guest.Plugin
	manifest  manifest
	hold      int  // tokens that may be taken back
	begun     bool // the request is known: it is not while warm runs
	opening   bool // buffers may be bound
	rendering bool // messages are there
	accepting bool
	stateful  bool // the hidden state is there
	replaying bool // a fresh plugin is told again what was said before
	stopTexts []shown
	buffers   [abi.BufferText + 1][]byte
	declined  []string // exports
	emitted   string
	refusal   string // the reason of an error
	prompted  prompted
	position  int    // where random draws are made
	draws     uint64 // made there
	program   *program
	answer    []Shown // of the program
	adopted   []Adopted
	computed  int
	recording
}

// manifest is the part of the plugin's manifest that a session needs.
type manifest struct {
	Name     string `json:"name"`
	Hold     int    `json:"hold"`
	Branches int    `json:"branches"`

	BranchesConfig string `json:"branches_config"`

	Schema json.RawMessage `json:"config_schema"`
}

// ErrRefused wraps the reason why a plugin refused something.
var ErrRefused = errors.New("refused")

// current is the session whose plugin is active.
var current *Session

// Open begins a request with a new T, which must be registered, and fails the test if the plugin
// refuses it.
func Open[T any](t testing.TB, r Request) *Session {
	t.Helper()
	s, err := TryOpen[T](t, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TryOpen is Open with an error that wraps ErrRefused if the plugin refuses the request.
func TryOpen[T any](t testing.TB, r Request) (*Session, error) {
	t.Helper()
	for p := guest.Registered; p != nil; p = p.Before {
		if _, ok := p.New().(*T); ok {
			return open(t, p, r)
		}
	}
	t.Fatalf("%T is not registered: write `var _ = penstock.Register[…](…)` in the plugin", *new(T))
	return nil, nil
}

func open(t testing.TB, p *guest.Plugin, r Request) (*Session, error) {
	t.Helper()
	s := &Session{t: t, plugin: p}
	text, wrong := p.Manifest()
	if wrong != "" {
		t.Fatal(wrong)
	}
	if err := json.Unmarshal(text, &s.manifest); err != nil {
		t.Fatalf("the manifest is no JSON: %v: %s", err, text)
	}
	s.Request, s.position = r, -1
	s.History = append(s.History, r.Prompt...)
	s.record(t, s.manifest.Name, r)
	err := s.begin()
	s.note(call{Call: "open", Refusal: reason(err, s.refusal), Declined: s.declined})
	if err != nil {
		return nil, err
	}
	t.Cleanup(s.close)
	return s, nil
}

// begin makes a new plugin the active one.
func (s *Session) begin() error {
	s.t.Helper()
	current, s.begun = s, false
	s.plugin.Begin()
	s.buffers, s.declined = [abi.BufferText + 1][]byte{}, nil
	s.hold = s.manifest.Hold
	if guest.Warm != nil && s.call(guest.Warm) != 0 {
		return s.refused()
	}
	s.begun, s.opening = true, true
	defer func() { s.opening = false }()
	if s.call(guest.Open) != 0 {
		return s.refused()
	}
	return nil
}

// close tells the plugin that its request is over, unless another is open already.
func (s *Session) close() {
	if current == s && guest.Close != nil {
		s.call(func() int32 { guest.Close(); return 0 })
	}
}

func (s *Session) refused() error { return fmt.Errorf("%w: %s", ErrRefused, s.refusal) }

// reason is that of an error; nil without one.
func reason(err error, refusal string) *string {
	if err == nil {
		return nil
	}
	return &refusal
}

// call runs one of the plugin's functions, as the host does at this place in the conversation.
func (s *Session) call(f func() int32) int32 {
	s.t.Helper()
	switch {
	case current != s:
		s.t.Fatal("another session was opened since; natively there is one at a time")
	case f == nil:
		s.t.Fatal("the plugin's type has no method that this calls, or has declined it")
	}
	s.moveTo(len(s.History))
	s.emitted, s.refusal = "", ""
	var answers abi.Host = host{s: s}
	if s.program != nil && folder != "" {
		answers = notingHost{host{s: s}}
	}
	defer abi.Use(abi.Use(answers))
	return f()
}

// callWithState is call with the hidden state of a token.
func (s *Session) callWithState(f func() int32) int32 {
	s.t.Helper()
	s.stateful = !s.replaying
	defer func() { s.stateful = false }()
	return s.call(f)
}

// with is f with an argument; nil if f is nil.
func with(f func(int32) int32, argument int32) func() int32 {
	if f == nil {
		return nil
	}
	return func() int32 { return f(argument) }
}

// Manifest is the plugin's manifest as JSON.
func (s *Session) Manifest() string {
	text, _ := s.plugin.Manifest()
	return string(text)
}

// Render returns the prompt's text.
func (s *Session) Render() (string, error) {
	s.t.Helper()
	s.rendering = true
	answer := s.call(guest.Render)
	s.rendering = false
	if answer != 0 {
		s.rendered(call{Call: "render", Refusal: &s.refusal})
		return "", s.refused()
	}
	s.rendered(call{Call: "render", Prompt: newText(s.emitted)})
	return s.emitted, nil
}

// Rewrite returns the conversation that the plugin made, as JSON.
func (s *Session) Rewrite() (string, error) {
	s.t.Helper()
	s.rendering = true
	answer := s.call(guest.Rewrite)
	s.rendering = false
	if answer != 0 {
		s.rendered(call{Call: "messages", Refusal: &s.refusal})
		return "", s.refused()
	}
	s.rendered(call{Call: "messages", Messages: json.RawMessage(s.emitted)})
	return s.emitted, nil
}

// draftMost is the maximum number of tokens in a draft.
const draftMost = abi.LimitDraft

// Draft returns the plugin's draft of the next tokens.
func (s *Session) Draft() []penstock.Token {
	s.t.Helper()
	buffer := numbers[uint32](s.bound(abi.BufferSplice))[2:]
	most := min(draftMost, len(buffer))
	n := s.call(with(guest.Draft, int32(most)))
	if n < 0 || int(n) > most {
		s.t.Fatalf("draft answered %d; from 0 to %d may be guessed", n, most)
	}
	for _, t := range buffer[:n] {
		if !(host{s: s}).known(int32(t)) {
			s.t.Fatalf("token %d is guessed; there are %d tokens", t, len(s.Pieces))
		}
	}
	return append([]penstock.Token(nil), buffer[:n]...)
}
