// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// answer is one that goes over a WebSocket connection. What it is made of is there once it is
// ready and begun.
type answer struct {
	connection *connection
	id         string
	lane       lane               // of the frames for it
	ready      chan struct{}      // closed when its preparation has ended
	begun      bool               // it was prepared; otherwise it is over
	abandon    context.CancelFunc // ends the preparation
	cancelled  bool               // by its client; under the connection's lock

	stream     serving.Stream
	choice     *completion.Choice
	detachable *detachable // where it may outlive its connection; nil elsewhere
	kept       *kept       // an answer that had ended when its client came back, in the place of stream and choice; nil elsewhere
	seed       uint32      // with which it began
	after      int64       // the last event that the client has seen; −1: none
	parts      *parts      // takes it apart; nil: nobody wants that
	paused     bool        // it was when the client came back

	telling sync.Mutex // held while the end or the answer's state is told
	ended   bool       // the client is told of the end, and of nothing after it

	told atomic.Bool // the writer has taken the end

	reading  context.Context    // done when it is to release the stream
	stop     context.CancelFunc // ends that
	released chan struct{}      // closed when it has released it
}

// generate starts an answer.
func (k *connection) generate(f clientFrame) error {
	return k.operate(f, "id", f.ID, func(ctx context.Context, a *answer) error {
		r, err := k.parse(ctx, f.Request)
		if err != nil {
			return err
		}
		return a.start(ctx, f, r)
	})
}

// overflow says what becomes of an answer whose client reads too slowly.
var overflow = map[string]scheduler.OverflowPolicy{"": scheduler.Park, "park": scheduler.Park, "drop": scheduler.DropOldest, "cancel": scheduler.CancelSlow}

// checkNew refuses an answer that cannot be begun so.
func checkNew(f clientFrame) error {
	if f.DetachMS < 0 || f.DetachMS > maxDetach.Milliseconds() {
		return refusal.Invalid("detach_ms", "detach_ms is %d; it must be from 0 to %d", f.DetachMS, maxDetach.Milliseconds())
	}
	policy, known := overflow[f.Overflow]
	switch {
	case !known:
		return refusal.Invalid("overflow", "overflow is %q; it must be park, drop or cancel", excerpt.Of(f.Overflow, 40))
	case policy != scheduler.Park && f.DetachMS > 0:
		return refusal.Invalid("overflow", "overflow is %q; an answer with detach_ms, of which everything is kept, is parked", f.Overflow)
	}
	return nil
}

// start submits the request of an answer.
func (a *answer) start(ctx context.Context, f clientFrame, r *completion.Prompted) error {
	k := a.connection
	detach := time.Duration(f.DetachMS) * time.Millisecond
	a.seed, a.after = r.Params.Seed, -1
	reading := completion.Reading{Detachable: detach > 0, Overflow: overflow[f.Overflow]}
	if detach > 0 {
		d, err := k.api.detachables.begin(k.api, r, detach)
		if err != nil {
			r.Release()
			return err
		}
		d.mu.Lock() // so that an end that comes at once waits for its reader
		defer d.mu.Unlock()
		a.detachable, reading.Ended = d, d.ended
	}
	if err := a.submit(ctx, r, reading, f.Parts); err != nil {
		if a.detachable != nil {
			a.detachable.all.remove(a.detachable)
		}
		r.Release()
		return err
	}
	if a.detachable != nil {
		a.detachable.begun(a)
	}
	return k.follow(a)
}

// submit has the answer computed, and taken apart if that is wanted.
func (a *answer) submit(ctx context.Context, r *completion.Prompted, reading completion.Reading, takeApart bool) (err error) {
	if takeApart {
		if a.parts, err = newParts(r, false); err != nil {
			return err
		}
	}
	submitted, err := a.connection.api.Submit(ctx, r, reading)
	if err == nil {
		a.choice = submitted.Choices[0]
		a.stream = a.choice.Stream
	} else if a.parts != nil {
		a.parts.close()
	}
	return err
}

// parse reads a generate frame's request: the body of a chat or text completion.
func (k *connection) parse(ctx context.Context, request json.RawMessage) (*completion.Prompted, error) {
	if !completion.IsSet(request) {
		return nil, refusal.Invalid("request", "request is missing: the body of a chat or text completion")
	}
	from := k.caller
	from.Files = k.file
	asked, err := openai.Read(from, request)
	if err != nil {
		return nil, err
	}
	r, err := k.api.Prompt(ctx, asked)
	if err != nil {
		return nil, err
	}
	if r.PerPrompt*len(r.Prompts) != 1 {
		r.Release()
		return nil, refusal.Invalid("n", "a generate frame starts one answer: n must be 1, and prompt a single one")
	}
	return r, nil
}

// follow has the stream read. A connection that is closing takes no more answers: it releases the
// stream, as a lost connection does.
func (k *connection) follow(a *answer) error {
	if a.detachable != nil {
		a.detachable.reader = a
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		a.release()
		return completion.AsError(scheduler.ErrClosed, "")
	}
	return nil
}

// release gives up the stream. A detachable answer goes on without a reader for a while; any other
// is cancelled, which does nothing if it has ended.
func (a *answer) release() {
	d := a.detachable
	stays := d != nil && !d.forgot.Load()
	if !stays {
		a.stream.Cancel() // before a parse that may be going on is waited for
	}
	if a.parts != nil {
		a.parts.close()
	}
	switch {
	case stays:
		d.detached()
	case d != nil:
		d.free()
	default:
		a.choice.Request.Release()
	}
	a.stop()
	close(a.released)
	if stays && d.over.Load() {
		go d.keep()
	}
}

// forward sends the stream's events until it ends, the connection ends, or another connection
// takes the stream over.
func (a *answer) forward(ctx context.Context) {
	defer a.release()
	defer a.freeID()
	if a.kept != nil {
		a.replay(ctx)
		return
	}
	if a.paused && !a.connection.send(ctx, stateFrame{Type: "paused", ID: a.id}) {
		return
	}
	if a.parts != nil && a.after < 0 {
		a.parts.start(ctx, a)
	}
	for {
		e, err := a.stream.Next(ctx)
		if err != nil {
			return
		}
		if a.detachable != nil {
			a.detachable.noted(e)
		}
		send := a.sendEvent
		if a.parts != nil {
			send = a.sendWithParts
		}
		if !send(ctx, e) || e.Kind == scheduler.KindEnd {
			return
		}
	}
}

// sendEvent sends the frames of an event; false where ctx ended first.
func (a *answer) sendEvent(ctx context.Context, e scheduler.Event) bool {
	if e.Kind == scheduler.KindEnd {
		return a.sendLastText(ctx, e) && a.sendEnd(ctx, a.endFrame(e))
	}
	if a.saw(e) {
		return true
	}
	if e.Kind == scheduler.KindStarted && a.detachable != nil {
		a.detachable.named()
	}
	return a.connection.send(ctx, a.frameOf(e)) // another connection need not wait until this one's client has read
}

// saw reports whether the client has seen an event before.
func (a *answer) saw(e scheduler.Event) bool { return int64(e.Seq) <= a.after }

// sendLastText sends what was held back until the end.
func (a *answer) sendLastText(ctx context.Context, e scheduler.Event) bool {
	return e.Text == "" || a.saw(e) || a.connection.send(ctx, tokenFrame{Type: "token", ID: a.id, Seq: e.Seq, Text: e.Text})
}

// sendEnd sends the end frame, the last one.
func (a *answer) sendEnd(ctx context.Context, end any) bool {
	a.telling.Lock()
	defer a.telling.Unlock()
	a.ended = true
	if a.detachable != nil {
		a.detachable.paused.Store(false)
	}
	a.freeID() // before the client learns of the end and uses the id again
	if !a.connection.send(ctx, end) {
		return false
	}
	if a.told.Store(true); a.detachable != nil {
		a.connection.toConfirm()
	}
	return true
}

// sendWithParts is sendEvent for an answer that is taken apart. What a token adds is told after
// the token, what is taken back before its event, and all of it before the end. Events that the
// client has seen are read again, for the parser.
func (a *answer) sendWithParts(ctx context.Context, e scheduler.Event) bool {
	switch {
	case e.Kind == scheduler.KindEnd:
		if !a.sendLastText(ctx, e) {
			return false
		}
		a.parts.take(e)
		a.parts.finish(ctx, a)
		return ctx.Err() == nil && a.sendEnd(ctx, a.endFrame(e))
	case a.saw(e):
		if a.parts.take(e); int64(e.Seq) == a.after {
			a.parts.start(ctx, a)
		}
		return true
	case e.Kind == scheduler.KindRewound:
		a.parts.take(e)
		return a.sendEvent(ctx, e)
	}
	if !a.sendEvent(ctx, e) {
		return false
	}
	a.parts.take(e)
	return true
}

// freeID lets the client use the id again. Another answer may have it already.
func (a *answer) freeID() {
	a.connection.mu.Lock()
	defer a.connection.mu.Unlock()
	if a.connection.answers[a.id] == a {
		delete(a.connection.answers, a.id)
	}
}
