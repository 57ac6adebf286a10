// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
)

// Grammar is a grammar that a plugin compiled, with its place in it.
type Grammar struct{ *native.Grammar }

// NewGrammar compiles text of one of the plugin ABI's kinds. An error is the text's fault and says what is wrong.
func (e *Engine) NewGrammar(kind int32, text string) (Grammar, error) {
	if kind == abi.GrammarJSONSchema {
		var err error
		if text, err = native.GrammarOfSchema(text); err != nil {
			return Grammar{}, fmt.Errorf("the JSON schema: %w", err)
		}
	}
	g, err := native.NewGrammar(e.model, text, "")
	return Grammar{g}, err
}

// Accept moves on by a token. It is false, and nothing changes, if the token may not come next or the grammar was closed. A grammar
// that has become too ambiguous to follow accepts no token any more; Mask tells why.
func (g Grammar) Accept(token int32) bool {
	ok, err := g.Grammar.Accept(token)
	return ok && err == nil
}
