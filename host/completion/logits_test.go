// SPDX-License-Identifier: MIT

package completion_test

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// submitWith submits a request, whose answers are to be so, to a model with these hidden states.
func submitWith(t *testing.T, has serving.States, change func(*completion.Answers)) (*taking, error) {
	t.Helper()
	taken := &taking{}
	info := servingtest.Info()
	info.States = has
	s := completion.NewService(servingtest.OneModel{Model: &serving.Model{Info: info, Engine: servingtest.Toy{}, Scheduler: taken}})
	asked := completion.Asked{Common: completion.DefaultCommonFields(), PromptField: "prompt", Source: completion.Text("a"), Answers: completion.OneAnswer()}
	change(&asked.Answers)
	p, err := s.Prompt(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	_, err = s.Submit(t.Context(), p, completion.Reading{})
	return taken, err
}

// A stream keeps few rows of the whole vocabulary for a slow reader.
func TestService_Submit_LogprobRows_KeepsFew(t *testing.T) {
	taken := must.Get(submitWith(t, serving.States{}, func(a *completion.Answers) { a.Logprobs = chain.AllTokens }))(t)
	if r := taken.requests[0]; r.Logprobs != chain.AllTokens || r.Buffer < 1 || r.Buffer > 16 {
		t.Errorf("%d log-probabilities, and up to %d of them wait", r.Logprobs, r.Buffer)
	}
}

func TestService_Submit_HiddenStates(t *testing.T) {
	for _, c := range []struct {
		has   serving.States
		layer int
		ok    bool
	}{
		{serving.States{Width: 8, Layers: 4}, 0, true}, {serving.States{Width: 8, Layers: 4}, 4, true}, {serving.States{Width: 8}, 0, true},
		{serving.States{Width: 8, Layers: 4}, 5, false}, {serving.States{Width: 8, Layers: 4}, -1, false}, {serving.States{Width: 8}, 1, false}, {serving.States{}, 0, false},
	} {
		taken, err := submitWith(t, c.has, func(a *completion.Answers) { a.StateLayer = &c.layer })
		var refused *refusal.Error
		switch {
		case c.ok && err != nil, !c.ok && (!errors.As(err, &refused) || refused.Field != "state_layer"):
			t.Errorf("layer %d of %+v: %v", c.layer, c.has, err)
		case c.ok:
			traits := taken.requests[0].Chain[0].Traits()
			if traits.StateLayer != int32(c.layer) || traits.HiddenState == nil {
				t.Errorf("layer %d of %+v: the first stage reads that of %d", c.layer, c.has, traits.StateLayer)
			}
			chain.Close(taken.requests[0].Chain)
		}
	}
}
