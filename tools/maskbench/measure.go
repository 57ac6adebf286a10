// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/host/grammar/schema"
)

// What became of a schema.
const (
	passed    = "pass"
	forbidden = "forbidden" // a valid instance is not possible
	allowed   = "allowed"   // an invalid one is
	refused   = "refused"
)

// result is a schema's.
type result struct {
	Name     string `json:"name"`
	Result   string `json:"result"`
	Why      string `json:"why,omitempty"`      // the sentence of a refusal
	Instance string `json:"instance,omitempty"` // the first that is wrong, and how far it was followed
	Valid    int    `json:"valid"`              // instances that are valid
	Failed   int    `json:"failed,omitempty"`   // of these, those that are not possible
	Read     int64  `json:"read_us"`            // microseconds
	Slowest  int64  `json:"slowest_us"`         // of the masks
}

// times are of what was done, all schemas together.
type times struct {
	read, first, masks []time.Duration // read: schemas; first: from the schema to the first mask; masks: each
}

// bench measures.
type bench struct {
	options schema.Options
	tokens  *grammartest.Tokens // nil: bytes are followed
	clock   func() time.Duration
	times   times
	mask    []uint32
}

// measure measures one schema.
func (b *bench) measure(c *schemaCase) result {
	r := result{Name: c.Name, Result: passed}
	begun := b.clock()
	builder := grammar.NewBuilder()
	root, _, err := schema.Read(builder, c.Schema, b.options)
	var g *grammar.Grammar
	if err == nil {
		g, err = builder.Build(root)
	}
	took := b.clock() - begun
	r.Read = took.Microseconds()
	b.times.read = append(b.times.read, took)
	if err != nil {
		r.Result, r.Why = refused, err.Error()
		return r
	}
	if b.tokens != nil {
		if _, err := b.fill(g, g.Start()); err == nil {
			b.times.first = append(b.times.first, b.clock()-begun)
		}
	}
	for i := range c.Tests {
		t := &c.Tests[i]
		texts, err := t.texts()
		if err != nil {
			r.Result, r.Why = refused, "the data is no JSON: "+err.Error()
			return r
		}
		possible, end := false, ""
		for _, text := range texts {
			at, slowest, err := b.follow(g, text)
			r.Slowest = max(r.Slowest, slowest.Microseconds())
			if err == nil && at == len(text) {
				possible = true
				break
			}
			end = fmt.Sprintf("%.300s[HERE: %v]%.100s", text[:at], err, text[at:])
		}
		b.judge(&r, t, possible, end)
	}
	return r
}

// judge puts an instance into the result. What is allowed weighs more than what is forbidden.
func (b *bench) judge(r *result, t *instance, possible bool, end string) {
	if t.Valid {
		r.Valid++
	}
	switch {
	case possible == t.Valid:
	case t.Valid:
		r.Failed++
		if r.Result == passed {
			r.Result, r.Instance = forbidden, end
		}
	case r.Result != allowed:
		r.Result, r.Instance = allowed, fmt.Sprintf("%.400s", t.Data)
	}
}

// follow follows a text until it does not fit, and says how far it came: less than all of it where
// it may not end there, too.
func (b *bench) follow(g *grammar.Grammar, text []byte) (at int, slowest time.Duration, err error) {
	if b.tokens == nil {
		at, err = followBytes(g, text)
		return at, 0, err
	}
	s := g.Start()
	for _, token := range b.tokens.Of(string(text)) {
		took, err := b.fill(g, s)
		slowest = max(slowest, took)
		if err != nil {
			return at, slowest, err
		}
		next, ok, err := g.Token(s, b.tokens.Vocabulary, token)
		if err != nil || !ok || !b.has(token) {
			return at, slowest, err
		}
		s, at = next, at+len(b.tokens.Pieces[token])
	}
	took, err := b.fill(g, s)
	switch complete := g.Complete(s); {
	case err == nil && len(b.tokens.End) > 0 && complete != slices.ContainsFunc(b.tokens.End, b.has):
		return len(text) - 1, took, errors.New("the mask is wrong about the end")
	case !complete:
		return min(at, len(text)-1), max(slowest, took), err
	}
	return at, max(slowest, took), err
}

// has reports whether the mask has a token.
func (b *bench) has(token int32) bool { return b.mask[token/32]>>(token%32)&1 == 1 }

// followBytes is follow without tokens.
func followBytes(g *grammar.Grammar, text []byte) (at int, err error) {
	s := g.Start()
	for ; at < len(text); at++ {
		next, ok, err := g.Advance(s, text[at:at+1])
		if err != nil || !ok {
			return at, err
		}
		s = next
	}
	if !g.Complete(s) {
		return max(0, at-1), nil
	}
	return at, nil
}

// fill makes the mask, and notes how long it took.
func (b *bench) fill(g *grammar.Grammar, s grammar.State) (time.Duration, error) {
	if b.mask == nil {
		b.mask = make([]uint32, b.tokens.Words())
	}
	before := b.clock()
	err := g.Mask(s, b.tokens.Vocabulary, b.mask)
	took := b.clock() - before
	b.times.masks = append(b.times.masks, took)
	return took, err
}
