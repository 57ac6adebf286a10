// SPDX-License-Identifier: MIT

package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// Server answers requests over HTTP.
type Server struct {
	*completion.Service
	Version string  // of this program
	Memory  *Memory // what bodies and frames have
	// A stream's headers go out after Grace even if it has no event yet, and a comment when it had
	// none for Comment; 0: 1 s and 10 s.
	Grace, Comment time.Duration
}

// ReadPrompt reads the body of a request into body, which holds the defaults, and makes the prompt
// of what it asks for then.
func (s *Server) ReadPrompt(c echo.Context, body any, asked func(from completion.Caller, size int) (completion.Asked, error)) (*completion.Prompted, error) {
	size, err := ReadBody(c, body)
	if err != nil {
		return nil, err
	}
	a, err := asked(CallerOf(c), size)
	if err != nil {
		return nil, err
	}
	return s.Prompt(c.Request().Context(), a)
}

// Answer submits a request and sends its choices in the given shape, as a stream or whole, and
// releases it. However it ends, what still runs is cancelled: a client that leaves frees its slots
// at once.
func (s *Server) Answer(c echo.Context, r *completion.Prompted, sh Shape, stream bool) error {
	defer r.Release()
	ctx := c.Request().Context()
	answer, err := s.Submit(ctx, r, completion.Reading{Parts: true})
	if err != nil {
		return err
	}
	defer answer.Cancel()
	bodyOf(c).Decoded()
	Warn(c, r.LeftOut(), answer.Relaxed)
	if stream {
		err = s.stream(ctx, c, answer, sh)
	} else {
		err = answerWhole(ctx, c, answer, sh)
	}
	if err != nil && ctx.Err() != nil {
		return refusal.ErrGone
	}
	if err != nil {
		return completion.AsError(err, r.PromptField)
	}
	return nil
}

func answerWhole(ctx context.Context, c echo.Context, a *completion.Submitted, sh Shape) error {
	wholes := make([]*Whole, len(a.Choices))
	for i := range wholes {
		wholes[i] = &Whole{}
	}
	detailed, isDetailed := sh.(Detailed)
	gather := func(c *completion.Choice, d completion.Delta) error {
		if isDetailed {
			detailed.Event(c, d)
		}
		w := wholes[c.Index]
		w.Add(&d)
		more := DetailsOf(c, d)
		w.Prompt = append(w.Prompt, d.Event.Prompt...)
		w.Probs, w.Traces = append(w.Probs, more.Probs...), append(w.Traces, more.Traces...)
		w.Said = append(w.Said, SaidIn(c, d)...)
		w.Branches.add(more.Branches)
		return nil
	}
	nothing := func() error { return nil }
	if err := a.Read(ctx, gather, nothing); err != nil {
		return err
	}
	answered := sh.Whole(a.Choices, wholes)
	if text, ok := answered.(PlainText); ok {
		return c.String(http.StatusOK, string(text))
	}
	return c.JSON(http.StatusOK, answered)
}

func (s *Server) stream(ctx context.Context, c echo.Context, a *completion.Submitted, sh Shape) error {
	w, ctx := s.newEvents(ctx, c.Response(), sh.Framing())
	defer w.release()
	err := a.Read(ctx, func(c *completion.Choice, d completion.Delta) error { return gatherFrames(w, sh, c, d) }, w.flush)
	if err == nil {
		err = w.gather(sh.Closing(a.Choices)...)
	}
	begun := w.end()
	if err != nil && (!begun || ctx.Err() != nil) {
		return err // as an ordinary answer, or to nobody
	}
	if err != nil {
		_ = w.gather(failureFrames(c, sh, completion.AsError(err, a.PromptField))...) // a broken connection shows at flush
	}
	w.done()
	return w.flush()
}

// failureFrames makes the frames that end a stream which has begun.
func failureFrames(c echo.Context, sh Shape, e *refusal.Error) []any {
	if f, ok := sh.(Failing); ok {
		return f.Failed(e)
	}
	return []any{ErrorBody(c, e)}
}

// gatherFrames gathers the frames of an event; they are written when no other event is ready.
func gatherFrames(w *events, sh Shape, c *completion.Choice, d completion.Delta) error {
	return w.gather(Frames(sh, c, d)...)
}

// ReceiptOf is the receipt of an answer in one piece; "": none is wanted.
func ReceiptOf(choices []*completion.Choice) (receipt string) {
	for _, c := range choices {
		receipt = c.Receipt()
	}
	return receipt
}

// Frames turns what an event adds into frames. A token without text, because it is held back, gets
// no frame unless its details are wanted; the shape knows that.
func Frames(sh Shape, c *completion.Choice, d completion.Delta) (frames []any) {
	if detailed, ok := sh.(Detailed); ok {
		return detailed.Event(c, d)
	}
	if d.Event.Kind == scheduler.KindStarted {
		return sh.Start(c)
	}
	if _, trace := tracedIn(d.Event); !d.Empty() || d.Event.Logprobs != nil || d.Event.Prompt != nil || trace != nil || d.Event.Branches != nil && c.Request.Params.Trace {
		frames = sh.Part(c, d)
	}
	if d.Event.Kind == scheduler.KindEnd {
		frames = append(frames, sh.Last(c)...)
	}
	return frames
}

// Shape is how a dialect writes one answer. Frames and whole answers are encoded as JSON. A frame
// with a method EventName is a server-sent event of that name.
type Shape interface {
	// Start is the frames when a choice has got its slot.
	Start(c *completion.Choice) []any
	// Part is the frames for what an event adds to a choice.
	Part(c *completion.Choice, d completion.Delta) []any
	// Last is the frames that end a choice.
	Last(c *completion.Choice) []any
	// Closing is the frames after all choices.
	Closing(choices []*completion.Choice) []any
	// Whole is the answer in one piece, of which a PlainText goes out as it stands. wholes are
	// what its choices gathered.
	Whole(choices []*completion.Choice, wholes []*Whole) any
	// Framing is how its frames are told apart.
	Framing() Framing
}

// Detailed is a Shape for which the text of an answer is not enough. It gets every event, of an
// answer in one piece too.
type Detailed interface {
	Shape
	// Event is the frames for an event, in the place of Start, Part and Last.
	Event(c *completion.Choice, d completion.Delta) []any
}

// Failing is a Shape that has frames of its own for an answer that fails after its stream has
// begun.
type Failing interface {
	Shape
	// Failed is the frames that end the stream.
	Failed(e *refusal.Error) []any
}

// PlainText is an answer that is no JSON.
type PlainText string

// Framing is how the frames of a stream are told apart.
type Framing uint8

// The framings.
const (
	Events     Framing = iota // server-sent events
	EventsDone                // the same, with [DONE] at the end
	Lines                     // each frame is a line of JSON
)

// Whole is what one choice has gathered for an answer in one piece.
type Whole struct {
	completion.Whole
	Details
	Prompt []scheduler.PromptToken // what is reported of the prompt's tokens
	Said   []TokenProb             // those of Probs whose tokens are the content
}

// maxWarnings bounds how many ignored fields a header names: clients bound the headers that they
// take, and a long conversation may have many items that are ignored.
const maxWarnings = 16

// Warnings say that fields of a request are ignored: programs send some without which an answer
// is as good, and refusing them would keep those programs out.
func Warnings(leftOut []string) []string {
	var all []string
	for i, field := range leftOut {
		if i == maxWarnings {
			return append(all, fmt.Sprintf("%d more fields are left out", len(leftOut)-i))
		}
		all = append(all, field+" is left out: this server does not act on it")
	}
	return all
}

// Warn tells a client which fields are left out, and which places of its schemas are not enforced,
// in a header for each.
func Warn(c echo.Context, leftOut, relaxed []string) {
	for _, text := range Warnings(leftOut) {
		c.Response().Header().Add("Warning", `199 penstock "`+text+`"`)
	}
	for _, text := range relaxed {
		c.Response().Header().Add(relaxedHeader, inASCII(text))
	}
}

// relaxedHeader has a place of a JSON schema that is not enforced, and why.
const relaxedHeader = "Penstock-Schema-Relaxed"

// maxHeader bounds the text of a header, in bytes: some clients give up an answer with long lines.
const maxHeader = 500

// inASCII writes what a header may not have as URIs do.
func inASCII(text string) string {
	var s strings.Builder
	for _, b := range []byte(excerpt.Of(text, maxHeader)) {
		if b < ' ' || b > '~' || b == '%' {
			fmt.Fprintf(&s, "%%%02X", b)
		} else {
			s.WriteByte(b)
		}
	}
	return s.String()
}

// The times after which a stream without events sends a keep-alive comment. If a request is
// refused within the first, the client gets an ordinary error with its status. Later the stream
// has begun, and the error is an event of it.
const (
	defaultGrace     = time.Second
	defaultKeepAlive = 10 * time.Second
)

// events writes the frames of a stream, as server-sent events or as lines. They gather until
// flush, so that what is ready together is sent together. The headers are sent with the first
// flush, or after the time of grace. From then on a comment is sent whenever nothing else was for
// a while, because proxies and clients give up on a silent connection.
type events struct {
	w       http.ResponseWriter
	framing Framing
	control *http.ResponseController
	every   time.Duration // between comments
	cancel  func()        // called when a comment cannot be written
	buffer  bytes.Buffer
	encoder *json.Encoder

	mu    sync.Mutex // guards w, begun and ended
	timer *time.Timer
	begun bool
	ended bool // no comment is written any more
}

// newEvents makes the events of an answer. ctx is done when the client has gone.
func (s *Server) newEvents(ctx context.Context, w http.ResponseWriter, framing Framing) (*events, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	e := &events{w: w, framing: framing, control: http.NewResponseController(w), every: orDefault(s.Comment, defaultKeepAlive), cancel: cancel}
	e.encoder = json.NewEncoder(&e.buffer)
	e.encoder.SetEscapeHTML(false)
	e.mu.Lock() // the timer may fire before it is stored
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(orDefault(s.Grace, defaultGrace), e.keepAlive)
	return e, ctx
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// maxPending is how many bytes may gather before they are written anyway.
const maxPending = 64 << 10

// gather adds frames to what flush writes.
func (e *events) gather(frames ...any) error {
	for _, f := range frames {
		if e.framing != Lines {
			if named, ok := f.(interface{ EventName() string }); ok {
				e.buffer.WriteString("event: " + named.EventName() + "\n")
			}
			e.buffer.WriteString("data: ")
		}
		if err := e.encoder.Encode(f); err != nil { // ends with one line break
			return fmt.Errorf("encode a frame: %w", err)
		}
		if e.framing != Lines {
			e.buffer.WriteByte('\n')
		}
		if e.buffer.Len() > maxPending {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// done adds the marker that ends a stream of OpenAI's.
func (e *events) done() {
	if e.framing == EventsDone {
		e.buffer.WriteString("data: [DONE]\n\n")
	}
}

// flush writes what has gathered.
func (e *events) flush() error {
	if e.buffer.Len() == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.write(e.buffer.Bytes())
	e.buffer.Reset()
	return err
}

// keepAlive writes a comment, which tells a waiting client that its answer is still to come.
func (e *events) keepAlive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	comment := ": waiting\n\n"
	if e.framing == Lines {
		comment = "" // lines know no comments: only the headers go out
	}
	if err := e.write([]byte(comment)); err != nil {
		e.cancel()
	}
}

// write sends text, with the headers if it is the first, and sets the time to the next comment.
// Its caller has the lock.
func (e *events) write(text []byte) error {
	if !e.begun {
		e.begun = true
		h := e.w.Header()
		h.Set("Content-Type", e.framing.contentType())
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would hold events back
		e.w.WriteHeader(http.StatusOK)
	}
	e.timer.Reset(e.every)
	if _, err := e.w.Write(text); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return e.control.Flush()
}

// end stops the comments and reports whether the answer has begun. If so, an error can only be an
// event.
func (e *events) end() (begun bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.timer.Stop()
	return e.begun
}

// release stops the comments, however the answer ends.
func (e *events) release() {
	e.end()
	e.cancel()
}

func (f Framing) contentType() string {
	if f == Lines {
		return "application/x-ndjson"
	}
	return "text/event-stream; charset=utf-8"
}

// partsBuffer is how many bytes of an answer wait to be sent.
const partsBuffer = 32 << 10

// Text is a part of an answer in JSON that is written as it is.
type Text string

// JSONParts answers with JSON whose parts are made and written one after another, so that a large
// answer that is read slowly takes no more memory than its largest part. A part is a Text or a
// value that encoding/json writes. Once the first is written, an error can only end the connection.
func JSONParts(c echo.Context, parts iter.Seq[any]) error {
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	c.Response().WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(c.Response(), partsBuffer)
	for part := range parts {
		var text []byte
		switch p := part.(type) {
		case Text:
			text = []byte(p)
		default:
			var err error
			if text, err = json.Marshal(p); err != nil {
				return err
			}
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return out.Flush()
}

// JSONList gives the parts of a JSON list, whose entries may have parts themselves.
func JSONList[T any](list []T, entry func(i int, v T, yield func(any) bool) bool) iter.Seq[any] {
	return func(yield func(any) bool) {
		if !yield(Text("[")) {
			return
		}
		for i, v := range list {
			if i > 0 && !yield(Text(",")) || !entry(i, v, yield) {
				return
			}
		}
		yield(Text("]"))
	}
}

// JSONWith gives the parts of a JSON object with the fields of two others, and between them one
// with parts. Both must have fields.
func JSONWith(before any, name string, value iter.Seq[any], after any) iter.Seq[any] {
	return func(yield func(any) bool) {
		head, err := json.Marshal(before)
		if err != nil {
			yield(before) // which tells the error
			return
		}
		if !yield(Text(head[:len(head)-1])) || !yield(Text(`,"`+name+`":`)) {
			return
		}
		for part := range value {
			if !yield(part) {
				return
			}
		}
		if after == nil {
			yield(Text("}"))
			return
		}
		tail, err := json.Marshal(after)
		if err != nil {
			yield(after)
			return
		}
		yield(Text("," + string(tail[1:])))
	}
}
