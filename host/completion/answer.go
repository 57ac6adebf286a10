// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Choice is one answer to one prompt as far as it has come.
type Choice struct {
	Index   int
	Request *Submitted
	Stream  serving.Stream
	Start   scheduler.Started
	End     scheduler.End
	Tokens  []scheduler.Token
	Outputs []chain.Output // values that plugins gave

	parts  *chat.Splitter // takes the text apart; nil: it has no parts, or its reader wants it as it comes
	calls  bool           // there are tool calls
	text   []byte         // of the answer so far
	shares shares
	shown  *Whole // the parts that its reader was told, for a receipt; nil: none is wanted
}

// ReasoningTokens is how many of the tokens so far are reasoning, with the marks around it.
func (c *Choice) ReasoningTokens() int { return c.shares.reasoned }

// Delta is what one event adds to a choice, or what the text of several does. It may be empty: a
// token's text can be held back. With an event of KindRewound it is all that is left of the answer,
// in the place of the deltas before.
type Delta struct {
	Content   string
	Reasoning string
	Calls     []CallDelta
	Said      []scheduler.Event // the tokens of Content, for a request that asks for log-probabilities
	Event     scheduler.Event   // with what the request wants to know of a token besides its text; zero where there is none
}

// CallDelta is what is added to one of an answer's tool calls. The first delta of a call has its
// id and name.
type CallDelta = chat.CallDelta

// Empty reports whether there is nothing to show.
func (d Delta) Empty() bool { return d.Content == "" && d.Reasoning == "" && len(d.Calls) == 0 }

// Cancel ends what still runs.
func (r *Submitted) Cancel() {
	for _, c := range r.Choices {
		c.Stream.Cancel()
		if c.parts != nil {
			_ = c.parts.Close() // it is memory only
		}
	}
}

// Read reads all choices to their ends; Reading.Parts was set. take gets what each event adds; idle
// is called when no other event is ready. It fails if a choice, take or idle does, or with
// ctx's error.
func (r *Submitted) Read(ctx context.Context, take func(c *Choice, d Delta) error, idle func() error) error {
	return readAll(ctx, r.Choices, take, idle)
}

// tryNext reads the next event of the choice's stream into d, if one is ready. A delta is large, so
// it is copied as seldom as can be.
func (c *Choice) tryNext(d *Delta) (ok bool, err error) {
	e, ok := c.Stream.TryNext()
	if ok {
		err = c.add(d, &e)
	}
	return ok, err
}

// next reads the next event of the choice's stream, or what the text before it adds if that had to
// wait to be taken apart.
func (c *Choice) next(ctx context.Context, d *Delta) error {
	if c.parts != nil && c.parts.Waits() {
		if ok, err := c.tryNext(d); ok {
			return err
		}
		return c.takeHeld(ctx, d)
	}
	e, err := c.Stream.Next(ctx)
	if err != nil {
		return err
	}
	return c.add(d, &e)
}

// poll is next without waiting.
func (c *Choice) poll(d *Delta) (ok bool, err error) {
	if ok, err = c.tryNext(d); ok || c.parts == nil || !c.parts.Waits() || c.parts.Rest() > 0 {
		return ok, err
	}
	*d = Delta{}
	return true, d.take(c, c.parts.Take)
}

// takeHeld takes apart the text that waits for it, when it is time.
func (c *Choice) takeHeld(ctx context.Context, d *Delta) error {
	due := time.NewTimer(c.parts.Rest())
	defer due.Stop()
	select {
	case <-due.C:
		*d = Delta{}
		return d.take(c, c.parts.Take)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Add takes the next event of the choice's stream. It fails if the answer has.
func (c *Choice) Add(e scheduler.Event) (d Delta, err error) {
	err = c.add(&d, &e)
	return d, err
}

func (c *Choice) add(d *Delta, e *scheduler.Event) error {
	if recording := c.Request.held.recording; recording != nil {
		recording.Event(c.Index, *e)
	}
	switch e.Kind {
	case scheduler.KindStarted:
		c.Start = *e.Started
	case scheduler.KindToken:
		c.Tokens = append(c.Tokens, e.Token)
	case scheduler.KindRewound:
		c.Tokens = c.Tokens[:max(0, len(c.Tokens)-e.Rewound.Tokens)]
	case scheduler.KindOutput:
		if e.Output.Row == nil { // rows are for who reads them: those of a whole answer take too much
			c.Outputs = append(c.Outputs, *e.Output)
		}
	case scheduler.KindEnd:
		c.End = *e.End
		if err := failure(c.End); err != nil {
			*d = Delta{}
			return err
		}
	}
	*d = Delta{Event: *e}
	c.text = append(c.text, e.Text...)
	if e.Kind == scheduler.KindRewound {
		return d.retellRest(c)
	}
	if c.parts == nil {
		d.Content = e.Text
		if c.Request.Logprobs >= 0 {
			c.shares.add(*e)
			d.Said = c.shares.take(chat.Delta{Content: e.Text})
		}
		return nil
	}
	c.shares.add(*e)
	c.parts.Add(e.Text)
	switch {
	case e.Kind == scheduler.KindEnd:
		err := d.take(c, lastPart(c.parts, c.End.Reason))
		c.shares.end()
		return err
	case c.parts.Rest() == 0:
		return d.take(c, c.parts.Take)
	}
	return nil
}

// retellRest tells all that is left of a choice, of which tokens were taken back.
func (d *Delta) retellRest(c *Choice) error {
	c.text = bytes.TrimSuffix(c.text, []byte(d.Event.Rewound.Text))
	c.shares, c.calls = shares{}, false
	if c.parts == nil {
		d.Content = string(c.text)
		return nil
	}
	if err := c.parts.Restart(string(c.text)); err != nil {
		return err
	}
	return d.take(c, c.parts.Take)
}

// lastPart takes the end of an answer's text. One that neither the model nor a stop string has
// ended may end with half a mark.
func lastPart(parts *chat.Splitter, why answer.Reason) func() ([]chat.Delta, error) {
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
	if c.shown != nil {
		c.shown.Add(d)
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

// StopType is what ended a choice, by llama-server's words: eos is the model, word a stop string,
// limit the length, and none a client or an error. llama-server knows no plugin.
func (c *Choice) StopType() string {
	switch e := &c.End; {
	case e.Reason == answer.ReasonLength:
		return "limit"
	case e.Reason != answer.ReasonStop:
		return "none"
	case e.Stop != "":
		return "word"
	case c.StoppedBy() != "":
		return "plugin"
	}
	return "eos"
}

// StoppedBy is the plugin that ended a choice as complete; "": none did.
func (c *Choice) StoppedBy() string {
	if c.End.Reason != answer.ReasonStop {
		return ""
	}
	plugin, _ := sampling.PluginNamed(c.End.By)
	return plugin
}

// Missed counts the events that a slow reader has lost, where that is allowed.
func (c *Choice) Missed() uint64 {
	if stream, ok := c.Stream.(interface{ Missed() uint64 }); ok {
		return stream.Missed()
	}
	return 0
}

// readAll reads choices to their ends. take gets what every event adds. idle is called when no
// other event is ready, so that what take has gathered goes out at once. An error of either ends
// the reading.
//
// With several choices each has a goroutine that reads one event and waits until it is taken. So
// if take is slow, because the client is, the streams are not read: their rings fill and the
// scheduler parks their slots, while memory stays bounded.
func readAll(ctx context.Context, choices []*Choice, take func(*Choice, Delta) error, idle func() error) error {
	if len(choices) == 1 {
		return readOne(ctx, choices[0], take, idle)
	}
	ctx, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	offers := make(chan offer)
	for _, c := range choices {
		readers.Go(func() { c.offerAll(ctx, offers) })
	}
	for open := len(choices); open > 0; {
		var next offer
		select {
		case next = <-offers:
		default:
			if err := idle(); err != nil {
				return err
			}
			select {
			case next = <-offers:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if next.err != nil {
			return next.err
		}
		if err := take(next.choice, next.delta); err != nil {
			return err
		}
		next.taken <- struct{}{}
		if next.delta.Event.Kind == scheduler.KindEnd {
			open--
		}
	}
	return idle()
}

// offer is what an event adds to one of several choices, or the error of reading it.
type offer struct {
	choice *Choice
	delta  Delta
	err    error
	taken  chan<- struct{} // told when the choice may change again
}

// offerAll reads a choice to its end, and each event once the one before was taken.
func (c *Choice) offerAll(ctx context.Context, offers chan<- offer) {
	taken := make(chan struct{}, 1)
	for {
		var d Delta
		err := c.next(ctx, &d)
		select {
		case offers <- offer{c, d, err, taken}:
		case <-ctx.Done():
			return
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return
		}
		if err != nil || d.Event.Kind == scheduler.KindEnd {
			return
		}
	}
}

func readOne(ctx context.Context, c *Choice, take func(*Choice, Delta) error, idle func() error) error {
	var d Delta
	for {
		ok, err := c.tryNext(&d)
		if !ok {
			if err := idle(); err != nil {
				return err
			}
			err = c.next(ctx, &d)
		}
		if err != nil {
			return err
		}
		if err := take(c, d); err != nil {
			return err
		}
		if d.Event.Kind == scheduler.KindEnd {
			return idle()
		}
	}
}

// Whole gathers the deltas of a choice.
type Whole struct {
	Content   strings.Builder
	Reasoning strings.Builder
	Calls     []CallDelta // each with all of its arguments
}

// Add appends a delta.
func (w *Whole) Add(d *Delta) {
	if d.Event.Kind == scheduler.KindRewound {
		*w = Whole{}
	}
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

// shares tell to which part of an answer its tokens belong. A part is found in the text of the
// tokens that none was found for yet, in its order.
type shares struct {
	waiting  []share // of the text
	text     []byte  // that is in no part so far
	thought  bool    // the last part is reasoning
	reasoned int     // tokens of reasoning, with the marks around it
}

// share is a token and its text, or what is left of that.
type share struct {
	event   scheduler.Event
	length  int
	counted bool // as one of reasoning
	said    bool // as one of the content
}

// add takes the next event of an answer in.
func (s *shares) add(e scheduler.Event) {
	if e.Kind != scheduler.KindToken && e.Text == "" {
		return
	}
	none := e.Kind != scheduler.KindToken
	s.waiting = append(s.waiting, share{event: e, length: len(e.Text), counted: none, said: none})
	s.text = append(s.text, e.Text...)
}

// take finds the tokens of a part that the answer has gained, and returns those of content. One
// that has two parts belongs to both.
func (s *shares) take(d chat.Delta) (said []scheduler.Event) {
	part := d.Content + d.Reasoning
	if d.Call != nil {
		part = d.Call.Arguments
	}
	from := bytes.Index(s.text, []byte(part))
	to := from + len(part)
	if from < 0 { // it is written in another way
		from, to = 0, len(s.text)
	}
	at, n := 0, 0
	for ; n < len(s.waiting) && at < to; n++ {
		each := &s.waiting[n]
		end := at + each.length
		inside := end > from || each.length == 0 && at >= from
		if (d.Reasoning != "" || s.thought && !inside) && !each.counted {
			each.counted = true
			s.reasoned++
		}
		if inside && d.Content != "" && !each.said {
			each.said = true
			said = append(said, each.event)
		}
		if end > to {
			each.length = end - to
			break
		}
		at = end
	}
	s.waiting, s.text, s.thought = s.waiting[n:], s.text[to:], d.Reasoning != ""
	return said
}

// end counts what is left when the answer has ended.
func (s *shares) end() {
	for _, each := range s.waiting {
		if s.thought && !each.counted {
			s.reasoned++
		}
	}
	s.waiting, s.text = nil, nil
}

// Parts takes an answer apart into content, reasoning and tool calls, for a reader that follows
// its tokens as well. It is memory besides that, and processor time; see Rest.
type Parts struct {
	choice Choice // with its parser, and whether there are tool calls
	begun  bool   // the parser has seen text
}

// NewParts takes an answer to a request apart. It is closed by who gets it.
func (p *Prompted) NewParts() (*Parts, error) {
	parser, err := p.Rendered.NewSplitter()
	return &Parts{choice: Choice{parts: parser}}, err
}

// Rest is how long Take should not be called, so that parsing costs little, unless the answer has
// ended.
func (p *Parts) Rest() time.Duration { return p.choice.parts.Rest() }

// Take gives what the answer gains by more text. ended is why the answer has ended; 0: it goes on.
func (p *Parts) Take(text string, ended answer.Reason) (d Delta, err error) {
	p.choice.parts.Add(text)
	p.begun = true
	return p.take(ended)
}

// Retake is Take after tokens were taken back: text is all that is left, and the delta has all of
// it.
func (p *Parts) Retake(text string, ended answer.Reason) (d Delta, err error) {
	p.choice.calls = false
	if !p.begun {
		return p.Take(text, ended)
	}
	if err := p.choice.parts.Restart(text); err != nil {
		return d, err
	}
	return p.take(ended)
}

func (p *Parts) take(ended answer.Reason) (d Delta, err error) {
	if ended != 0 {
		return d, d.take(&p.choice, lastPart(p.choice.parts, ended))
	}
	return d, d.take(&p.choice, p.choice.parts.Take)
}

// FinishReason is why an answer ended, in OpenAI's words.
func (p *Parts) FinishReason(r answer.Reason) string {
	p.choice.End.Reason = r
	return p.choice.FinishReason()
}

// Close frees the parser.
func (p *Parts) Close() { _ = p.choice.parts.Close() } // it is memory only
