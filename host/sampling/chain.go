// SPDX-License-Identifier: MIT

package sampling

import (
	"slices"
	"strings"
)

// Sampler is one of llama.cpp's samplers.
type Sampler struct {
	Name    string   // in llama.cpp
	Aliases []string // other spellings that llama.cpp's server takes
	Narrows bool     // it drops candidates
	Selects bool     // it chooses the token at the end of the chain, wherever in the chain it stands
}

// samplers are those that a chain may name.
var samplers = []Sampler{
	{Name: "penalties"},
	{Name: "dry"},
	{Name: "top_n_sigma", Aliases: []string{"top-n-sigma"}, Narrows: true},
	{Name: "top_k", Aliases: []string{"top-k"}, Narrows: true},
	{Name: "typ_p", Aliases: []string{"typ", "typ-p", "typical", "typical_p", "typical-p"}, Narrows: true},
	{Name: "top_p", Aliases: []string{"top-p", "nucleus"}, Narrows: true},
	{Name: "min_p", Aliases: []string{"min-p"}, Narrows: true},
	{Name: "xtc", Narrows: true},
	{Name: "temperature", Aliases: []string{"temp"}},
	{Name: "infill", Narrows: true},
	{Name: "adaptive_p", Aliases: []string{"adaptive-p"}, Selects: true},
}

// SamplerNamed finds a sampler by its name or an alias. The error is an *Invalid.
func SamplerNamed(name string) (Sampler, error) {
	for _, s := range samplers {
		if s.Name == name || slices.Contains(s.Aliases, name) {
			return s, nil
		}
	}
	var names []string
	for _, s := range samplers {
		names = append(names, s.Name)
	}
	return Sampler{}, invalid("samplers", name, strings.Join(names, ", ")+" or plugin:NAME")
}

const pluginPrefix = "plugin:"

// PluginEntry is how a chain names a plugin.
func PluginEntry(plugin string) string { return pluginPrefix + plugin }

// PluginNamed tells which plugin an entry of a chain names; ok is false where it names a sampler.
func PluginNamed(entry string) (plugin string, ok bool) {
	plugin, ok = strings.CutPrefix(entry, pluginPrefix)
	return plugin, ok && plugin != ""
}

// maxChain bounds a chain: each stage costs time for every token.
const maxChain = 32

// canonical replaces the aliases in a chain and refuses what names no sampler.
func canonical(entries []string) ([]string, error) {
	if len(entries) > maxChain {
		return nil, invalid("samplers", len(entries), "at most 32 names")
	}
	chain := make([]string, 0, len(entries))
	for _, entry := range entries {
		if _, ok := PluginNamed(entry); !ok {
			sampler, err := SamplerNamed(entry)
			if err != nil {
				return nil, err
			}
			entry = sampler.Name
		}
		chain = append(chain, entry)
	}
	return chain, nil
}
