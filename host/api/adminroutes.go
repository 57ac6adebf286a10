// SPDX-License-Identifier: MIT

package api

import (
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
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
	e.GET("/debug/pprof/", echo.WrapHandler(http.HandlerFunc(pprof.Index)), s.administer)
	e.GET("/debug/pprof/cmdline", echo.WrapHandler(http.HandlerFunc(pprof.Cmdline)), s.administer)
	e.GET("/debug/pprof/profile", echo.WrapHandler(http.HandlerFunc(pprof.Profile)), s.administer)
	e.GET("/debug/pprof/symbol", echo.WrapHandler(http.HandlerFunc(pprof.Symbol)), s.administer)
	e.GET("/debug/pprof/trace", echo.WrapHandler(http.HandlerFunc(pprof.Trace)), s.administer)
	e.GET("/debug/pprof/:name", echo.WrapHandler(http.HandlerFunc(pprof.Index)), s.administer)
}

// levelBody is what is said of the log's level.
type levelBody struct {
	Level string `json:"level"` // debug, info, warn or error
}

func (s *service) logLevel(c echo.Context) error {
	names := map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error"}
	return c.JSON(http.StatusOK, levelBody{names[s.LogLevel.Level()]})
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
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, showAdapter(info))
}

// unloadAdapter is DELETE /v1/adapters/{name}.
func unloadAdapter(c echo.Context, a serving.Adapters) error {
	if err := a.Unload(c.Param("name")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
