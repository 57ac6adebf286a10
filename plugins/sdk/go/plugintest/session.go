// SPDX-License-Identifier: MIT

package plugintest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Session is a plugin at work in one request. Its methods end the test where the plugin breaks the ABI.
//
// Natively there is one instance of the plugin, which each session opens anew: once a session is open, the one before is over.
type Session struct {
	Request
	History []penstock.Token // prompt first; Accept and Rewind change it
	Logs    []string         // what the plugin logged

	t         testing.TB
	begun     bool // the request is known: it is not while warm runs
	opening   bool // buffers may be bound
	rendering bool // messages are there
	buffers   [abi.BufferText + 1][]byte
	emitted   string
	refusal   string // the reason of an error
	position  int    // where random draws are made
	draws     uint64 // made there
	recording
}

// ErrRefused wraps the reason why a plugin refused something.
var ErrRefused = errors.New("refused")

// current is the session whose plugin the one native instance is.
var current *Session

// Open begins a request and fails the test if the plugin refuses it.
func Open(t testing.TB, r Request) *Session {
	t.Helper()
	s, err := TryOpen(t, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TryOpen begins a request; the error wraps ErrRefused where the plugin refuses it.
func TryOpen(t testing.TB, r Request) (*Session, error) {
	t.Helper()
	s := &Session{Request: Request{Pieces: r.Pieces, Attributes: r.Attributes, Special: r.Special}, t: t}
	current = s
	s.record(t, r)
	if guest.Warm != nil && s.call(guest.Warm) != 0 {
		return nil, s.refused()
	}
	s.Request, s.begun, s.position = r, true, -1
	s.History = append(s.History, r.Prompt...)
	err := s.open()
	s.note(call{Export: "penstock_open", Refusal: s.refusal, Refused: err != nil})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) open() error {
	s.t.Helper()
	s.buffers = [abi.BufferText + 1][]byte{}
	s.opening = true
	defer func() { s.opening = false }()
	if s.call(guest.Open) != 0 {
		return s.refused()
	}
	return nil
}

func (s *Session) refused() error { return fmt.Errorf("%w: %s", ErrRefused, s.refusal) }

// call runs one of the plugin's functions, as the host does at this place in the conversation.
func (s *Session) call(f func() int32) int32 {
	s.t.Helper()
	switch {
	case current != s:
		s.t.Fatal("another session was opened since; natively there is one at a time")
	case f == nil:
		s.t.Fatal("the plugin registered nothing that this calls")
	}
	if len(s.History) != s.position {
		s.position, s.draws = len(s.History), 0
	}
	s.emitted, s.refusal = "", ""
	defer abi.Use(abi.Use(host{s}))
	return f()
}

// with is f with an argument; nil where f is nil.
func with(f func(int32) int32, argument int32) func() int32 {
	if f == nil {
		return nil
	}
	return func() int32 { return f(argument) }
}

// Manifest is the JSON that the plugin describes itself with.
func (s *Session) Manifest() string {
	s.t.Helper()
	s.call(func() int32 { guest.Describe(); return 0 })
	return s.emitted
}

// Render gives the prompt's text.
func (s *Session) Render() (string, error) {
	s.t.Helper()
	s.rendering = true
	answer := s.call(guest.Template)
	s.rendering = false
	s.note(call{Export: "penstock_template", Text: s.emitted, Refusal: s.refusal, Refused: answer != 0})
	if answer != 0 {
		return "", s.refused()
	}
	return s.emitted, nil
}
