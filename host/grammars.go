// SPDX-License-Identifier: MIT

package host

import (
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
)

// grammars compiles grammars for plugins with llama.cpp.
type grammars struct{ engine *engine.Engine }

// Open implements plugin.Grammars.
func (g grammars) Open(kind int32, text string) (plugin.Grammar, error) {
	compiled, err := g.engine.NewGrammar(kind, text)
	if err != nil {
		return nil, err
	}
	return compiled, nil
}
