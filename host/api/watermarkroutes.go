// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/watermark"
	"github.com/penstock/penstock/scheduler"
)

// watermarks are the routes for those who look for a watermark.
type watermarks struct {
	*wire.Server
}

func (a watermarks) routes() []wire.Route {
	return []wire.Route{{Method: http.MethodPost, Path: "/v1/watermark/detect", Handler: a.detect, Body: detectBody{}}}
}

// mostDetected is how many tokens are tested at once, at most: the test remembers each context.
const mostDetected = 1 << 17

// detectBody is POST /v1/watermark/detect.
type detectBody struct {
	Model   string          `json:"model"`
	Input   json.RawMessage `json:"input"`
	Key     string          `json:"key"`
	Scheme  string          `json:"scheme"`
	Context int             `json:"context"`
	Gamma   float64         `json:"gamma"`
}

// detected is its answer.
type detected struct {
	Object string `json:"object"`
	Model  string `json:"model"`
	watermark.Result
}

// detect is POST /v1/watermark/detect. Whoever asks has the key, and nobody is told of another.
func (a watermarks) detect(c echo.Context) error {
	body := detectBody{Scheme: watermark.Gumbel, Context: watermark.DefaultContext, Gamma: watermark.DefaultGamma}
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	detector, err := watermark.New(watermark.Config{Key: body.Key, Scheme: body.Scheme, Context: body.Context, Gamma: body.Gamma})
	var wrong *watermark.Error
	if errors.As(err, &wrong) {
		return refusal.Invalid(wrong.Field, "%s", wrong.Message)
	}
	m, release, err := a.Models.Use(c.Request().Context(), body.Model)
	if err != nil {
		return err
	}
	defer release()
	result, err := completion.Work(c.Request().Context(), a.Service, wire.CallerOf(c), len(body.Input), func(ctx context.Context) (r watermark.Result, err error) {
		var text string
		var items []json.RawMessage // which may take a dozen times the bytes of the body
		if json.Unmarshal(body.Input, &text) != nil && json.Unmarshal(body.Input, &items) != nil || !completion.IsSet(body.Input) {
			return r, refusal.Invalid("input", "input must be a text, or a list of tokens")
		}
		if len(items) > mostDetected {
			return r, tooManyDetected(len(items))
		}
		tokens := make([]scheduler.Token, len(items))
		for i, item := range items {
			var ok bool
			if tokens[i], ok = completion.ReadToken(item, m.Vocabulary.Size); !ok {
				at := fmt.Sprintf("input[%d]", i)
				return r, refusal.Invalid(at, "%s must be a token from 0 to %d", at, m.Vocabulary.Size-1)
			}
		}
		if items == nil {
			if tokens, err = m.Encoder().Tokenize(ctx, text, false, false); err != nil {
				return r, completion.TextError(err, "input")
			}
		}
		if len(tokens) > mostDetected {
			return r, tooManyDetected(len(tokens))
		}
		return detector.Detect(tokens), nil
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, detected{"watermark.detection", m.Name, result})
}

func tooManyDetected(tokens int) error {
	return refusal.Invalid("input", "input has %d tokens; at most %d are tested at once: test a part, which is enough", tokens, mostDetected)
}
