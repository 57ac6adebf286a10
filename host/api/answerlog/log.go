// SPDX-License-Identifier: MIT

// Package answerlog keeps the frames of each answer of the WebSocket in a log on the server, which
// a connection reads from a place.
//
// An answer is computed and written down whether or not somebody reads it (source), up to a bound
// (Log). So a lost connection is a reader that has left, attach is a new reader with a place, and
// what is kept of an answer that has ended is what its log has anyway (Shelf).
//
// # Why frames, and not events?
//
// Frames of log-probabilities, traces and parts are made with the model's words and template. A
// client may come back for ten minutes; with room for one model, the next would have to wait as
// long. A log of frames needs neither the model nor the stream, and its bytes are known exactly.
//
// # Why is a log that its client may come back for kept as a whole?
//
// When a connection turns out to be dead, thousands of frames may have been written to it, and
// only the client knows which of them arrived. A frame takes about 100 bytes. With a trace it takes
// kilobytes, so what is kept is bounded in bytes, for each client.
//
// # Why does a log of any other answer hold a single frame?
//
// The scheduler's ring holds what its reader has not taken, and parks the slot when it is full. A
// second buffer behind it would only delay that.
//
// # Why does a reader that is behind get several parts in one frame?
//
// A parts frame may say as little as one token, and is of use only for what follows the tokens that
// the client has. A client that comes back first gets all that it had, and its text never becomes
// shorter.
//
// # Why does started tell the seed?
//
// A request without a seed gets a random one that nobody knows, so its answer cannot be repeated.
// With the seed the page can have the same answer again, traced or with another chain.
//
// # Why does a rewound frame carry the text that goes?
//
// Text may be held back and sent with a later token, so a client cannot tell from its token
// frames which text belongs to the tokens that are taken back. It cuts removed from the end
// instead. The field is not called text, because simple clients append each text that they get.
//
// # Why is paused no event of the answer?
//
// Frames are kept for attach, and a client that pauses and resumes forever would make them grow. A
// client that attaches to a paused answer is told first that it is paused.
//
// # Why does a proxy get the server's name and not the stream's?
//
// The rest of the name is what keeps others from reading the stream, and proxies log URLs. A hash
// of the name would lead nowhere once a replica is down; a name leads to a replica that drains,
// and nowhere else.
package answerlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// Log has the frames of one answer. Its source writes them, and one connection at a time reads
// them from its place. Frames that were read are let go of, unless the client may come back for
// them. The source waits while too many are unread: then the stream's ring fills, and the
// scheduler parks the slot.
type Log struct {
	shelf   *Shelf
	cancel  context.CancelFunc // ends the source
	room    chan struct{}      // has an element when a source that waits is to look again
	pausing chan struct{}      // has an element while the answer is paused or resumed, and that is noted
	apart   bool               // the answer is taken apart

	mu     sync.Mutex
	source *source // what computes the answer; nil when it has ended
	frames []frame
	events int64 // events that have been written
	kept   bool  // frames stay when they were read
	paused bool
	ended  bool // the last frame is there
	reading

	shelved
}

// reading is who reads a log, and how far.
type reading struct {
	reader *Reader // nil: nobody reads it; who has left is not kept with its connection
	turn   int     // how many readers it has had
	place  int     // the reader's next frame
}

// frame is one frame of a log.
type frame struct {
	seq   int64       // of its event
	data  []byte      // JSON without the client's name of the answer
	parts *partsFrame // in place of seq and data; nil elsewhere
	size  int64       // bytes, about
}

// mostAhead is how many frames of a log may be unread if its client may come back. With what the
// ring holds, an answer that nobody reads is computed about 1,000 tokens further.
const mostAhead = 768

// mostGathered is after how many events a reader that is behind is sent the parts that it has
// passed.
const mostGathered = 16

// mostStates is of how many pauses and resumes a reader that is behind is told: of the last ones.
const mostStates = 32

// Reader reads one answer for a client. Its fields are not changed any more once it reads.
type Reader struct {
	ID   string              // the client's name for the answer
	Wake func()              // is called when there may be a frame to read; it must not wait
	log  atomic.Pointer[Log] // nil: it does not read yet

	// Under the log's lock.
	turn   int          // which of the log's readers it is
	states []stateFrame // of which the client is to be told first
	parts  gathered
}

// Log returns the log that r reads; nil if it has not begun.
func (r *Reader) Log() *Log { return r.log.Load() }

// Options say what becomes of an answer besides its frames.
type Options struct {
	Stay     time.Duration            // how long it goes on without a reader; 0: it ends with its reader
	Overflow scheduler.OverflowPolicy // what becomes of it when it is read too slowly
	Parts    bool                     // it is taken apart
}

// Begin has a request's answer computed, and read by reader. The log releases the request.
//
// # Errors
//
//   - that of the request, which is released, too
//   - a *refusal.Error if the answers that may outlive their readers take too much memory
func (s *Shelf) Begin(ctx context.Context, service *completion.Service, r *completion.Prompted, o Options, reader *Reader) error {
	l := newLog(s, reader, r.Caller, o)
	begun := false
	defer func() {
		if !begun { // after a panic, too
			s.remove(l)
			r.Release()
		}
	}()
	if l.kept {
		if err := s.reserve(l, r); err != nil {
			return err
		}
	}
	src, err := s.newSource(ctx, service, r, o)
	if err != nil {
		return err
	}
	begun = true
	l.source, l.name = src, src.stream.ID()
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if l.kept {
		s.put(l)
	}
	reader.log.Store(l)
	go src.run(ctx, l)
	return nil
}

func newLog(s *Shelf, reader *Reader, caller completion.Caller, o Options) *Log {
	return &Log{shelf: s, room: make(chan struct{}, 1), pausing: make(chan struct{}, 1), reading: reading{reader: reader}, kept: o.Stay > 0, apart: o.Parts,
		shelved: shelved{caller: caller, stay: o.Stay}}
}

// write adds a frame, the last one with ended. It waits for room, and is false if the answer is no
// longer wanted, or has its last frame: the source and its parser write at the same time.
func (l *Log) write(ctx context.Context, f frame, ended bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.ended && l.isFull() {
		var computed <-chan struct{}
		if l.kept {
			computed = l.source.stream.Done()
		}
		l.mu.Unlock()
		select {
		case <-l.room:
		case <-computed:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if ctx.Err() != nil {
			return false
		}
	}
	if l.ended {
		return false
	}
	if l.kept && !l.shelf.grow(l, f.size) {
		l.forget()
	}
	l.frames = append(l.frames, f)
	if f.parts == nil {
		l.events = f.seq + 1
	}
	if ended {
		l.ended, l.source = true, nil
		l.shelf.noteEnd(l, l.reader == nil)
	}
	l.wakeReader()
	return true
}

// wakeReader has whoever reads the log look into it.
func (l *Log) wakeReader() {
	if l.reader != nil {
		l.reader.Wake()
	}
}

// isFull reports whether the source has to wait. When a kept answer has been computed, the rest of
// it is written at once, so that its model is free.
func (l *Log) isFull() bool {
	unread := len(l.frames) - l.place
	if !l.kept {
		return unread > 0
	}
	select {
	case <-l.source.stream.Done():
		return false
	default:
		return unread >= mostAhead
	}
}

// forget has the answer end with its connection, because its frames take too much memory.
func (l *Log) forget() {
	l.shelf.remove(l)
	l.kept, l.frames, l.place = false, slices.Clone(l.frames[l.place:]), 0
	if l.reader == nil {
		l.cancel()
	}
}

// Read returns the next frame, as JSON or as a value that becomes JSON; nil if there is none yet.
// last says that no other follows, and lost that another reader has the log.
func (r *Reader) Read() (f any, last, lost bool) {
	l := r.Log()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reader != r:
		return nil, false, true
	case len(r.states) > 0:
		f, r.states = r.states[0], r.states[1:]
		return f, false, false
	}
	for l.place < len(l.frames) {
		next := l.frames[l.place]
		last = l.ended && l.place == len(l.frames)-1
		if r.parts.any && (last || r.parts.behind >= mostGathered) {
			return r.parts.take(r.ID), false, false
		}
		l.passFrame()
		if next.parts == nil {
			r.parts.behind++
			if next.seq == 0 && l.kept && !last { // now the client knows the name of the stream
				l.shelf.hold(l)
			}
			return next.nameFrame(r.ID), last, false
		}
		r.parts.add(next.parts)
	}
	if r.parts.any {
		return r.parts.take(r.ID), false, false
	}
	return nil, false, false
}

// tell has the client told that the answer is paused, or goes on.
func (r *Reader) tell(state string) {
	if len(r.states) == mostStates {
		r.states = r.states[1:]
	}
	r.states = append(r.states, stateFrame{Type: state, ID: r.ID})
}

// passFrame moves the reader on by one frame.
func (l *Log) passFrame() {
	if l.kept {
		l.place++
	} else {
		l.frames = slices.Delete(l.frames, 0, 1)
	}
	signal(l.room)
}

// Attach has r read the answer of the stream that a caller names, after an event. Who has read it
// until now loses it.
//
// # Errors
//
//   - unknown_stream if the caller has no such answer, or its time is up
//   - events_gone if the answer has not come so far
func (s *Shelf) Attach(r *Reader, stream string, caller completion.Caller, after int64) error {
	l, err := s.find(stream, caller)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if after >= l.events {
		return &refusal.Error{Kind: refusal.KindLost, Code: "events_gone", Field: "after",
			Message: fmt.Sprintf("after is %d; the answer has not come so far", after)}
	}
	if !l.kept || l.reader == nil && !s.take(l) { // its time was up just now
		return unknownStream(absentStream)
	}
	l.wakeReader() // to see that it has lost the log
	l.reader, l.turn, l.place = r, l.turn+1, 0
	r.turn, r.states = l.turn, nil
	r.log.Store(l)
	if l.paused && !l.ended {
		r.tell(paused)
	}
	for i, f := range l.frames {
		if isLast := l.ended && i == len(l.frames)-1; f.parts == nil && f.seq <= after && !isLast {
			l.place = i + 1
		}
	}
	if l.apart {
		r.parts.add(&partsFrame{Reset: true})
	}
	for _, f := range l.frames[:l.place] {
		if f.parts != nil {
			r.parts.add(f.parts)
		}
	}
	s.hold(l)
	signal(l.room)
	r.Wake()
	return nil
}

// Leave ends the reading. An answer that may outlive its reader goes on for a while, even after its
// end, which may have been lost on its way. Any other is cancelled. One that has not begun ends
// nothing.
func (r *Reader) Leave() {
	l := r.Log()
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reader != r {
		return
	}
	l.reader = nil
	if l.kept {
		l.shelf.startStay(l, l.ended)
	} else {
		l.cancel()
	}
}

// Told names what a client was sent the end of. It holds nothing of the log, which may be
// forgotten.
type Told struct {
	shelf  *Shelf
	stream string
	turn   int // of the client's reader
}

// Told names the log as r has read it.
func (r *Reader) Told() Told {
	l := r.Log()
	return Told{l.shelf, l.name, r.turn}
}

// Stays reports whether a client can still come back for the answer.
func (t Told) Stays() bool { return t.shelf.log(t.stream) != nil }

// Settle lets the host end: the client, if nobody else has read the log since, has all of it.
func (t Told) Settle() {
	l := t.shelf.log(t.stream)
	if l == nil {
		return // it was let go of
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn == t.turn {
		t.shelf.settle(l)
	}
}

// Stream is the name of the answer's stream, which a scheduler knows it by.
func (l *Log) Stream() string { return l.name }

// nameFrame makes the frame for a client that calls the answer id. The name is the second field of
// each frame.
func (f *frame) nameFrame(id string) json.RawMessage {
	name, _ := json.Marshal(id) // a text
	return bytes.Replace(f.data, []byte(`"id":""`), append([]byte(`"id":`), name...), 1)
}

// gathered are the parts that a reader has passed in a log and was not sent yet. A reader that is
// behind gets several in one frame.
type gathered struct {
	any, reset         bool
	behind             int // events that it has passed since it was sent some
	content, reasoning strings.Builder
	calls              []wire.CallDelta
}

func (g *gathered) add(p *partsFrame) {
	if !g.any {
		g.behind = 0
	}
	if p.Reset {
		*g = gathered{reset: true, behind: g.behind}
	}
	g.any = true
	g.content.WriteString(p.Content)
	g.reasoning.WriteString(p.Reasoning)
	g.calls = append(g.calls, p.Calls...)
}

func (g *gathered) take(id string) partsFrame {
	f := partsFrame{Type: "parts", ID: id, Reset: g.reset, Content: g.content.String(), Reasoning: g.reasoning.String(), Calls: g.calls}
	*g = gathered{}
	return f
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// running returns what computes the answer, or scheduler.ErrEnded.
func (l *Log) running() (*source, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source == nil {
		return nil, scheduler.ErrEnded
	}
	return l.source, nil
}

// Cancel ends the answer, if it has not ended.
func (l *Log) Cancel() {
	if s, err := l.running(); err == nil {
		s.stream.Cancel()
	}
}

// Pause holds the answer, or has it go on, and tells who reads it by then. What two connections ask
// for at the same time happens and is told in the same order.
func (l *Log) Pause(ctx context.Context, pause bool) error {
	s, err := l.running()
	if err != nil {
		return err
	}
	act, state := s.stream.Resume, resumed
	if pause {
		act, state = s.stream.Pause, paused
	}
	select {
	case l.pausing <- struct{}{}:
		defer func() { <-l.pausing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := act(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused = pause; l.reader != nil {
		l.reader.tell(state)
		l.reader.Wake()
	}
	return nil
}

// Rewind takes back the last n tokens.
func (l *Log) Rewind(ctx context.Context, n int) error {
	s, err := l.running()
	if err != nil {
		return err
	}
	return s.choice.Rewind(ctx, n)
}

// Inject adds a text to the answer.
func (l *Log) Inject(ctx context.Context, text string) error {
	s, err := l.running()
	if err != nil {
		return err
	}
	return s.service.Inject(ctx, s.choice, text)
}

// Set changes sampling parameters; those that are left out of the object stay as they are.
func (l *Log) Set(ctx context.Context, change json.RawMessage) error {
	s, err := l.running()
	if err != nil {
		return err
	}
	return s.service.Set(ctx, s.choice, len(change), func(fields *sampling.ParamFields) error { return readSampling(change, fields) })
}

// Fork makes the request for an answer that goes on where this one is, with its sampling
// parameters, of which an object may change some.
func (l *Log) Fork(ctx context.Context, change json.RawMessage) (*completion.Prompted, error) {
	s, err := l.running()
	if err != nil {
		return nil, err
	}
	return s.service.Fork(ctx, s.choice.Request, s.stream, len(change), func(fields *sampling.ParamFields) error {
		if !completion.IsSet(change) {
			return nil
		}
		return readSampling(change, fields)
	})
}

// readSampling reads sampling parameters over others. Unlike the body of a request, the object has
// only sampling parameters, so an unknown name in it is refused.
func readSampling(raw json.RawMessage, fields *sampling.ParamFields) error {
	if err := wire.Decode(raw, fields); err != nil {
		return err
	}
	if err := integer.UnmarshalKnown(raw, &sampling.ParamFields{}); err != nil {
		return refusal.Invalid("sampling", "sampling has a field that is no sampling parameter: %v", err)
	}
	return nil
}
