// SPDX-License-Identifier: MIT

package host

import (
	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// streams is a scheduler as the API sees it.
type streams struct{ *scheduler.Scheduler }

var _ interface {
	api.Stream
	api.Controls
	api.ChainSetter
	api.Attacher
} = (*scheduler.Stream)(nil)

// SubmitAll implements api.Scheduler.
func (s streams) SubmitAll(requests []scheduler.Request) ([]api.Stream, error) {
	all, err := s.Scheduler.SubmitAll(requests)
	out := make([]api.Stream, len(all))
	for i, st := range all {
		out[i] = st
	}
	return out, err
}

// words is an engine as the API sees it.
type words struct{ *engine.Engine }

// Piece implements api.Engine: log-probabilities name control tokens too.
func (w words) Piece(t int32) string { return w.Engine.Piece(t, true) }

// Tokenize implements chat.Tokenizer.
func (w words) Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error) {
	tokens, err := w.Engine.Tokenize(text, addSpecial, parseSpecial)
	return tokens, inAPITerms(err)
}

// NewChain implements api.Engine. What the engine finds wrong with parameters is told in the API's terms.
func (w words) NewChain(p sampling.Params) ([]chain.Stage, error) {
	chain, err := w.Engine.NewChain(p)
	return chain, inAPITerms(err)
}
