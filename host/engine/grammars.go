// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/lexeme"
	regex "github.com/penstock/penstock/host/grammar/pattern"
	"github.com/penstock/penstock/host/grammar/peg"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/sampling"
)

// maxGrammars is how many grammars are kept that nobody follows, for requests to come, and
// maxGrammarBytes about how much all may take together.
const (
	maxGrammars     = 64
	maxGrammarBytes = 256 << 20
)

// notation is what a grammar is written in.
type notation uint8

const (
	inGBNF notation = iota
	inRegex
	inJSONSchema
	inFormat // as its key
)

// grammars counts who uses each grammar: requests until their answers are built, answers, and the
// handles of plugins, for the branches that follow them, too. All that give the same text follow
// the same grammar, and so share what is known of its states. The last ones that nobody uses any
// more stay, as long as those in use leave them memory.
type grammars struct {
	mu     sync.Mutex
	known  map[grammarKey]*keptGrammar
	idle   []*keptGrammar  // of known: nobody uses them; the longest unused first
	memory *grammar.Memory // nil: not made yet
}

type grammarKey struct {
	in   notation
	text [sha256.Size]byte
	read schema.Options // how the schemas in it are read
	salt string         // of the caller: else a fast answer would tell what others use
}

var (
	errUnread  = errors.New("the grammar was not read to its end")
	errStopped = errors.New("nobody waits for the grammar any more")
)

type keptGrammar struct {
	all     *grammars
	key     *grammarKey // nil: it is not kept
	uses    int         // 0: it is idle, or was dropped
	once    sync.Once
	is      *grammar.Grammar // nil: it is being read, or it is none
	relaxed []schema.Relaxed // of its schemas, what it does not enforce
	work    uint64           // of reading it, about in instructions
	err     error
}

// What the steps of a grammar's reading take, about in instructions.
const (
	perSchemaStep = 1000
	perArenaStep  = 150
)

// source is a text that a grammar is read from.
type source struct {
	in   notation
	text string
	read schema.Options // how the schemas in it are read
}

// of is the grammar of a text, which read makes unless it is known. Where several ask at once, it
// is read once. When ctx is done, the reading stops. The caller releases it; where there is an
// error, only the work counts. Without a salt it is not kept: nobody knows who may learn of it.
func (k *grammars) of(ctx context.Context, s source, read func(*grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error)) (*keptGrammar, error) {
	salt, keep := sampling.SaltOf(ctx)
	if !keep {
		g := &keptGrammar{all: k, uses: 1}
		k.make(ctx, g, read)
		return g, g.err
	}
	key := grammarKey{s.in, sha256.Sum256([]byte(s.text)), s.read, salt}
	for {
		g, err := k.ofKey(ctx, key, read)
		if !errors.Is(err, errStopped) || ctx.Err() != nil { // else who had it read has left
			return g, err
		}
	}
}

func (k *grammars) ofKey(ctx context.Context, key grammarKey, read func(*grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error)) (*keptGrammar, error) {
	k.mu.Lock()
	g := k.known[key]
	if g == nil {
		if k.known == nil {
			k.known = map[grammarKey]*keptGrammar{}
		}
		g = &keptGrammar{all: k, key: &key}
		k.known[key] = g
	}
	k.use(g)
	k.mu.Unlock()
	g.once.Do(func() { k.make(ctx, g, read) })
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.err != nil && k.known[key] == g { // unless another has taken its place
		delete(k.known, key)
	}
	k.bound()
	return g, g.err
}

func (k *grammars) use(g *keptGrammar) {
	if g.uses++; g.uses == 1 {
		k.idle = slices.DeleteFunc(k.idle, func(other *keptGrammar) bool { return other == g })
	}
}

// useAgain uses a grammar that others have used. It reports false where it was dropped since.
func (g *keptGrammar) useAgain() bool {
	k := g.all
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.uses == 0 && (g.key == nil || k.known[*g.key] != g) {
		return false
	}
	k.use(g)
	return true
}

// release ends a use.
func (g *keptGrammar) release() {
	k := g.all
	k.mu.Lock()
	defer k.mu.Unlock()
	switch g.uses--; {
	case g.uses < 0:
		panic("a grammar was released more often than it was used")
	case g.uses > 0:
	case g.key == nil:
		k.memory.Remove(g.is)
	default:
		k.idle = append(k.idle, g)
		k.bound()
	}
}

// make reads a grammar and counts it.
func (k *grammars) make(ctx context.Context, g *keptGrammar, read func(*grammar.Builder) (*grammar.Grammar, []schema.Relaxed, error)) {
	made := keptGrammar{err: errUnread} // where read panics
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		g.is, g.relaxed, g.work, g.err = made.is, made.relaxed, made.work, made.err
	}()
	b := grammar.NewBuilder()
	b.Lexemes.Stop = func() error {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", errStopped, context.Cause(ctx))
		}
		return nil
	}
	made.is, made.relaxed, made.err = read(b)
	made.work = perSchemaStep*uint64(b.Steps) + perArenaStep*uint64(b.Spent())
	if made.err == nil {
		made.is, made.err = k.admit(made.is)
	}
}

// admit counts a new grammar. Where there is no room for it, those go that nobody uses.
func (k *grammars) admit(g *grammar.Grammar) (*grammar.Grammar, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.memory == nil {
		k.memory = grammar.NewMemory(maxGrammarBytes)
	}
	for !k.memory.Add(g) {
		if len(k.idle) == 0 {
			return nil, sampling.ErrCrowded
		}
		k.dropOldest()
	}
	return g, nil
}

// bound drops the idle grammars that were unused longest while there are too many.
func (k *grammars) bound() {
	for len(k.idle) > maxGrammars || len(k.idle) > 1 && k.memory.Used() > maxGrammarBytes {
		k.dropOldest()
	}
}

func (k *grammars) dropOldest() {
	g := k.idle[0]
	k.idle = slices.Delete(k.idle, 0, 1)
	delete(k.known, *g.key)
	k.memory.Remove(g.is)
}

// tokens is the vocabulary as grammars see it: control tokens may come for their text, those that
// end an answer only at the end.
func (e *Engine) tokens() *grammar.Vocabulary {
	e.arrange.Do(func() {
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
		e.arranged = grammar.NewVocabulary(pieces, e.backend.ends, nil)
	})
	return e.arranged
}

// Arrange has the vocabulary arranged for grammars, beside what the caller goes on with: of
// 256,000 tokens that takes a fifth of a second, which the first request under a grammar would
// wait for.
func (e *Engine) Arrange() { go e.tokens() }

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
