// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
)

// This file has what a program among a request's plugins may ask of the request and its model.

// chainOf gives the parameters of a program's sampler chain: those of a choice, changed by a JSON object as a request's body changes the
// server's. What an answer must look like, the seed and plugins are the request's.
func chainOf(m *serving.Model, params sampling.Params) func([]byte) (sampling.Params, error) {
	return func(text []byte) (sampling.Params, error) {
		if len(text) == 0 {
			return params, nil
		}
		fields := struct {
			sampling.Plain
			LogitBias json.RawMessage `json:"logit_bias"`
		}{Plain: sampling.FieldsOf(params).Plain}
		if err := integer.UnmarshalKnown(text, &fields); err != nil {
			return params, fmt.Errorf("the parameters of a chain: %w", err)
		}
		return sampling.Fields{Plain: fields.Plain, LogitBias: fields.LogitBias}.Params(params, tokens{context.Background(), m})
	}
}

// promptOf makes the prompt of messages with a model's own template.
func promptOf(m *serving.Model) func(context.Context, []byte) ([]int32, error) {
	return func(ctx context.Context, text []byte) ([]int32, error) {
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("the messages are no list: %w", err)
		}
		messages, parts, err := chat.ParseMessages(list)
		switch {
		case err != nil:
			return nil, err
		case len(parts) > 0:
			return nil, errors.New("the messages have a picture or a sound, which a program's branch cannot have")
		case len(messages) == 0:
			return nil, errors.New("there are no messages")
		}
		rendered, err := m.Encoder().Conversation(ctx, chat.Conversation{Messages: messages})
		return rendered.Tokens, err
	}
}
