// SPDX-License-Identifier: MIT

package answerlog

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	ending "github.com/penstock/penstock/scheduler/answer"
)

// source is an answer that is being computed. It writes the answer's frames into its log, which may
// outlive it.
type source struct {
	service *completion.Service
	shelf   *Shelf
	stream  serving.Stream
	choice  *completion.Choice
	seed    uint32 // with which it began
	parts   *parts // takes the answer apart; nil: nobody wants that
}

// newSource has the answer to a request computed. It releases the request once it has run.
func (s *Shelf) newSource(ctx context.Context, service *completion.Service, r *completion.Prompted, o Options) (*source, error) {
	src := &source{service: service, shelf: s, seed: r.Params.Seed}
	if o.Parts {
		var err error
		if src.parts, err = newParts(r); err != nil {
			return nil, err
		}
	}
	submitted, err := service.Submit(ctx, r, completion.Reading{Overflow: o.Overflow})
	if err != nil {
		if o.Parts {
			src.parts.parser.Close()
		}
		return nil, err
	}
	src.choice = submitted.Choices[0]
	src.stream = src.choice.Stream
	return src, nil
}

// run writes the frames of the answer until it has ended, or is not wanted any more. Then it
// releases the model, which nobody can reach by the log any more.
func (s *source) run(ctx context.Context, l *Log) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if s.parts != nil {
		go s.parse(ctx, l)
	}
	for {
		e, err := s.stream.Next(ctx)
		if err != nil || !s.write(ctx, l, e) || e.Kind == scheduler.KindEnd {
			break
		}
	}
	s.stream.Cancel() // before a parse that may be going on is waited for; it does nothing after the end
	if stop(); s.parts != nil {
		<-s.parts.told
		s.parts.parser.Close()
	}
	l.mu.Lock()
	l.source = nil // without a last frame, too
	l.mu.Unlock()
	s.choice.Request.Release()
}

// write writes the frames of an event. The parser gets what a token adds after the token, and what
// is taken back before its event. All parts come before the end.
func (s *source) write(ctx context.Context, l *Log, e scheduler.Event) bool {
	switch {
	case e.Kind == scheduler.KindEnd:
		if e.Text != "" && !s.writeFrame(ctx, l, e, tokenFrame{Type: "token", Seq: e.Seq, Text: e.Text}) { // which was held back
			return false
		}
		if s.parts != nil {
			s.parts.take(e)
			select {
			case <-s.parts.told:
			case <-ctx.Done():
				return false
			}
		}
		return s.writeFrame(ctx, l, e, s.endFrame(e))
	case s.parts == nil:
		return s.writeFrame(ctx, l, e, s.frameOf(e))
	case e.Kind == scheduler.KindRewound:
		s.parts.take(e)
		return s.writeFrame(ctx, l, e, s.frameOf(e))
	}
	if !s.writeFrame(ctx, l, e, s.frameOf(e)) {
		return false
	}
	s.parts.take(e)
	return true
}

func (s *source) writeFrame(ctx context.Context, l *Log, e scheduler.Event, f any) bool {
	data, err := json.Marshal(f)
	if err != nil {
		data, _ = json.Marshal(EndFrame{Type: "end", Reason: ending.ReasonError.String(), Error: &wire.ErrorObject{Code: "internal_error", Message: "internal error: a frame cannot be encoded: " + err.Error()}})
	}
	_, isEnd := f.(EndFrame)
	return l.write(ctx, frame{seq: int64(e.Seq), data: data, size: int64(len(data)) + 64}, err != nil || isEnd) && err == nil
}

// parts is the text of an answer on its way to a parser, which takes it apart while token frames go
// on.
type parts struct {
	parser *completion.Parts
	wake   chan struct{}
	told   chan struct{} // closed when all is told, or cannot be
	failed error         // why not, for readers after told

	mu    sync.Mutex
	text  []byte        // of the answer so far
	read  int           // how much of it the parser was given
	reset bool          // the client is to be told all of it anew
	ended ending.Reason // why no text follows; 0: more may
}

func newParts(r *completion.Prompted) (*parts, error) {
	parser, err := r.NewParts()
	if err != nil {
		return nil, err
	}
	return &parts{parser: parser, wake: make(chan struct{}, 1), told: make(chan struct{})}, nil
}

// take takes an event of the answer in.
func (p *parts) take(e scheduler.Event) {
	p.mu.Lock()
	switch e.Kind {
	case scheduler.KindRewound:
		p.text = bytes.TrimSuffix(p.text, []byte(e.Rewound.Text))
		p.reset = true
	case scheduler.KindEnd:
		p.ended = e.End.Reason
		fallthrough
	default:
		p.text = append(p.text, e.Text...)
	}
	p.mu.Unlock()
	signal(p.wake)
}

// parse writes what the answer gains in parts, until it has ended. An answer that cannot be parsed
// is cancelled.
func (s *source) parse(ctx context.Context, l *Log) {
	p := s.parts
	defer close(p.told)
	for p.wait(ctx) {
		text, reset, ended := p.next()
		take := p.parser.Take
		if reset {
			take = p.parser.Retake
		}
		d, err := take(text, ended)
		if err != nil {
			p.failed = err
			s.stream.Cancel()
			return
		}
		stale := p.isStale()
		if (reset || !d.Empty()) && !stale {
			f := &partsFrame{Reset: reset, Content: d.Content, Reasoning: d.Reasoning, Calls: wire.CallDeltas(d.Calls)}
			if !l.write(ctx, frame{parts: f, size: int64(2*len(text)) + 128}, false) {
				return
			}
		}
		if ended != 0 && !stale {
			return
		}
	}
}

// isStale reports whether tokens were taken back since next: what was parsed is no longer useful.
func (p *parts) isStale() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reset
}

// next is what the parser is to be given: after a reset all text.
func (p *parts) next() (text string, reset bool, ended ending.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reset {
		p.read = 0
	}
	text, reset, ended = string(p.text[p.read:]), p.reset, p.ended
	p.read, p.reset = len(p.text), false
	return text, reset, ended
}

// wait waits until there is something to parse, and it is time; false when ctx is done. The end of
// the answer does not wait for its time.
func (p *parts) wait(ctx context.Context) bool {
	for {
		p.mu.Lock()
		due, ended := p.ended != 0 || p.reset || len(p.text) > p.read, p.ended
		p.mu.Unlock()
		var rested <-chan time.Time
		if due {
			rest := p.parser.Rest()
			if rest == 0 || ended != 0 {
				return ctx.Err() == nil
			}
			rested = time.After(rest)
		}
		select {
		case <-p.wake:
		case <-rested:
		case <-ctx.Done():
			return false
		}
	}
}

type startedFrame struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Stream string `json:"stream"`
	Model  string `json:"model"`
	Seed   uint32 `json:"seed"` // of the request, or drawn where it names none
	Prompt int    `json:"prompt_tokens"`
	Cached int    `json:"cached_tokens"`

	Warnings []string `json:"warnings,omitempty"`       // of the request's fields that count for nothing
	Relaxed  []string `json:"schema_relaxed,omitempty"` // what of its JSON schemas is not enforced
}

type tokenFrame struct {
	Type     string           `json:"type"`
	ID       string           `json:"id"`
	Seq      uint64           `json:"seq"`
	Text     string           `json:"text"`
	TokenID  *scheduler.Token `json:"token_id,omitempty"` // nil: it is text that was held back until the end
	Logprobs *wire.TokenProb  `json:"logprobs,omitempty"`
	Trace    *wire.TokenTrace `json:"trace,omitempty"`
}

// promptFrame tells how likely the next tokens of the prompt were; the first of all has no
// probability and is in no frame.
type promptFrame struct {
	Type   string           `json:"type"`
	ID     string           `json:"id"`
	Seq    uint64           `json:"seq"`
	Prompt []wire.TokenProb `json:"prompt"`
}

// rewoundFrame tells what is taken back of what was sent.
type rewoundFrame struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Seq     uint64 `json:"seq"`
	Tokens  int    `json:"tokens"`
	Removed string `json:"removed"` // the end of the text so far that goes with them
}

// outputFrame is a value that a plugin gave.
type outputFrame struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Seq  uint64 `json:"seq"`
	wire.PluginOutput
}

// branchesFrame tells what has become of a program's branches.
type branchesFrame struct {
	Type     string        `json:"type"`
	ID       string        `json:"id"`
	Seq      uint64        `json:"seq"`
	Branches []wire.Branch `json:"branches"`
	LeftOut  int           `json:"left_out,omitempty"`
}

// partsFrame tells what the parser of an answer finds in it.
type partsFrame struct {
	Type      string           `json:"type"`
	ID        string           `json:"id"`
	Reset     bool             `json:"reset,omitempty"` // what the parts frames before said counts no more
	Content   string           `json:"content,omitempty"`
	Reasoning string           `json:"reasoning,omitempty"`
	Calls     []wire.CallDelta `json:"calls,omitempty"`
}

// stateFrame says that an answer is held, or goes on.
type stateFrame struct {
	Type string `json:"type"` // one of these
	ID   string `json:"id"`
}

const (
	paused  = "paused"
	resumed = "resumed"
)

// EndFrame is the last frame of an answer.
type EndFrame struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
	outcome
	Usage     wire.Usage        `json:"usage"`
	Timings   wire.Timings      `json:"timings"`
	Missed    uint64            `json:"missed,omitempty"`    // events that were dropped
	Recording string            `json:"recording,omitempty"` // its id, if the request was recorded
	Receipt   string            `json:"receipt,omitempty"`   // signed, if it was asked for and the answer has not failed
	Trace     *wire.TokenTrace  `json:"trace,omitempty"`     // of the token that ended the answer
	Error     *wire.ErrorObject `json:"error,omitempty"`
}

// outcome tells the ways apart in which an answer may end; empty: there was none, or it has failed.
type outcome struct {
	StopType  string           `json:"stop_type,omitempty"`     // see completion.Choice.StopType
	Word      string           `json:"stopping_word,omitempty"` // the stop string
	StoppedBy string           `json:"stopped_by,omitempty"`    // the plugin
	TokenID   *scheduler.Token `json:"token_id,omitempty"`      // the token that ended it and is not part of it
}

// frameOf is the frame of one event before the end, as those below without the client's name of the
// answer.
func (s *source) frameOf(e scheduler.Event) any {
	c := s.choice
	engine := c.Request.Model.Engine
	d, _ := c.Add(e) // an answer fails only at its end
	switch e.Kind {
	case scheduler.KindStarted:
		return startedFrame{Type: "started", Stream: s.shelf.nameOf(s.stream.ID()), Model: c.Request.Model.Name,
			Seed: s.seed, Prompt: e.Started.PromptTokens, Cached: e.Started.CachedTokens, Warnings: wire.Warnings(c.Request.LeftOut()),
			Relaxed: c.Request.Relaxed}
	case scheduler.KindPrompt:
		return promptFrame{Type: "prompt", Seq: e.Seq, Prompt: wire.PromptProbabilities(engine, e.Prompt)}
	case scheduler.KindOutput:
		return outputFrame{Type: "output", Seq: e.Seq, PluginOutput: wire.OutputOf(*e.Output)}
	case scheduler.KindBranches:
		told := wire.BranchesOf(engine, e)
		return branchesFrame{Type: "branches", Seq: e.Seq, Branches: append([]wire.Branch{}, told.Branches...), LeftOut: told.LeftOut}
	case scheduler.KindRewound:
		return rewoundFrame{Type: "rewound", Seq: e.Seq, Tokens: e.Rewound.Tokens, Removed: e.Rewound.Text}
	}
	id := e.Token
	f := tokenFrame{Type: "token", Seq: e.Seq, Text: d.Content, TokenID: &id, Trace: wire.TraceOf(engine, e.Token, e.Trace)}
	if p, ok := wire.Probability(engine, e); ok {
		f.Logprobs = &p
	}
	return f
}

// endFrame is the frame of an answer's end, besides that of the text that was held back until then.
func (s *source) endFrame(e scheduler.Event) EndFrame {
	c := s.choice
	_, failed := c.Add(e)
	end := EndFrame{Type: "end", Recording: c.Request.RecordingID(), Reason: e.End.Reason.String(), Timings: wire.TimingsOf(*e.End),
		Usage: wire.UsageOf([]*completion.Choice{c}, 1)}
	end.outcome = outcome{StopType: c.StopType(), Word: e.End.Stop, StoppedBy: c.StoppedBy()}
	if t := e.End.EndToken; t != nil {
		end.TokenID, end.Trace = &t.Token, wire.TraceOf(c.Request.Model.Engine, t.Token, t.Trace)
	}
	end.Missed = c.Missed()
	if s.parts != nil {
		end.Reason = s.parts.parser.FinishReason(e.End.Reason)
		if failed == nil && s.parts.failed != nil {
			failed, end.Reason = s.parts.failed, "error"
		}
	}
	if failed == nil {
		end.Receipt = c.Receipt()
	} else {
		end.outcome = outcome{}
		body := wire.ErrorOf(completion.AsError(failed, "request"))
		end.Error = &body
	}
	return end
}
