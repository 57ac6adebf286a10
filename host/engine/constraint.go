// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/gbnf"
	regex "github.com/penstock/penstock/host/grammar/pattern"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// read is the grammar of what a request's answer must look like. Its errors are *sampling.Invalid
// and name the field.
func (e *Engine) read(ctx context.Context, c sampling.Constraint) (*keptGrammar, error) {
	switch {
	case len(c.JSONSchema) > 0:
		g, err := e.ofSchema(ctx, string(normalSchema(c.JSONSchema)), c.Schemas)
		if err != nil {
			err = atFault(err, refusedSchema("json_schema", err))
		}
		return g, err
	case c.Regex != "":
		g, err := e.ofRegex(ctx, c.Regex)
		if err != nil {
			err = atFault(err, refusedRegex(err, c.Regex))
		}
		return g, err
	case c.Format != nil:
		return e.ofFormat(ctx, c.Format)
	}
	g, err := e.ofGBNF(ctx, c.Grammar)
	if err != nil {
		err = atFault(err, refusedGrammar(err))
	}
	return g, err
}

func refusedRegex(err error, text string) error {
	return sampling.Refused("regex", "regex cannot become a grammar: %v", inCharacters(err, text))
}

func refusedGrammar(err error) error {
	return sampling.Refused("grammar", "grammar cannot be used: %s", strings.TrimPrefix(err.Error(), gbnf.ErrInvalid.Error()+": "))
}

// atFault is the refusal of a field, unless there is only no room for its grammar now, or nobody
// waits for it any more.
func atFault(err, refused error) error {
	for _, other := range []error{sampling.ErrCrowded, errStopped} {
		if errors.Is(err, other) {
			return other
		}
	}
	return refused
}

// refusedSchema says what is wrong with the schema of a field and, where that helps, what to do.
func refusedSchema(field string, err error) error {
	remedy := ""
	if bad := (*schema.Error)(nil); errors.As(err, &bad) && bad.Unenforceable {
		remedy = `; change it, or ask with "strict": false for what can be enforced`
	}
	return sampling.Refused(field, "%s cannot become a grammar: %v%s", field, err, remedy)
}

// Relaxed is what of a constraint's schemas is not enforced, because the request has it so. Places
// in a tool's schema begin with its field.
func (e *Engine) Relaxed(c sampling.Constraint) ([]schema.Relaxed, error) {
	if c.Format == nil && (!c.Schemas.Loose || len(c.JSONSchema) == 0) {
		return nil, nil
	}
	if r, is := c.Ready.(*ready); is {
		return r.grammar.relaxed, nil
	}
	g, err := e.read(context.Background(), c)
	if err != nil {
		return nil, err
	}
	defer g.release()
	return g.relaxed, nil
}

// ready is what all answers under one constraint share. Prepare counts a use of its grammar.
type ready struct {
	grammar  *keptGrammar
	triggers *triggers // nil: the grammar is not lazy
}

// Release implements sampling.Ready.
func (r *ready) Release() { r.grammar.release() }

// Prepare reads a request's constraint for all its answers, and returns it with what was made of
// it, which the caller releases. It stops when ctx is done. Errors are those of NewChain.
func (e *Engine) Prepare(ctx context.Context, p sampling.Params) (sampling.Constraint, error) {
	if r, is := p.Ready.(*ready); is && r.grammar.useAgain() {
		return p.Constraint, nil
	}
	if p.Ready = nil; !p.IsSet() {
		return p.Constraint, nil
	}
	g, err := e.read(ctx, p.Constraint)
	if err != nil {
		return p.Constraint, err
	}
	made := &ready{grammar: g}
	if p.GrammarLazy {
		if made.triggers, err = e.compileTriggers(p); err != nil {
			g.release()
			return p.Constraint, err
		}
	}
	p.Ready = made
	return p.Constraint, nil
}

// inCharacters tells the place of an error in a regular expression in characters.
func inCharacters(err error, text string) error {
	var at *regex.Error
	if !errors.As(err, &at) || at.Offset < 0 {
		return err
	}
	return fmt.Errorf("at character %d: %s", utf8.RuneCountInString(text[:at.Offset]), at.Why)
}

// anyObject is what an empty schema means to llama-server.
var anyObject = json.RawMessage(`{"type":"object"}`)

func normalSchema(schema json.RawMessage) json.RawMessage {
	var keys map[string]json.RawMessage
	if len(schema) < 64 && json.Unmarshal(schema, &keys) == nil && keys != nil && len(keys) == 0 {
		return anyObject
	}
	return schema
}

// generationPrompt is the beginning of the answer that stands in the prompt, in tokens. Some
// tokenisers put a space before the first token, which is none of it.
func (e *Engine) generationPrompt(text string) ([]scheduler.Token, error) {
	if text == "" {
		return nil, nil
	}
	tokens, err := e.Tokenize(context.Background(), text, false, true)
	if err != nil {
		return nil, sampling.Refused("generation_prompt", "generation_prompt: %v", err)
	}
	first, _ := utf8.DecodeRuneInString(text)
	if len(tokens) > 0 && !unicode.IsSpace(first) {
		if begin, _ := utf8.DecodeRuneInString(e.Piece(tokens[0])); unicode.IsSpace(begin) {
			tokens = tokens[1:]
		}
	}
	return tokens, nil
}

// PreservedTokens are the tokens of p.PreservedTokens: those of its texts that are one token. The
// answer shows them.
func (e *Engine) PreservedTokens(p sampling.Params) ([]scheduler.Token, error) {
	var tokens []scheduler.Token
	for i, text := range p.PreservedTokens {
		all, err := e.Tokenize(context.Background(), text, false, true)
		if err != nil {
			field := fmt.Sprintf("preserved_tokens[%d]", i)
			return nil, sampling.Refused(field, "%s: %v", field, err)
		}
		if len(all) == 1 && !slices.Contains(tokens, all[0]) {
			tokens = append(tokens, all[0])
		}
	}
	return tokens, nil
}
