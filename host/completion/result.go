// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Result is what a request is answered with: its choices, prompt by prompt.
type Result struct{ Choices []*Choice }

// Choice is one answer to one prompt as far as it has come.
type Choice struct {
	Index   int
	Request *TextRequest
	Start   scheduler.Started
	End     scheduler.End
	Tokens  []scheduler.Token
	Outputs []chain.Output // values that plugins gave

	stream serving.Stream
	parts  *chat.Splitter // takes the text apart; nil: it is content as it comes
	calls  bool           // there are tool calls
	shares shares
}

// ReasoningTokens is how many of the tokens so far are reasoning, with the marks around it.
func (c *Choice) ReasoningTokens() int { return c.shares.reasoned }

// Delta is what one event adds to a choice, or what the text of several does. It may be empty: a
// token's text can be held back.
type Delta struct {
	Content   string
	Reasoning string
	Calls     []CallDelta
	Said      []scheduler.Event // the tokens of Content
	Event     scheduler.Event   // with what the request wants to know of a token besides its text; zero where there is none
}

// CallDelta is what is added to one of an answer's tool calls. The first delta of a call has its
// id and name.
type CallDelta = chat.CallDelta

// Empty reports whether there is nothing to show.
func (d Delta) Empty() bool { return d.Content == "" && d.Reasoning == "" && len(d.Calls) == 0 }

// Begin submits a request.
func (s *Service) Begin(ctx context.Context, r *TextRequest) (*Result, error) {
	streams, err := s.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	a := &Result{Choices: make([]*Choice, len(streams))}
	for i, st := range streams {
		a.Choices[i] = &Choice{Index: i, Request: r, stream: st}
		if r.Rendered.NewParser != nil && err == nil {
			a.Choices[i].parts, err = r.Rendered.NewSplitter()
		}
	}
	if err != nil {
		a.Cancel()
		return nil, err
	}
	return a, nil
}

// Cancel ends what still runs.
func (a *Result) Cancel() {
	for _, c := range a.Choices {
		c.stream.Cancel()
		if c.parts != nil {
			_ = c.parts.Close() // it is memory only
		}
	}
}

// Read reads all choices to their ends. take gets what each event adds; idle is called when no
// other event is ready. The error is that of a choice which failed, of take or of idle, or ctx's.
func (a *Result) Read(ctx context.Context, take func(c *Choice, d Delta) error, idle func() error) error {
	return readAll(ctx, a.Choices, take, idle)
}

// tryNext reads the next event of the choice's stream if one is ready.
func (c *Choice) tryNext() (d Delta, ok bool, err error) {
	e, ok := c.stream.TryNext()
	if ok {
		d, err = c.Add(e)
	}
	return d, ok, err
}

// next reads the next event of the choice's stream, or what the text before it adds if that had to
// wait to be taken apart.
func (c *Choice) next(ctx context.Context) (Delta, error) {
	if c.parts != nil && c.parts.Waits() {
		if d, ok, err := c.tryNext(); ok {
			return d, err
		}
		return c.held(ctx)
	}
	e, err := c.stream.Next(ctx)
	if err != nil {
		return Delta{}, err
	}
	return c.Add(e)
}

// held takes apart the text that waits for it, when it is time.
func (c *Choice) held(ctx context.Context) (d Delta, err error) {
	due := time.NewTimer(c.parts.Rest())
	defer due.Stop()
	select {
	case <-due.C:
		return d, d.take(c, c.parts.Take)
	case <-ctx.Done():
		return d, ctx.Err()
	}
}

// Add takes the next event of the choice's stream. The error is that of an answer that failed.
func (c *Choice) Add(e scheduler.Event) (Delta, error) {
	c.Request.note(c.Index, e)
	switch e.Kind {
	case scheduler.KindStarted:
		c.Start = *e.Started
	case scheduler.KindToken:
		c.Tokens = append(c.Tokens, e.Token)
	case scheduler.KindRewound:
		c.Tokens = c.Tokens[:max(0, len(c.Tokens)-e.Rewound.Tokens)]
	case scheduler.KindOutput:
		c.Outputs = append(c.Outputs, *e.Output)
	case scheduler.KindEnd:
		c.End = *e.End
		if err := failure(c.End); err != nil {
			return Delta{}, err
		}
	}
	d := Delta{Event: e}
	c.shares.add(e)
	if c.parts == nil {
		if d.Content = e.Text; e.Text != "" {
			d.Said = c.shares.take(chat.Delta{Content: e.Text})
		}
		return d, nil
	}
	c.parts.Add(e.Text)
	switch {
	case e.Kind == scheduler.KindEnd:
		err := d.take(c, lastOf(c.parts, c.End.Reason))
		c.shares.end()
		return d, err
	case c.parts.Rest() == 0:
		return d, d.take(c, c.parts.Take)
	}
	return d, nil
}

// lastOf takes the end of an answer's text. One that neither the model nor a stop string has ended
// may end with half a mark.
func lastOf(parts *chat.Splitter, why answer.Reason) func() ([]chat.Delta, error) {
	if why == answer.ReasonStop {
		return parts.End
	}
	return parts.Cut
}

// take adds what the parser of a choice tells.
func (d *Delta) take(c *Choice, from func() ([]chat.Delta, error)) error {
	gained, err := from()
	for _, g := range gained {
		d.Said = append(d.Said, c.shares.take(g)...)
		d.Reasoning += g.Reasoning
		d.Content += g.Content
		if g.Call != nil {
			d.Calls = append(d.Calls, *g.Call)
			c.calls = true
		}
	}
	return err
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
func (c *Choice) FinishReason() string {
	if c.calls && c.End.Reason == answer.ReasonStop {
		return "tool_calls"
	}
	return c.End.Reason.String()
}

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
		at.Custom = at.Custom || call.Custom
	}
}
