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

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/lexeme"
	regex "github.com/penstock/penstock/host/grammar/pattern"
	"github.com/penstock/penstock/host/grammar/peg"
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
		if made.triggers, err = e.compileTriggers(ctx, p); err != nil {
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
// answer shows them. There may be many, of any length: the work stops when ctx is done.
func (e *Engine) PreservedTokens(ctx context.Context, p sampling.Params) ([]scheduler.Token, error) {
	var tokens []scheduler.Token
	for i, text := range p.PreservedTokens {
		all, err := e.tokenizeField(ctx, fmt.Sprintf("preserved_tokens[%d]", i), text)
		if err != nil {
			return nil, err
		}
		if len(all) == 1 && !slices.Contains(tokens, all[0]) {
			tokens = append(tokens, all[0])
		}
	}
	return tokens, nil
}

// tokenizeField makes tokens of a text, control tokens too, that stands in a field of a request.
func (e *Engine) tokenizeField(ctx context.Context, field, text string) ([]scheduler.Token, error) {
	tokens, err := e.Tokenize(ctx, text, false, true)
	if err != nil && ctx.Err() == nil { // else it is not the text's fault
		err = sampling.Refused(field, "%s: %v", field, err)
	}
	return tokens, err
}

// tokens is the vocabulary as grammars see it: control tokens may come for their text, those that
// end an answer only at the end.
func (e *Engine) tokens() *grammar.Vocabulary {
	e.arranged.once.Do(func() {
		size := 0
		for t := range int32(e.info.Vocabulary) {
			size += len(e.model.SpecialPiece(t))
		}
		text, pieces := make([]byte, 0, size), make([][]byte, e.info.Vocabulary)
		for t := range pieces {
			from := len(text)
			text = append(text, e.model.SpecialPiece(int32(t))...)
			pieces[t] = text[from:len(text):len(text)]
		}
		e.arranged.is = grammar.NewVocabulary(pieces, e.backend.ends, nil)
	})
	return e.arranged.is
}

// ArrangeVocabulary has the vocabulary arranged for grammars, beside what the caller goes on with:
// of 256,000 tokens that takes a fifth of a second, which the first request under a grammar would
// wait for.
func (e *Engine) ArrangeVocabulary() { go e.tokens() }

var errVoid = errors.New("#: nothing fits the JSON schema")

// ofFormat is the grammar of a chat template's format. Its errors are *sampling.Invalid and name
// the field.
func (e *Engine) ofFormat(ctx context.Context, f *peg.Format) (*keptGrammar, error) {
	g, err := e.grammars.of(ctx, source{in: inFormat, text: f.Key()}, func(b *grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) {
		root, all, err := e.addFormat(b, f)
		if err != nil {
			return nil, nil, err
		}
		var relaxed []schema.Relaxed
		for _, part := range all {
			if part.Field != answerField && part.More == 0 {
				part.Pointer = part.Field + part.Pointer
			}
			relaxed = append(relaxed, part.Relaxed)
		}
		g, err := b.Build(root)
		if errors.Is(err, grammar.ErrVoid) && len(f.Answer.JSON) > 0 && f.Texts == "" { // without the schema, something fits the format
			err = &peg.Error{Field: answerField, Err: errVoid}
		}
		return g, relaxed, err
	})
	var bad *peg.Error
	switch {
	case errors.As(err, &bad):
		err = atFault(err, refusedAnswer(bad, f))
	case err != nil:
		err = atFault(err, sampling.Refused("tools", "tools cannot become a grammar: %v", err))
	}
	return g, err
}

// mostLoosened is how many schemas are dropped one by one. As each takes a grammar anew, all that
// may be are dropped then.
const mostLoosened = 4

// addFormat adds the rules of a format to a builder. Where nothing can be made of the schema of a
// tool that is not strict, the arguments are any object, and the builder begins anew.
func (e *Engine) addFormat(b *grammar.Builder, f *peg.Format) (grammar.Rule, []peg.Relaxed, error) {
	var dropped []peg.Relaxed
	for {
		root, all, err := peg.Add(b, f, gbnf.Tokens{Count: e.info.Vocabulary, Find: e.tokenOf})
		var bad *peg.Error
		if !errors.As(err, &bad) || errors.Is(err, errStopped) {
			return root, peg.Told(append(dropped, all...)), err
		}
		looser, may := f.Loosen(bad)
		if !may {
			return root, nil, err
		}
		why := schema.Relaxed{Pointer: "#", Why: bad.Err.Error()}
		if at := (*schema.Error)(nil); errors.As(bad.Err, &at) {
			why = schema.Relaxed{Pointer: at.Pointer, Why: at.Why}
		}
		dropped = append(dropped, peg.Relaxed{Field: bad.Field, Relaxed: why})
		if len(dropped) == mostLoosened {
			var fields []string
			looser, fields = looser.LoosenAll()
			for _, field := range fields {
				dropped = append(dropped, peg.Relaxed{Field: field, Relaxed: schema.Relaxed{Pointer: "#", Why: "too many schemas of tools cannot be enforced"}})
			}
		}
		f = looser
		b.Reset()
	}
}

// refusedAnswer is the refusal of what a format's field has.
func refusedAnswer(bad *peg.Error, f *peg.Format) error {
	switch {
	case bad.Field == f.Answer.Field && f.Answer.Grammar != "":
		return refusedGrammar(bad.Err)
	case bad.Field == f.Answer.Field && f.Answer.Regex != "":
		return refusedRegex(bad.Err, f.Answer.Regex)
	}
	return refusedSchema(bad.Field, bad.Err)
}

// ofGBNF is the grammar of a text in llama.cpp's notation.
func (e *Engine) ofGBNF(ctx context.Context, text string) (*keptGrammar, error) {
	return e.grammars.of(ctx, source{in: inGBNF, text: text}, func(b *grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) {
		g, err := gbnf.Parse(b, text, "", gbnf.Tokens{Count: e.info.Vocabulary, Find: e.tokenOf})
		return g, nil, err
	})
}

// tokenOf is the token that a text is, where it is one.
func (e *Engine) tokenOf(text string) (int32, bool) {
	found, err := e.Tokenize(context.Background(), text, false, true)
	if err != nil || len(found) != 1 {
		return 0, false
	}
	return found[0], true
}

// ofRegex is the grammar of the texts that a regular expression in Go's syntax matches as a whole.
func (e *Engine) ofRegex(ctx context.Context, text string) (*keptGrammar, error) {
	return e.grammars.of(ctx, source{in: inRegex, text: text}, func(b *grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) {
		whole, err := regex.Go(b.Lexemes, text)
		if err != nil {
			return nil, nil, err
		}
		root := b.Rule()
		b.Define(root, b.Lexeme(whole, lexeme.UTF8))
		g, err := b.Build(root)
		return g, nil, err
	})
}

// ofSchema is the grammar of the JSON texts that fit a schema.
func (e *Engine) ofSchema(ctx context.Context, text string, o schema.Options) (*keptGrammar, error) {
	return e.grammars.of(ctx, source{inJSONSchema, text, o}, func(b *grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error) {
		root, relaxed, err := schema.Read(b, json.RawMessage(text), o)
		if err != nil {
			return nil, nil, err
		}
		g, err := b.Build(root)
		if errors.Is(err, grammar.ErrVoid) {
			err = errVoid
		}
		return g, relaxed, err
	})
}
