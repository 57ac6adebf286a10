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
