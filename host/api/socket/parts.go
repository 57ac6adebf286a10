// SPDX-License-Identifier: MIT

package socket

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
	ending "github.com/penstock/penstock/scheduler/answer"
)

// parts takes an answer apart on a goroutine of its own, which parses while token frames go on,
// and sends what it finds.
type parts struct {
	parser *completion.Parts
	wake   chan struct{}
	stop   context.CancelFunc // of the goroutine; nil: it was not started
	done   chan struct{}      // closed when the goroutine has ended
	failed error              // what ended it, for readers after done

	mu    sync.Mutex
	text  []byte        // of the answer so far
	read  int           // how much of it the parser was given
	reset bool          // the client is to be told all of it anew
	ended ending.Reason // why no text follows; 0: more may
}

// newParts takes an answer apart. One that the client comes back to begins with all that it has.
func newParts(r *completion.Prompted, reset bool) (*parts, error) {
	parser, err := r.NewParts()
	if err != nil {
		return nil, err
	}
	return &parts{parser: parser, wake: make(chan struct{}, 1), done: make(chan struct{}), reset: reset}, nil
}

// close ends the goroutine, if there is one, and frees the parser.
func (p *parts) close() {
	if p.stop != nil {
		p.stop()
		<-p.done
	}
	p.parser.Close()
}

// start has what there is told from now on.
func (p *parts) start(ctx context.Context, a *answer) {
	ctx, p.stop = context.WithCancel(ctx)
	go func() {
		defer close(p.done)
		if p.failed = p.run(ctx, a); p.failed != nil {
			a.stream.Cancel()
		}
	}()
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
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// finish waits until all of an answer that has ended was told; failed says whether it was.
func (p *parts) finish(ctx context.Context, a *answer) {
	if p.stop == nil {
		p.start(ctx, a)
	}
	<-p.done
}

// run tells what the answer gains, until it has ended.
func (p *parts) run(ctx context.Context, a *answer) error {
	for p.wait(ctx) {
		text, reset, ended := p.next()
		take := p.parser.Take
		if reset {
			take = p.parser.Retake
		}
		d, err := take(text, ended)
		if err != nil {
			return err
		}
		stale := p.isStale()
		if (reset || !d.Empty()) && !stale {
			if !a.connection.send(ctx, partsOf(d, a.id, reset)) {
				return nil
			}
		}
		if ended != 0 && !stale {
			return nil
		}
	}
	return nil
}

func partsOf(d completion.Delta, id string, reset bool) partsFrame {
	return partsFrame{Type: "parts", ID: id, Reset: reset, Content: d.Content, Reasoning: d.Reasoning, Calls: wire.CallDeltas(d.Calls)}
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
