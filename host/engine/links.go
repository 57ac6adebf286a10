// SPDX-License-Identifier: MIT

package engine

import (
	"slices"

	"github.com/penstock/penstock/host/sampling"
)

// Link is one stage of a chain: a plugin, or a run of llama.cpp's samplers that becomes one stage.
type Link struct {
	Plugin string   // name of the plugin; "" for a run of natives
	Names  []string // the samplers of a run, in order
	First  bool     // the run begins the chain: it applies the biases
	Last   bool     // the run ends the chain: it chooses the token, under the grammar
}

// Links cuts p.Chain into stages. The last is always a native run, which chooses a token if no
// plugin has. For a trace each native sampler is a run of its own, if they can be separated.
func Links(p sampling.Params) []Link {
	part := p.Trace && separable(p)
	var links []Link
	run := Link{First: true}
	flush := func() {
		if len(run.Names) > 0 || (run.First && (len(p.LogitBias) > 0 || p.IgnoreEOS)) {
			links = append(links, run)
		}
		run = Link{}
	}
	if part {
		flush() // the biases
	}
	for _, name := range p.Chain {
		if plugin, ok := sampling.PluginNamed(name); ok {
			flush()
			links = append(links, Link{Plugin: plugin})
			continue
		}
		if selects(name) {
			continue // it chooses at the end, wherever it stands
		}
		run.Names = append(run.Names, name)
		if part {
			flush()
		}
	}
	run.Last = true
	return append(links, run)
}

// separable reports whether a run draws the same token if its samplers run one by one. Under a
// grammar the chain may have to run twice, and infill must know that top_k came before it.
func separable(p sampling.Params) bool {
	return !p.IsSet() && !slices.Contains(p.Chain, "infill")
}
