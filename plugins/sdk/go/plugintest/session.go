// SPDX-License-Identifier: MIT

// Package plugintest stands in for the host in go test: it calls the methods of a plugin natively.
//
// It is for a plugin's own logic. It has no model, no branches and no grammar engine: a plugin that
// asks for one of them ends the test. What a plugin does with a model is tested on its module, by
// cases that `penstock plugin test` plays in the real runtime. docs/plugins/debugging.md shows how
// to test each kind of plugin.
package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Request is the request that the plugin gets. The zero value is an empty request without a
// vocabulary.
type Request struct {
	Config      string // JSON; empty: {}. It gets the defaults of the schema's properties, but not those behind items, allOf or a $ref
	Messages    string // JSON
	Media       string // JSON, what RequestMedia reads; empty: []
	Pieces      []string
	Attributes  map[penstock.Token]penstock.Attributes
	Special     map[penstock.Special]penstock.Token
	Prompt      []penstock.Token
	MaxTokens   int
	ContextSize int
	Seed        uint64
	Model       string // JSON, what Request.Model gives; empty: {}
	Sampling    string // JSON, what Request.Sampling gives; empty: {}
	Time        int64  // milliseconds since 1970; 0: the plugin is not told
	Choice      int
	Choices     int // 0 counts as 1

	// PromptText returns the text that the model's template makes from messages, a JSON list.
	PromptText func(messages string) (string, error) `json:"-"`
}

// Session is a plugin that serves one request. Its methods end the test if the plugin breaks the
// ABI.
//
// Natively only one plugin is active at a time: opening a session ends the one before.
type Session struct {
	Request
	History  []penstock.Token // prompt first; Accept and Rewind change it
	Logs     []string         // what the plugin logged
	Notes    []string         // what the plugin said of tokens
	Declined []penstock.Call  // what the plugin declined
	Planned  string           // JSON, what its Plan says of the configuration; empty: it says nothing
	Outputs  []string         // JSON, what the plugin gave the client
	Logprob  *float32         // of the token that Accept tells next, and of no other; nil: it is not known

	HiddenState []float32 // what HiddenState gives in Sample, Accept and Stop until it is changed; empty: it is not known

	Part *penstock.Part // what AnswerPart gives; nil: it is not known

	Elapsed int // what penstock.Elapsed gives, in milliseconds

	t        testing.TB
	plugin   *guest.Plugin
	manifest []byte
	declared struct {
		Hold   int
		Schema map[string]any `json:"config_schema"`
	}
	now      penstock.Call // that is made; empty: none is
	again    bool          // a new plugin is told what the one before was told
	hold     int           // tokens that may be taken back
	buffers  [abi.BufferText + 1][]byte
	texts    []shown // to the stop rule
	filtered []filtered
	emitted  string
	emits    bool   // the last call has called emit
	refusal  string // the reason of an error
	position int    // where random numbers are drawn
	draws    uint64 // that were made there
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
	p := guest.Registered
	for ; p != nil; p = p.Before {
		if _, ok := p.New().(*T); ok {
			break
		}
	}
	if p == nil {
		t.Fatalf("%T is not registered: write `var _ = penstock.Register[…](…)` in the plugin", *new(T))
	}
	s := &Session{Request: r, History: slices.Clone(r.Prompt), t: t, plugin: p, position: -1}
	var wrong string
	if s.manifest, wrong = p.Manifest(); wrong != "" {
		t.Fatal(wrong)
	}
	if err := json.Unmarshal(s.manifest, &s.declared); err != nil {
		t.Fatalf("the manifest is no JSON: %v: %s", err, s.manifest)
	}
	err := s.begin()
	t.Cleanup(func() { s.end(err == nil) })
	if err != nil {
		return nil, err
	}
	return s, nil
}

// begin makes a new plugin the active one. From now on the host answers, also a test's own calls.
func (s *Session) begin() error {
	s.t.Helper()
	current = s
	abi.Use(host{abi.Absent{Missing: s.lack}, s})
	s.plugin.Begin()
	clear(s.buffers[:])
	s.Declined, s.hold = nil, s.declared.Hold
	if guest.Warm != nil && s.call("penstock_warm", true, guest.Warm) != 0 || !s.plan() || s.call("penstock_open", true, guest.Open) != 0 {
		return s.refused()
	}
	return nil
}

// plan has the plugin plan, if it does, and reports whether it accepts the configuration. What a
// plan leaves out is still called.
func (s *Session) plan() bool {
	s.t.Helper()
	if guest.Plan == nil {
		return true
	}
	accepts := s.call("penstock_plan", true, guest.Plan) == 0
	s.Planned = s.emitted
	return accepts
}

// lack ends a test that asks for what only the real host has.
func (s *Session) lack(name string) {
	s.t.Helper()
	s.t.Fatalf("%s is called, and a native test has no model, no branches and no grammars: "+
		"write a case for `penstock plugin test`, see docs/plugins/debugging.md#testing", name)
}

// end tells the plugin that its request is over, unless another is open already.
func (s *Session) end(opened bool) {
	if current != s {
		return
	}
	if opened && s.has(penstock.CallClose, guest.Close != nil) {
		s.call(penstock.CallClose, true, func() int32 { guest.Close(); return 0 })
	}
	current = nil
	abi.Use(abi.Absent{})
}

func (s *Session) refused() error { return fmt.Errorf("%w: %s", ErrRefused, s.refusal) }

// has reports whether the plugin has a method for a call and has not declined it.
func (s *Session) has(c penstock.Call, method bool) bool {
	s.t.Helper()
	if current != s {
		s.t.Fatal("another session was opened since; natively there is one at a time")
	}
	return method && !slices.Contains(s.Declined, c)
}

// call calls one of the plugin's methods, if it has it.
func (s *Session) call(c penstock.Call, has bool, method func() int32) int32 {
	s.t.Helper()
	if !s.has(c, has) {
		s.t.Fatalf("the plugin's type has no method for %s, or has declined it", c)
	}
	if n := len(s.History); n != s.position {
		s.position, s.draws = n, 0
	}
	s.now, s.emitted, s.emits, s.refusal = c, "", false, ""
	defer func() { s.now = "" }()
	return method()
}

// Manifest is the plugin's manifest as JSON.
func (s *Session) Manifest() string { return string(s.manifest) }

// Render returns the prompt's text.
func (s *Session) Render() (string, error) {
	s.t.Helper()
	return s.converse("penstock_template", guest.Render)
}

// Rewrite returns the conversation that the plugin made, as JSON.
func (s *Session) Rewrite() (string, error) {
	s.t.Helper()
	return s.converse(penstock.CallRewrite, guest.Rewrite)
}

func (s *Session) converse(c penstock.Call, method func() int32) (string, error) {
	s.t.Helper()
	if s.call(c, method != nil, method) != 0 {
		return "", s.refused()
	}
	return s.emitted, nil
}
