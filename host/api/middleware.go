// SPDX-License-Identifier: MIT

package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// statusGone is what logs show for a client that left before its answer, nginx's number.
const statusGone = 499

// identify gives every request an id: the client's if it is short and plain, else a new one.
func (s *service) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(echo.HeaderXRequestID)
		if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
			id = rand.Text()
		}
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		return next(c)
	}
}

// log writes one line a request once it is answered. Probes and files are of interest when debugging only.
func (s *service) log(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begin := time.Now()
		err := next(c)
		if err != nil {
			s.fail(err, c)
		}
		if errors.Is(err, completion.ErrGone) && !c.Response().Committed {
			c.Response().Status = statusGone
		}
		r, w := c.Request(), c.Response()
		level := slog.LevelInfo
		if r.Method == http.MethodGet && r.URL.Path != "/v1/ws" {
			level = slog.LevelDebug
		}
		attrs := []slog.Attr{
			slog.String("id", w.Header().Get(echo.HeaderXRequestID)), slog.String("method", r.Method),
			slog.String("path", r.URL.Path), slog.Int("status", w.Status), slog.Int64("bytes", w.Size),
			slog.Duration("took", time.Since(begin).Round(time.Microsecond)), slog.String("client", c.RealIP()),
		}
		if err != nil {
			attrs = append(attrs, slog.String("error", err.Error()))
		}
		if w.Status >= http.StatusInternalServerError && w.Status != http.StatusServiceUnavailable {
			level = slog.LevelError
		}
		s.Log.LogAttrs(r.Context(), level, "request", attrs...)
		return nil
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
				err = &completion.Error{Status: http.StatusInternalServerError, Code: "internal_error", Type: completion.TypeServer,
					Message: fmt.Sprintf("internal error; the log has it under request %s", c.Response().Header().Get(echo.HeaderXRequestID))}
			}
		}()
		return next(c)
	}
}

// limitBody makes reading more than BodyLimit bytes fail.
func (s *service) limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		r.Body = http.MaxBytesReader(c.Response(), r.Body, s.BodyLimit)
		return next(c)
	}
}

// fail answers an error, unless the answer has begun.
func (s *service) fail(err error, c echo.Context) {
	if errors.Is(err, completion.ErrGone) || c.Response().Committed {
		return
	}
	e := completion.AsError(err, "prompt")
	if e.Retry > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(e.Retry))
	}
	if err := c.JSON(e.Status, wire.ErrorBody(c, e)); err != nil {
		s.Log.Debug("an error could not be sent", slog.Any("error", err))
	}
}
