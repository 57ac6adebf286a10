// SPDX-License-Identifier: MIT

package drive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
)

// Words is a made-up vocabulary: an end token, one without text, one that is unused, single bytes,
// some words of stories and of JSON, and random words up to its size.
type Words struct {
	pieces []string
	tokens map[string]int32
}

// EndToken ends answers.
const EndToken = 0

const (
	beginToken  = 1
	unusedToken = 2
	firstByte   = 3
)

// longest bounds a piece, in bytes.
const longest = 16

// NewWords makes a vocabulary of n tokens. If n is 0 it has no random words.
func NewWords(n int) *Words {
	w := &Words{pieces: make([]string, firstByte, max(n, 512)), tokens: map[string]int32{}}
	for b := range 256 {
		w.pieces = append(w.pieces, string([]byte{byte(b)}))
	}
	for _, text := range strings.Fields(`the a and frog cat mouse once upon time was who said that it is not very old green pond sky {" "} ": ", true false null
		"name "age "list 12 345 -1 1e5 [] {} [{ }] é ☃ 👋 ne ver more As an AI language model I cannot`) {
		w.pieces = append(w.pieces, text, " "+text)
	}
	w.pieces = append(w.pieces, "\n\n", "  ", ".\n", "```", "<|im_end|>")
	for random := rand.New(rand.NewPCG(1, 1)); len(w.pieces) < n; { // of 2 to 12 letters, most with a space before
		piece := make([]byte, 2+random.IntN(11))
		for i := range piece {
			piece[i] = byte('a' + random.IntN(26))
		}
		if random.IntN(3) > 0 {
			piece[0] = ' '
		}
		w.pieces = append(w.pieces, string(piece))
	}
	if n > 0 {
		w.pieces = w.pieces[:n]
	}
	for t, piece := range w.pieces {
		if _, ok := w.tokens[piece]; !ok && t >= firstByte {
			w.tokens[piece] = int32(t)
		}
	}
	return w
}

// Size implements plugin.Vocabulary.
func (w *Words) Size() int { return len(w.pieces) }

// Piece implements plugin.Vocabulary.
func (w *Words) Piece(t int32) string { return w.pieces[t] }

// Attributes implements plugin.Vocabulary.
func (w *Words) Attributes(t int32) uint32 {
	switch {
	case t == EndToken:
		return abi.AttrControl | abi.AttrEnd
	case t == beginToken:
		return abi.AttrControl
	case t == unusedToken:
		return abi.AttrUnused
	case t < firstByte+256:
		return abi.AttrByte
	}
	return 0
}

// Special implements plugin.Vocabulary.
func (w *Words) Special(kind int32) int32 {
	switch kind {
	case abi.SpecialBOS:
		return beginToken
	case abi.SpecialEOS:
		return EndToken
	}
	return -1
}

// Tokenize implements plugin.Vocabulary: the longest piece first, and bytes if there is none.
func (w *Words) Tokenize(text string, addSpecial, _ bool) ([]int32, error) {
	tokens := []int32{}
	if addSpecial {
		tokens = append(tokens, beginToken)
	}
	for text != "" {
		n := min(len(text), longest)
		for n > 1 && w.tokens[text[:n]] == 0 {
			n--
		}
		tokens, text = append(tokens, w.tokens[text[:n]]), text[n:] // every byte is a token
	}
	return tokens, nil
}

// Chat is a conversation that a template should render or refuse.
type Chat struct {
	Messages []byte // JSON
	Media    []byte // JSON that describes their pictures
}

// Everyday is a conversation of everyday length.
var Everyday = Chat{Messages: []byte(`[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"Tell me a story about a frog."},` +
	`{"role":"assistant","content":"Once upon a time there was a frog."},{"role":"user","content":"And then?"}]`)}

// message is one of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// talks are conversations of text.
var talks = [][]message{
	{{"user", "Hello"}},
	{{"system", "You are a frog."}, {"user", "Hello"}, {"assistant", "Ribbit."}, {"user", "Goodbye"}},
	{{"user", ""}},
	{{"user", "naïve ☃ 👋 \u0000 \\ \" \n\t </s> <|im_end|>"}},
	{{"tool", "{}"}, {"user", "x"}},
	{{"", "no role"}},
	{{"user", strings.Repeat("long ", 20_000)}},
	{{"assistant", "first"}, {"assistant", "second"}},
	{},
}

// Chats returns conversations of many kinds, some with pictures.
func Chats() ([]Chat, error) {
	var all []Chat
	for _, talk := range talks {
		text, err := json.Marshal(talk)
		if err != nil {
			return nil, err
		}
		all = append(all, Chat{Messages: text})
	}
	media := []byte("[" + describePicture(`"text":"`+marker+`"`) + "]")
	for _, text := range picturedChats() {
		all = append(all, Chat{[]byte(text), media})
	}
	return all, nil
}

// picturedChats returns conversations with the picture: once, and in several messages.
func picturedChats() []string {
	part, text := describePicture(`"text":"`+marker+`"`), func(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }
	first := `{"role":"user","content":[` + text("What is ") + `,` + part + `,` + text("?") + `]}`
	return []string{
		`[` + first + `]`,
		`[{"role":"system","content":"You are a frog."},` + first + `,{"role":"assistant","content":"A frog."},{"role":"user","content":[` + part + `,` + part + `]}]`,
	}
}

// Make has a plugin rewrite the messages and render a prompt, as far as it does either, and returns
// the result.
func (c Chat) Make(ctx context.Context, p *load.Plugin, r plugin.RequestInfo) (string, error) {
	messages := c.Messages
	r.Media = c.Media
	if p.Rewrites() {
		rewritten, err := stage.RewriteMessages(ctx, p, messages, r, nil, func(text []byte) error { return json.Unmarshal(text, &[]map[string]any{}) })
		if err != nil {
			return "", err
		}
		if rewritten != nil { // nil: it left them as they are
			messages = rewritten
		}
	}
	if !p.IsTemplate() {
		return string(messages), nil
	}
	return stage.Render(ctx, p, messages, r)
}

// The picture in some prompts and conversations. It has no content, since plugins never see any.
var (
	pieces  = piece.NewTable()
	picture = &piece.Piece{Shape: piece.Shape{Hash: sha256.Sum256([]byte("a picture")), Rows: 5, Positions: 5}}
)

// describePicture returns what plugins learn about the picture, with one more member.
func describePicture(member string) string {
	return fmt.Sprintf(`{"type":"image",%s,"hash":%q,"width":8,"height":6,"bytes":90,"tokens":%d}`, member, hex.EncodeToString(picture.Hash[:]), picture.Rows)
}

// marker stands for the picture in conversations.
const marker = "<__media_CHECK_0__>"

// Prompt makes a prompt of a few tokens. Every second one has a picture, which media describes.
func (w *Words) Prompt(seed uint64) (prompt []scheduler.Token, media []byte) {
	r := rand.New(rand.NewPCG(seed, 0))
	prompt = make([]scheduler.Token, 1+r.IntN(20))
	for i := range prompt {
		prompt[i] = r.Int32N(int32(w.Size()))
	}
	if seed%2 == 0 {
		return prompt, nil
	}
	rows, err := pieces.Add(picture)
	if err != nil {
		panic(err) // it is the only one
	}
	at := r.IntN(len(prompt)) // not at the end
	return slices.Insert(prompt, at, rows...), []byte("[" + describePicture(fmt.Sprintf(`"at":%d`, at)) + "]")
}
