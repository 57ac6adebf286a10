// SPDX-License-Identifier: MIT

package schema_test

import (
	"fmt"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/schema"
)

func ExampleRead() {
	b := grammar.NewBuilder()
	root, _, err := schema.Read(b, []byte(`{
		"type": "object",
		"properties": {"city": {"type": "string", "maxLength": 20}, "days": {"type": "integer", "minimum": 1}},
		"required": ["city"],
		"additionalProperties": false
	}`), schema.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := b.Build(root)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{`{"city": "Zürich", "days": 3}`, `{"city": "Zürich", "days": 0}`} {
		state, ok, err := g.Advance(g.Start(), []byte(text))
		fmt.Println(text, ok && g.Complete(state), err)
	}
	// Output:
	// {"city": "Zürich", "days": 3} true <nil>
	// {"city": "Zürich", "days": 0} false <nil>
}
