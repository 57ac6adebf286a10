// SPDX-License-Identifier: MIT

package grammar

import (
	"strings"
	"testing"
)

// With few steps and bytes, what is told of the bytes that must come is a beginning of them.
func TestGrammar_Forced_TellsABeginning(t *testing.T) {
	b := NewBuilder()
	long := strings.Repeat("abc", 200)
	root := b.Rule()
	b.Define(root, b.Seq(re(b, long), re(b, "[xy]")))
	g, err := b.Build(root)
	if err != nil {
		t.Fatal(err)
	}
	some := g.Forced(g.Start(), 1000, 300)
	if len(some) == 0 || len(some) >= len(long) || !strings.HasPrefix(long, string(some)) {
		t.Errorf("with few steps %q", some)
	}
	if few := g.Forced(g.Start(), 7, maxWork); string(few) != long[:7] {
		t.Errorf("at most 7 bytes: %q", few)
	}
	if all := g.Forced(g.Start(), 1000, maxWork); string(all) != long {
		t.Errorf("%d bytes of %d", len(all), len(long))
	}
}

func TestVocabulary_Longer(t *testing.T) {
	v := NewVocabulary([][]byte{[]byte("ab"), []byte("abc"), []byte("b"), nil, []byte("zz")}, []int32{4}, nil)
	for text, want := range map[string]bool{"": true, "a": true, "ab": true, "abc": false, "abd": false, "b": false, "z": false, "zz": false} {
		if got := v.Longer([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
