// SPDX-License-Identifier: MIT

package tck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
