// SPDX-License-Identifier: MIT

package completion

import (
	"slices"

	"github.com/penstock/penstock/host/refusal"
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

// putFirst puts a stage of this process, which lasts, in front of a policy's chain.
func putFirst(s chain.Stage, p serving.Policy) serving.Policy {
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

// mostRows is how many rows of the whole vocabulary a stream keeps for a slow reader: each has up
// to a megabyte.
const mostRows = 16

// checkStates refuses hidden states that the model does not give.
func (p *Prompted) checkStates() error {
	if p.StateLayer == nil {
		return nil
	}
	has, layer := p.Model.States, *p.StateLayer
	switch {
	case has.Width == 0:
		return refusal.Invalid("state_layer", "state_layer asks for hidden states; the model %s, of the architecture %q, gives none beside logits: choose another model", p.Model.Name, p.Model.Weights.Family)
	case layer < 0 || layer > has.Layers:
		return refusal.Invalid("state_layer", "state_layer is %d; it must be from 1 to %d for the model %s, or 0 for its last layer", layer, has.Layers, p.Model.Name)
	}
	return nil
}

// statesName is what the stage of hidden states is called, and its outputs.
const statesName = "hidden_states"

// states is a stage that gives the hidden state of each row that a token is drawn from, before that
// token, as an output with a Row. It leaves the logits as they are.
type states struct {
	layer  int32
	tokens int // of the answer
	given  []chain.Output
}

// Traits implements chain.Stage.
func (s *states) Traits() chain.Traits {
	return chain.Traits{Name: statesName, Lasts: true, TakesRow: true, StateLayer: s.layer, HiddenState: s.tell, Outputs: s.take}
}

// tell is the HiddenState of chain.Traits.
func (s *states) tell(state []float32) {
	if len(state) > 0 {
		s.given = append(s.given, chain.Output{By: statesName, Tokens: s.tokens, Row: slices.Clone(state)})
	}
}

// take is the Outputs of chain.Traits.
func (s *states) take() []chain.Output {
	given := s.given
	s.given = nil
	return given
}

// Native implements chain.Stage.
func (*states) Native() bool { return false }

// TakeRow implements chain.RowTaker. It needs nothing of the row, so none is copied for it.
func (*states) TakeRow(chain.WholeRow) bool { return true }

// Apply implements chain.Stage.
func (*states) Apply(*chain.View) error { return nil }

// Accept implements chain.Stage.
func (s *states) Accept(scheduler.Token) (chain.Effect, error) {
	s.tokens++
	return chain.Effect{}, nil
}

// Reset implements chain.Stage.
func (s *states) Reset(history []scheduler.Token, prompt int) error {
	s.tokens = len(history) - prompt
	return nil
}

// Close implements chain.Stage.
func (*states) Close() error { return nil }
