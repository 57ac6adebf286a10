// SPDX-License-Identifier: MIT

package api

import (
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/anthropic"
	"github.com/penstock/penstock/host/api/llamaserver"
	"github.com/penstock/penstock/host/api/ollama"
	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/api/responses"
	"github.com/penstock/penstock/host/api/socket"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/operation"
)

// New builds the handler of all routes.
func New(o Options) http.Handler {
	if o.Hold == nil {
		o.Hold = func() func() { return func() {} }
	}
	s := &service{Options: o, memory: wire.NewMemory(o.BodyMemory, o.BodyLimit), loads: newLoads(o)}
	s.sinks = append([]func(operation.Record){s.logOperation}, o.Sinks...)
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard) // what matters goes to slog
	e.HTTPErrorHandler = s.fail
	e.IPExtractor = clientOf(o.Proxies)
	e.Use(s.pace, s.follow, s.rescue, s.limitBody, s.sameOrigin, unescape)

	e.GET("/health", s.health)
	e.GET("/v1/health", s.health)
	e.GET("/livez", s.livez)
	e.GET("/readyz", s.health)

	// Not an echo.Group: one with middleware takes over what no route of it matches.
	for _, d := range s.dialects() {
		for _, r := range d.Routes {
			switch around := wire.Errors(d.errors); {
			case r.OwnKey: // the WebSocket sees to its own end
				e.Add(r.Method, r.Path, r.Handler, around, s.authorizeSocket)
			case r.Admin:
				e.Add(r.Method, r.Path, r.Handler, around, s.finish, s.administerShared)
			default:
				e.Add(r.Method, r.Path, r.Handler, around, s.finish, s.authorize)
			}
		}
	}
	e.GET("/v1/load", s.load, s.authorize)
	e.GET("/v1/plugins", s.listPlugins, s.authorize, s.withPlugins)
	e.GET("/v1/plugins/:name", s.getPlugin, s.authorize, s.withPlugins)
	e.POST("/v1/plugins", s.uploadPlugin, s.administer, s.withPlugins)
	e.DELETE("/v1/plugins/:name", s.removePlugin, s.administer, s.withPlugins)
	e.POST("/v1/plugins/:name/reset", s.resetPlugin, s.administer, s.withPlugins)
	e.GET("/v1/recordings", s.withRecordings(listRecordings), s.authorizeOrAdmin)
	e.GET("/v1/recordings/:id", s.withRecordings(getRecording), s.authorizeOrAdmin)
	e.DELETE("/v1/recordings/:id", s.withRecordings(removeRecording), s.authorizeOrAdmin)
	s.addAdminRoutes(e)
	s.addFolderRoutes(e)
	e.POST("/models/load", s.loadModel, s.administer)
	e.POST("/models/unload", s.unloadModel, s.administer)
	e.GET("/v1/adapters", s.withAdapters(listAdapters), s.authorize)
	e.POST("/v1/adapters", s.withAdapters(loadAdapter), s.administer)
	e.DELETE("/v1/adapters/:name", s.withAdapters(unloadAdapter), s.administer)
	metrics := llamaserver.NoMetrics
	if o.Metrics != nil {
		metrics = echo.WrapHandler(o.Metrics)
	}
	e.GET("/metrics", metrics, wire.Errors(llamaserver.Error), s.authorize)
	e.RouteNotFound(pageRoute, absent)
	if o.UI != nil {
		e.GET(pageRoute, s.page)
	}
	return s.below(headAsGet{e}, e)
}

// absent answers what no route takes. The page takes every GET, so a method that a route does not
// have is not found either.
func absent(c echo.Context) error {
	r := c.Request()
	return echo.NewHTTPError(http.StatusNotFound, fmt.Sprintf("there is no %s %.80s here; docs/openapi.yaml lists all routes", r.Method, r.URL.Path))
}

// Dialect is an API that clients speak.
type Dialect struct {
	Name   string
	Routes []wire.Route
	errors wire.ErrorShape
}

// Dialects lists the APIs, their routes and the fields that these take. The routes answer nothing.
func Dialects() []Dialect { return (&service{}).dialects() }

func (s *service) dialects() []Dialect {
	answers := completion.NewService(s.Models)
	answers.Media = media.NewLoader(s.Media)
	server := &wire.Server{Service: answers, Version: s.Version, Memory: s.memory, Grace: s.StreamGrace, Comment: s.StreamComment}
	return []Dialect{
		{"OpenAI", openai.API{Server: server, Describe: llamaserver.Describe}.Routes(), wire.OpenAIError},
		{"OpenAI's Responses", responses.API{Server: server}.Routes(), wire.OpenAIError},
		{"Anthropic", anthropic.API{Server: server}.Routes(), anthropic.Error},
		{"Ollama", ollama.API{Server: server}.Routes(), ollama.Error},
		{"llama-server", llamaserver.API{Server: server, UI: s.UI != nil, NoSlots: s.NoSlots, NoMetrics: s.Metrics == nil, Props: s.Props, BodyLimit: s.BodyLimit}.Routes(), llamaserver.Error},
		{"WebSocket", (&socket.API{Server: server, Log: s.Log, BodyLimit: s.BodyLimit, BodyTimeout: s.BodyTimeout, WriteTimeout: s.WriteTimeout, IdlePing: s.IdlePing, Replica: s.Replica,
			Draining: s.Draining, Done: s.Done, Hold: s.Hold, Identify: s.identifySocket}).Routes(), wire.OpenAIError},
	}
}

// clientOf tells who a client is: who has connected, unless that is a proxy that is trusted and
// names another.
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
