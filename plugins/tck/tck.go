// SPDX-License-Identifier: MIT

// Package tck is the conformance kit of plugin ABI v1 (docs/abi/v1.md): guests that exercise its
// rules, and guests that break them, each with what a host must do.
//
// A guest that exercises a rule checks the host from within: it traps where the host does
// something else, and its last log line says what it found. The host under test only has to load
// plugins and to answer requests, so any build of Penstock can be tested over HTTP:
//
//	go run ./plugins/tck/cmd/tck -url http://127.0.0.1:8080 -admin-key KEY
//	go run ./plugins/tck/cmd/tck -write DIR
//
// The second command writes the modules, and cases.json with the requests and the expected
// outcomes, for hosts in other languages. Package check tests plugins instead of hosts.
package tck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Case is one rule of the ABI and what a host must do about it.
type Case struct {
	Name    string   `json:"name"`
	Rule    string   `json:"rule"`
	Modules []Module `json:"modules"` // loaded, and placed in the request's chain, in this order
	Request Request  `json:"request"`
	Want    Want     `json:"want"`
}

// Module is a plugin; File is its name in the folder that Write makes.
type Module struct {
	Name string `json:"name"`
	File string `json:"file"`
	Wasm []byte `json:"-"`
}

// Request is made once the modules are loaded. It asks for a greedy answer (temperature 0) of
// MaxTokens with Seed; end-of-generation tokens do not end it, and the case's plugins are its only
// samplers.
type Request struct {
	Chat   bool   `json:"chat,omitempty"`   // a conversation; else a plain prompt
	Config string `json:"config,omitempty"` // JSON, for the first plugin
	Skip   bool   `json:"skip,omitempty"`   // on_error: skip, for all plugins
}

// What every request has.
const (
	MaxTokens = 6
	Seed      = 7
)

// Outcome is how a case ends.
type Outcome string

// The outcomes.
const (
	Refused  Outcome = "refused"  // the last module is not loaded
	Declined Outcome = "declined" // the client is told what is wrong with the request (a 400)
	Faulted  Outcome = "faulted"  // the request ends with a plugin's fault
	Answered Outcome = "answered"
)

// Want is what a host must do. The request is made twice, and the answer must be the same.
type Want struct {
	Outcome Outcome  `json:"outcome"`
	Error   []string `json:"error,omitempty"`  // what the error must say: plugin, export and cause of a fault
	Tokens  int      `json:"tokens,omitempty"` // of an answer
	Reason  string   `json:"reason,omitempty"` // stop or length
	Text    Text     `json:"text,omitempty"`
	// Outputs are the values that plugins give, a line each as in Answer. A host that does not
	// know output has none.
	Outputs []string `json:"outputs,omitempty"`
}

// Text relates an answer's text to that of the same request without plugins.
type Text string

// The relations.
const (
	Any    Text = ""
	Same   Text = "same"
	Prefix Text = "prefix" // its beginning, and not all of it
	Empty  Text = "empty"
)

// The causes of faults, as errors name them.
const (
	causeTrap     = "trap"
	causeFuel     = "fuel exhausted"
	causeStack    = "guest call stack exhausted"
	causeMemory   = "access out of bounds"
	causeBuffer   = "buffer not usable"
	causeAnswer   = "wrong answer"
	causeConflict = "conflict"
	causeCall     = "host function not allowed here"
	causeExit     = "exit"
	causeLimit    = "limit exceeded"
	causeError    = "error of the plugin"
)

// Rules are the cases whose guests exercise the ABI: what they may expect of a host, and what a
// host must refuse.
func Rules() []Case {
	return slices.Concat(lifeCases(), requestCases(), vocabularyCases(), bufferCases(), viewCases(), prepareCases(), acceptCases(), rewindCases(),
		stopCases(), filterCases(), retellCases(), strictCases(), messagesCases(), limitCases(), systemCases(), manifestCases(), moduleCases(), additionCases(), implementsCases(), declineCases(),
		programCases(), halfPrograms(), planCases(), fuelCases())
}

// Write makes a folder with the modules of cases, and with cases.json, which has the requests and
// the expected outcomes.
func Write(dir string, cases []Case) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	list, err := json.MarshalIndent(struct {
		MaxTokens int    `json:"max_tokens"`
		Seed      int    `json:"seed"`
		Cases     []Case `json:"cases"`
	}{MaxTokens, Seed, cases}, "", "  ")
	errs := []error{err, os.WriteFile(filepath.Join(dir, "cases.json"), append(list, '\n'), 0o644)}
	for _, c := range cases {
		for _, m := range c.Modules {
			errs = append(errs, os.WriteFile(filepath.Join(dir, m.File), m.Wasm, 0o644))
		}
	}
	return errors.Join(errs...)
}

// Host is a host under test.
type Host interface {
	// Upload loads a plugin. The error is what its owner is told.
	Upload(ctx context.Context, wasm []byte) error
	// Complete answers a request with the plugins of these names, in this order. An error is a
	// *Failure, unless the host itself could not be asked.
	Complete(ctx context.Context, r Request, plugins []string) (Answer, error)
}

// Answer is what a request got.
type Answer struct {
	Text   string
	Tokens int
	Reason string
	// Outputs are the values that plugins gave, a line each: the plugin, the tokens that the
	// answer had then, and the value as compact JSON.
	Outputs string
}

// Describe adds a value that a plugin gave.
func (a *Answer) Describe(plugin string, tokens int, value []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return fmt.Errorf("a value of %s is no JSON: %w", plugin, err)
	}
	a.Outputs += fmt.Sprintf("%s %d %s\n", plugin, tokens, compact.String())
	return nil
}

// Failure is how a request failed.
type Failure struct {
	Outcome Outcome // Declined or Faulted
	Message string
}

func (f *Failure) Error() string { return string(f.Outcome) + ": " + f.Message }

// ErrBroken is what every finding of Run wraps.
var ErrBroken = errors.New("the rule is broken")

// Run tries a case on a host. An error says what the host did instead.
func Run(ctx context.Context, h Host, c Case) error {
	if err := load(ctx, h, c); err != nil || c.Want.Outcome == Refused {
		return err
	}
	var names []string
	for _, m := range c.Modules {
		names = append(names, m.Name)
	}
	got, err := h.Complete(ctx, c.Request, names)
	if c.Want.Outcome != Answered {
		return c.Want.failure(err)
	}
	if err != nil {
		return c.Want.unexpected(err)
	}
	if err := c.Want.answer(got); err != nil {
		return err
	}
	again, err := h.Complete(ctx, c.Request, names)
	if err != nil {
		return c.Want.unexpected(err)
	}
	if again != got {
		return fmt.Errorf("%w: the same request got %+v, then %+v", ErrBroken, got, again)
	}
	plain, err := h.Complete(ctx, Request{Chat: c.Request.Chat}, nil)
	if err != nil {
		return err
	}
	return c.Want.text(got.Text, plain.Text)
}

// load loads the modules of a case.
func load(ctx context.Context, h Host, c Case) error {
	for i, m := range c.Modules {
		err := h.Upload(ctx, m.Wasm)
		switch last := i == len(c.Modules)-1; {
		case c.Want.Outcome == Refused && last && err == nil:
			return fmt.Errorf("%w: the module was loaded", ErrBroken)
		case c.Want.Outcome == Refused && last:
			return c.Want.words(err.Error())
		case err != nil:
			return fmt.Errorf("%w: %s was not loaded: %w", ErrBroken, m.Name, err)
		}
	}
	return nil
}

// failure checks how a request failed.
func (w *Want) failure(err error) error {
	var f *Failure
	switch {
	case err == nil:
		return fmt.Errorf("%w: the request was answered", ErrBroken)
	case !errors.As(err, &f):
		return err
	case f.Outcome != w.Outcome:
		return w.unexpected(f)
	}
	return w.words(f.Message)
}

func (w *Want) unexpected(err error) error {
	return fmt.Errorf("%w: not %s: %w", ErrBroken, w.Outcome, err)
}

// words checks that an error has all the words that are wanted.
func (w *Want) words(text string) error {
	if i := slices.IndexFunc(w.Error, func(word string) bool { return !strings.Contains(text, word) }); i >= 0 {
		return fmt.Errorf("%w: the error does not have %q: %s", ErrBroken, w.Error[i], text)
	}
	return nil
}

func (w *Want) answer(got Answer) error {
	if got.Tokens != w.Tokens || got.Reason != w.Reason {
		return fmt.Errorf("%w: %d tokens, then %s; it must be %d and %s", ErrBroken, got.Tokens, got.Reason, w.Tokens, w.Reason)
	}
	if got.Outputs != "" && got.Outputs != strings.Join(w.Outputs, "") {
		return fmt.Errorf("%w: the plugins' values are\n%s, not\n%s", ErrBroken, got.Outputs, strings.Join(w.Outputs, ""))
	}
	return nil
}

func (w *Want) text(got, plain string) error {
	ok := true
	switch w.Text {
	case Same:
		ok = got == plain
	case Prefix:
		ok = strings.HasPrefix(plain, got) && got != plain && got != ""
	case Empty:
		ok = got == ""
	}
	if !ok {
		return fmt.Errorf("%w: the text is %q; without plugins it is %q", ErrBroken, got, plain)
	}
	return nil
}
