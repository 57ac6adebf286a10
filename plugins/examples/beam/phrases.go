// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// phrases are the texts that an answer must have. A search that only kept the likeliest
// continuations would never begin an unlikely phrase. So continuations are in banks by how many
// tokens of phrases they have, and each bank has its share of the places (Hokamp and Liu,
// "Lexically Constrained Decoding", 2017; Post and Vilar, "Fast Lexically Constrained Decoding with
// Dynamic Beam Allocation", 2018).
type phrases struct {
	texts  []string
	tokens [][]penstock.Token
	total  int // tokens in all of them
	row    []float32
}

func (p *phrases) read(list json.Value) {
	for i := range list.Len() {
		text := list.At(i).Text()
		p.texts, p.tokens = append(p.texts, text), append(p.tokens, penstock.Tokenize(text, 0))
		p.total += len(p.tokens[i])
	}
}

// extend is a hypothesis with one more token, in its bank.
func (p *phrases) extend(h hypothesis, t penstock.Token) hypothesis {
	h.tokens, h.bank = append(slices.Clip(h.tokens), t), 0
	begun := 0
	for i, phrase := range p.tokens {
		if n := begins(phrase, h.tokens); n == len(phrase) {
			h.met |= 1 << i
		} else if h.met>>i&1 == 0 {
			begun = max(begun, n)
		}
		if h.met>>i&1 == 1 {
			h.bank += len(phrase)
		}
	}
	h.bank += begun
	return h
}

// begins is how many tokens of a phrase, from its first, the tokens end with.
func begins(phrase, tokens []penstock.Token) int {
	for n := min(len(phrase), len(tokens)); ; n-- {
		if slices.Equal(tokens[len(tokens)-n:], phrase[:n]) {
			return n
		}
	}
}

// due are the tokens that bring a hypothesis closer to a phrase, with their log-probabilities.
func (p *phrases) due(b *penstock.Branch, h hypothesis) (tokens []penstock.Token, logs []float32) {
	for i, phrase := range p.tokens {
		if h.met>>i&1 == 1 {
			continue
		}
		if t := phrase[begins(phrase, h.tokens)]; !slices.Contains(tokens, t) {
			tokens = append(tokens, t)
		}
	}
	if len(tokens) == 0 {
		return nil, nil
	}
	if p.row == nil {
		p.row = make([]float32, penstock.VocabSize())
	}
	b.Logits(p.row)
	sum := b.LogSum()
	tokens = slices.DeleteFunc(tokens, func(t penstock.Token) bool { return math.IsInf(float64(p.row[t]), -1) })
	for _, t := range tokens {
		logs = append(logs, p.row[t]-sum)
	}
	return tokens, logs
}

// written are the phrases that tokens have just completed, in whatever tokens they are written.
func (p *phrases) written(tokens []penstock.Token) (met uint32) {
	for i, text := range p.texts {
		if strings.Contains(penstock.TextOf(tokens[max(0, len(tokens)-len(text)):]), text) {
			met |= 1 << i
		}
	}
	return met
}

// share gives each bank one place after another, the fullest first, and returns what they keep,
// best first.
func share(banks [][]hypothesis, places int) (kept []hypothesis) {
	for i, before := 0, -1; before < len(kept); i++ {
		before = len(kept)
		for _, bank := range slices.Backward(banks) {
			if i < len(bank) && len(kept) < places {
				kept = append(kept, bank[i])
			}
		}
	}
	return best(kept, places)
}
