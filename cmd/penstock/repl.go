// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	local "github.com/penstock/penstock"
	"golang.org/x/term"
)

// answerer computes the next turn of a conversation, hands its text to show piece by piece and
// returns all of it. If ctx ends first, it returns the text until then with ctx's error.
type answerer func(ctx context.Context, messages []local.Message, show func(text string) error) (string, error)

// repl is a conversation in a terminal.
type repl struct {
	readLine   func() (string, error) // io.EOF: the user leaves
	answer     answerer
	files      []local.Media    // stand before the first question
	interrupts <-chan os.Signal // each one ends an answer
	out        io.Writer        // answers
	notes      io.Writer        // everything but answers
}

// run reads and answers until the user leaves. An interrupt during an answer ends that answer only.
func (r *repl) run(ctx context.Context) error {
	var messages []local.Message
	for {
		line, err := r.readLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the terminal: %w", err)
		}
		if line == "" {
			continue
		}
		turn := append(messages, local.Message{Role: "user", Content: line})
		if len(messages) == 0 {
			turn[0].Media = r.files
		}
		text, err := r.interruptible(ctx, turn)
		fmt.Fprintln(r.out)
		switch {
		case errors.Is(err, context.Canceled):
			fmt.Fprintln(r.notes, "(stopped)")
		case err != nil: // the question is removed, so that a shorter one may follow
			fmt.Fprintf(r.notes, "penstock: %v\n", err)
			continue
		}
		messages = append(turn, local.Message{Role: "assistant", Content: text})
	}
}

func (r *repl) interruptible(ctx context.Context, messages []local.Message) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-r.interrupts:
			stop()
		case <-ctx.Done():
		}
	}()
	return r.answer(ctx, messages, func(text string) error {
		_, err := io.WriteString(r.out, text)
		return err
	})
}

// terminalLines reads lines with editing and history. The terminal is raw only while a line is
// read: at the prompt Ctrl-C and Ctrl-D leave, and otherwise Ctrl-C is an interrupt.
func terminalLines(in *os.File, out io.Writer) func() (string, error) {
	screen := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "> ")
	return func() (string, error) {
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(int(in.Fd()), state) }()
		return screen.ReadLine()
	}
}
