// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/sampling"
)

// Link is one stage of a chain: a plugin, or a run of llama.cpp's samplers that becomes one stage.
type Link struct {
	Plugin string   // name of the plugin; "" for a run of natives
	Names  []string // the natives of a run, in order
	First  bool     // the run comes before all others: biases are its part
	Last   bool     // the run ends the chain: it chooses the token, under the grammar
}

const pluginPrefix = "plugin:"

// Links cuts p.Chain into stages. The last is always a native run, which chooses where no plugin has.
func Links(p sampling.Params) []Link {
	var links []Link
	run := Link{First: true}
	flush := func() {
		if len(run.Names) > 0 || (run.First && (len(p.LogitBias) > 0 || p.IgnoreEOS)) {
			links = append(links, run)
		}
		run = Link{}
	}
	for _, name := range p.Chain {
		if plugin, ok := strings.CutPrefix(name, pluginPrefix); ok {
			flush()
			links = append(links, Link{Plugin: plugin})
			continue
		}
		run.Names = append(run.Names, name)
	}
	run.Last = true
	return append(links, run)
}

// checkNames tells which name in a chain is unknown.
func checkNames(names []string) error {
	for _, name := range names {
		if _, ok := kinds[name]; !ok && !adaptiveNames[name] {
			return fmt.Errorf("samplers has %q; known are %s, and plugin:NAME", name, strings.Join(knownNames, ", "))
		}
	}
	return nil
}
