// SPDX-License-Identifier: MIT

package stage_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/penstock/penstock/plugins/tck"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// neighbour asks for an answer without plugins.
func (b *bench) neighbour(n int) (string, error) {
	tokens, _ := words{}.Tokenize(fmt.Sprint("neighbour ", n), false, false) // it has no errors
	a, err := b.answer(context.Background(), scheduler.Request{Ending: scheduler.Ending{MaxTokens: 100, IgnoreEOG: true}, Reports: scheduler.Reports{Logprobs: -1},
		Prompt: []scheduler.Segment{{Tokens: tokens}}, Chain: []chain.Stage{draw{}}})
	return a.Text, err
}

// among lets seven neighbours stream until the function it returns is called: that checks that
// they noticed nothing.
func among(t *testing.T, b *bench) (undisturbed func()) {
	t.Helper()
	stop, err := tck.Neighbours(b.neighbour)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}
