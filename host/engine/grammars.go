// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/lexeme"
	regex "github.com/penstock/penstock/host/grammar/pattern"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/refusal"
)

// maxGrammars is how many grammars are kept for requests to come, and maxGrammarBytes about how much they may take together.
const (
	maxGrammars     = 64
	maxGrammarBytes = 256 << 20 // of those that answers and plugins follow, too
)

// notation is what a grammar is written in.
type notation uint8

const (
	inGBNF notation = iota
	inRegex
	inJSONSchema
)

// grammars keeps the last grammars. All answers that give the same text follow the same grammar, and so share what is known of its states.
type grammars struct {
	mu     sync.Mutex
	known  map[grammarKey]*keptGrammar
	order  []grammarKey    // the longest unused first
	memory *grammar.Memory // nil: not made yet

	freeing sync.Mutex
	freed   time.Time // when the collector was last asked for memory
}

type grammarKey struct {
	in   notation
	text [sha256.Size]byte
}

var errUnread = errors.New("the grammar was not read to its end")

type keptGrammar struct {
	once sync.Once
	is   *grammar.Grammar // nil: it is being read, or it is none
	err  error
}

// of is the grammar of a text, which read makes unless it is known. Where several ask at once, it is read once.
func (k *grammars) of(in notation, text string, read func() (*grammar.Grammar, error)) (*grammar.Grammar, error) {
	key := grammarKey{in, sha256.Sum256([]byte(text))}
	g := k.entry(key)
	g.once.Do(func() {
		is, err := (*grammar.Grammar)(nil), errUnread // where read panics
		defer func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			g.is, g.err = is, err
		}()
		if is, err = read(); err == nil {
			is, err = k.admit(is)
		}
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.err != nil {
		k.drop(key, g)
		return nil, g.err
	}
	k.bound()
	return g.is, nil
}

func (k *grammars) entry(key grammarKey) *keptGrammar {
	k.mu.Lock()
	defer k.mu.Unlock()
	g := k.known[key]
	if g == nil {
		if k.known == nil {
			k.known = map[grammarKey]*keptGrammar{}
		}
		g = &keptGrammar{}
		k.known[key] = g
	} else {
		k.order = slices.DeleteFunc(k.order, func(other grammarKey) bool { return other == key })
	}
	k.order = append(k.order, key)
	return g
}

// drop forgets an entry, unless another has taken its place.
func (k *grammars) drop(key grammarKey, g *keptGrammar) {
	if k.known[key] == g {
		delete(k.known, key)
		k.order = slices.DeleteFunc(k.order, func(other grammarKey) bool { return other == key })
	}
}

// errCrowded refuses a grammar for which there is no memory now.
var errCrowded = &refusal.Error{Kind: refusal.KindBusy, Code: "grammars_busy", Retry: 1,
	Message: "the schemas and grammars of other answers take all the memory that there is for them; try again when some have ended"}

// admit counts a new grammar. Where those that answers and plugins follow take all the memory, what has ended is freed first.
func (k *grammars) admit(g *grammar.Grammar) (*grammar.Grammar, error) {
	memory := k.room()
	if memory.Add(g) {
		return g, nil
	}
	k.mu.Lock()
	k.forget(len(k.order))
	k.mu.Unlock()
	if k.collect(); memory.Add(g) {
		return g, nil
	}
	return nil, errCrowded
}

// room is the memory of all grammars.
func (k *grammars) room() *grammar.Memory {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.memory == nil {
		k.memory = grammar.NewMemory(maxGrammarBytes)
	}
	return k.memory
}

const (
	collectEvery = time.Second           // at most: a collection takes processor time from the answers
	collectWait  = 50 * time.Millisecond // for what it has found to be counted no more
)

// collect has the collector free the grammars that nobody follows any more.
func (k *grammars) collect() {
	k.freeing.Lock()
	defer k.freeing.Unlock()
	if time.Since(k.freed) < collectEvery {
		return
	}
	runtime.GC()
	time.Sleep(collectWait)
	k.freed = time.Now()
}

// bound drops the grammars that were unused longest while there are too many. Answers that follow one keep it until they end.
func (k *grammars) bound() {
	kept := 0
	sizes := make([]int, len(k.order))
	for i, key := range k.order {
		if g := k.known[key].is; g != nil {
			sizes[i] = g.Fixed() + g.Size()
			kept += sizes[i]
		}
	}
	others := max(k.memory.Used()-kept, 0) // that answers follow, but nobody asks for any more
	drop := max(0, len(k.order)-maxGrammars)
	for i, size := range sizes {
		if i >= drop && (kept+others <= maxGrammarBytes || i == len(sizes)-1) {
			break
		}
		kept, drop = kept-size, max(drop, i+1)
	}
	k.forget(drop)
}

// forget drops the n grammars that were unused longest.
func (k *grammars) forget(n int) {
	for _, key := range k.order[:n] {
		delete(k.known, key)
	}
	k.order = slices.Delete(k.order, 0, n)
}

// tokens is the vocabulary as grammars see it: control tokens may come for their text, those that end an answer only at the end.
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

// Arrange has the vocabulary arranged for grammars, beside what the caller goes on with: of 256,000 tokens that takes a fifth of a second,
// which the first request under a grammar would wait for.
func (e *Engine) Arrange() { go e.tokens() }

// answerRules are what llama.cpp calls the rule of a chat's JSON schema in the grammar of a format.
var answerRules = []string{"response-format-schema", "response-format"}

// badSchema is what is wrong with the schema of a format's grammar.
type badSchema struct{ error }

func (b badSchema) Unwrap() error { return b.error }

// ofGBNF is the grammar of a text in llama.cpp's notation. In a chat format's, the answer fits a JSON schema; "" is none.
func (e *Engine) ofGBNF(text, answer string) (*grammar.Grammar, error) {
	return e.grammars.of(inGBNF, strconv.Itoa(len(answer))+" "+answer+text, func() (*grammar.Grammar, error) {
		tokens := gbnf.Tokens{Count: e.info.Vocabulary, Find: e.tokenOf}
		if answer == "" {
			return gbnf.Parse(text, "", tokens)
		}
		b := grammar.NewBuilder()
		fits, err := addSchema(b, answer)
		if err != nil {
			return nil, badSchema{err}
		}
		root, err := gbnf.AddWith(b, text, "", tokens, fits, answerRules...)
		if err != nil {
			return nil, err
		}
		return b.Build(root)
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
func (e *Engine) ofRegex(text string) (*grammar.Grammar, error) {
	return e.grammars.of(inRegex, text, func() (*grammar.Grammar, error) {
		b := grammar.NewBuilder()
		whole, err := regex.Go(b.Lexemes, text)
		if err != nil {
			return nil, err
		}
		root := b.Rule()
		b.Define(root, b.Lexeme(whole, lexeme.UTF8))
		return b.Build(root)
	})
}

// ofSchema is the grammar of the JSON texts that fit a schema.
func (e *Engine) ofSchema(text string) (*grammar.Grammar, error) {
	return e.grammars.of(inJSONSchema, text, func() (*grammar.Grammar, error) {
		b := grammar.NewBuilder()
		root, err := addSchema(b, text)
		if err != nil {
			return nil, err
		}
		return b.Build(root)
	})
}

func addSchema(b *grammar.Builder, text string) (grammar.Rule, error) {
	root, _, err := schema.Read(b, json.RawMessage(text), schema.Options{})
	return root, err
}
