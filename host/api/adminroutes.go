// SPDX-License-Identifier: MIT

package api

import (
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
)

// addAdminRoutes adds what looks into a running server. Without an admin key there is nothing of
// it.
func (s *service) addAdminRoutes(e *echo.Echo) {
	if !s.keys().HasAdmin() {
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
