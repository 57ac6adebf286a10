// SPDX-License-Identifier: MIT

// Package ollama serves Ollama's API.
//
// # Why does /api/version not answer Penstock's version?
//
// Ollama's clients compare it with the version in which a feature came to Ollama, and switch the
// feature off below that. Penstock's own number would mean nothing to them. So the route answers
// the version of Ollama whose API is served, with Penstock's beside it.
package ollama

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
)

// API answers Ollama's routes.
type API struct{ *wire.Server }

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	routes := []wire.Route{
		{Method: http.MethodPost, Path: "/api/chat", Handler: a.chat, Body: chatBody{}},
		{Method: http.MethodPost, Path: "/api/generate", Handler: a.generate, Body: generateBody{}},
		{Method: http.MethodPost, Path: "/api/embed", Handler: a.embed, Body: embedBody{}},
		{Method: http.MethodPost, Path: "/api/embeddings", Handler: a.embeddings, Body: embeddingsBody{}},
		{Method: http.MethodPost, Path: "/api/show", Handler: a.show, Body: showBody{}},
	}
	routes = append(routes,
		wire.Route{Method: http.MethodGet, Path: "/api/tags", Handler: a.tags},
		wire.Route{Method: http.MethodGet, Path: "/api/ps", Handler: a.running},
		wire.Route{Method: http.MethodGet, Path: "/api/version", Handler: a.version})
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		routes = append(routes, wire.Route{Method: method, Path: "/api/*", Handler: absent})
	}
	return routes
}

// absent answers the routes that this server lacks: those that make, copy and send models.
func absent(c echo.Context) error {
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "not_found",
		Message: "this server has no " + c.Request().Method + " " + c.Request().URL.Path + "; models come from its model folder, see its command penstock model"}
}

// Error is the wire.ErrorShape of the API. It has no place for the field at fault, so the message
// names it.
func Error(e *refusal.Error) any {
	message := e.Message
	if !strings.Contains(message, e.Field) {
		message = e.Field + ": " + message
	}
	return struct {
		Error string `json:"error"`
	}{message}
}
