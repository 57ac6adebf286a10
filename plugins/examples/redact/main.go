// SPDX-License-Identifier: MIT

// Command redact is a plugin: it keeps words from the model, and tells it the date of the request.
package main

import (
	"errors"
	"strings"
	"time"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[redact](penstock.Manifest{
	Name:    "redact",
	Version: "1.0.0",
	Summary: "replaces words in messages before the model reads them, and tells it the date",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"words": {"type": "array", "maxItems": 1000, "items": {"type": "string", "minLength": 1, "maxLength": 200}, "default": [], "description": "texts that are replaced, as they are written"},
			"with": {"type": "string", "maxLength": 200, "default": "[redacted]", "description": "what stands in the place of a word"},
			"date": {"type": "boolean", "default": false, "description": "begin with a message that says the date"}
		}
	}`,
})

func main() {}

var errNoTime = errors.New("config.date is true, but this host does not tell the time; leave it out")

// redact is the plugin in one request.
type redact struct {
	replacer *strings.Replacer
	date     string // YYYY-MM-DD; empty: the model is not told
}

// Open implements penstock.Opener.
func (r *redact) Open(q *penstock.Request) error {
	words, with := q.Config.Get("words"), q.Config.Get("with").Text()
	var pairs []string
	for i := range words.Len() {
		pairs = append(pairs, words.At(i).Text(), with)
	}
	r.replacer = strings.NewReplacer(pairs...)
	if !q.Config.Get("date").Bool() {
		return nil
	}
	if q.Time == 0 {
		return errNoTime
	}
	r.date = time.UnixMilli(q.Time).UTC().Format(time.DateOnly)
	return nil
}

// Rewrite implements penstock.Rewriter.
func (r *redact) Rewrite(conversation []penstock.Message) ([]penstock.Message, error) {
	for i := range conversation {
		conversation[i].Content = r.replacer.Replace(conversation[i].Content)
	}
	if r.date == "" {
		return conversation, nil
	}
	const saying = "Today is "
	if len(conversation) > 0 && conversation[0].Role == "system" { // templates know one system message
		conversation[0].Content = saying + r.date + ".\n" + conversation[0].Content
		return conversation, nil
	}
	return append([]penstock.Message{{Role: "system", Content: saying + r.date + "."}}, conversation...), nil
}
