// SPDX-License-Identifier: MIT

package ollama

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
)

// message is a turn of a conversation as clients send it.
type message struct {
	Role      string   `json:"role"`
	Content   string   `json:"content"`
	Thinking  string   `json:"thinking"`
	Images    []string `json:"images"` // in base64
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolName   string `json:"tool_name"`
	ToolCallID string `json:"tool_call_id"`
}

// readMessages turns the messages into those of a conversation, in which the pictures of each
// stand before its text.
func readMessages(raw []json.RawMessage) ([]chat.Message, []media.Part, error) {
	messages := make([]chat.Message, len(raw))
	var parts []media.Part
	for i, r := range raw {
		field := fmt.Sprintf("messages[%d]", i)
		var m message
		if err := wire.Decode(r, &m); err != nil {
			return nil, nil, blameField(field, err)
		}
		var err error
		if messages[i], err = m.plain(field); err != nil {
			return nil, nil, err
		}
		parts = append(parts, placePictures(&messages[i], m.Images, field+".images")...)
	}
	pairResults(messages)
	return messages, parts, nil
}

// placePictures puts the places of pictures before a message's text.
func placePictures(m *chat.Message, images []string, field string) []media.Part {
	m.Content = strings.Repeat(media.Marker, len(images)) + m.Content
	return media.Sources(field, media.Image, images)
}

// pairResults gives the calls of tools ids, and their results the ids of their calls, where they
// have none: Ollama's clients send none, and some templates need them. A result belongs to the
// first call of its tool that has no result yet.
func pairResults(messages []chat.Message) {
	open := openCalls{queues: map[callKey][]int{}}
	for i := range messages {
		m := &messages[i]
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			if c.ID == "" {
				c.ID = fmt.Sprintf("call_%d_%d", i, j)
			}
			open.add(c.ID, c.Function.Name)
		}
		if m.Role != "tool" {
			continue
		}
		wanted := callKey{id: m.ToolCallID}
		if m.ToolCallID == "" {
			wanted.tool = m.Name
		}
		if id, ok := open.take(wanted); ok {
			m.ToolCallID = id
		}
	}
}

// openCalls are calls of tools that have no result yet. A client may send hundreds of thousands of
// calls and results, so each result must not be looked for among all calls: a call waits in a
// queue for each way to ask for it, and leaves the others when they come to it.
type openCalls struct {
	ids    []string // of all calls
	tied   []bool   // those that have their result
	queues map[callKey][]int
}

// callKey is what a result tells of its call: its id, the name of its tool, or nothing. Calls have
// both, so that no two of the three are the same key.
type callKey struct{ id, tool string }

func (o *openCalls) add(id, tool string) {
	for _, key := range []callKey{{}, {id: id}, {tool: tool}} {
		o.queues[key] = append(o.queues[key], len(o.ids))
	}
	o.ids, o.tied = append(o.ids, id), append(o.tied, false)
}

// take removes the first call that fits and returns its id.
func (o *openCalls) take(key callKey) (id string, ok bool) {
	queue := o.queues[key]
	for len(queue) > 0 && o.tied[queue[0]] {
		queue = queue[1:]
	}
	if len(queue) == 0 {
		delete(o.queues, key)
		return "", false
	}
	first := queue[0]
	o.queues[key], o.tied[first] = queue[1:], true
	return o.ids[first], true
}

// blameField blames a field for the fault of the object in it.
func blameField(field string, err error) error {
	var e *refusal.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Field == "":
		return refusal.Invalid(field, "%s must be an object", field)
	}
	return refusal.Invalid(field+"."+e.Field, "%s.%s", field, e.Message)
}

// plain is the message as templates know it.
func (m *message) plain(field string) (chat.Message, error) {
	if !slices.Contains(chat.Roles, m.Role) {
		return chat.Message{}, refusal.Invalid(field+".role", "%s.role is %q; it must be one of %s", field, excerpt.Of(m.Role, longestValue), strings.Join(chat.Roles, ", "))
	}
	out := chat.Message{Role: m.Role, Content: m.Content, Reasoning: m.Thinking, Name: m.ToolName, ToolCallID: m.ToolCallID}
	for i, call := range m.ToolCalls {
		if call.Function.Name == "" {
			at := fmt.Sprintf("%s.tool_calls[%d].function.name", field, i)
			return out, refusal.Invalid(at, "%s is missing", at)
		}
		out.ToolCalls = append(out.ToolCalls, chat.NewToolCall(call.ID, call.Function.Name, argumentsOf(call.Function.Arguments)))
	}
	return out, nil
}

// argumentsOf is the text of an object of arguments. Some clients send the text itself.
func argumentsOf(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "{}"
	case json.Unmarshal(raw, &text) == nil:
		return cmp.Or(strings.TrimSpace(text), "{}")
	}
	return string(raw)
}
