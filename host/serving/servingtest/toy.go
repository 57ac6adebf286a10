// SPDX-License-Identifier: MIT

// Package servingtest has a model for tests of the API: its tokens are the bytes of a text.
package servingtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// The sizes of the model.
const (
	Vocabulary = 256  // tokens
	Context    = 2048 // tokens
)

// Info describes the model.
func Info() serving.Info {
	return serving.Info{Name: "toy", Created: time.Unix(1e9, 0), Context: Context, Compute: serving.Compute{Slots: 4},
		Vocabulary: serving.Vocabulary{Size: Vocabulary, FIM: serving.FIM{Prefix: -1, Suffix: -1, Middle: -1, Repository: -1, Separator: -1}}}
}

// Toy is the model's serving.Engine. Some texts in a request make it refuse: a message
// "unrenderable", a text with "untokenizable", a grammar "bad".
type Toy struct {
	Refuse error // of NewChain
}

// Render writes a line for each message.
func (Toy) Render(_ context.Context, c chat.Conversation) (chat.Prompt, error) {
	var b strings.Builder
	for _, m := range c.Messages {
		if m.Content == "unrenderable" {
			return chat.Prompt{}, errors.New("the template raised an exception")
		}
		fmt.Fprintf(&b, "%s:%s\n", m.Role, m.Content)
	}
	return chat.Prompt{Text: b.String()}, nil
}

// Tokenize makes each byte a token.
func (Toy) Tokenize(_ context.Context, text string, _, _ bool) ([]int32, error) {
	if strings.Contains(text, "untokenizable") {
		return nil, fmt.Errorf("%w: it takes too long", chat.ErrInvalidText)
	}
	tokens := make([]int32, len(text))
	for i := range len(text) {
		tokens[i] = max(1, int32(text[i]))
	}
	return tokens, nil
}

// Detokenize makes each token a byte.
func (Toy) Detokenize(tokens []int32) (string, error) {
	b := make([]byte, len(tokens))
	for i, t := range tokens {
		b[i] = byte(t)
	}
	return string(b), nil
}

// Piece is the byte that a token is.
func (Toy) Piece(t int32) string { return string([]byte{byte(t)}) }

// Relaxed implements serving.Engine. The toy follows no schema.
func (Toy) Relaxed(sampling.Constraint) ([]schema.Relaxed, error) { return nil, nil }

// Prepare implements serving.Engine. The toy makes nothing of a constraint.
func (Toy) Prepare(_ context.Context, p sampling.Params) (sampling.Constraint, error) {
	return p.Constraint, nil
}

// Triggers are as they were given.
func (Toy) Triggers(_ context.Context, p sampling.Params) ([]sampling.Trigger, error) {
	return p.GrammarTriggers, nil
}

// PreservedTokens are none.
func (Toy) PreservedTokens(context.Context, sampling.Params) ([]int32, error) { return nil, nil }

// Shown is what the scheduler of the tests shows of a token: its number.
func (Toy) Shown(t int32) string { return " " + strconv.Itoa(int(t)) }

// NewChain chooses the most likely token.
func (e Toy) NewChain(p sampling.Params) ([]chain.Stage, error) {
	if p.Grammar == "bad" {
		return nil, fmt.Errorf("%w: no rule named root", sampling.ErrInvalid)
	}
	return []chain.Stage{schedulertest.Greedy{}}, e.Refuse
}
