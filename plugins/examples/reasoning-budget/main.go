// SPDX-License-Identifier: MIT

// Command reasoning-budget is a plugin: it ends a model's reasoning after some tokens, so that it
// answers.
package main

import "github.com/penstock/penstock/plugins/sdk/go/penstock"

var _ = penstock.Register[budget](penstock.Manifest{
	Name:    "reasoning-budget",
	Version: "1.0.0",
	Summary: "ends the reasoning after some tokens",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"required": ["tokens"],
		"properties": {
			"tokens": {"type": "integer", "minimum": 1, "maximum": 1000000},
			"end": {"type": "string", "minLength": 1, "maxLength": 200, "default": "</think>\n\n", "description": "what ends the model's reasoning"}
		}
	}`,
})

func main() {}

// budget is the plugin in one request.
type budget struct {
	left  int // tokens of reasoning
	end   []penstock.Token
	ended bool // by the plugin
}

// Open implements penstock.Opener.
func (b *budget) Open(r *penstock.Request) error {
	b.left = r.Config.Get("tokens").Int()
	b.end = penstock.Tokenize(r.Config.Get("end").Text(), penstock.ParseSpecial)
	return nil
}

// Accept implements penstock.Accepter.
func (b *budget) Accept(penstock.Token) penstock.Accepted {
	if b.left > 0 && penstock.AnswerPart() == penstock.Reasoning {
		b.left--
	}
	return penstock.Continue
}

// Prepare implements penstock.Preparer. What ends the reasoning is still a part of it, so it is
// forced once.
func (b *budget) Prepare(next *penstock.Next) {
	if b.left == 0 && !b.ended && penstock.AnswerPart() == penstock.Reasoning {
		b.ended = true
		next.Force(b.end...)
	}
}
