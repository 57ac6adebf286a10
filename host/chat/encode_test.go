// SPDX-License-Identifier: MIT

package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/media"
)

// echo is a model whose template shows the first message, and whose tokens tell how a text was
// tokenised.
type echo struct{ fail error }

const (
	added  = -1 // the first token where special tokens are added
	parsed = -2 // the last token where special tokens in the text are parsed
)

func (e echo) Render(_ context.Context, c Conversation) (Prompt, error) {
	return Prompt{Text: c.Messages[0].Content, Stops: []string{"END"}}, e.fail
}

func (echo) Tokenize(_ context.Context, text string, addSpecial, parseSpecial bool) (tokens []int32, _ error) {
	if addSpecial {
		tokens = append(tokens, added)
	}
	tokens = append(tokens, int32(len(text)))
	if parseSpecial {
		tokens = append(tokens, parsed)
	}
	return tokens, nil
}

// Special tokens go around a prompt once, however it was made, and a text may name control tokens
// only where it is a prompt.
func TestEncoder_SpecialTokens(t *testing.T) {
	e := Encoder{Model: echo{}, Context: 100}
	written := "by a plugin"
	conversation := func(written *string) func(context.Context, string) ([]int32, error) {
		return func(_ context.Context, text string) ([]int32, error) {
			p, err := e.Conversation(t.Context(), Conversation{Messages: []Message{{Role: "user", Content: text}}, Written: written})
			return p.Tokens, err
		}
	}
	for name, c := range map[string]struct {
		encode func(context.Context, string) ([]int32, error)
		want   []int32
	}{
		"a conversation by the model's template": {conversation(nil), []int32{added, 4, parsed}},
		"a conversation by a template plugin":    {conversation(&written), []int32{added, int32(len(written)), parsed}},
		"the text of a prompt":                   {e.Text, []int32{added, 4, parsed}},
		"a text behind tokens of a prompt":       {e.Continuation, []int32{4, parsed}},
		"a text that is no prompt":               {e.Plain, []int32{4}},
	} {
		got, err := c.encode(t.Context(), "four")
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// around is a model that puts tokens around a prompt, and whose other tokens are the lengths of
// texts.
type around []int32

func (around) Render(_ context.Context, c Conversation) (Prompt, error) {
	return Prompt{Text: c.Messages[0].Content}, nil
}

func (a around) Tokenize(_ context.Context, text string, addSpecial, parseSpecial bool) ([]int32, error) {
	if text == "bad" {
		return nil, ErrInvalidText
	}
	if !addSpecial || len(a) == 0 {
		return []int32{int32(len(text))}, nil
	}
	return a, nil // it is asked of no text
}

// Texts between pictures are tokenised by themselves, and what belongs around a prompt stands
// around all of it once.
func TestEncoder_WithMedia(t *testing.T) {
	const begin, end = 1000, 2000
	m := media.Marker
	for text, want := range map[string][]int32{
		"ab" + m + "c":       {2, MediaPlaceholder, 1},
		m:                    {MediaPlaceholder},
		m + m + "abc" + m:    {MediaPlaceholder, MediaPlaceholder, 3, MediaPlaceholder},
		"a" + m[:5] + m + "": {6, MediaPlaceholder},
	} {
		for _, model := range []struct {
			of     around
			addBOS bool
			begins int
		}{{around{begin}, true, 1}, {around{end}, false, 0}, {around{begin, end}, true, 1}} {
			e := Encoder{Model: model.of, Context: 100, AddBOS: model.addBOS}
			p, err := e.Conversation(t.Context(), Conversation{Messages: []Message{{Content: text}}, Media: []media.Part{{}}})
			whole := slices.Concat(model.of[:model.begins], want, model.of[model.begins:])
			if diff := cmp.Diff(whole, around(p.Tokens)); diff != "" || err != nil {
				t.Errorf("%q around %v: %v %s", text, model.of, err, diff)
			}
		}
	}
	if _, err := (Encoder{Model: around{begin}, Context: 100}).WithMedia(t.Context(), "a"+m+"bad"); !errors.Is(err, ErrInvalidText) {
		t.Errorf("got %v", err)
	}
	var tooLong *TooLong
	if _, err := (Encoder{Model: around{begin}, Context: 100}).WithMedia(t.Context(), strings.Repeat("a"+m, 1<<16)); !errors.As(err, &tooLong) {
		t.Errorf("got %v", err)
	}
}

func TestEncoder_TextsTheContextCannotHold_AreRefused(t *testing.T) {
	e := Encoder{Model: echo{}, Context: 100_000}
	most := 16 * e.Context
	conversation := func(written *string) func(context.Context, string) ([]int32, error) {
		return func(_ context.Context, text string) ([]int32, error) {
			c := Conversation{Messages: []Message{{Role: "user", Content: text}}}
			if written != nil {
				c.Written = &text
			}
			p, err := e.Conversation(t.Context(), c)
			return p.Tokens, err
		}
	}
	for name, encode := range map[string]func(context.Context, string) ([]int32, error){
		"template": conversation(nil), "plugin": conversation(new(string)), "text": e.Text, "continuation": e.Continuation, "plain": e.Plain,
	} {
		if _, err := encode(t.Context(), strings.Repeat("x", most)); err != nil {
			t.Errorf("%s of %d bytes: %v", name, most, err)
		}
		var tooLong *TooLong
		if _, err := encode(t.Context(), strings.Repeat("x", most+1)); !errors.As(err, &tooLong) || !strings.Contains(tooLong.Reason, fmt.Sprintf("at most %d ", most)) {
			t.Errorf("%s of %d bytes: got %v, want a *TooLong", name, most+1, err)
		}
	}
}

// So are more messages than the context has tokens, before a template takes its time for them.
func TestEncoder_MoreMessagesThanTokens_AreRefused(t *testing.T) {
	messages := make([]Message, 101)
	var tooLong *TooLong
	if _, err := (Encoder{Model: echo{}, Context: 100}).Conversation(t.Context(), Conversation{Messages: messages}); !errors.As(err, &tooLong) || tooLong.Context != 100 {
		t.Errorf("got %v", err)
	}
}

// A conversation has so many tools, and no more.
func TestEncoder_ManyTools_AreRefused(t *testing.T) {
	e, c := Encoder{Model: echo{}, Context: 100}, Conversation{Messages: make([]Message, 1), Tools: make([]Tool, maxTools)}
	if _, err := e.Conversation(t.Context(), c); err != nil {
		t.Error(err)
	}
	c.Tools = append(c.Tools, Tool{})
	var invalid *Invalid
	if _, err := e.Conversation(t.Context(), c); !errors.As(err, &invalid) || invalid.Field != "tools" {
		t.Errorf("got %v", err)
	}
}

// Nor has a conversation more parts and calls than that.
func TestEncoder_MorePiecesThanTokens_AreRefused(t *testing.T) {
	most := Conversation{Messages: []Message{{Content: "a", Parts: make([]string, 60), ToolCalls: make([]ToolCall, 39)}, {Content: "b"}}}
	if _, err := (Encoder{Model: echo{}, Context: 100}).Conversation(t.Context(), most); err != nil {
		t.Error(err)
	}
	most.Messages[0].Parts = append(most.Messages[0].Parts, "")
	var tooLong *TooLong
	if _, err := (Encoder{Model: echo{}, Context: 100}).Conversation(t.Context(), most); !errors.As(err, &tooLong) || !strings.Contains(tooLong.Reason, "101 parts and calls") {
		t.Errorf("got %v", err)
	}
}

func TestEncoder_Conversation_TemplateFaultIsTheClients(t *testing.T) {
	c := Conversation{Messages: []Message{{Role: "user", Content: "four"}}}
	p, err := Encoder{Model: echo{}, Context: 100}.Conversation(t.Context(), c)
	if err != nil || p.Stops[0] != "END" || p.Tokens[1] != 4 || p.Text != "four" {
		t.Errorf("got %v %v", p, err)
	}
	var invalid *Invalid
	if _, err := (Encoder{Model: echo{fail: errors.New("roles must alternate")}, Context: 100}).Conversation(t.Context(), c); !errors.As(err, &invalid) || invalid.Field != "messages" {
		t.Errorf("got %v", err)
	}
}

func TestEncoder_Conversation_Refuses(t *testing.T) {
	one, written := []Message{{Role: "user", Content: "four"}}, "by a plugin"
	for field, c := range map[string]Conversation{
		"reasoning_format": {Messages: one, ReasoningFormat: "maybe"},
		"tools":            {Messages: one, Tools: []Tool{{Name: "f"}}, Written: &written},
	} {
		var invalid *Invalid
		if _, err := (Encoder{Model: echo{}, Context: 100}).Conversation(t.Context(), c); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("got %v, want field %s", err, field)
		}
	}
}

// Where a template cannot render a conversation, a call in it whose arguments were cut off is
// named.
func TestEncoder_ArgumentsThatAreNoJSON_AreNamed(t *testing.T) {
	e := Encoder{Model: echo{fail: errors.New("no object")}, Context: 100}
	call := func(arguments string) Message {
		return Message{Role: "assistant", ToolCalls: []ToolCall{NewToolCall("1", "f", "{}"), NewToolCall("2", "f", arguments)}}
	}
	for arguments, field := range map[string]string{`{"a":`: "messages[1].tool_calls[1].function.arguments", `{"a":1}`: "messages"} {
		_, err := e.Conversation(t.Context(), Conversation{Messages: []Message{{Role: "user"}, call(arguments)}})
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: got %v, want %s", arguments, err, field)
		}
	}
}
