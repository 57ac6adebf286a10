// SPDX-License-Identifier: MIT

package completion_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// noting is an engine that notes what its chains and constraints are made of.
type noting struct {
	servingtest.Toy
	seeds    []uint32
	ready    []sampling.Ready
	prepared int
}

func (n *noting) Prepare(ctx context.Context, p sampling.Params) (sampling.Constraint, error) {
	n.prepared++
	salt, _ := sampling.SaltOf(ctx)
	p.Ready = ready(salt)
	return p.Constraint, ctx.Err()
}

// ready is what noting makes of a constraint: the salt.
type ready string

func (ready) Release() {}

func (n *noting) NewChain(p sampling.Params) ([]chain.Stage, error) {
	n.seeds, n.ready = append(n.seeds, p.Seed), append(n.ready, p.Ready)
	return n.Toy.NewChain(p)
}

// telling are plugins that keep what a policy is told.
type telling struct {
	serving.Plugins
	about serving.AnswerInfo
}

func (w *telling) NewPolicy(p sampling.Params, e serving.AnswerInfo) (serving.Policy, error) {
	w.about = e
	return w.Plugins.NewPolicy(p, e)
}

// The choices of a prompt have seeds of their own, and those of every prompt the same ones. They
// share what the engine has made of the request's constraint, under its caller's salt.
func TestService_Submit_Choices(t *testing.T) {
	n := &noting{}
	m := &serving.Model{Info: servingtest.Info(), Engine: n, Scheduler: &taking{}}
	s := completion.NewService(servingtest.OneModel{Model: m})
	common := completion.DefaultCommonFields()
	must.Do(t, json.Unmarshal([]byte(`{"seed":7,"grammar":"root ::= \"a\""}`), &common))
	asked := completion.Asked{Common: common, PromptField: "prompt", Caller: completion.Caller{ID: "me", CacheSalt: "salt"},
		Source: completion.Texts{JSON: json.RawMessage(`["first","second"]`)}, Answers: completion.Answers{PerPrompt: 3, Logprobs: -1}}
	r := must.Get(s.Prompt(t.Context(), asked))(t)
	defer r.Release()
	told := &telling{Plugins: r.Plugins}
	r.Plugins = told
	must.Get(s.Submit(t.Context(), r, completion.Reading{}))(t)
	if len(n.seeds) != 6 || !slices.Equal(n.seeds[:3], n.seeds[3:]) || n.seeds[0] == n.seeds[1] || n.seeds[1] == n.seeds[2] {
		t.Errorf("the seeds of two prompts' choices are %v", n.seeds)
	}
	if n.prepared != 1 || slices.ContainsFunc(n.ready, func(x sampling.Ready) bool { return x != ready("salt") }) {
		t.Errorf("prepared %d times; the answers have %v", n.prepared, n.ready)
	}
	for _, text := range []string{"", "{}", `{"preserved_tokens":["a"],"temperature":0}`} {
		if p, err := told.about.Chain(t.Context(), []byte(text)); err != nil || p.Ready != ready("salt") {
			t.Errorf("a program's chain of %q has %v: %v", text, p.Ready, err)
		}
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := told.about.Chain(over, []byte("{}")); !errors.Is(err, context.Canceled) {
		t.Errorf("a program's chain of a request that is over: %v", err)
	}
}

// changing is a stream that takes any chain.
type changing struct{ serving.Stream }

func (changing) SetChain(_ context.Context, stages []chain.Stage) error {
	chain.Close(stages)
	return nil
}

// Work that is begun for a client who leaves goes on beside what the service does with the request.
// The race detector sees whether they share anything.
func TestService_Submit_ClientLeaves(t *testing.T) {
	m := &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}, Scheduler: &taking{}}
	s := completion.NewService(servingtest.OneModel{Model: m})
	common := completion.DefaultCommonFields()
	must.Do(t, json.Unmarshal([]byte(`{"grammar":"root ::= \"a\""}`), &common))
	for range 200 {
		r, err := s.Prompt(t.Context(), completion.Asked{Common: common, PromptField: "prompt", Source: completion.Text("a"), Answers: completion.OneAnswer()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		go leave()
		_, err = s.Submit(ctx, r, completion.Reading{})
		if err != nil && !errors.Is(err, refusal.ErrGone) {
			t.Error(err)
		}
		submitted := must.Get(s.Submit(t.Context(), r, completion.Reading{}))(t)
		ctx, leave = context.WithCancel(t.Context())
		go leave()
		err = s.Set(ctx, &completion.Choice{Request: submitted, Stream: changing{}}, 1, func(*sampling.ParamFields) error { return nil })
		if err != nil && !errors.Is(err, refusal.ErrGone) {
			t.Error(err)
		}
		r.Release()
	}
}
