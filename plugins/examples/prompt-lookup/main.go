// SPDX-License-Identifier: MIT

// Command prompt-lookup is a plugin: it guesses that an answer goes on as the prompt did after the
// same words.
package main

import (
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[lookup](penstock.Manifest{
	Name:    "prompt-lookup",
	Version: "1.0.0",
	Summary: "guesses the next tokens where the answer quotes the prompt",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {"tokens": {"type": "integer", "minimum": 1, "maximum": 16, "default": 3, "description": "that must be the same before a guess"}}
	}`,
})

func main() {}

// lookup is the plugin in one request.
type lookup struct {
	same   int
	prompt []penstock.Token
	last   []penstock.Token
}

// Open implements penstock.Opener.
func (l *lookup) Open(r *penstock.Request) error {
	l.same = r.Config.Get("tokens").Int()
	l.prompt = penstock.History(nil)
	return nil
}

// Draft implements penstock.Drafter. The last place in the prompt counts. A guess ends before a
// picture, which cannot be said.
func (l *lookup) Draft(most int) []penstock.Token {
	l.last = penstock.HistoryFrom(-l.same, l.last)
	for end := len(l.prompt) - 1; end >= l.same && len(l.last) == l.same; end-- {
		if slices.Equal(l.prompt[end-l.same:end], l.last) {
			guess := l.prompt[end:min(end+most, len(l.prompt))]
			if picture := slices.Index(guess, penstock.MediaToken); picture >= 0 {
				guess = guess[:picture]
			}
			return guess
		}
	}
	return nil
}
