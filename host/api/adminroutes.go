// SPDX-License-Identifier: MIT

package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
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

// addAdminRoutes adds what looks into a running server. Without an admin key there is nothing of
// it.
func (s *service) addAdminRoutes(e *echo.Echo) {
	if !s.Keys().HasAdmin() {
		return
	}
	if s.LogLevel != nil {
		e.GET("/v1/log-level", s.logLevel, s.administer)
		e.PUT("/v1/log-level", s.setLogLevel, s.administer)
	}
	for path, handler := range map[string]http.HandlerFunc{
		"": pprof.Index, ":name": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		e.GET("/debug/pprof/"+path, echo.WrapHandler(handler), s.administer)
	}
}

// levelBody is what is said of the log's level.
type levelBody struct {
	Level string `json:"level"` // debug, info, warn or error
}

func (s *service) logLevel(c echo.Context) error {
	return c.JSON(http.StatusOK, levelBody{strings.ToLower(s.LogLevel.Level().String())})
}

// setLogLevel changes what is logged from now on, until the server ends.
func (s *service) setLogLevel(c echo.Context) error {
	var body levelBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	level, ok := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[body.Level]
	if !ok {
		return refusal.Invalid("level", "level is %q; it must be debug, info, warn or error", body.Level)
	}
	s.LogLevel.Set(level)
	return s.logLevel(c)
}

// modelBody names a model, as the routes of llama-server's router have it.
type modelBody struct {
	Model string `json:"model"`
}

func readModel(c echo.Context) (string, error) {
	var body modelBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return "", err
	}
	if body.Model == "" {
		return "", refusal.Invalid("model", "model is missing; GET /v1/models lists the names")
	}
	return body.Model, nil
}

// loadModel is POST /models/load: it answers when the model is loaded.
func (s *service) loadModel(c echo.Context) error {
	name, err := readModel(c)
	if err != nil {
		return err
	}
	_, release, err := s.Models.Use(c.Request().Context(), name)
	if err != nil {
		return err
	}
	release()
	return c.JSON(http.StatusOK, map[string]bool{"success": true})
}

// unloadModel is POST /models/unload.
func (s *service) unloadModel(c echo.Context) error {
	name, err := readModel(c)
	if err != nil {
		return err
	}
	if err := s.Models.Unload(name); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]bool{"success": true})
}

// adapterInfo is a LoRA adapter as these routes show it.
type adapterInfo struct {
	ID           int     `json:"id"`
	Name         string  `json:"name"`
	Scale        float32 `json:"scale"`
	Rank         int     `json:"rank"`
	Bytes        uint64  `json:"bytes"`
	TaskName     string  `json:"task_name,omitempty"`
	PromptPrefix string  `json:"prompt_prefix,omitempty"`
	Invocation   []int32 `json:"invocation_tokens,omitempty"`
}

func showAdapter(i serving.AdapterInfo) adapterInfo {
	return adapterInfo{ID: i.ID, Name: i.Name, Scale: i.Scale, Rank: i.Rank, Bytes: i.Bytes, TaskName: i.TaskName,
		PromptPrefix: i.PromptPrefix, Invocation: i.InvocationTokens}
}

// withAdapters hands the adapters of the model that the query names, or of the default one, to a
// handler. A GET tells of a model that is loaded, and loads none.
func (s *service) withAdapters(handle func(echo.Context, serving.Adapters) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		name := c.QueryParam("model")
		find := func() (*serving.Model, func(), error) { return s.Models.Use(c.Request().Context(), name) }
		if c.Request().Method == http.MethodGet {
			find = func() (*serving.Model, func(), error) { return s.Models.Loaded(name) }
		}
		m, release, err := find()
		if err != nil {
			return err
		}
		defer release()
		if m.Adapters == nil {
			return &refusal.Error{Kind: refusal.KindNotFound, Code: "unsupported",
				Message: "LoRA adapters are not supported by this server"}
		}
		return handle(c, m.Adapters)
	}
}

// listAdapters is GET /v1/adapters.
func listAdapters(c echo.Context, a serving.Adapters) error {
	data := []adapterInfo{}
	for _, info := range a.List() {
		data = append(data, showAdapter(info))
	}
	return c.JSON(http.StatusOK, map[string]any{"object": "list", "data": data})
}

// adapterBody is POST /v1/adapters.
type adapterBody struct {
	Name  string   `json:"name"`
	Scale *float32 `json:"scale"`
}

// loadAdapter is POST /v1/adapters: an adapter of the model folder, by its name, for requests that
// name it, or with a scale for all.
func loadAdapter(c echo.Context, a serving.Adapters) error {
	var body adapterBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	scale := float32(0)
	if body.Scale != nil {
		scale = *body.Scale
	}
	switch {
	case body.Name == "":
		return refusal.Invalid("name", "name is missing: that of a GGUF file in the model folder")
	case scale < -serving.MaxAdapterScale || scale > serving.MaxAdapterScale:
		return refusal.Invalid("scale", "scale is %v; it must be from %d to %d", scale, -serving.MaxAdapterScale, serving.MaxAdapterScale)
	}
	info, err := a.Load(c.Request().Context(), body.Name, scale)
	return answerCreated(c, showAdapter(info), true, err)
}

// unloadAdapter is DELETE /v1/adapters/{name}.
func unloadAdapter(c echo.Context, a serving.Adapters) error {
	return answerRemoved(c, a.Unload(c.Param("name")))
}

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
	e.POST("/api/pull", s.pullModel, wire.Errors(ollama.Error), s.authorizeAny)
	e.DELETE("/api/delete", s.removeModel, wire.Errors(ollama.Error), s.administer)
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

// pullModel downloads a model. Once lines have been sent, an error is the last of them.
func (s *service) pullModel(c echo.Context) error {
	var body pullBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.Model = cmp.Or(body.Model, body.Name); body.Model == "" {
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

// serves reports whether a model has this name, with or without Ollama's tag.
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

func (s *service) removeModel(c echo.Context) error {
	var body deleteBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.Model = cmp.Or(body.Model, body.Name); body.Model == "" {
		return refusal.Invalid("model", "model is missing; GET /api/tags lists the names")
	}
	if err := s.Folder.Remove(body.Model); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
