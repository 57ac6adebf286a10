// SPDX-License-Identifier: MIT

// Command no-repeat is a plugin: the likelier a token would go on with what the answer has said
// before, the less it may.
package main

import "github.com/penstock/penstock/plugins/sdk/go/penstock"

var _ = penstock.Register[noRepeat](penstock.Manifest{
	Name:       "no-repeat",
	Version:    "1.0.0",
	Summary:    "makes tokens less likely that would lengthen a repetition of what the answer has said",
	Place:      penstock.First,
	Candidates: 8,
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"allowed": {"type": "integer", "minimum": 1, "maximum": 64, "default": 2, "description": "tokens that may repeat"},
			"penalty": {"type": "number", "exclusiveMinimum": 0, "maximum": 100, "default": 1.5, "description": "for each token more"}
		}
	}`,
})

func main() {}

// noRepeat is the plugin in one request.
type noRepeat struct {
	allowed int
	penalty float32
	prompt  int
	answer  []penstock.Token
}

// Open implements penstock.Opener.
func (n *noRepeat) Open(r *penstock.Request) error {
	n.allowed, n.penalty = r.Config.Get("allowed").Int(), float32(r.Config.Get("penalty").Float())
	n.prompt = r.PromptTokens
	return nil
}

// longest bounds how long a repetition is looked for.
const longest = 32

// Sample implements penstock.Sampler. A bias leaves all other tokens to the next samplers, where
// edited candidates would be all that is left.
func (n *noRepeat) Sample(c *penstock.Candidates) penstock.Choice {
	n.answer = penstock.HistoryFrom(n.prompt, n.answer)
	for _, t := range c.IDs() {
		if excess := n.lengthens(t) - n.allowed; excess > 0 {
			c.Bias(t, -n.penalty*float32(excess))
		}
	}
	return penstock.Biased
}

// lengthens is how long the longest repetition is that the answer ends with once a token has come.
func (n *noRepeat) lengthens(t penstock.Token) (most int) {
	for at, token := range n.answer {
		if token == t {
			most = max(most, 1+n.common(at))
		}
	}
	return most
}

// common is how many tokens before a place are those at the end of the answer, in order.
func (n *noRepeat) common(at int) (length int) {
	for length < min(at, longest) && n.answer[at-1-length] == n.answer[len(n.answer)-1-length] {
		length++
	}
	return length
}
