// SPDX-License-Identifier: MIT

package sampling

import (
	"slices"
	"strings"
)

// PluginPrefix begins the name of a plugin in a chain.
const PluginPrefix = "plugin:"

// natives are the samplers a chain may name. Both spellings of llama.cpp's aliases lead to its own name.
var natives = []string{
	"penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature", "infill", "adaptive_p",
}

var aliases = map[string]string{
	"typ": "typ_p", "typical": "typ_p", "typical_p": "typ_p", "temp": "temperature", "nucleus": "top_p",
	"top-k": "top_k", "top-p": "top_p", "min-p": "min_p", "typ-p": "typ_p", "typical-p": "typ_p",
	"top-n-sigma": "top_n_sigma", "adaptive-p": "adaptive_p",
}

// maxChain bounds a chain: each stage costs time for every token.
const maxChain = 32

// canonical resolves aliases and refuses names that are no sampler.
func canonical(names []string) ([]string, error) {
	if len(names) > maxChain {
		return nil, invalid("samplers", len(names), "at most 32 names")
	}
	chain := make([]string, 0, len(names))
	for _, name := range names {
		if own, ok := aliases[name]; ok {
			name = own
		}
		plugin, isPlugin := strings.CutPrefix(name, PluginPrefix)
		if !slices.Contains(natives, name) && (!isPlugin || plugin == "") {
			return nil, invalid("samplers", name, strings.Join(natives, ", ")+" or plugin:NAME")
		}
		chain = append(chain, name)
	}
	return chain, nil
}
