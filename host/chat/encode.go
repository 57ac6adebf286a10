// SPDX-License-Identifier: MIT

package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
)

// Renderer turns a conversation into a prompt's text with the model's chat template. What is wrong
// with a field of the conversation is an *Invalid. When ctx is done it ends soon, with its cause.
type Renderer interface {
	Render(ctx context.Context, c Conversation) (Prompt, error)
}

// Tokenizer splits text into tokens. With addSpecial it adds those that the model wants around a
// prompt, such as the one that begins a sequence. With parseSpecial the text of a control token
// becomes that token; otherwise it stays text. A text that the model refuses is an ErrInvalidText.
// When ctx is done it ends soon, with its cause.
type Tokenizer interface {
	Tokenize(ctx context.Context, text string, addSpecial, parseSpecial bool) ([]int32, error)
}

// ErrInvalidText is the kind of errors that are the fault of a text.
var ErrInvalidText = errors.New("invalid text")

// Encoder turns conversations and texts into tokens. Whatever a model is to read goes through it,
// so that every way to a prompt has the same special tokens and bounds.
type Encoder struct {
	Model interface {
		Renderer
		Tokenizer
	}
	Context int  // tokens that a conversation with the model may have
	AddBOS  bool // the model wants a token at the beginning of a prompt
}

// maxTools bounds the tools of a conversation: for each llama.cpp makes a grammar and a parser,
// which take 2 ms and 150 KB. Agents have tens of tools, those with many servers some hundreds.
const maxTools = 2048

// MediaPlaceholder stands for a picture or a sound among the tokens of a prompt, until it is known
// how many it takes, and which. It is no token of any vocabulary.
const MediaPlaceholder int32 = -1

// Conversation turns a conversation into a prompt: its text is what a template plugin has written,
// or else what the model's own template turns the messages into. A template of either kind writes
// control tokens as text, and leaves the beginning of the sequence to the tokeniser. What the
// context could never hold is refused with a *TooLong before it takes any time.
func (e Encoder) Conversation(ctx context.Context, c Conversation) (p Prompt, err error) {
	if p, err = e.Render(ctx, c); err != nil {
		return Prompt{}, err
	}
	encode := e.Text
	if len(c.Media) > 0 {
		encode = e.WithMedia
	}
	if p.Tokens, err = encode(ctx, p.Text); err != nil {
		return Prompt{}, fmt.Errorf("tokenise the prompt: %w", err)
	}
	return p, nil
}

// Render is Conversation without the tokens.
func (e Encoder) Render(ctx context.Context, c Conversation) (p Prompt, err error) {
	if f := c.ReasoningFormat; f != "" && !slices.Contains(reasoningFormats, f) {
		return p, &Invalid{"reasoning_format", fmt.Sprintf("is %q; it must be one of %s", excerpt.Of(f, 40), strings.Join(reasoningFormats, ", "))}
	}
	if n := len(c.Messages); n > e.Context { // each is a token at least, and takes a template longer than that
		return p, &TooLong{Reason: fmt.Sprintf("there are %d messages, and each takes a token at least", n), Context: e.Context}
	}
	if n := c.pieces(); n > e.Context { // a template may take as long for a part as for a message
		return p, &TooLong{Reason: fmt.Sprintf("its messages have %d parts and calls; with a context of %d tokens at most as many are taken", n, e.Context), Context: e.Context}
	}
	if n := len(c.Tools); n > maxTools {
		return p, &Invalid{"tools", fmt.Sprintf("are %d; at most %d are taken", n, maxTools)}
	}
	if c.Written != nil && len(c.Tools) > 0 {
		return p, &Invalid{"tools", "cannot be used with a template plugin, which is not told of them"}
	}
	if c.Written != nil {
		p.Text = *c.Written
	} else if p, err = e.Model.Render(ctx, c); err != nil {
		if ctx.Err() != nil {
			return Prompt{}, err
		}
		return Prompt{}, asInvalid(err, c.Messages)
	}
	return p, nil
}

// pieces is how many parts and calls the messages have.
func (c *Conversation) pieces() (n int) {
	for _, m := range c.Messages {
		n += max(1, len(m.Parts)) + len(m.ToolCalls)
	}
	return n
}

// reasoningFormats are llama-server's: none leaves reasoning in the content, the others part the
// two.
var reasoningFormats = []string{"auto", "none", "deepseek", "deepseek-legacy"}

// asInvalid has an error of a template that names no field be about the messages. Most templates
// want the arguments of calls as objects, so those that are none are named: a call that was cut
// off and sent back has such.
func asInvalid(err error, messages []Message) error {
	var invalid *Invalid
	if errors.As(err, &invalid) {
		return invalid
	}
	for i, m := range messages {
		for k, call := range m.ToolCalls {
			if !json.Valid([]byte(call.Function.Arguments)) {
				return &Invalid{fmt.Sprintf("messages[%d].tool_calls[%d].function.arguments", i, k),
					fmt.Sprintf("is %q, which is no JSON; the model's chat template needs an object", excerpt.Of(call.Function.Arguments, 40))}
			}
		}
	}
	return &Invalid{Field: "messages", Reason: "do not fit the model's chat template: " + err.Error()}
}

// Text tokenises the text of a whole prompt, or its beginning.
func (e Encoder) Text(ctx context.Context, text string) ([]int32, error) {
	return e.Tokenize(ctx, text, true, true)
}

// WithMedia tokenises the text of a whole prompt with a MediaPlaceholder for each media.Marker. The
// texts between them are tokenised each by itself, as llama.cpp does, and what the model wants
// around a prompt stands around all of them.
func (e Encoder) WithMedia(ctx context.Context, text string) ([]int32, error) {
	if err := CheckLength(text, e.Context); err != nil {
		return nil, err
	}
	around, err := e.Text(ctx, "")
	if err != nil {
		return nil, err
	}
	begins := len(around) // of those, the ones that stand before the text
	if begins > 1 || begins == 1 && !e.AddBOS {
		begins--
	}
	tokens := slices.Clone(around[:begins])
	for i, part := range strings.Split(text, media.Marker) {
		if i > 0 {
			tokens = append(tokens, MediaPlaceholder)
		}
		if part == "" {
			continue // llama.cpp may put a space before a text
		}
		more, err := e.Continuation(ctx, part)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, more...)
	}
	return append(tokens, around[begins:]...), nil
}

// Continuation tokenises a text that follows other tokens of a prompt.
func (e Encoder) Continuation(ctx context.Context, text string) ([]int32, error) {
	return e.Tokenize(ctx, text, false, true)
}

// Plain tokenises a text that is no prompt, such as what is put into an answer: control tokens in
// it stay text.
func (e Encoder) Plain(ctx context.Context, text string) ([]int32, error) {
	return e.Tokenize(ctx, text, false, false)
}

// A text may have bytesPerToken bytes for each token of the context, four times the usual, and at
// least leastBound.
const (
	bytesPerToken = 16
	leastBound    = 1 << 20
)

// Tokenize tokenises a text with or without special tokens, see Tokenizer. A text that has more
// bytes than the context could hold in the longest of tokens is refused with a *TooLong before it
// takes any time.
func (e Encoder) Tokenize(ctx context.Context, text string, addSpecial, parseSpecial bool) ([]int32, error) {
	if err := CheckLength(text, e.Context); err != nil {
		return nil, err
	}
	return e.Model.Tokenize(ctx, text, addSpecial, parseSpecial)
}

// CheckLength refuses with a *TooLong a text that no context of this number of tokens could hold.
func CheckLength(text string, context int) error {
	if most := max(leastBound, bytesPerToken*context); len(text) > most {
		return &TooLong{Reason: fmt.Sprintf("the text has %d bytes; with a context of %d tokens at most %d are taken", len(text), context, most), Context: context}
	}
	return nil
}

// TooLong refuses a text or a conversation that the context could not hold, which shows before it
// is tokenised.
type TooLong struct {
	Reason  string
	Context int // tokens
}

// Error is the reason.
func (e *TooLong) Error() string { return e.Reason }
