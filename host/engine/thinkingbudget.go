// SPDX-License-Identifier: MIT

package engine

import (
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Budget is a stage that ends an answer's thinking when its budget is used up, whatever the
// plugins behind it want. A chain without plugins needs none: its native stage does the same.
type Budget struct{ thinking *thinking }

var (
	_ chain.Stage    = (*Budget)(nil)
	_ chain.Preparer = (*Budget)(nil)
)

// NewBudget makes the stage; nil where the answer has no budget for thinking.
func (e *Engine) NewBudget(p sampling.Params) (*Budget, error) {
	if p.Thinking.Budget < 0 {
		return nil, nil
	}
	th, err := e.newThinking(p)
	if th == nil || err != nil {
		return nil, err
	}
	return &Budget{th}, nil
}

// Traits implements chain.Stage.
func (b *Budget) Traits() chain.Traits { return chain.Traits{Name: "reasoning-budget", Prepares: true} }

// Native implements chain.Stage.
func (b *Budget) Native() bool { return false }

// Prepare implements chain.Preparer.
func (b *Budget) Prepare() (chain.Prepared, error) {
	return chain.Prepared{Forced: b.thinking.force()}, nil
}

// Apply implements chain.Stage.
func (b *Budget) Apply(*chain.View) error { return nil }

// Accept implements chain.Stage.
func (b *Budget) Accept(t scheduler.Token) (chain.Effect, error) {
	b.thinking.accept(t)
	return chain.Effect{}, nil
}

// Reset implements chain.Stage.
func (b *Budget) Reset(history []scheduler.Token, prompt int) error {
	b.thinking.reset()
	for _, t := range history[prompt:] {
		b.thinking.accept(t)
	}
	return nil
}

// Close implements chain.Stage.
func (b *Budget) Close() error { return nil }
