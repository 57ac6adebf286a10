// SPDX-License-Identifier: MIT

// Package openai serves OpenAI's API, with llama-server's additions and ours.
package openai

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// API answers OpenAI's routes.
type API struct {
	*wire.Server
	// Policies are the plugins that the operator attaches to the requests of a key for a model; nil:
	// none.
	Policies func(model, key string) []serving.PolicyInfo
	// Describe makes the shape of llama-server's own API, for clients that ask for what it tells
	// besides.
	Describe func(r *completion.Prompted, b *AnswerFields) wire.Detailed
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
	r, b, err := a.readChat(c)
	if err != nil {
		return err
	}
	return a.Answer(c, r, a.described(r, &b.AnswerFields, newChatShape(a.newAnswerHeads("chatcmpl-", r, &b.AnswerFields))), b.Stream)
}

// readChat reads a body and makes its prompt, for which a model may have to be loaded first.
func (a API) readChat(c echo.Context) (*completion.Prompted, *ChatBody, error) {
	b := &ChatBody{AnswerFields: Defaults()}
	r, err := a.ReadPrompt(c, b, b.Asked)
	return r, b, err
}

// countTokens tells, as llama-server does, how many tokens the prompt of a chat would have. With
// digests=true in the query it tells a router the digests of their blocks besides, which are those
// of GET /v1/load.
func (a API) countTokens(c echo.Context) error {
	wanted := c.QueryParam("digests")
	if wanted != "" && wanted != "true" && wanted != "false" {
		return refusal.Invalid("digests", "digests is %.40q; it must be true or false", wanted)
	}
	r, _, err := a.readChat(c)
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r.LeftOut(), nil)
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
	b := &textBody{AnswerFields: Defaults()}
	r, err := a.ReadPrompt(c, b, b.asked)
	if err != nil {
		return err
	}
	return a.Answer(c, r, a.described(r, &b.AnswerFields, newTextShape(a.newAnswerHeads("cmpl-", r, &b.AnswerFields), b)), b.Stream)
}

// Read turns the body of an answer that is told as it grows into a request: a chat if it has
// messages, else a text completion.
func Read(from completion.Caller, body []byte) (asked completion.Asked, err error) {
	var probe struct {
		Messages, Prompt json.RawMessage
	}
	if err := wire.Decode(body, &probe); err != nil {
		return asked, err
	}
	switch {
	case isGiven(probe.Messages) && isGiven(probe.Prompt):
		return asked, refusal.Invalid("request", "request has both messages and prompt; it must have one")
	case isGiven(probe.Messages):
		b := &ChatBody{AnswerFields: Defaults()}
		if err := wire.Decode(body, b); err != nil {
			return asked, err
		}
		b.Stream = true // whatever it says
		return b.Asked(from, len(body))
	}
	b := &textBody{AnswerFields: Defaults()}
	if err := wire.Decode(body, b); err != nil {
		return asked, err
	}
	return b.asked(from, len(body))
}

func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
