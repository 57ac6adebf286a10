// SPDX-License-Identifier: MIT

package api

import (
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"
)

// New builds the handler of all routes.
func New(o Options) http.Handler {
	s := &service{Options: o, admin: digests(o.AdminKey), keys: append(digests(o.APIKeys...), digests(o.AdminKey)...)}
	if len(o.APIKeys) == 0 {
		s.keys = nil // an admin key alone closes only the admin routes
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard) // what matters goes to slog
	e.HTTPErrorHandler = s.fail
	e.Use(s.identify, s.log, s.rescue, s.limitBody, s.sameOrigin)

	e.GET("/health", s.health)
	e.GET("/v1/health", s.health)
	e.GET("/livez", s.live)
	e.GET("/readyz", s.health)

	g := e.Group("", s.authorize)
	g.POST("/v1/chat/completions", s.chat)
	g.POST("/chat/completions", s.chat)
	g.POST("/v1/completions", s.text)
	g.POST("/v1/embeddings", s.embeddings)
	g.GET("/v1/models", s.models)
	g.GET("/models", s.models)
	g.GET("/v1/models/*", s.model)
	g.GET("/v1/ws", s.socket)
	g.POST("/completion", s.native)
	g.POST("/completions", s.native)
	g.POST("/tokenize", s.tokenize)
	g.POST("/detokenize", s.detokenize)
	g.POST("/apply-template", s.applyTemplate)
	g.GET("/props", s.props)
	g.GET("/slots", s.slots)
	if o.Metrics != nil {
		g.GET("/metrics", echo.WrapHandler(o.Metrics))
	}
	if o.UI != nil {
		e.GET("/*", s.page)
	}
	return e
}

func (s *service) chat(c echo.Context) error {
	body, err := read(c)
	if err != nil {
		return err
	}
	g, err := s.planChat(body)
	if err != nil {
		return err
	}
	return s.answer(c, g, chatShape{newHeads("chatcmpl-", s.Model.Name)})
}

func (s *service) text(c echo.Context) error {
	body, err := read(c)
	if err != nil {
		return err
	}
	g, err := s.planText(body)
	if err != nil {
		return err
	}
	return s.answer(c, g, textShape{newHeads("cmpl-", s.Model.Name)})
}

func (s *service) native(c echo.Context) error {
	body, err := read(c)
	if err != nil {
		return err
	}
	g, tokens, err := s.planNative(body)
	if err != nil {
		return err
	}
	return s.answer(c, g, nativeShape{model: s.Model.Name, tokens: tokens})
}

func (s *service) embeddings(echo.Context) error {
	return unsupported("model", "embeddings are not supported by this server")
}

// fail answers an error, unless the answer has begun.
func (s *service) fail(err error, c echo.Context) {
	if errors.Is(err, errGone) || c.Response().Committed {
		return
	}
	e := problem(err, "prompt")
	if e.Retry > 0 {
		c.Response().Header().Set("Retry-After", itoa(e.Retry))
	}
	if err := c.JSON(e.Status, envelope{e.body()}); err != nil {
		s.Log.Debug("an error could not be sent", slog.Any("error", err))
	}
}
