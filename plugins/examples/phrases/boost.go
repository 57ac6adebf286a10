// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// mostBiases bounds the tokens of a prompt that are boosted.
const mostBiases = 8192

// amounts are what logits change by.
type amounts struct {
	tokens []penstock.Token // in their order
	of     map[penstock.Token]float32
}

func (a *amounts) clear() {
	if a.of == nil {
		a.of = map[penstock.Token]float32{}
	}
	a.tokens = a.tokens[:0]
	clear(a.of)
}

func (a *amounts) add(t penstock.Token, x float32) {
	if _, ok := a.of[t]; !ok {
		a.tokens = append(a.tokens, t)
	}
	a.of[t] += x
}

// closing is how an answer ends, or a part of it.
type closing struct {
	sentences bool             // only whole sentences
	tokens    []penstock.Token // any of which ends it
	once      bool             // not after one of them has come
	piece     []byte
}

func newClosing(field string, c json.Value, ends []penstock.Token) (closing, error) {
	l := closing{sentences: c.Get("complete_sentences").Bool(), tokens: ends}
	if text := c.Get("boost_token_str").Text(); text != "" {
		l.tokens, l.once = penstock.Tokenize(text, penstock.ParseSpecial), true
		if len(l.tokens) != 1 {
			return l, fmt.Errorf("%s.boost_token_str: %q is %d tokens of this model; give a text that is one", field, text, len(l.tokens))
		}
	}
	return l, nil
}

// may reports whether it may come after so many tokens of the answer.
func (l *closing) may(n int) bool {
	if l.sentences && n > 0 {
		last, _ := penstock.LastToken()
		l.piece = penstock.Piece(last, l.piece)
		if text := bytes.TrimRight(l.piece, " "); !bytes.HasSuffix(text, []byte(".")) && !bytes.HasSuffix(text, []byte("\n")) {
			return false
		}
	}
	return !l.once || !slices.Contains(penstock.HistoryFrom(penstock.HistoryLen()-n, nil), l.tokens[0])
}

// limit closes an answer after a time.
type limit struct {
	closing
	milliseconds float64
}

// length boosts the end with the length of the answer.
type length struct {
	closing
	factor, power float64
}

// add adds what logits change by, after so many tokens of the answer.
func (l *length) add(to *amounts, n int) {
	if !l.may(n) {
		return
	}
	boost := l.factor * math.Pow(float64(n)/10, l.power)
	for _, t := range l.tokens {
		to.add(t, float32(max(-1e30, min(1e30, boost))))
	}
}

// cite boosts the tokens of the prompt.
type cite struct {
	factor, following float32
	end               bool
	prompt, different []penstock.Token
}

func newCite(c json.Value) *cite {
	return &cite{factor: float32(c.Get("boost_factor").Float()), following: float32(c.Get("conditional_boost_factor").Float()), end: c.Get("boost_eos").Bool()}
}

// read reads the prompt, when the answer begins.
func (c *cite) read(ends []penstock.Token) {
	c.prompt = penstock.History(nil)
	seen := map[penstock.Token]bool{penstock.MediaToken: true}
	list := c.prompt
	if c.end {
		list = append(append([]penstock.Token(nil), ends...), c.prompt...)
	}
	for _, t := range list {
		if !seen[t] && len(c.different) < mostBiases-256 {
			seen[t] = true
			c.different = append(c.different, t)
		}
	}
}

func (c *cite) add(to *amounts) {
	for _, t := range c.different {
		to.add(t, c.factor)
	}
	last, ok := penstock.LastToken()
	if !ok || c.following == 0 || penstock.HistoryLen() == len(c.prompt) {
		return
	}
	seen := map[penstock.Token]bool{penstock.MediaToken: true}
	for i, t := range c.prompt[:max(0, len(c.prompt)-1)] {
		if follows := c.prompt[i+1]; t == last && !seen[follows] && len(seen) < 128 {
			seen[follows] = true
			to.add(follows, c.following)
		}
	}
}
