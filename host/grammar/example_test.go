// SPDX-License-Identifier: MIT

package grammar_test

import (
	"fmt"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// A list of words, of which each comes once.
func ExampleBuilder() {
	b := grammar.NewBuilder()
	word := func(text string, bit int) grammar.Item {
		return grammar.Item{Is: b.Lexeme(b.Lexemes.Text(text), lexeme.UTF8), Bit: bit, Once: true}
	}
	root := b.Rule()
	b.Define(root, b.Loop(grammar.Loop{
		Items:     []grammar.Item{word("red", 0), word("green", 1), word("blue", 2)},
		Separator: b.Lexeme(b.Lexemes.Text(", "), lexeme.UTF8),
		Ends:      []grammar.Condition{{Must: []int{0}, Max: lexeme.Unbounded}},
	}))
	g, err := b.Build(root)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"blue", "blue, red", "blue, blue"} {
		s, fits, err := g.Advance(g.Start(), []byte(text))
		fmt.Printf("%q: fits %v, complete %v, %v\n", text, fits, g.Complete(s), err)
	}

	v := grammar.NewVocabulary([][]byte{[]byte("</s>"), []byte("re"), []byte("gr"), []byte("blue"), []byte(", r")}, []int32{0}, nil)
	s, _, _ := g.Advance(g.Start(), []byte("blue"))
	mask := make([]uint32, v.Words())
	err = g.Mask(s, v, mask)
	fmt.Printf("after blue: %05b, %v\n", mask[0], err)
	forced := g.Forced(s, 100, 10_000)
	left, _ := g.Shortest(s)
	fmt.Printf("%q must follow, %d bytes are left\n", forced, left)
	// Output:
	// "blue": fits true, complete false, <nil>
	// "blue, red": fits true, complete true, <nil>
	// "blue, blue": fits false, complete false, <nil>
	// after blue: 10000, <nil>
	// ", " must follow, 5 bytes are left
}
