// SPDX-License-Identifier: MIT

// Package fitting is what programs share that draw texts which fit a grammar, and want to know how
// likely the model itself was to keep to it.
package fitting

import (
	"fmt"

	"github.com/penstock/penstock/plugins/sdk/go/grammar"
	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Open opens the grammar that a configuration has as grammar or json_schema; nil: it has none.
func Open(config json.Value) (*grammar.Grammar, error) {
	kind, field, text := grammar.GBNF, "grammar", config.Get("grammar").Text()
	if text == "" {
		schema := config.Get("json_schema")
		if schema.Kind() == json.Null {
			return nil, nil
		}
		kind, field, text = grammar.JSONSchema, "json_schema", schema.JSON()
	}
	g, err := grammar.Open(kind, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return &g, nil
}

// Draw appends a token, which it draws, to a branch. It returns its logit and its log-probability.
// As the latter is by all tokens, whatever the branch's mask or grammar leaves, the one less the
// other is the logarithm of how much the whole row was. one is overwritten. Where the run fails, as
// if no token is left, they are nothing.
func Draw(b *penstock.Branch, c *penstock.Chain, one *penstock.Mask) (t penstock.Token, logit, score float32) {
	t = b.Sample(c)
	one.BanAll()
	one.Allow(t)
	b.Mask(one)
	logit = b.LogSum()
	b.AppendScored(t)
	if scores := b.Scores(b.Len() - 1); len(scores) == 1 {
		score = scores[0]
	}
	return t, logit, score
}
