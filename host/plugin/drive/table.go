// SPDX-License-Identifier: MIT

package drive

import (
	"fmt"
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/program"
)

// Table is a made-up model: what it says after some tokens. The entry whose After the tokens end
// with counts, of several the longest, and of equally long ones the first. After other tokens all
// logits are 0. A picture's rows are tokens of −1.
type Table []Entry

// Entry is a row that the model says, or the tokens that it says one after another. One of
// Probabilities, Logits and Says is there.
type Entry struct {
	After         []program.Token `json:"after,omitempty"`         // empty: any tokens
	Probabilities []float64       `json:"probabilities,omitempty"` // of each token; they need not add up to 1
	Logits        []float32       `json:"logits,omitempty"`        // of each token
	Says          []program.Token `json:"says,omitempty"`          // each has the logit 10 in its turn, and the others 0
}

// Bounds of a table: entries, tokens of each list, and tokens of all lists, each of which a row may
// look at.
const (
	mostEntries = 4096
	mostTokens  = 1024
	mostOfAll   = 1 << 16
)

// sayLogit is the logit of a token that the model says.
const sayLogit = 10

// Check looks for what no table of a vocabulary of n tokens can have, and names the
// field: the table is that of a field.
func (t Table) Check(field string, n int) error {
	if len(t) > mostEntries {
		return fmt.Errorf("%s: %d entries; it has %d at most", field, len(t), mostEntries)
	}
	all := 0
	for i := range t {
		if err := t[i].check(n); err != nil {
			return fmt.Errorf("%s[%d].%w", field, i, err)
		}
		if all += len(t[i].After) + len(t[i].Says); all > mostOfAll {
			return fmt.Errorf("%s: more than %d tokens in after and says of all entries; leave some out", field, mostOfAll)
		}
	}
	return nil
}

func (e *Entry) check(n int) error {
	given := 0
	for _, size := range []int{len(e.Probabilities), len(e.Logits), len(e.Says)} {
		if size > 0 {
			given++
		}
	}
	if given != 1 {
		return fmt.Errorf("probabilities, logits and says: %d of them are given; an entry has one", given)
	}
	for name, list := range map[string][]program.Token{"after": e.After, "says": e.Says} {
		if len(list) > mostTokens {
			return fmt.Errorf("%s: %d tokens; there are %d at most", name, len(list), mostTokens)
		}
		for i, token := range list {
			if int(token) >= n || token < 0 && (name == "says" || token != abi.TokenMedia) {
				return fmt.Errorf("%s[%d]: there is no token %d; the vocabulary has %d, from 0", name, i, token, n)
			}
		}
	}
	for name, size := range map[string]int{"probabilities": len(e.Probabilities), "logits": len(e.Logits)} {
		if size > 0 && size != n {
			return fmt.Errorf("%s: %d numbers; give one for each of the %d tokens of the vocabulary", name, size, n)
		}
	}
	sum := 0.0
	for i, p := range e.Probabilities {
		if sum += p; p < 0 {
			return fmt.Errorf("probabilities[%d]: %v; a probability is 0 or more", i, p)
		}
	}
	if len(e.Probabilities) > 0 && (sum == 0 || sum > math.MaxFloat32) {
		return fmt.Errorf("probabilities: their sum is %v; they are like shares of 1", sum)
	}
	return nil
}

// Row is what the model says after some tokens, as plugins see them: a logit for each of n tokens.
func (t Table) Row(n int, tokens []program.Token) []float32 {
	row, longest := make([]float32, n), -1
	for i := range t {
		e := &t[i]
		for said := range max(1, len(e.Says)) {
			if length := len(e.After) + said; length > longest && e.follows(tokens, said) {
				longest = length
				e.fill(row, said)
			}
		}
	}
	return row
}

// follows reports whether tokens end with After and the first said tokens of Says.
func (e *Entry) follows(tokens []program.Token, said int) bool {
	before, ok := cutSuffix(tokens, e.Says[:said])
	if ok {
		_, ok = cutSuffix(before, e.After)
	}
	return ok
}

func cutSuffix(tokens, suffix []program.Token) ([]program.Token, bool) {
	at := len(tokens) - len(suffix)
	if at < 0 || !slices.Equal(tokens[at:], suffix) {
		return nil, false
	}
	return tokens[:at], true
}

// fill fills a row with what the entry says when it has said some tokens.
func (e *Entry) fill(row []float32, said int) {
	clear(row)
	copy(row, e.Logits)
	for i, p := range e.Probabilities {
		row[i] = float32(math.Log(p))
	}
	if len(e.Says) > 0 {
		row[e.Says[said]] = sayLogit
	}
}
