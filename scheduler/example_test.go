// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"fmt"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// insists is a stage that chooses the same token each time.
type insists struct{ token chain.Token }

func (insists) Traits() chain.Traits           { return chain.Traits{Name: "insists"} }
func (insists) Native() bool                   { return false }
func (o insists) Apply(v *chain.View) error    { v.Chosen = o.token; return nil }
func (insists) Reset([]chain.Token, int) error { return nil }
func (insists) Close() error                   { return nil }
func (insists) Accept(chain.Token) (chain.Effect, error) {
	return chain.Effect{}, nil
}

// A stage of ours chooses the tokens, and the reader leaves after the third.
func ExampleStream_Cancel() {
	s, _ := scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { _ = s.Run(ctx) }()
	st, err := s.Submit(scheduler.Request{
		Prompt:  []scheduler.Segment{{Tokens: []scheduler.Token{1, 2, 3}}},
		Reports: scheduler.Reports{Logprobs: -1},
		Chain:   []chain.Stage{insists{42}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var tokens []scheduler.Token
	for e := range schedulertest.Events(ctx, st) {
		switch e.Kind {
		case scheduler.KindToken:
			if tokens = append(tokens, e.Token); len(tokens) == 3 {
				st.Cancel()
			}
		case scheduler.KindEnd:
			fmt.Println(tokens[:3], e.End.Reason == answer.ReasonCancelled)
		}
	}
	// Output: [42 42 42] true
}
