// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/plugins/abi"
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

// Grammar is a grammar that a plugin opened. Branches that follow it end before it is closed, as
// the plugin's instance does.
type Grammar struct {
	*grammar.Cursor
	kept *keptGrammar
}

// NewGrammar reads text of one of the plugin ABI's kinds. An error is the text's fault and says
// what is wrong. Reading stops when ctx is done. work is about how many instructions it takes,
// whether or not the text was known already.
func (e *Engine) NewGrammar(ctx context.Context, kind int32, text string) (_ *Grammar, work uint64, err error) {
	var g *keptGrammar
	if kind == abi.GrammarJSONSchema {
		g, err = e.ofSchema(ctx, text, schema.Options{})
	} else if g, err = e.ofGBNF(ctx, text); err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), gbnf.ErrInvalid.Error()+": "))
	}
	if err != nil {
		return nil, g.work, err
	}
	return &Grammar{g.is.Begin(e.tokens()), g}, g.work, nil
}

// Close ends its use. It is called once.
func (g *Grammar) Close() error {
	g.kept.release()
	return nil
}
