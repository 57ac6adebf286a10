// SPDX-License-Identifier: MIT

// Command heal is a plugin that owns its request: it goes on after a prompt that ends inside a
// word as if it did not.
package main

import (
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[heal](penstock.Manifest{
	Name: "heal", Version: "1.0.0", Summary: "token healing: a prompt may end inside a word, or a token", Branches: 1,
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"tokens": {"type": "integer", "minimum": 1, "maximum": 32, "default": 8, "description": "how many tokens of the prompt are taken back at most"}
	}}`,
})

func main() {}

type heal struct{ words *penstock.Vocabulary }

// Warm implements penstock.Warmer.
func (p *heal) Warm(words *penstock.Vocabulary) error {
	p.words = words
	return nil
}

// Run implements penstock.Runner. It takes the last word back, and has the model write it again:
// each token must fit what is left of it.
func (p *heal) Run(r *penstock.Run) error {
	b, left, most := r.Prompt(), "", r.Config().Get("tokens").Int()
	tokens := b.Tokens(0)
	for n := len(tokens) - 1; n > 0 && len(tokens)-n <= most && !strings.ContainsAny(left[:min(1, len(left))], " \n\t"); n-- {
		piece := string(p.words.Piece(tokens[n]))
		if piece == "" || tokens[n-1] == penstock.MediaToken { // a control token; after a picture nothing is said
			break
		}
		left = piece + left
		b.Cut(n)
	}
	for shown := 0; shown < r.MaxTokens() && r.Wait(0, b); {
		if left != "" {
			b.Mask(p.words.Fits(left))
		}
		t := b.Sample(nil)
		if r.Err() != nil || r.Ends(t) {
			break
		}
		b.Append(t)
		show, piece := []penstock.Token{t}, string(p.words.Piece(t))
		if both := min(len(piece), len(left)); both > 0 {
			show, left = p.words.Spell(piece[both:]), left[both:]
		}
		r.Show(show...)
		shown += len(show)
	}
	return r.Err()
}
