// SPDX-License-Identifier: MIT

// Command pii is a plugin: it keeps personal data from the model, and puts it back into the answer
// that the client reads.
package main

import (
	"strconv"
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[pii](penstock.Manifest{
	Name:    "pii",
	Version: "1.0.0",
	Summary: "keeps e-mail addresses, phone numbers, names and the like from the model, and puts them back into the answer",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"kinds": {"type": "array", "uniqueItems": true, "items": {"enum": ["email", "phone", "iban", "card", "ip"]}, "default": ["email", "phone", "iban", "card", "ip"], "description": "what is looked for"},
			"names": {"type": "array", "maxItems": 1000, "items": {"type": "string", "pattern": "^[^\"\\\\\\x00-\\x1f\\[\\]]{1,200}$"}, "default": [], "description": "names, in any case of their letters, that are replaced as well"}
		}
	}`,
})

func main() {}

// pii is the plugin in one request.
type pii struct {
	finder
	placeholders map[string]string // by kind and original
	originals    map[string]string // by placeholder
	counts       map[string]int    // of placeholders, by kind
	written      string            // all that the conversation says: a placeholder that it has is taken
}

// Open implements penstock.Opener. The instance that filters the answer reads the conversation once
// more, and comes to the same placeholders.
func (p *pii) Open(r *penstock.Request) error {
	p.finder = newFinder(r.Config)
	conversation, err := r.Messages()
	if err != nil {
		return err
	}
	return p.mask(conversation)
}

// Rewrite implements penstock.Rewriter.
func (p *pii) Rewrite(conversation []penstock.Message) ([]penstock.Message, error) {
	return conversation, p.mask(conversation)
}

// mask replaces what is found in messages.
func (p *pii) mask(conversation []penstock.Message) error {
	p.placeholders, p.originals, p.counts = map[string]string{}, map[string]string{}, map[string]int{}
	var written strings.Builder
	for i := range conversation {
		m := &conversation[i]
		for _, text := range []string{m.Content, m.Value.Get("reasoning_content").Text(), m.Value.Get("tool_calls").JSON()} {
			if strings.Contains(text, "_") {
				written.WriteString(text)
			}
		}
	}
	p.written = written.String()
	for i := range conversation {
		m := &conversation[i]
		m.Content = p.replace(m.Content)
		if err := p.maskMembers(m); err != nil {
			return err
		}
	}
	return nil
}

// maskMembers replaces in what else of a message the model reads: its reasoning, and the arguments
// of its calls.
func (p *pii) maskMembers(m *penstock.Message) (err error) {
	if m.Value.Get("reasoning_content").Kind() == json.Null && m.Value.Get("tool_calls").Kind() == json.Null {
		return nil
	}
	members := map[string]any{}
	for _, name := range m.Value.Names() {
		members[name] = m.Value.Get(name)
	}
	if text := m.Value.Get("reasoning_content"); text.Kind() == json.Text {
		members["reasoning_content"] = p.replace(text.Text())
	}
	if calls := m.Value.Get("tool_calls"); calls.Kind() == json.List {
		members["tool_calls"] = p.arguments("", calls)
	}
	text, err := json.Append(nil, members)
	if err == nil {
		m.Value, err = json.Parse(text)
	}
	return err
}

// arguments is a value with what is found in its texts replaced, but for what names a call.
func (p *pii) arguments(of string, v json.Value) any {
	switch v.Kind() {
	case json.Text:
		if of != "id" && of != "type" && of != "name" {
			return p.replace(v.Text())
		}
	case json.List:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = p.arguments("", v.At(i))
		}
		return list
	case json.Object:
		object := map[string]any{}
		for _, name := range v.Names() {
			object[name] = p.arguments(name, v.Get(name))
		}
		return object
	}
	return v
}

// replace is a text with placeholders. The same original has the same one.
func (p *pii) replace(text string) string {
	var b strings.Builder
	at := 0
	for _, f := range p.find(text) {
		b.WriteString(text[at:f.begin])
		b.WriteString(p.placeholder(f.kind, text[f.begin:f.end]))
		at = f.end
	}
	if at == 0 {
		return text
	}
	b.WriteString(text[at:])
	return b.String()
}

func (p *pii) placeholder(kind, original string) string {
	key := kind + " " + original
	known, ok := p.placeholders[key]
	for !ok {
		p.counts[kind]++
		known = "[" + kind + "_" + strconv.Itoa(p.counts[kind]) + "]"
		ok = !strings.Contains(p.written, known)
	}
	p.placeholders[key], p.originals[known] = known, original
	return known
}

// Filter implements penstock.Filterer. It keeps back what may be the beginning of a placeholder.
func (p *pii) Filter(text []byte, last bool) (shown []byte, keep int) {
	given, at := string(text), 0 // before at, all is in shown
	for i := 0; i < len(given); i++ {
		if given[i] != '[' {
			continue
		}
		end := strings.IndexByte(given[i:], ']') + 1
		if end == 0 {
			if !last && p.begins(given[i:]) {
				keep = len(given) - i
				break
			}
			continue
		}
		if original, ok := p.originals[given[i:i+end]]; ok {
			shown = append(append(shown, given[at:i]...), original...)
			at = i + end
			i = at - 1
		}
	}
	if at == 0 { // nothing to put back
		return text[:len(text)-keep], keep
	}
	return append(shown, given[at:len(given)-keep]...), keep
}

// begins reports whether a text is the beginning of a placeholder.
func (p *pii) begins(text string) bool {
	for placeholder := range p.originals {
		if strings.HasPrefix(placeholder, text) {
			return true
		}
	}
	return false
}
