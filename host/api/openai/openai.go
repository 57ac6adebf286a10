// SPDX-License-Identifier: MIT

// Package openai serves OpenAI's API, with llama-server's additions and ours.
package openai

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// API answers OpenAI's routes.
type API struct {
	*wire.Server
	// Describe makes the shape of llama-server's own API, for clients that ask for what it tells
	// besides; nil: those hear nothing of that.
	Describe func(r *completion.TextRequest, b *AnswerFields) wire.Detailed
}

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/chat/completions", Handler: a.chatCompletion, Body: ChatBody{}},
		{Method: http.MethodPost, Path: "/chat/completions", Handler: a.chatCompletion, Body: ChatBody{}},
		{Method: http.MethodPost, Path: "/v1/chat/completions/input_tokens", Handler: a.countTokens, Body: ChatBody{}},
		{Method: http.MethodPost, Path: "/chat/completions/input_tokens", Handler: a.countTokens, Body: ChatBody{}},
		{Method: http.MethodPost, Path: "/v1/completions", Handler: a.textCompletion, Body: textBody{}},
		{Method: http.MethodPost, Path: "/v1/audio/transcriptions", Handler: a.transcription, Body: transcriptionBody{}},
		{Method: http.MethodPost, Path: "/audio/transcriptions", Handler: a.transcription, Body: transcriptionBody{}},
		{Method: http.MethodPost, Path: "/v1/embeddings", Handler: a.embeddings, Body: embeddingsBody{}},
		{Method: http.MethodGet, Path: "/v1/models", Handler: a.models},
		{Method: http.MethodGet, Path: "/models", Handler: a.models},
		{Method: http.MethodGet, Path: "/v1/models/*", Handler: a.model},
	}
}

func (a API) chatCompletion(c echo.Context) error {
	body, err := wire.Read(c)
	if err != nil {
		return err
	}
	r, b, err := ParseChat(c.Request().Context(), a.Service, wire.CallerOf(c), body)
	if err != nil {
		return err
	}
	return a.Answer(c, r, a.described(r, &b.AnswerFields, newChatShape(a.newAnswerHeads("chatcmpl-", r, &b.AnswerFields))), b.Stream)
}

// countTokens tells, as llama-server does, how many tokens the prompt of a chat would have. With
// digests=true in the query it tells a router the digests of their blocks besides, which are those
// of GET /v1/load.
func (a API) countTokens(c echo.Context) error {
	wanted := c.QueryParam("digests")
	if wanted != "" && wanted != "true" && wanted != "false" {
		return refusal.Invalid("digests", "digests is %.40q; it must be true or false", wanted)
	}
	body, err := wire.Read(c)
	if err != nil {
		return err
	}
	r, _, err := ParseChat(c.Request().Context(), a.Service, wire.CallerOf(c), body)
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r)
	answer := map[string]any{"object": "response.input_tokens", "input_tokens": len(r.Prompts[0])}
	if wanted == "true" {
		digests := []string{}
		for _, d := range kvcache.Digests(r.BeforeMedia()) {
			digests = append(digests, d.String())
		}
		answer["block_tokens"], answer["digests"] = kvcache.BlockTokens, digests
	}
	return c.JSON(http.StatusOK, answer)
}

func (a API) textCompletion(c echo.Context) error {
	body, err := wire.Read(c)
	if err != nil {
		return err
	}
	r, b, err := ParseText(c.Request().Context(), a.Service, wire.CallerOf(c), body)
	if err != nil {
		return err
	}
	return a.Answer(c, r, a.described(r, &b.AnswerFields, newTextShape(a.newAnswerHeads("cmpl-", r, &b.AnswerFields), b)), b.Stream)
}

// Parse turns the body of an answer that is told as it grows into a request: a chat if it has
// messages, else a text completion.
func Parse(ctx context.Context, s *completion.Service, from completion.Caller, body []byte) (*completion.TextRequest, error) {
	var probe struct {
		Messages, Prompt json.RawMessage
	}
	if err := wire.Decode(body, &probe); err != nil {
		return nil, err
	}
	switch {
	case isGiven(probe.Messages) && isGiven(probe.Prompt):
		return nil, refusal.Invalid("request", "request has both messages and prompt; it must have one")
	case isGiven(probe.Messages):
		b := &ChatBody{AnswerFields: Defaults()}
		if err := wire.Decode(body, b); err != nil {
			return nil, err
		}
		b.Stream = true // whatever it says
		return b.Request(ctx, s, from, "messages", len(body))
	}
	r, _, err := ParseText(ctx, s, from, body)
	return r, err
}

func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
