// SPDX-License-Identifier: MIT

package plugin_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/penstock/penstock/scheduler"
)

// neighbours is how many streams run beside a hostile guest, on all slots but one.
const neighbours = 7

// neighbour asks for an answer without plugins.
func (b *bench) neighbour(n int) (string, error) {
	tokens, _ := words{}.Tokenize(fmt.Sprint("neighbour ", n), false, false) // it has no errors
	a, err := b.answer(context.Background(), scheduler.Request{MaxTokens: 100, IgnoreEOG: true, Logprobs: -1,
		Prompt: []scheduler.Segment{{Tokens: tokens}}, Chain: []scheduler.Stage{draw{}}})
	return a.Text, err
}

// among lets neighbours stream, each the same answer over and over, until the function it returns is called: that checks
// that every one of their answers was what it is on a host by itself.
func among(t *testing.T, b *bench) (undisturbed func()) {
	t.Helper()
	stop := make(chan struct{})
	var group sync.WaitGroup
	var answers [neighbours]int
	for n := range neighbours {
		want, err := b.neighbour(n)
		if err != nil || want == "" {
			t.Fatalf("%q, %v", want, err)
		}
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if text, err := b.neighbour(n); err != nil || text != want {
					t.Errorf("neighbour %d has %q, %v; undisturbed it has %q", n, text, err, want)
					return
				}
				answers[n]++
			}
		})
	}
	return func() {
		close(stop)
		group.Wait()
		for n, times := range answers {
			if times == 0 {
				t.Errorf("neighbour %d got no answer meanwhile", n)
			}
		}
	}
}
