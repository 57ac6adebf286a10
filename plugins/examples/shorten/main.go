// SPDX-License-Identifier: MIT

// Command shorten is a plugin: it leaves the oldest messages of a conversation out until the
// prompt is short enough.
package main

import (
	"errors"
	"strconv"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[shorten](penstock.Manifest{
	Name:    "shorten",
	Version: "1.0.0",
	Summary: "leaves the oldest messages out until the prompt, as the model's template makes it, has at most so many bytes",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"required": ["bytes"],
		"properties": {"bytes": {"type": "integer", "minimum": 1, "maximum": 1000000, "description": "of the prompt's text"}}
	}`,
})

func main() {}

// shorten is the plugin in one request.
type shorten struct{ most int }

// Open implements penstock.Opener.
func (s *shorten) Open(r *penstock.Request) error {
	s.most = r.Config.Get("bytes").Int()
	return nil
}

// Rewrite implements penstock.Rewriter. What goes is the oldest question with all that answers it;
// system messages and the last question stay. The template decides what the rest comes to: it may
// write things of its own, as tools and dates.
func (s *shorten) Rewrite(conversation []penstock.Message) ([]penstock.Message, error) {
	for {
		text, err := penstock.PromptText(conversation)
		if err != nil {
			return nil, err
		}
		if len(text) <= s.most {
			return conversation, nil
		}
		shorter := withoutOldest(conversation)
		if shorter == nil {
			return nil, errors.New("the last question alone makes a prompt of " + strconv.Itoa(len(text)) + " bytes; config.bytes allows " + strconv.Itoa(s.most))
		}
		conversation = shorter
	}
}

// withoutOldest is a conversation without its oldest question and the answers to it; nil where
// that is the last.
func withoutOldest(conversation []penstock.Message) []penstock.Message {
	from, to := -1, -1
	for i, m := range conversation {
		if m.Role != "user" {
			continue
		}
		if from >= 0 {
			to = i
			break
		}
		from = i
	}
	if to < 0 {
		return nil
	}
	shorter := append([]penstock.Message(nil), conversation[:from]...)
	return append(shorter, conversation[to:]...)
}
