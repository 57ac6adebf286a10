// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
)

// statusGone is what logs show for a client that left before its answer, nginx's number.
const statusGone = 499

// follow begins the operation that a request is, and ends it with what was answered. It gives the
// request an id: the client's if it is short and plain, else a new one.
func (s *service) follow(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, w := c.Request(), c.Response()
		id := r.Header.Get(echo.HeaderXRequestID)
		if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
			id = rand.Text()
		}
		w.Header().Set(echo.HeaderXRequestID, id)
		op := operation.Begin(operation.Record{ID: id, Method: r.Method, Route: c.Path(), Path: r.URL.Path, Header: r.Header, Address: c.RealIP()}, s.sinks...)
		c.SetRequest(r.WithContext(op.With(r.Context())))
		err := next(c)
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(r.Context()), context.Canceled) {
			err = refusal.ErrGone // whatever was cut short then, it is no fault of ours
		}
		if err != nil {
			s.fail(err, c)
		}
		if errors.Is(err, refusal.ErrGone) && !w.Committed {
			w.Status = statusGone
		}
		op.Done(w.Status, w.Size, err)
		return nil
	}
}

// unescapePath decodes what a path names. Where it has escapes that it need not have, such as those
// that clients write for the slash and the colon of a model's name, the router takes it as written.
func unescapePath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().URL.RawPath == "" {
			return next(c)
		}
		values := slices.Clone(c.ParamValues())
		for i, value := range values {
			plain, err := url.PathUnescape(value)
			if err != nil {
				return refusal.Invalid("", "the path has a wrong escape: %v", err)
			}
			values[i] = plain
		}
		c.SetParamValues(values...)
		return next(c)
	}
}

// finish has the host go on until a request is answered, and refuses one that comes when no new
// answers are taken.
func (s *service) finish(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		defer s.Hold()()
		select {
		case <-s.Draining:
			if c.Request().Method == http.MethodPost {
				return refusal.ShuttingDown()
			}
		default:
		}
		return next(c)
	}
}

// rescue turns a panic of a handler, which is a fault of ours, into a 500 and a logged stack.
func (s *service) rescue(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch r := recover(); r {
			case nil:
			case http.ErrAbortHandler:
				panic(r)
			default:
				s.Log.Error("a handler panicked", slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
				err = &refusal.Error{Kind: refusal.KindInternal, Code: "internal_error",
					Message: fmt.Sprintf("internal error; the log has it under request %s", c.Response().Header().Get(echo.HeaderXRequestID))}
			}
		}()
		return next(c)
	}
}

// limitBody makes reading more than BodyLimit bytes fail, and reading when all bodies together, or
// those of the caller, take too much.
func (s *service) limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		claim := s.memory.Claim(func() string { return callerID(c) })
		body := claim.Body(http.MaxBytesReader(c.Response(), r.Body, s.BodyLimit))
		defer body.Release()
		wire.SetBody(c, body)
		if s.ReceiptKeys != nil {
			wire.NoteSent(c)
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{body, r.Body}
		return next(c)
	}
}

// fail answers an error, unless the answer has begun.
func (s *service) fail(err error, c echo.Context) {
	if errors.Is(err, refusal.ErrGone) || c.Response().Committed {
		return
	}
	e := asError(err)
	if e.Retry > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(e.Retry))
	}
	if !wire.MendedByRepeating(e) {
		c.Response().Header().Set(wire.RetryHeader, "false")
	}
	if err := c.JSON(wire.StatusOf(e), wire.ErrorBody(c, e)); err != nil {
		s.Log.Debug("an error could not be sent", slog.Any("error", err))
	}
}

// asError turns any error into one that says what a client may do, those of the router too.
func asError(err error) *refusal.Error {
	var routed *echo.HTTPError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &routed):
		return refuseUnrouted(routed)
	case errors.As(err, &tooLarge):
		return wire.TooLarge(tooLarge.Limit)
	}
	return completion.AsError(err, "prompt")
}

// refuseUnrouted refuses a request that the router has no handler for.
func refuseUnrouted(e *echo.HTTPError) *refusal.Error {
	refused := refusal.Invalid("", "%v", e.Message)
	switch e.Code {
	case http.StatusNotFound:
		refused.Kind, refused.Code = refusal.KindNotFound, "not_found"
	case http.StatusMethodNotAllowed:
		refused.Kind, refused.Code = refusal.KindWrongMethod, "method_not_allowed"
	default: // echo has no others for a router
		refused.Code = "http_error"
	}
	return refused
}

// headAsGet answers HEAD on all routes as GET is answered: net/http, which knows what was asked,
// leaves the body out.
type headAsGet struct{ *echo.Echo }

// ServeHTTP implements http.Handler.
func (h headAsGet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		get := *r
		get.Method = http.MethodGet
		r = &get
	}
	h.Echo.ServeHTTP(w, r)
}

// logOperation writes the line of the access log for an operation that has ended. It has no text
// of prompts or answers. Probes and files are of interest when debugging only.
func (s *service) logOperation(r operation.Record) {
	level := slog.LevelInfo
	if r.Method == http.MethodGet && len(r.Answers) == 0 && r.Path != "/v1/ws" {
		level = slog.LevelDebug
	}
	if r.Status >= http.StatusInternalServerError && r.Status != http.StatusServiceUnavailable {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("id", r.ID), slog.String("method", r.Method), slog.String("path", r.Path), slog.String("route", r.Route),
		slog.Int("status", r.Status), slog.Int64("bytes", r.Bytes), slog.Duration("took", r.Took().Round(time.Microsecond)),
		slog.String("client", r.Address),
	}
	if r.Key != "" {
		attrs = append(attrs, slog.String("key", r.Key))
	}
	if len(r.Answers) > 0 {
		prompt, cached, generated := r.Tokens()
		attrs = append(attrs, slog.String("model", r.Model), slog.Int("prompt_tokens", prompt), slog.Int("cached_tokens", cached),
			slog.Int("completion_tokens", generated), slog.Duration("queued", r.Answers[0].Timing.Queued.Round(time.Microsecond)))
	}
	if len(r.Relaxed) > 0 {
		attrs = append(attrs, slog.Any("schema_relaxed", r.Relaxed))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", r.Err.Error()))
	}
	s.Log.LogAttrs(context.Background(), level, "request", attrs...)
}
