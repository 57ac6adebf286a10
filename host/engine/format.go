// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/grammar/peg"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
)

// answerField is the field of an answer's schema.
const answerField = "json_schema"

// format is what the answer to a conversation must look like, which is known to have a grammar.
// Errors are a *chat.Invalid.
func (e *Engine) format(ctx context.Context, c *chat.Conversation, n native.Conversation, p native.Prompt) (*peg.Format, error) {
	f := &peg.Format{Parser: p.Parser, Lazy: p.GrammarLazy}
	if c.JSONSchema != "" {
		f.Answer = peg.Schema{JSON: json.RawMessage(c.JSONSchema), Field: answerField, Options: c.Schemas}
	}
	for _, t := range c.Offered() {
		f.OneCall = !n.ParallelToolCalls
		f.Tools = append(f.Tools, peg.Tool{Name: t.Name, Schema: argumentsOf(t, c.Schemas)})
	}
	if _, err := e.ofFormat(ctx, f); err != nil {
		return nil, refusedField(err)
	}
	return f, nil
}

// refusedField has a refusal of the engine be one of the conversation.
func refusedField(err error) error {
	var refused *sampling.Invalid
	if !errors.As(err, &refused) {
		return err
	}
	return &chat.Invalid{Field: refused.Field, Reason: strings.TrimPrefix(refused.Error(), refused.Field+" ")}
}

// noArguments is the schema of a tool that says nothing of its arguments.
var noArguments = json.RawMessage(`{"type":"object","additionalProperties":false}`)

// argumentsOf is the schema of a tool's arguments. One that lists none has none: a model would
// make some up. Where the tool says itself whether it is strict, that counts.
func argumentsOf(t chat.Tool, o schema.Options) peg.Schema {
	s := peg.Schema{JSON: t.Parameters(), Field: t.Field, Options: o}
	if t.Strict != nil {
		s.Options.Loose = !*t.Strict
	}
	var says map[string]json.RawMessage
	if len(s.JSON) == 0 || json.Unmarshal(s.JSON, &says) == nil && listsNothing(says) {
		s.JSON = noArguments
	}
	return s
}

// listsNothing reports whether a schema is that of any object, or of those with a list of
// properties that is empty.
func listsNothing(says map[string]json.RawMessage) bool {
	for word, value := range says {
		switch word {
		case "properties":
			var none map[string]json.RawMessage
			if json.Unmarshal(value, &none) != nil || len(none) > 0 {
				return false
			}
		case "required":
			var none []string
			if json.Unmarshal(value, &none) != nil || len(none) > 0 {
				return false
			}
		case "type":
			if string(value) != `"object"` {
				return false
			}
		case "title", "description", "$schema":
		default:
			return false
		}
	}
	return true
}
