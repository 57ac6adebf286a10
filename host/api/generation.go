// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// generation is a checked request for text. submit turns it into scheduler.Requests.
type generation struct {
	caller      caller
	promptField string // the field of the body that holds the prompt
	prompts     [][]scheduler.Token
	promptText  string // of a conversation
	choices     int    // answers to each prompt
	params      sampling.Params
	uses        []PluginUse
	stops       []string
	maxTokens   int // to generate; 0: as many as fit
	logprobs    int // alternatives to each token; -1: none
	deadline    time.Time
	priority    int
	cachePrompt bool
	detach      time.Duration // how long it may outlive its connection

	stream    bool
	sendUsage bool // in a last frame of the stream
}

// maxLogprobs bounds the alternatives reported with each token.
const maxLogprobs = 20

// newGeneration checks the common fields of a body of size bytes, and has build turn it into a generation in the text pool.
func (s *service) newGeneration(ctx context.Context, from caller, b *Common, size int, build func() (generation, error)) (generation, error) {
	if err := b.check(); err != nil {
		return generation{}, err
	}
	deadline := b.deadline(time.Now())
	g, err := inPool(ctx, s.textPool, deadline, size, build, nil)
	g.deadline = deadline
	g.caller = from
	return g, err
}

// commonGeneration fills in what all bodies share. The prompts and log-probabilities are for the function that calls it.
func (s *service) commonGeneration(b *Common, field string) (generation, error) {
	if b.Model != "" && b.Model != s.Model.Name {
		return generation{}, s.unknownModel(b.Model)
	}
	base := sampling.Default()
	base.Seed, base.Trace = sampling.RandomSeed(), b.Trace
	params, err := b.Params(base, vocabulary{s})
	if err != nil {
		return generation{}, err
	}
	uses, err := b.uses()
	if err != nil {
		return generation{}, err
	}
	if s.Policies == nil {
		if err := refusePlugins(uses, params.Chain); err != nil {
			return generation{}, err
		}
	}
	limit, err := b.maxTokens()
	if err != nil {
		return generation{}, err
	}
	stops, err := b.stops()
	if err != nil {
		return generation{}, err
	}
	return generation{promptField: field, choices: b.choices(), params: params, uses: uses, stops: stops, maxTokens: limit, logprobs: -1,
		priority: b.Priority, cachePrompt: b.CachePrompt,
		stream: b.Stream, sendUsage: b.StreamOptions.IncludeUsage}, nil
}

func namesPlugin(entry string) bool {
	_, ok := sampling.PluginNamed(entry)
	return ok
}

func (s *service) unknownModel(name string) *Error {
	return &Error{Status: http.StatusNotFound, Code: "model_not_found", Type: TypeInvalid, Param: "model",
		Message: fmt.Sprintf("there is no model %q here; this server has %q", name, s.Model.Name)}
}

// vocabulary shows the model's tokens to package sampling.
type vocabulary struct{ s *service }

func (v vocabulary) Size() int { return v.s.Model.Vocabulary }
func (v vocabulary) Tokenize(text string) ([]int32, error) {
	tokens, err := v.s.encoder().Plain(text)
	return tokens, textError(err, "logit_bias")
}
