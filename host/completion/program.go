// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/sampling"
)

// This file has what a program among a request's plugins may ask of the request and its model.

// chainParams are the parameters of a program's sampler chain: those of a choice, changed by a JSON
// object as a request's body changes the server's. What an answer must look like, the seed and
// plugins are the request's. Nobody holds the grammar for the chains that are built later: the
// answer's own stages use it until the program has returned.
func (p *Prompted) chainParams(ctx context.Context, params sampling.Params, text []byte) (sampling.Params, error) {
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
	ctx = sampling.WithSalt(ctx, p.Caller.CacheSalt)
	made, err := sampling.ParamFields{Plain: fields.Plain, LogitBias: fields.LogitBias}.Params(params, tokens{ctx, p.Model})
	if err == nil {
		made.Constraint, err = p.Model.Engine.Prepare(ctx, made) // its triggers may be others
		made.Constraint.Release()
	}
	return made, err
}

// promptOf is the prompt that the model's own template makes of messages. They may have the
// pictures and sounds of the request, as many times as a request may have any.
func (p *Prompted) promptOf(ctx context.Context, text []byte) ([]int32, error) {
	gallery := chat.NewGallery(p.Media.told)
	messages, err := gallery.Unmarshal(text)
	if err != nil {
		return nil, err
	}
	messages, places, err := gallery.Leave(messages)
	if err != nil {
		return nil, err
	}
	c := chat.Conversation{Messages: messages, Media: make([]media.Part, len(places))}
	rendered, err := p.Model.Encoder().Conversation(ctx, c)
	if err != nil || len(places) == 0 {
		return rendered.Tokens, err
	}
	if err := media.CheckMarkers("messages", rendered.Text, len(places)); err != nil {
		return nil, err
	}
	return withRows(rendered.Tokens, p.Media.rows, gallery.First(places)), nil
}

// withRows puts the tokens of pictures and sounds, by their numbers, into their places among those
// of a prompt.
func withRows(tokens []int32, rows [][]int32, numbers []int) (all []int32) {
	for _, t := range tokens {
		if t != chat.MediaPlaceholder {
			all = append(all, t)
			continue
		}
		all, numbers = append(all, rows[numbers[0]]...), numbers[1:]
	}
	return all
}
