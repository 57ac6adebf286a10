// SPDX-License-Identifier: MIT

package wire

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
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

// Answer submits a request and sends its choices in the given shape, as a stream or whole, and
// releases it. However it ends, what still runs is cancelled: a client that leaves frees its slots
// at once.
func (s *Server) Answer(c echo.Context, r *completion.Prompted, sh Shape, stream bool) error {
	defer r.Release()
	ctx := c.Request().Context()
	answer, err := s.Begin(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Cancel()
	bodyOf(c).Decoded()
	Warn(c, r.LeftOut(), answer.Relaxed)
	if stream {
		err = s.stream(ctx, c, answer, sh)
	} else {
		err = whole(ctx, c, answer, sh)
	}
	if err != nil && ctx.Err() != nil {
		return refusal.ErrGone
	}
	if err != nil {
		return completion.AsError(err, r.PromptField)
	}
	return nil
}

func whole(ctx context.Context, c echo.Context, a *completion.Submitted, sh Shape) error {
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
		w.Add(d)
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
	err := a.Read(ctx, func(c *completion.Choice, d completion.Delta) error { return forward(w, sh, c, d) }, w.flush)
	if err == nil {
		err = w.send(sh.Closing(a.Choices)...)
	}
	begun := w.end()
	if err != nil && (!begun || ctx.Err() != nil) {
		return err // as an ordinary answer, or to nobody
	}
	if err != nil {
		_ = w.send(failure(c, sh, completion.AsError(err, a.PromptField))...) // a broken connection shows at flush
	}
	w.done()
	return w.flush()
}

// failure is the frames that end a stream which has begun.
func failure(c echo.Context, sh Shape, e *refusal.Error) []any {
	if f, ok := sh.(Failing); ok {
		return f.Failed(e)
	}
	return []any{ErrorBody(c, e)}
}

// forward sends the frames of an event.
func forward(w *events, sh Shape, c *completion.Choice, d completion.Delta) error {
	return w.send(Frames(sh, c, d)...)
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
