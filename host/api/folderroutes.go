// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/ollama"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// Folder is the model folder.
type Folder interface {
	// Pull downloads a model of the hub. notify is told of its progress, one time after the other.
	Pull(ctx context.Context, name string, notify func(PullProgress)) error
	// Remove removes a model with all its files.
	Remove(name string) error
}

// PullProgress is a step of a pull in Ollama's words.
type PullProgress struct {
	Status    string `json:"status"`
	Total     int64  `json:"total,omitempty"`     // bytes
	Completed int64  `json:"completed,omitempty"` // of them
	Error     string `json:"error,omitempty"`
}

// addFolderRoutes adds Ollama's routes that change the model folder, for the admin alone. A client
// that pulls a model which is served already, as Codex does with a name that has no tag, changes
// nothing and needs no more than to be a client.
func (s *service) addFolderRoutes(e *echo.Echo) {
	if s.Folder == nil {
		return
	}
	e.POST("/api/pull", s.pull, wire.Errors(ollama.Error), s.authorizeAny)
	e.DELETE("/api/delete", s.remove, wire.Errors(ollama.Error), s.administer)
}

// mostPulls is how many models are pulled at a time: each has connections and a file of its own.
const mostPulls = 4

// pullBody is POST /api/pull.
type pullBody struct {
	Model  string `json:"model"`
	Name   string `json:"name"` // an older name of the same
	Stream *bool  `json:"stream"`
}

// deleteBody is DELETE /api/delete.
type deleteBody struct {
	Model string `json:"model"`
	Name  string `json:"name"`
}

// pull downloads a model. Once lines have been sent, an error is the last of them.
func (s *service) pull(c echo.Context) error {
	var body pullBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.Model == "" {
		body.Model = body.Name
	}
	if body.Model == "" {
		return refusal.Invalid("model", "model is missing: OWNER/NAME or OWNER/NAME:QUANTISATION")
	}
	lines := &pullLines{response: c.Response(), whole: body.Stream != nil && !*body.Stream}
	if s.serves(body.Model) {
		return lines.end(c, nil)
	}
	return s.administer(func(echo.Context) error {
		select {
		case s.pulls <- struct{}{}:
			defer func() { <-s.pulls }()
		default:
			return &refusal.Error{Kind: refusal.KindConflict, Code: "too_many_pulls",
				Message: fmt.Sprintf("%d models are being pulled already: wait until one of them is there, or end its request", mostPulls)}
		}
		return lines.end(c, s.Folder.Pull(c.Request().Context(), body.Model, lines.send))
	})(c)
}

// serves reports whether a name is that of a model, with or without Ollama's tag.
func (s *service) serves(name string) bool {
	name = strings.TrimSuffix(name, ":latest")
	return slices.ContainsFunc(s.Models.List(), func(m serving.Listed) bool { return m.Name == name || slices.Contains(m.Aliases, name) })
}

// end answers that all is done, or what went wrong.
func (l *pullLines) end(c echo.Context, err error) error {
	switch {
	case err == nil && l.whole:
		return c.JSON(http.StatusOK, PullProgress{Status: "success"})
	case err == nil:
		l.write(PullProgress{Status: "success"})
	case !c.Response().Committed:
		return err
	default:
		l.write(PullProgress{Error: completion.AsError(err, "model").Message})
	}
	return nil
}

// pullLines writes a pull's progress as lines of JSON, not more than some a second.
type pullLines struct {
	response *echo.Response
	whole    bool // nothing before the end
	last     PullProgress
	at       time.Time
}

func (l *pullLines) send(p PullProgress) {
	const often = 200 * time.Millisecond
	if l.whole || p.Status == l.last.Status && time.Since(l.at) < often {
		return
	}
	l.last, l.at = p, time.Now()
	l.write(p)
}

// write ignores errors: a client that has gone ends the request's context, and with it the pull.
func (l *pullLines) write(p PullProgress) {
	if !l.response.Committed {
		l.response.Header().Set(echo.HeaderContentType, "application/x-ndjson")
		l.response.WriteHeader(http.StatusOK)
	}
	_ = json.NewEncoder(l.response).Encode(p)
	_ = http.NewResponseController(l.response.Writer).Flush()
}

func (s *service) remove(c echo.Context) error {
	var body deleteBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.Model == "" {
		body.Model = body.Name
	}
	if body.Model == "" {
		return refusal.Invalid("model", "model is missing; GET /api/tags lists the names")
	}
	if err := s.Folder.Remove(body.Model); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
