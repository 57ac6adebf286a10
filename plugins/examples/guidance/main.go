// SPDX-License-Identifier: MIT

// Command guidance is a plugin that owns its request: it goes away from what the model would say
// after another prompt.
package main

import (
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[guidance](penstock.Manifest{
	Name: "guidance", Version: "1.0.0", Summary: "classifier-free guidance with a negative prompt, or contrast with a shorter context", Branches: 2,
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"scale": {"type": "number", "minimum": -10, "maximum": 10, "default": 1.5, "description": "1: none; 0: only the other prompt"},
		"negative": {"type": "string", "minLength": 1, "maxLength": 100000, "description": "the other prompt"},
		"messages": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "object"}, "description": "the other prompt, as a conversation"},
		"context": {"type": "integer", "minimum": 1, "description": "the other prompt is this one's last tokens; the default is half of them"},
		"plausible": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.1, "description": "tokens are left out that are less likely than this share of the likeliest"}
	}}`,
})

func main() {}

type guidance struct{}

// Run implements penstock.Runner.
func (guidance) Run(r *penstock.Run) error {
	config := r.Config()
	scale, plausible := float32(config.Get("scale").Float()), math.Log(config.Get("plausible").Float())
	b := r.Prompt()
	other, err := contrast(r, b.Tokens(0), config)
	if err != nil {
		return err
	}
	mask := penstock.NewMask()
	for n := 0; n < r.MaxTokens() && r.Wait(most, b, other); n++ {
		mask.BanAll()
		ids, logs := b.Best(most)
		for i, t := range ids {
			if float64(logs[i]-logs[0]) >= plausible {
				mask.Allow(t)
			}
		}
		b.Mix(penstock.Weighted{Branch: b, Weight: scale}, penstock.Weighted{Branch: other, Weight: 1 - scale})
		if !math.IsInf(plausible, -1) {
			b.Mask(mask)
		}
		t := b.Sample(nil)
		if r.Err() != nil || r.Ends(t) {
			break
		}
		r.Show(t)
		b.Append(t)
		other.Append(t)
	}
	return r.Err()
}

const most = 256 // tokens that can be plausible

// contrast opens the other branch.
func contrast(r *penstock.Run, prompt []penstock.Token, config json.Value) (*penstock.Branch, error) {
	if messages := config.Get("messages"); messages.Len() > 0 {
		text, err := json.Append(nil, messages)
		return r.OpenMessages(string(text)), err
	}
	if text := config.Get("negative").Text(); text != "" {
		return r.Open(penstock.Tokenize(text, penstock.AddSpecial)...), nil
	}
	context := config.Get("context").Int()
	if context == 0 {
		context = (len(prompt) + 1) / 2
	}
	return r.Open(withoutPictures(prompt[max(0, len(prompt)-context):])...), nil
}

// withoutPictures are tokens without the rows of pictures and sounds, which no branch can be
// opened with: so the answer is steered to what is seen, too.
func withoutPictures(prompt []penstock.Token) []penstock.Token {
	return slices.DeleteFunc(prompt, func(t penstock.Token) bool { return t == penstock.MediaToken })
}
