// SPDX-License-Identifier: MIT

package api

import (
	"io"
	"net"
	"net/http"

	"github.com/labstack/echo/v4"
)

// New builds the handler of all routes.
func New(o Options) http.Handler {
	s := &service{Options: o, textPool: newTextPool(), adminKeys: digests(o.AdminKey), priorityKeys: digests(o.PriorityKeys...), keys: append(digests(o.APIKeys...), digests(o.AdminKey)...)}
	if len(o.APIKeys) == 0 {
		s.keys = nil // an admin key alone closes only the admin routes
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard) // what matters goes to slog
	e.HTTPErrorHandler = s.fail
	e.IPExtractor = clientOf(o.Proxies)
	e.Use(s.identify, s.log, s.rescue, s.limitBody, s.sameOrigin)

	e.GET("/health", s.health)
	e.GET("/v1/health", s.health)
	e.GET("/livez", s.livez)
	e.GET("/readyz", s.health)

	// Not an echo.Group: one with middleware takes over what no route of it matches.
	for _, r := range []struct {
		method, path string
		handler      echo.HandlerFunc
	}{
		{http.MethodPost, "/v1/chat/completions", s.chatCompletion},
		{http.MethodPost, "/chat/completions", s.chatCompletion},
		{http.MethodPost, "/v1/completions", s.textCompletion},
		{http.MethodPost, "/v1/embeddings", s.embeddings},
		{http.MethodGet, "/v1/models", s.models},
		{http.MethodGet, "/models", s.models},
		{http.MethodGet, "/v1/models/*", s.model},
		{http.MethodGet, "/v1/ws", s.openSocket},
		{http.MethodPost, "/completion", s.nativeCompletion},
		{http.MethodPost, "/completions", s.nativeCompletion},
		{http.MethodPost, "/tokenize", s.tokenize},
		{http.MethodPost, "/detokenize", s.detokenize},
		{http.MethodPost, "/apply-template", s.applyTemplate},
		{http.MethodGet, "/props", s.props},
		{http.MethodGet, "/slots", s.slots},
	} {
		e.Add(r.method, r.path, r.handler, s.authorize)
	}
	e.GET("/v1/plugins", s.listPlugins, s.authorize, s.withPlugins)
	e.GET("/v1/plugins/:name", s.getPlugin, s.authorize, s.withPlugins)
	e.POST("/v1/plugins", s.uploadPlugin, s.administer, s.withPlugins)
	e.DELETE("/v1/plugins/:name", s.removePlugin, s.administer, s.withPlugins)
	e.POST("/v1/plugins/:name/reset", s.resetPlugin, s.administer, s.withPlugins)
	if o.Metrics != nil {
		e.GET("/metrics", echo.WrapHandler(o.Metrics), s.authorize)
	}
	if o.UI != nil {
		e.GET("/*", s.page)
	}
	return e
}

// clientOf tells who a client is: who has connected, unless that is a proxy that is trusted and names another.
func clientOf(proxies []*net.IPNet) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, network := range proxies {
		trust = append(trust, echo.TrustIPRange(network))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}
