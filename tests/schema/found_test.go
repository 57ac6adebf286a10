// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/json"
	"testing"

	"github.com/penstock/penstock/host/grammar/schema"
)

// found is what random walks found wrong once.
var found = []struct {
	schema, text string
	fits         bool
}{
	{`{"not": {"items": {"type": "number"}, "maxItems": 4}, "maxItems": 4, "prefixItems": [{"type": "string"}]}`, `[]`, false},
	{`{"not": {"items": {"type": "number"}, "maxItems": 4}, "maxItems": 4, "prefixItems": [{"type": "string"}]}`, `["a"]`, true},
	{`{"not": {"items": {"type": "number"}, "prefixItems": [true]}, "type": "array", "prefixItems": [true, true, true]}`, `[1,2,"a"]`, true},
	{`{"not": {"items": {"type": "number"}, "prefixItems": [true]}, "type": "array", "prefixItems": [true, true, true]}`, `["a",2]`, false},
}

func TestRead_WhatWalksFound(t *testing.T) {
	for _, c := range found {
		g, err := read(json.RawMessage(c.schema), schema.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if possible(t, g, c.text) != c.fits {
			t.Errorf("%s: %s is possible: %v", c.schema, c.text, !c.fits)
		}
	}
}
