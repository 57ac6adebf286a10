// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// answer submits g and sends its choices in the given shape, as a stream or whole. However it ends, what still runs is cancelled: a
// client that leaves frees its slots at once.
func (s *service) answer(c echo.Context, g generation, sh shape) error {
	streams, err := s.submit(c.Request().Context(), &g)
	if err != nil {
		return err
	}
	defer cancel(streams)
	a := &assembly{service: s, shape: sh, promptField: g.promptField, choices: make([]*choice, len(streams))}
	for i := range a.choices {
		a.choices[i] = &choice{index: i}
	}
	ctx := c.Request().Context()
	if g.stream {
		err = s.stream(ctx, c, a, &g, streams)
	} else {
		err = s.whole(ctx, c, a, &g, streams)
	}
	if err != nil && ctx.Err() != nil {
		return errGone
	}
	return err
}

// errGone ends a request whose client has left: nobody reads an answer.
var errGone = errors.New("the client has gone")

func (s *service) whole(ctx context.Context, c echo.Context, a *assembly, g *generation, streams []Stream) error {
	nothing := func() error { return nil }
	if err := readAll(ctx, streams, a.gather, nothing); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, a.shape.whole(a.choices, usageOf(a.choices, g.choices)))
}

func (s *service) stream(ctx context.Context, c echo.Context, a *assembly, g *generation, streams []Stream) error {
	w, ctx := s.newEvents(ctx, c.Response())
	defer w.release()
	take := func(i int, e scheduler.Event) error { return a.forward(w, i, e) }
	err := readAll(ctx, streams, take, w.flush)
	if err == nil && g.sendUsage {
		err = w.send(a.shape.closing(usageOf(a.choices, g.choices)))
	}
	begun := w.end()
	if err != nil && (!begun || ctx.Err() != nil) {
		return err // as an ordinary answer, or to nobody
	}
	if err != nil {
		_ = w.send(envelope{asError(err, g.promptField).body()}) // a broken connection shows at flush
	}
	if a.shape.endsWithDone() {
		w.sendDone()
	}
	return w.flush()
}

// assembly turns the events of a request's streams into frames, or into one whole answer.
type assembly struct {
	*service
	shape       shape
	promptField string
	choices     []*choice
}

// gather keeps everything for a whole answer.
func (a *assembly) gather(i int, e scheduler.Event) error {
	c := a.choices[i]
	c.text.WriteString(e.Text)
	c.details = c.details.with(a.note(c, e))
	return failure(e)
}

// forward turns an event into frames. A token without text, because it is held back, gets no frame unless its details are wanted.
func (a *assembly) forward(w *events, i int, e scheduler.Event) error {
	c := a.choices[i]
	d := a.note(c, e)
	if err := failure(e); err != nil {
		return err
	}
	if e.Text != "" || !d.empty() {
		if err := w.send(a.shape.part(c, e.Text, d)); err != nil {
			return err
		}
	}
	if e.Kind == scheduler.KindEnd {
		return w.send(a.shape.last(c))
	}
	return nil
}

// note keeps what later frames need of an event, and returns its details.
func (a *assembly) note(c *choice, e scheduler.Event) (d details) {
	switch e.Kind {
	case scheduler.KindStarted:
		c.start = *e.Started
	case scheduler.KindEnd:
		c.end = *e.End
	case scheduler.KindToken:
		c.tokens = append(c.tokens, e.Token)
		if p, ok := a.probability(e); ok {
			d.probs = []tokenProb{p}
		}
		if p := a.trace(e); p != nil {
			d.traces = []tokenTrace{*p}
		}
	}
	return d
}

// failure is the error of an answer that ended by one.
func failure(e scheduler.Event) error {
	if e.Kind != scheduler.KindEnd || e.End.Reason != answer.ReasonError {
		return nil
	}
	if e.End.Err == nil {
		return errors.New("the answer failed")
	}
	return e.End.Err
}
