// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// Recordings keeps what was recorded of requests. Errors that the client can fix are
// *refusal.Error.
type Recordings interface {
	List(ctx context.Context, r serving.RecordingReader) ([]serving.RecordingInfo, error)
	Get(ctx context.Context, r serving.RecordingReader, id string) (*os.File, error)
	Remove(ctx context.Context, r serving.RecordingReader, id string) error
}

// authorizeOrAdmin lets requests pass that authorize lets pass, and those with the admin key.
func (s *service) authorizeOrAdmin(next echo.HandlerFunc) echo.HandlerFunc {
	authorized := s.authorize(next)
	return func(c echo.Context) error {
		key, _ := s.Keys().Find(secretOf(c.Request()))
		if !key.Admin {
			return authorized(c)
		}
		operation.From(c.Request().Context()).SetClient(key.Name, operation.Unlimited{})
		return next(c)
	}
}

// withRecordings refuses requests if the server keeps no recordings. Else it finds out which client
// asks.
func (s *service) withRecordings(next func(echo.Context, Recordings, serving.RecordingReader) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.Recordings == nil {
			return &refusal.Error{Kind: refusal.KindForbidden, Code: "recordings_disabled",
				Message: "this server records no requests; its operator can set recordings.enabled, and recordings.dir where there is no home folder"}
		}
		key, _ := s.Keys().Find(secretOf(c.Request()))
		return next(c, s.Recordings, serving.RecordingReader{Caller: wire.CallerOf(c).ID, Admin: key.Admin})
	}
}

func listRecordings(c echo.Context, from Recordings, r serving.RecordingReader) error {
	list, err := from.List(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		Object string                  `json:"object"`
		Data   []serving.RecordingInfo `json:"data"`
	}{"list", list})
}

// getRecording sends a recording's file as it is.
func getRecording(c echo.Context, from Recordings, r serving.RecordingReader) error {
	file, err := from.Get(c.Request().Context(), r, c.Param("id"))
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": filepath.Base(file.Name())}))
	h.Set(echo.HeaderContentLength, strconv.FormatInt(info.Size(), 10))
	return c.Stream(http.StatusOK, "application/gzip", file)
}

func removeRecording(c echo.Context, from Recordings, r serving.RecordingReader) error {
	if err := from.Remove(c.Request().Context(), r, c.Param("id")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
