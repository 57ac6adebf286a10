// SPDX-License-Identifier: MIT

package completion

import (
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Logits changes in place the logits of the token that comes next: one for each token of the
// vocabulary, −Inf where it is impossible. tokens are the prompt and the answer so far; what is
// below 0 among them is a row of a picture or a sound. It keeps neither, and leaves no NaN and no
// +Inf, which samplers do not expect; its error ends the answer. It is code of this process for
// requests that come from this process: no API has it. Calls for one answer never overlap, those
// for several do.
type Logits func(tokens []scheduler.Token, logits []float32) error

// first puts a stage of this process, which lasts, in front of a policy's chain.
func first(s chain.Stage, p serving.Policy) serving.Policy {
	p.Stages = append([]chain.Stage{s}, p.Stages...)
	if renew := p.Renew; renew != nil {
		name := s.Traits().Name
		p.Renew = func(params sampling.Params) ([]chain.Stage, error) {
			stages, err := renew(params)
			return append([]chain.Stage{chain.Keep(name, nil)}, stages...), err
		}
	}
	return p
}

// logits is the function as a stage.
type logits struct {
	change Logits
	tokens []scheduler.Token
}

// Traits implements chain.Stage.
func (*logits) Traits() chain.Traits {
	return chain.Traits{Name: "logits", TakesLong: true, Lasts: true}
}

// Native implements chain.Stage.
func (*logits) Native() bool { return false }

// Apply implements chain.Stage.
func (s *logits) Apply(v *chain.View) error {
	return s.change(s.tokens, v.Row)
}

// Accept implements chain.Stage.
func (s *logits) Accept(t scheduler.Token) (chain.Effect, error) {
	s.tokens = append(s.tokens, t)
	return chain.Effect{}, nil
}

// Reset implements chain.Stage.
func (s *logits) Reset(history []scheduler.Token, _ int) error {
	s.tokens = append(s.tokens[:0], history...)
	return nil
}

// Close implements chain.Stage.
func (*logits) Close() error { return nil }
