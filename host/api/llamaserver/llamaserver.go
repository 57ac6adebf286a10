// SPDX-License-Identifier: MIT

// Package llamaserver serves llama-server's own API: completions, embeddings, tokens, templates,
// properties and slots.
package llamaserver

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/serving"
)

// API answers llama-server's routes.
type API struct {
	*wire.Server
	UI        bool  // the browser UI is served
	NoSlots   bool  // GET /slots is refused
	NoMetrics bool  // GET /metrics is refused
	Props     bool  // POST /props says success
	BodyLimit int64 // bytes of a request's body and of a WebSocket's frame
}

// NoMetrics answers GET /metrics where it is off.
func NoMetrics(echo.Context) error {
	return notSupported("This server does not support metrics endpoint. Start it with `--metrics`")
}

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/completion", Handler: a.completion, Body: completionBody{}},
		{Method: http.MethodPost, Path: "/completions", Handler: a.completion, Body: completionBody{}},
		{Method: http.MethodPost, Path: "/tokenize", Handler: a.tokenize, Body: tokenizeBody{}},
		{Method: http.MethodPost, Path: "/detokenize", Handler: a.detokenize, Body: detokenizeBody{}},
		{Method: http.MethodPost, Path: "/apply-template", Handler: a.applyTemplate, Body: applyTemplateBody{}},
		{Method: http.MethodPost, Path: "/infill", Handler: a.infill, Body: infillBody{}},
		{Method: http.MethodPost, Path: "/embedding", Handler: a.embedding, Body: embeddingBody{}},
		{Method: http.MethodPost, Path: "/embeddings", Handler: a.embedding, Body: embeddingBody{}},
		{Method: http.MethodPost, Path: "/rerank", Handler: a.rerank, Body: rerankBody{}},
		{Method: http.MethodPost, Path: "/reranking", Handler: a.rerank, Body: rerankBody{}},
		{Method: http.MethodPost, Path: "/v1/rerank", Handler: a.rerank, Body: rerankBody{}},
		{Method: http.MethodPost, Path: "/v1/reranking", Handler: a.rerank, Body: rerankBody{}},
		{Method: http.MethodGet, Path: "/props", Handler: a.props},
		{Method: http.MethodPost, Path: "/props", Handler: a.setProps},
		{Method: http.MethodGet, Path: "/slots", Handler: a.slots},
		{Method: http.MethodPost, Path: "/slots/:id", Handler: a.actOnSlot, Body: slotBody{}},
		{Method: http.MethodGet, Path: "/lora-adapters", Handler: a.loraAdapters},
		{Method: http.MethodPost, Path: "/lora-adapters", Handler: a.setLoraAdapters, Admin: true},
	}
}

// loaded finds the model of a route that only tells of it: the one that the query names, or else
// the default. None is loaded for it: such a route has no rate limit, and a page may have it
// called for an image.
func (a API) loaded(c echo.Context) (*serving.Model, func(), error) {
	return a.Models.Loaded(c.QueryParam("model"))
}

// use finds the model of a route that is not for an answer: the one that the body names, the one
// that the query names, or else the default.
func (a API) use(c echo.Context, inBody string) (*serving.Model, func(), error) {
	return a.Models.Use(c.Request().Context(), cmp.Or(inBody, c.QueryParam("model")))
}
