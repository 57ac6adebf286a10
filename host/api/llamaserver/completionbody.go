// SPDX-License-Identifier: MIT

package llamaserver

import (
	"encoding/json"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// completionBody is POST /completion.
type completionBody struct {
	openai.Common
	Prompt json.RawMessage `json:"prompt"`
	NProbs *int            `json:"n_probs"`
	Tokens bool            `json:"return_tokens"`
}

func (a API) completion(c echo.Context) error {
	body, err := wire.Read(c)
	if err != nil {
		return err
	}
	b := &completionBody{Common: openai.Defaults()}
	if err := wire.Decode(body, b); err != nil {
		return err
	}
	if err := b.Check(); err != nil {
		return err
	}
	r, err := a.New(c.Request().Context(), b.Basics(wire.CallerOf(c), "prompt", len(body)), b.fill)
	if err != nil {
		return err
	}
	return a.Answer(c, r, completionShape{model: r.Model.Name, tokens: b.Tokens}, b.Stream)
}

func (b *completionBody) fill(r *completion.Request) (err error) {
	if err := b.Fill(r); err != nil {
		return err
	}
	if err := r.RefuseTemplates(); err != nil {
		return err
	}
	if r.Choices != 1 {
		return completion.Unsupported("n", "n must be 1 here; /v1/completions answers a prompt more than once")
	}
	if top := b.NProbs; top != nil && *top != 0 {
		if *top < 0 || *top > openai.MaxLogprobs {
			return completion.Invalid("n_probs", "n_probs is %d; it must be from 0 to %d", *top, openai.MaxLogprobs)
		}
		r.Logprobs = *top
	}
	r.Prompts, err = r.Model.Prompts(b.Prompt)
	if err == nil && len(r.Prompts) != 1 {
		err = completion.Unsupported("prompt", "one prompt a request is supported here; /v1/completions takes several")
	}
	return err
}
