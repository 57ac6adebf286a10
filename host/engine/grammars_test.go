// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/grammar"
)

func anyGrammar(t *testing.T) *grammar.Grammar {
	t.Helper()
	b := grammar.NewBuilder()
	root := b.Rule()
	b.Define(root, b.Seq())
	g, err := b.Build(root)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGrammars_Of_KeepsTheLastUsed(t *testing.T) {
	var k grammars
	g, reads := anyGrammar(t), map[string]int{}
	ask := func(text string) {
		t.Helper()
		got, err := k.of(inRegex, text, func() (*grammar.Grammar, error) { reads[text]++; return g, nil })
		if err != nil || got != g {
			t.Fatal(got, err)
		}
	}
	for i := range 2 * maxGrammars {
		ask("used")
		ask(fmt.Sprint(i))
	}
	ask(fmt.Sprint(2*maxGrammars - 1))
	ask("0")
	if reads["used"] != 1 || reads[fmt.Sprint(2*maxGrammars-1)] != 1 || reads["0"] != 2 {
		t.Errorf("read: one in use %d times, the last %d times, the first %d times", reads["used"], reads[fmt.Sprint(2*maxGrammars-1)], reads["0"])
	}
	if len(k.known) != maxGrammars || len(k.order) != maxGrammars {
		t.Errorf("%d kept, %d in order", len(k.known), len(k.order))
	}
}

func TestGrammars_Of_ReadsOnceForAll(t *testing.T) {
	var k grammars
	g, reads := anyGrammar(t), 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if _, err := k.of(inGBNF, "a", func() (*grammar.Grammar, error) { reads++; return g, nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if reads != 1 {
		t.Errorf("read %d times", reads)
	}
}

func TestGrammars_Of_ForgetsErrors(t *testing.T) {
	var k grammars
	bad, reads := errors.New("bad"), 0
	for range 2 {
		if _, err := k.of(inGBNF, "a", func() (*grammar.Grammar, error) { reads++; return nil, bad }); !errors.Is(err, bad) {
			t.Error(err)
		}
	}
	if reads != 2 || len(k.known) != 0 || len(k.order) != 0 {
		t.Errorf("read %d times, %d kept, %d in order", reads, len(k.known), len(k.order))
	}
}
