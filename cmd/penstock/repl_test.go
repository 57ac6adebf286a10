// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	local "github.com/penstock/penstock"
)

// script feeds lines to a REPL, then the end.
func script(lines ...string) func() (string, error) {
	return func() (string, error) {
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}
}

func TestREPL_Run_KeepsTheConversation(t *testing.T) {
	var asked [][]string
	var out, notes strings.Builder
	r := repl{
		readLine: script("one", "", "two", "stop", "bad", "last"),
		files:    []local.Media{{Name: "a picture"}},
		out:      &out,
		notes:    &notes,
		answer: func(_ context.Context, messages []local.Message, show func(string) error) (string, error) {
			var turns []string
			for _, m := range messages {
				turns = append(turns, m.Role+": "+strings.Repeat("(a picture) ", len(m.Media))+m.Content)
			}
			asked = append(asked, turns)
			last := messages[len(messages)-1].Content
			switch last {
			case "bad":
				return "", errors.New("no such thing")
			case "stop":
				return "half", errors.Join(context.Canceled, show("half"))
			}
			return "re " + last, show("re " + last)
		},
	}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"user: (a picture) one"},
		{"user: (a picture) one", "assistant: re one", "user: two"},
		{"user: (a picture) one", "assistant: re one", "user: two", "assistant: re two", "user: stop"},
		{"user: (a picture) one", "assistant: re one", "user: two", "assistant: re two", "user: stop", "assistant: half", "user: bad"},
		{"user: (a picture) one", "assistant: re one", "user: two", "assistant: re two", "user: stop", "assistant: half", "user: last"},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("re one\nre two\nhalf\n\nre last\n", out.String()); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("(stopped)\npenstock: no such thing\n", notes.String()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestREPL_Run_InterruptEndsTheAnswerOnly(t *testing.T) {
	interrupts := make(chan os.Signal, 1)
	var notes strings.Builder
	answers := 0
	r := repl{
		readLine: script("one", "two"), interrupts: interrupts, out: io.Discard, notes: &notes,
		answer: func(ctx context.Context, _ []local.Message, _ func(string) error) (string, error) {
			answers++
			interrupts <- os.Interrupt
			<-ctx.Done()
			return "", ctx.Err()
		},
	}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if answers != 2 || notes.String() != "(stopped)\n(stopped)\n" {
		t.Errorf("%d answers, notes %q; want 2, both stopped", answers, &notes)
	}
}

func TestREPL_Run_BrokenTerminal(t *testing.T) {
	broken := errors.New("gone")
	r := repl{readLine: func() (string, error) { return "", broken }}
	if err := r.run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("run = %v, want %v", err, broken)
	}
}
