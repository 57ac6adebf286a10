// SPDX-License-Identifier: MIT

package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/peg"
)

const (
	typeCustom    = "custom"
	maxDefinition = 256 << 10 // bytes of the grammar of a custom tool
)

// custom is OpenAI's tool that takes a text.
type custom struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Format      *customFormat `json:"format"`
}

type customFormat struct {
	Type       string `json:"type"` // text, grammar
	Syntax     string `json:"syntax"`
	Definition string `json:"definition"`

	Grammar *struct { // the two in chats
		Syntax     string `json:"syntax"`
		Definition string `json:"definition"`
	} `json:"grammar"`
}

// parseCustom makes a custom tool the function that it is to the model.
func parseCustom(raw json.RawMessage, field string) (Tool, error) {
	var t struct {
		Custom json.RawMessage `json:"custom"` // it is there in chats
	}
	if err := unmarshal(raw, &t, field, "a tool"); err != nil {
		return Tool{}, err
	}
	if t.Custom != nil {
		raw, field = t.Custom, field+".custom"
	}
	var is custom
	if err := unmarshal(raw, &is, field, "a custom tool"); err != nil {
		return Tool{}, err
	}
	if is.Name == "" {
		return Tool{}, &Invalid{field + ".name", "is missing"}
	}
	syntax, definition, at, err := is.Format.read(field + ".format")
	if err != nil {
		return Tool{}, err
	}
	made := Tool{Name: is.Name, Field: at, Custom: true}
	about := "The text for the tool, as it is."
	switch syntax {
	case "lark":
		made.Input.Lark = definition
		about = "The text for the tool, as it is. It fits this grammar in Lark's notation:\n" + definition
	case "regex":
		made.Input.Regex = definition
		about = "The text for the tool, as it is. It matches this regular expression:\n" + definition
	}
	type property struct {
		Type        string `json:"type"`
		Description string `json:"description"`
	}
	var function struct {
		Type     string `json:"type"`
		Function struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Parameters  struct {
				Type       string              `json:"type"`
				Properties map[string]property `json:"properties"`
				Required   []string            `json:"required"`
				Additional bool                `json:"additionalProperties"`
			} `json:"parameters"`
		} `json:"function"`
	}
	function.Type, function.Function.Name, function.Function.Description = typeFunction, is.Name, is.Description
	p := &function.Function.Parameters
	p.Type, p.Properties, p.Required = "object", map[string]property{peg.InputName: {"string", about}}, []string{peg.InputName}
	made.JSON = asJSON(function)
	return made, nil
}

// read is the syntax and the text of a grammar, and the field that has it. There is none where any
// text will do.
func (f *customFormat) read(field string) (syntax, definition, at string, err error) {
	if f == nil || f.Type == "text" {
		return "", "", field, nil
	}
	if f.Type != "grammar" {
		return "", "", field, &Invalid{field + ".type", fmt.Sprintf("is %q; it must be text or grammar", excerpt.Of(f.Type, 40))}
	}
	syntax, definition = f.Syntax, f.Definition
	if f.Grammar != nil {
		field += ".grammar"
		syntax, definition = f.Grammar.Syntax, f.Grammar.Definition
	}
	at = field + ".definition"
	most := maxDefinition
	if syntax == "regex" {
		most = peg.MaxRegex
	}
	switch {
	case syntax != "lark" && syntax != "regex":
		err = &Invalid{field + ".syntax", fmt.Sprintf("is %q; it must be lark or regex", excerpt.Of(syntax, 40))}
	case definition == "":
		err = &Invalid{at, "is missing"}
	case len(definition) > most:
		err = &Invalid{at, fmt.Sprintf("has %d bytes; at most %d are taken", len(definition), most)}
	case strings.IndexByte(definition, 0) >= 0:
		err = &Invalid{at, "holds a zero byte"}
	}
	return syntax, definition, at, err
}

// asJSON is the text of a value that has one, as a template may show it.
func asJSON(v any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // of which nothing can fail
	return bytes.TrimSpace(text.Bytes())
}

// NewCustomCall is the call of a custom tool as the model sees it: of a function.
func NewCustomCall(id, name, input string) ToolCall {
	return NewToolCall(id, name, string(asJSON(map[string]string{peg.InputName: input})))
}

// customCalls turns the calls of custom tools in an answer back.
type customCalls struct {
	names map[string]bool
	calls map[int]*inputReader
}

func newCustomCalls(names []string) *customCalls {
	c := &customCalls{map[string]bool{}, map[int]*inputReader{}}
	for _, name := range names {
		c.names[name] = true
	}
	return c
}

// translate has deltas of calls of custom tools give the text for these.
func (c *customCalls) translate(deltas []Delta) []Delta {
	kept := deltas[:0]
	for _, d := range deltas {
		call := d.Call
		if call != nil && c.names[call.Name] {
			c.calls[call.Index] = &inputReader{}
		}
		if call == nil || c.calls[call.Index] == nil {
			kept = append(kept, d)
			continue
		}
		call.Custom, call.Arguments = true, c.calls[call.Index].add(call.Arguments)
		if call.Name != "" || call.Arguments != "" {
			kept = append(kept, d)
		}
	}
	return kept
}

// inputReader reads the input in the arguments of a call, while they grow.
type inputReader struct {
	text        string // which is not read yet
	begun, over bool
	other       bool // there is no input, and what there is is told as it stands
}

// mostBefore is how many bytes the arguments have at most before the input.
const mostBefore = 100

// inputBegins finds the name of the first member, which may have escapes, before a text.
var inputBegins = regexp.MustCompile(`^\s*\{\s*("(?:[^"\\]|\\.)*")\s*:\s*"`)

// beginOf is how many bytes of arguments are before the text of the input; 0: it does not begin
// there, or not yet.
func beginOf(arguments string) int {
	var name string
	begin := inputBegins.FindStringSubmatch(arguments)
	if begin == nil || json.Unmarshal([]byte(begin[1]), &name) != nil || name != peg.InputName {
		return 0
	}
	return len(begin[0])
}

// add is what more of the arguments' text adds to the input.
func (r *inputReader) add(text string) string {
	if r.other {
		return text
	}
	if r.text += text; !r.begun {
		begin := beginOf(r.text)
		if r.other = begin == 0 && (len(r.text) > mostBefore || strings.Contains(r.text, "}")); r.other {
			return r.text
		}
		if begin == 0 {
			return ""
		}
		r.begun, r.text = true, r.text[begin:]
	}
	var input strings.Builder
	for r.text != "" && !r.over {
		at := strings.IndexAny(r.text, `\"`)
		if at < 0 {
			at = len(r.text)
		}
		input.WriteString(r.text[:at])
		r.text = r.text[at:]
		switch {
		case r.text == "":
		case r.text[0] == '"':
			r.over = true
		default:
			c, size := readEscape(r.text)
			if size == 0 {
				return input.String()
			}
			input.WriteRune(c)
			r.text = r.text[size:]
		}
	}
	return input.String()
}

var unescaped = map[byte]rune{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// readEscape reads the character that an escape of JSON at the beginning of a text is, and its
// size; 0: the text ends within it.
func readEscape(text string) (rune, int) {
	switch {
	case len(text) < 2:
		return 0, 0
	case text[1] != 'u':
		if c, known := unescaped[text[1]]; known {
			return c, 2
		}
		return rune(text[1]), 2
	case len(text) < 6:
		return 0, 0
	}
	first := parseHex(text[2:6])
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	rest := text[6:]
	if len(rest) < 6 && strings.HasPrefix(`\u`, rest[:min(2, len(rest))]) {
		return 0, 0
	}
	if len(rest) >= 6 && rest[:2] == `\u` {
		if both := utf16.DecodeRune(first, parseHex(rest[2:6])); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

func parseHex(digits string) (c rune) {
	for _, d := range []byte(digits) {
		switch {
		case d >= '0' && d <= '9':
			c = c<<4 | rune(d-'0')
		case d|0x20 >= 'a' && d|0x20 <= 'f':
			c = c<<4 | rune(d|0x20-'a'+10)
		default:
			return utf8.RuneError
		}
	}
	return c
}
