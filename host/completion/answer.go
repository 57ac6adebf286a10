// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"strings"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// Answer is what a request is answered with: its choices, prompt by prompt.
type Answer struct {
	Choices []*Choice
	streams []Stream
}

// Choice is one answer to one prompt as far as it has come.
type Choice struct {
	Index   int
	Request *Request
	Start   scheduler.Started
	End     scheduler.End
	Tokens  []scheduler.Token
}

// Delta is what one event adds to a choice. It may be empty: a token's text can be held back.
type Delta struct {
	Content   string
	Reasoning string
	Calls     []CallDelta
	Event     scheduler.Event // with what the request wants to know of a token besides its text
}

// CallDelta is what is added to one of an answer's tool calls. The first delta of a call has its id and name.
type CallDelta struct {
	Index     int // among the calls of the choice
	ID, Name  string
	Arguments string // more of the text of a JSON object
}

// Empty reports whether there is nothing to show.
func (d Delta) Empty() bool { return d.Content == "" && d.Reasoning == "" && len(d.Calls) == 0 }

// Begin submits a request.
func (s *Service) Begin(ctx context.Context, r *Request) (*Answer, error) {
	streams, err := s.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	a := &Answer{streams: streams, Choices: make([]*Choice, len(streams))}
	for i := range a.Choices {
		a.Choices[i] = &Choice{Index: i, Request: r}
	}
	return a, nil
}

// Cancel ends what still runs.
func (a *Answer) Cancel() {
	for _, st := range a.streams {
		st.Cancel()
	}
}

// Read reads all choices to their ends. take gets what each event adds; idle is called when no other event is ready. The error is that
// of a choice which failed, of take or of idle, or ctx's.
func (a *Answer) Read(ctx context.Context, take func(c *Choice, d Delta) error, idle func() error) error {
	return readAll(ctx, a.streams, func(i int, e scheduler.Event) error {
		c := a.Choices[i]
		d, err := c.Add(e)
		if err != nil {
			return err
		}
		return take(c, d)
	}, idle)
}

// Add takes the next event of the choice's stream. The error is that of an answer that failed.
func (c *Choice) Add(e scheduler.Event) (Delta, error) {
	switch e.Kind {
	case scheduler.KindStarted:
		c.Start = *e.Started
	case scheduler.KindToken:
		c.Tokens = append(c.Tokens, e.Token)
	case scheduler.KindEnd:
		c.End = *e.End
		if err := failure(c.End); err != nil {
			return Delta{}, err
		}
	}
	return Delta{Content: e.Text, Event: e}, nil
}

// failure is the error of an answer that ended by one.
func failure(e scheduler.End) error {
	if e.Reason != answer.ReasonError {
		return nil
	}
	if e.Err == nil {
		return errors.New("the answer failed")
	}
	return e.Err
}

// FinishReason is why a choice ended, in OpenAI's words.
func (c *Choice) FinishReason() string { return c.End.Reason.String() }

// Whole gathers the deltas of a choice.
type Whole struct {
	Content   strings.Builder
	Reasoning strings.Builder
	Calls     []CallDelta // each with all of its arguments
}

// Add appends a delta.
func (w *Whole) Add(d Delta) {
	w.Content.WriteString(d.Content)
	w.Reasoning.WriteString(d.Reasoning)
	for _, call := range d.Calls {
		if call.Index == len(w.Calls) {
			w.Calls = append(w.Calls, CallDelta{Index: call.Index})
		}
		at := &w.Calls[call.Index]
		at.ID += call.ID
		at.Name += call.Name
		at.Arguments += call.Arguments
	}
}
