// SPDX-License-Identifier: MIT

package format

import (
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

func TestABNF_EveryRuleReads(t *testing.T) {
	for name, f := range formats {
		a := lexeme.NewArena(200_000)
		g := newABNF(a, f.rules...)
		if f.make != nil {
			f.make(g)
		}
		for rule := range g.rules {
			g.rule(rule)
		}
		if g.fault != "" || a.Err() != nil {
			t.Errorf("%s: %s, %v", name, g.fault, a.Err())
		}
	}
}

func TestABNF_SaysWhatItCannotRead(t *testing.T) {
	for _, text := range []string{"a = b", "a = a", "a = (\"x\"", "a = \"x", "a = %xZ", "a = )", "a = [\"x\""} {
		g := newABNF(lexeme.NewArena(1000), text)
		if x := g.rule("a"); x != lexeme.Nothing || g.fault == "" {
			t.Errorf("%s: %d, fault %q", text, x, g.fault)
		}
	}
}
