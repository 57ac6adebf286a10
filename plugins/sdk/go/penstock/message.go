// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// Message is one message of a conversation.
type Message struct {
	Role    string     // system, developer, user, assistant or tool
	Content string     // its text; the parts of a message that has several, joined
	Value   json.Value // the whole message, for what else it has
}

var errList = errors.New("messages must be a list of objects with role and content")

func render(r Renderer) int32 {
	conversation, err := parse(read(func(p unsafe.Pointer, limit int32) int32 { return abi.Messages(p, limit) }))
	if err != nil {
		return refuse(err)
	}
	text, err := r.Render(conversation)
	if err != nil {
		return refuse(err)
	}
	abi.Emit(unsafe.Pointer(unsafe.StringData(text)), int32(len(text)))
	return 0
}

func rewrite(r Rewriter) int32 {
	conversation, err := parse(read(func(p unsafe.Pointer, limit int32) int32 { return abi.Messages(p, limit) }))
	if err != nil {
		return refuse(err)
	}
	if conversation, err = r.Rewrite(conversation); err != nil {
		return refuse(err)
	}
	text, err := list(conversation)
	if err != nil {
		return refuse(err)
	}
	emit(text)
	return 0
}

// list writes a conversation as JSON.
func list(conversation []Message) (text []byte, err error) {
	text = []byte{'['}
	for i := range conversation {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = conversation[i].append(text); err != nil {
			return nil, err
		}
	}
	return append(text, ']'), nil
}

// ErrPromptText means that there is no prompt text: either the model's template refuses the
// messages, and the log has the reason, or the host is too old.
var ErrPromptText = errors.New("the model's template makes no prompt of these messages, or the host does not tell")

// PromptText is, in Rewrite and Render, the text that the model's own template would make from a
// conversation, with the request's other parts such as its tools. Nil is the conversation that the
// plugin got.
func PromptText(conversation []Message) (string, error) {
	if !Feature("prompt") {
		return "", ErrPromptText
	}
	var messages []byte
	if conversation != nil {
		var err error
		if messages, err = list(conversation); err != nil {
			return "", err
		}
	}
	refused := false
	text := read(func(p unsafe.Pointer, limit int32) int32 {
		n := abi.Prompt(unsafe.Pointer(unsafe.SliceData(messages)), int32(len(messages)), p, limit)
		refused = n < 0
		return max(n, 0)
	})
	if refused {
		return "", ErrPromptText
	}
	return string(text), nil
}

// others are the members of a message besides role and content.
var others = [...]string{"reasoning_content", "name", "tool_calls", "tool_call_id"}

// append writes the message as JSON: role and content as they are now, and the other members
// unchanged.
func (m *Message) append(b []byte) (_ []byte, err error) {
	b = json.AppendText(append(b, `{"role":`...), m.Role)
	b = json.AppendText(append(b, `,"content":`...), m.Content)
	for _, name := range others {
		if v := m.Value.Get(name); v.Kind() != json.Null {
			b = append(json.AppendText(append(b, ','), name), ':')
			if b, err = json.Append(b, v); err != nil {
				return nil, err
			}
		}
	}
	return append(b, '}'), nil
}

// parse reads the messages. Content may be a text or a list of parts; parts without a text are
// skipped.
func parse(text []byte) ([]Message, error) {
	list, err := json.Parse(text)
	if err != nil {
		return nil, err
	}
	if list.Kind() != json.List {
		return nil, errList
	}
	conversation := make([]Message, 0, list.Len())
	for i := range list.Len() {
		m := list.At(i)
		role, content := m.Get("role"), m.Get("content")
		if role.Kind() != json.Text {
			return nil, errList
		}
		said := content.Text()
		for j := range content.Len() {
			said += content.At(j).Get("text").Text()
		}
		conversation = append(conversation, Message{role.Text(), said, m})
	}
	return conversation, nil
}
