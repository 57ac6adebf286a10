// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/host/api/answerlog"
	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
	ending "github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
)

// answer is one that a connection prepares, and then reads the log of.
type answer struct {
	connection *connection
	reader     answerlog.Reader
	lane       lane               // of what is done for it
	abandon    context.CancelFunc // ends the preparation

	prepared  bool // the preparation has ended; under the connection's lock, as the next
	cancelled bool // by its client, meanwhile

	over bool // it has come to the end, or to where another reads on; the writer's
}

func (k *connection) newAnswer(id string, abandon context.CancelFunc) *answer {
	a := &answer{connection: k, abandon: abandon, lane: lane{room: make(chan struct{}, maxWaiting)}}
	a.reader.ID, a.reader.Wake = id, func() { k.ready.add(a) }
	return a
}

// id is the client's name for the answer.
func (a *answer) id() string { return a.reader.ID }

// preparation makes an answer ready to be read. It may take long: a model is loaded, a template
// rendered. It ends soon when ctx does.
type preparation func(ctx context.Context, a *answer) error

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

// parse reads a generate frame's request: the body of a chat or text completion.
func (k *connection) parse(ctx context.Context, request json.RawMessage) (*completion.Prompted, error) {
	if !completion.IsSet(request) {
		return nil, refusal.Invalid("request", "request is missing: the body of a chat or text completion")
	}
	from := k.client.Caller
	from.Files = k.file
	asked, err := openai.Read(from, request)
	if err != nil {
		return nil, err
	}
	if asked.Common.Receipt {
		asked.Caller.Sent = completion.Sent{Route: "GET " + route, SHA256: receipt.Digest(request)}
	}
	r, err := k.api.Prompt(ctx, asked)
	if err != nil {
		return nil, err
	}
	if r.PerPrompt*len(r.Prompts) != 1 {
		r.Release()
		return nil, refusal.Invalid("n", "a generate frame starts one answer: n must be 1, and prompt a single one")
	}
	r.Caller.Files = nil // they are read; the answer may outlive the connection that has them
	return r, nil
}

// checkNew refuses an answer that cannot be begun so.
func checkNew(f clientFrame) error {
	if f.DetachMS < 0 || f.DetachMS > answerlog.MaxStay.Milliseconds() {
		return refusal.Invalid("detach_ms", "detach_ms is %d; it must be from 0 to %d", f.DetachMS, answerlog.MaxStay.Milliseconds())
	}
	policy, err := completion.ReadOverflow(f.Overflow)
	if err != nil {
		return err
	}
	if policy != scheduler.Park && f.DetachMS > 0 {
		return refusal.Invalid("overflow", "overflow is %q; an answer with detach_ms, of which everything is kept, is parked", f.Overflow)
	}
	return nil
}

// start has the answer to a request computed.
func (a *answer) start(ctx context.Context, f clientFrame, r *completion.Prompted) error {
	api := a.connection.api
	policy, _ := completion.ReadOverflow(f.Overflow) // others were refused by checkNew
	o := answerlog.Options{Stay: time.Duration(f.DetachMS) * time.Millisecond, Overflow: policy, Parts: f.Parts}
	return api.shelf.Begin(ctx, api.Service, r, o, &a.reader)
}

// attach continues an answer that may outlive its connection. A connection that still reads it,
// because it has not noticed that it is lost, loses it.
func (k *connection) attach(f clientFrame) error {
	if f.After == nil || *f.After < -1 {
		return refusal.Invalid("after", "after must be the last seq that was seen, or -1 to begin at the first")
	}
	return k.begin(f, "id", f.ID, func(_ context.Context, a *answer) error {
		return k.rescue(func() error { return k.api.shelf.Attach(&a.reader, f.Stream, k.client.Caller, *f.After) })
	})
}

// operate begins an answer, which is an operation of its own.
func (k *connection) operate(f clientFrame, field, id string, prepare preparation) error {
	_, op := operation.From(k.ctx).Part(k.ctx, f.Type)
	done := func(err error) error {
		status := http.StatusOK
		switch {
		case isGone(err):
			status = statusGone
		case err != nil:
			status = wire.StatusOf(completion.AsError(err, "request"))
		}
		op.Done(status, 0, err)
		return err
	}
	err := op.Admit()
	if err == nil {
		err = checkNew(f)
	}
	if err == nil {
		err = k.begin(f, field, id, func(ctx context.Context, a *answer) error {
			return done(k.rescue(func() error { return prepare(op.With(ctx), a) }))
		})
	}
	if err != nil {
		return done(err)
	}
	return nil
}

// begin has an answer prepared beside the reader. Its id is taken from now on, and frames for it
// wait in its lane.
func (k *connection) begin(f clientFrame, field, id string, prepare preparation) error {
	ctx, abandon := context.WithCancel(k.ctx)
	a := k.newAnswer(id, abandon)
	err := k.reserve(field, a)
	if err == nil {
		err = a.do(func() { a.prepare(ctx, f, prepare) })
	}
	if err != nil {
		abandon()
	}
	return err
}

// reserve takes an id for an answer. It refuses an id that is in use, and too many answers at once.
func (k *connection) reserve(field string, a *answer) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closing:
		return scheduler.ErrClosed
	case k.byID[a.id()] != nil:
		return refusal.Invalid(field, "%s %q is in use", field, a.id())
	case len(k.byID) >= maxAnswers:
		return &refusal.Error{Kind: refusal.KindBusy, Code: "too_many_streams",
			Message: fmt.Sprintf("%d answers are going on in this connection; wait for one to end", maxAnswers)}
	}
	k.byID[a.id()] = a
	k.going++
	return nil
}

// prepare prepares an answer that the frame f asks for. The id of one that cannot be begun is free
// before the client learns of that.
func (a *answer) prepare(ctx context.Context, f clientFrame, prepare preparation) {
	defer a.abandon()
	k := a.connection
	err := prepare(ctx, a)
	k.mu.Lock()
	a.prepared, k.served = true, k.served || err == nil
	cancelled := a.cancelled
	k.mu.Unlock()
	if err == nil {
		k.conclude(f, nil)
		if cancelled {
			a.reader.Log().Cancel()
		}
		return
	}
	k.freeID(a)
	if cancelled && isGone(err) {
		k.conclude(f, nil)
		k.send(k.ctx, answerlog.EndFrame{Type: "end", ID: a.id(), Reason: ending.ReasonCancelled.String()})
	} else {
		k.conclude(f, err)
	}
	k.finish(false, answerlog.Told{})
}

// cancelPreparation ends the preparation of an answer, ahead of the frames that wait for it. It is
// false if the answer is prepared.
func (a *answer) cancelPreparation() bool {
	a.connection.mu.Lock()
	defer a.connection.mu.Unlock()
	if a.prepared {
		return false
	}
	a.cancelled = true
	a.abandon()
	return true
}

// freeID lets the client use the id again. Another answer may have it already.
func (k *connection) freeID(a *answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID[a.id()] == a {
		delete(k.byID, a.id())
	}
}

// finish notes that the connection is done with an answer. If the client was sent its end, and may
// come back for that, it is asked whether it has it.
func (k *connection) finish(sent bool, told answerlog.Told) {
	sent = sent && told.Stays()
	k.mu.Lock()
	k.going--
	if sent {
		k.told = append(slices.DeleteFunc(k.told, func(t answerlog.Told) bool { return !t.Stays() }), told)
	}
	k.mu.Unlock()
	if sent {
		signal(k.unasked)
	}
	signal(k.less)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// rescue turns a panic, which is a fault of ours, into an error and a logged stack.
func (k *connection) rescue(act func() error) error {
	err := panics.Try(act)
	var p *panics.Error
	if errors.As(err, &p) {
		k.api.Log.Error("acting on a frame panicked", slog.Any("panic", p.Value), slog.String("stack", string(p.Stack)))
		return &refusal.Error{Kind: refusal.KindInternal, Code: "internal_error", Message: "internal error; the log has it"}
	}
	return err
}

// statusGone is what logs show for an answer that its client did not wait for, nginx's number.
const statusGone = 499

// isGone reports whether a preparation ended because nobody wants the answer.
func isGone(err error) bool {
	return errors.Is(err, refusal.ErrGone) || errors.Is(err, context.Canceled)
}

// maxWaiting bounds the frames that wait for one answer.
const maxWaiting = 32

// lane is what is done for one answer, one after another, beside the reader.
type lane struct {
	room chan struct{} // has an element for each frame

	mu      sync.Mutex
	waiting []func()
	busy    bool // a goroutine does it
}

// inTurn acts on a frame when the answer is prepared and the frames before were acted on. While the
// answer is being prepared, more frames than may wait are refused. After that the reader waits for
// room: the client sends them faster than they can be acted on.
func (a *answer) inTurn(act func()) error {
	k := a.connection
	select {
	case a.lane.room <- struct{}{}:
	default:
		k.mu.Lock()
		prepared := a.prepared
		k.mu.Unlock()
		if !prepared {
			return &refusal.Error{Kind: refusal.KindBusy, Code: "too_many_frames", Field: "id",
				Message: fmt.Sprintf("%d frames wait until answer %q is begun; send more after its started frame", maxWaiting, a.id())}
		}
		select {
		case a.lane.room <- struct{}{}:
		case <-k.ctx.Done():
			return refusal.ErrGone
		}
	}
	return a.do(func() {
		act()
		<-a.lane.room
	})
}

// do has something done after what was asked for before. It waits until there is room for one more
// goroutine beside the reader, if one is needed.
func (a *answer) do(act func()) error {
	if a.lane.add(act) {
		return nil
	}
	k := a.connection
	select {
	case k.incoming.room <- struct{}{}:
	case <-k.ctx.Done():
		return refusal.ErrGone
	}
	k.lanes.Go(func() {
		defer func() { <-k.incoming.room }()
		for act, ok := a.lane.next(); ok; act, ok = a.lane.next() {
			act()
		}
	})
	return nil
}

// add is false if a goroutine is wanted that does what is there.
func (l *lane) add(act func()) (busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy, l.busy = l.busy, true
	l.waiting = append(l.waiting, act)
	return busy
}

func (l *lane) next() (act func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.busy = false
		return nil, false
	}
	act, l.waiting = l.waiting[0], l.waiting[1:]
	return act, true
}

// actOn acts on a frame whose turn it is.
func (a *answer) actOn(f clientFrame) {
	k := a.connection
	err := unknownID(a.id())
	if a.reader.Log() != nil {
		err = k.rescue(func() error { return steerError(f.Type, a.steer(f)) })
	}
	k.conclude(f, err)
}

func unknownID(id string) error {
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "unknown_id", Field: "id",
		Message: fmt.Sprintf("no answer with id %q is going on", id)}
}

// steer acts on a frame for an answer that was begun.
func (a *answer) steer(f clientFrame) error {
	l, ctx := a.reader.Log(), a.connection.ctx
	switch f.Type {
	case "cancel":
		l.Cancel()
		return nil
	case "pause", "resume":
		return l.Pause(ctx, f.Type == "pause")
	case "rewind":
		if f.Tokens == nil {
			return refusal.Invalid("tokens", "tokens is missing: how many to take back")
		}
		return l.Rewind(ctx, *f.Tokens)
	case "inject":
		if f.Text == nil || *f.Text == "" {
			return refusal.Invalid("text", "text is missing: what to inject")
		}
		return l.Inject(ctx, *f.Text)
	}
	if !completion.IsSet(f.Sampling) {
		return refusal.Invalid("sampling", "sampling is missing: an object of parameters")
	}
	return l.Set(ctx, f.Sampling)
}

// steerFields are the fields of frames that the scheduler or a sampler may refuse.
var steerFields = map[string]string{"inject": "text", "rewind": "tokens", "set": "sampling", "fork": "sampling"}

// steerError tells what it means for a client that an answer cannot be steered so.
func steerError(verb string, err error) error {
	switch {
	case errors.Is(err, scheduler.ErrEnded):
		return &refusal.Error{Kind: refusal.KindConflict, Code: "ended", Field: "id", Message: "the answer has ended"}
	case errors.Is(err, scheduler.ErrBadRequest):
		return refusal.Invalid(steerFields[verb], "%v", err)
	case verb == "inject" && errors.Is(err, chain.ErrNotAllowed):
		return &refusal.Error{Kind: refusal.KindImpossible, Code: "unsatisfiable", Field: steerFields[verb], Message: err.Error()}
	case verb == "set" && errors.Is(err, chain.ErrNotAllowed):
		return &refusal.Error{Kind: refusal.KindImpossible, Code: "unsatisfiable", Field: steerFields[verb],
			Message: "the answer so far does not fit: " + err.Error()}
	}
	return err
}

// fork starts an answer that goes on where a running one is, when the frames for that one before
// were acted on.
func (k *connection) fork(a *answer, f clientFrame) error {
	if f.As == "" || len(f.As) > maxID {
		return refusal.Invalid("as", "as must be a text of 1 to %d bytes: the id of the new answer", maxID)
	}
	turn, done := make(chan struct{}), make(chan struct{})
	if err := a.inTurn(func() { close(turn); <-done }); err != nil {
		return err
	}
	err := k.operate(f, "as", f.As, func(ctx context.Context, fork *answer) error {
		defer close(done)
		select {
		case <-turn:
		case <-ctx.Done():
			return refusal.ErrGone
		}
		l := a.reader.Log()
		if l == nil {
			return unknownID(a.id())
		}
		r, err := l.Fork(ctx, f.Sampling)
		if err != nil {
			return steerError(f.Type, err)
		}
		return fork.start(ctx, f, r)
	})
	if err != nil {
		close(done)
	}
	return err
}
