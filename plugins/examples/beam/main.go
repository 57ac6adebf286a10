// SPDX-License-Identifier: MIT

// Command beam is a plugin that owns its request: it writes the answer of a beam search, by the
// rules of Transformers: a plain one, one in diverse groups, or one whose answer has given phrases.
package main

import (
	"errors"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[beam](penstock.Manifest{
	Name: "beam", Version: "1.1.0", Summary: "beam search: the most likely answer that several continuations at once find, in diverse groups or with given phrases",
	Branches: 16, BranchesConfig: "width",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"width": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "title": "Width", "description": "continuations kept at each step"},
		"length_penalty": {"type": "number", "minimum": -5, "maximum": 5, "default": 1, "title": "Length penalty", "description": "sums of log-probabilities are divided by the length to this power"},
		"groups": {"type": "integer", "minimum": 1, "maximum": 16, "default": 1, "title": "Groups", "description": "groups of equal size that the continuations are in; it divides width"},
		"diversity": {"type": "number", "minimum": 0, "maximum": 100, "default": 0.5, "title": "Diversity", "description": "what a token loses for each continuation of an earlier group that takes it at the same step; without effect in one group"},
		"phrases": {"type": "array", "maxItems": 8, "default": [], "title": "Phrases", "description": "texts that the answer has, anywhere and in any order", "items": {"type": "string", "minLength": 1, "maxLength": 200}}}}`,
})

func main() {}

type beam struct {
	size      int // of a group
	groups    int
	penalty   float64
	diversity float64
	phrases
}

// hypothesis is a continuation of the prompt.
type hypothesis struct {
	from   int // branch, of which it is one token ahead
	tokens []penstock.Token
	sum    float64 // of log-probabilities; of one that has ended, by its length
	met    uint32  // phrases that it has, a bit for each
	bank   int     // how many tokens of phrases it has
}

// group is a beam search that knows what earlier groups have taken.
type group struct {
	branches   []*penstock.Branch
	live, done []hypothesis
}

// Open implements penstock.Opener.
func (p *beam) Open(q *penstock.Request) error {
	width := q.Config.Get("width").Int()
	p.groups, p.penalty, p.diversity = q.Config.Get("groups").Int(), q.Config.Get("length_penalty").Float(), q.Config.Get("diversity").Float()
	if p.size = width / p.groups; p.size*p.groups != width {
		return errors.New("groups: " + strconv.Itoa(p.groups) + " groups of equal size do not make a width of " + strconv.Itoa(width) + "; let groups divide width")
	}
	p.phrases.read(q.Config.Get("phrases"))
	return nil
}

// Run implements penstock.Runner.
func (p *beam) Run(r *penstock.Run) error {
	if needs := p.needs(hypothesis{}); needs > r.MaxTokens() {
		return errors.New("phrases: they have " + strconv.Itoa(needs) + " tokens, and the answer may have " + strconv.Itoa(r.MaxTokens()) + "; raise max_tokens")
	}
	groups, done, list := make([]group, p.groups), []hypothesis(nil), []any(nil)
	for i, b := range r.Select([]*penstock.Branch{r.Prompt()}, make([]int, p.groups)...) {
		groups[i] = group{branches: []*penstock.Branch{b}, live: make([]hypothesis, 1)}
	}
	for n := 1; ; n++ {
		var waiting []*penstock.Branch
		for _, g := range groups {
			waiting = append(waiting, g.branches...)
		}
		if len(waiting) == 0 || !r.Wait(p.candidates(), waiting...) {
			break
		}
		taken := map[penstock.Token]int{}
		for i := range groups {
			p.step(r, &groups[i], n, taken)
		}
	}
	for _, g := range groups {
		done = append(done, g.done...)
	}
	if len(done) == 0 && r.Err() == nil {
		return errors.New("phrases: the model gives no answer with them any probability")
	}
	for i, h := range best(done, len(done)) {
		list = append(list, map[string]any{"text": penstock.TextOf(h.tokens), "tokens": h.tokens, "score": h.sum})
		if i < r.Choices() {
			r.ShowChoice(i, h.tokens, nil)
		}
	}
	return penstock.Output(map[string]any{"beams": list})
}

// candidates is of how many tokens a row is read. 16 may be end tokens, and of the others a group
// needs as many as it has continuations, besides those that earlier groups have taken.
func (p *beam) candidates() int { return p.size*p.groups + 16 }

// step has a group go on by the n-th token, and adds to taken what it takes (Vijayakumar et al.,
// "Diverse Beam Search", 2016, with Hamming diversity).
func (p *beam) step(r *penstock.Run, g *group, n int, taken map[penstock.Token]int) {
	var all []hypothesis
	for i, b := range g.branches {
		add := func(t penstock.Token, log float32) {
			h := p.extend(g.live[i], t)
			h.from, h.sum = i, h.sum+float64(log)-p.diversity*float64(taken[t])
			if p.needs(h) <= r.MaxTokens()-n {
				all = append(all, h)
			}
		}
		due, dueLogs := p.due(b, g.live[i])
		for j, t := range due {
			add(t, dueLogs[j])
		}
		ids, logs := b.Best(p.candidates())
		for j, t := range ids {
			if !slices.Contains(due, t) {
				add(t, logs[j])
			}
		}
	}
	norm, last, rank, banks := math.Pow(float64(n), p.penalty), n >= r.MaxTokens(), 0, make([][]hypothesis, p.total+1)
	for _, h := range best(all, len(all)) {
		end, whole := r.Ends(h.tokens[n-1]), h.bank == p.total
		if whole {
			rank++
		}
		switch {
		case !end && !last:
			banks[h.bank] = append(banks[h.bank], h)
		case whole && rank <= p.size:
			if end {
				h.tokens = h.tokens[:n-1]
			}
			h.sum /= norm
			g.done = best(append(g.done, h), p.size)
		}
	}
	next := share(banks, p.size)
	if len(next) == 0 || len(g.done) == p.size && g.done[p.size-1].sum >= next[0].sum/norm {
		r.Select(g.branches)
		g.branches = nil
		return
	}
	parents := make([]int, len(next))
	for i, h := range next {
		parents[i] = h.from
		taken[h.tokens[n-1]]++
		next[i].met |= p.written(h.tokens)
	}
	g.branches, g.live = r.Select(g.branches, parents...), next
	for i, h := range next {
		g.branches[i].Append(h.tokens[n-1])
	}
}

// best are the n best hypotheses, best first.
func best(all []hypothesis, n int) []hypothesis {
	sort.SliceStable(all, func(i, j int) bool { return all[i].sum > all[j].sum })
	return all[:min(n, len(all))]
}

// phrases are the texts that an answer must have. A search that only kept the likeliest
// continuations would never begin an unlikely phrase. So continuations are in banks by how many
// tokens of phrases they have, and each bank has its share of the places (Hokamp and Liu,
// "Lexically Constrained Decoding", 2017; Post and Vilar, "Fast Lexically Constrained Decoding with
// Dynamic Beam Allocation", 2018).
type phrases struct {
	texts  []string // without those that are part of another
	tokens [][]penstock.Token
	total  int   // tokens in all of them
	shared []int // tokens that another phrase may have written of each
	row    []float32
}

func (p *phrases) read(list json.Value) {
	for i := range list.Len() {
		text := list.At(i).Text()
		if slices.ContainsFunc(p.texts, func(other string) bool { return strings.Contains(other, text) }) {
			continue
		}
		p.texts = slices.DeleteFunc(p.texts, func(other string) bool { return strings.Contains(text, other) })
		p.texts = append(p.texts, text)
	}
	for _, text := range p.texts {
		tokens := penstock.Tokenize(text, 0)
		p.tokens, p.total = append(p.tokens, tokens), p.total+len(tokens)
	}
	p.shared = make([]int, len(p.tokens))
	for i, phrase := range p.tokens {
		for j, other := range p.tokens {
			if i != j {
				p.shared[i] = max(p.shared[i], begins(phrase, other))
			}
		}
	}
}

// needs is how many tokens a hypothesis lacks at least until it has all phrases. One of those goes
// on from its last tokens, and each of the others from the end of another phrase.
func (p *phrases) needs(h hypothesis) int {
	others, first := 0, math.MaxInt
	for i, phrase := range p.tokens {
		if h.met>>i&1 == 0 {
			others += len(phrase) - p.shared[i]
			first = min(first, p.shared[i]-begins(phrase, h.tokens))
		}
	}
	if first == math.MaxInt {
		return 0
	}
	return others + first
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
