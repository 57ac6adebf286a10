// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Sampler is one of llama.cpp's samplers.
type Sampler struct {
	Name    string   // in llama.cpp
	Letter  byte     // in a chain that is written as a word
	Aliases []string // other spellings that llama.cpp's server takes
	Narrows bool     // it drops candidates
	Selects bool     // it chooses the token at the end of the chain, wherever in the chain it stands
}

// samplers are those that a chain may name.
var samplers = []Sampler{
	{Name: "penalties", Letter: 'e'},
	{Name: "dry", Letter: 'd'},
	{Name: "top_n_sigma", Letter: 's', Aliases: []string{"top-n-sigma"}, Narrows: true},
	{Name: "top_k", Letter: 'k', Aliases: []string{"top-k"}, Narrows: true},
	{Name: "typ_p", Letter: 'y', Aliases: []string{"typ", "typ-p", "typical", "typical_p", "typical-p"}, Narrows: true},
	{Name: "top_p", Letter: 'p', Aliases: []string{"top-p", "nucleus"}, Narrows: true},
	{Name: "min_p", Letter: 'm', Aliases: []string{"min-p"}, Narrows: true},
	{Name: "xtc", Letter: 'x', Narrows: true},
	{Name: "temperature", Letter: 't', Aliases: []string{"temp"}},
	{Name: "infill", Letter: 'i', Narrows: true},
	{Name: "adaptive_p", Letter: 'a', Aliases: []string{"adaptive-p"}, Selects: true},
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

// Chain is a list of samplers and plugins. In JSON it may also be a word with a letter for each
// sampler, as with llama.cpp: "kpt".
type Chain []string

// UnmarshalJSON implements json.Unmarshaler. null leaves the chain as it is.
func (c *Chain) UnmarshalJSON(text []byte) error {
	var word string
	if string(text) == "null" {
		return nil
	}
	if text[0] != '"' || json.Unmarshal(text, &word) != nil {
		return json.Unmarshal(text, (*[]string)(c))
	}
	*c = byLetters(word)
	return nil
}

// byLetters are the samplers that the letters of a word stand for.
func byLetters(word string) Chain {
	c := make(Chain, 0, len(word))
	for i := range len(word) {
		at := slices.IndexFunc(samplers, func(s Sampler) bool { return s.Letter == word[i] })
		if at < 0 {
			return Chain{fmt.Sprintf("%c", word[i])} // canonical refuses it
		}
		c = append(c, samplers[at].Name)
	}
	return c
}

// readWord reads a chain that is written as one word: the name of its only entry, or letters.
func readWord(word string) []string {
	if _, ok := PluginNamed(word); ok {
		return []string{word}
	}
	if _, err := SamplerNamed(word); err == nil {
		return []string{word}
	}
	return byLetters(word)
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

// resolveAliases replaces the aliases in a chain and refuses what names no sampler.
func resolveAliases(entries []string) ([]string, error) {
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
