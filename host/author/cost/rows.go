// SPDX-License-Identifier: MIT

package cost

import (
	"math"
	"math/rand/v2"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
)

// kinds is how many different rows there are.
const kinds = 8

// rows are made-up logits, distributed like a model's: a few tokens stand out.
type rows struct {
	all    [kinds][]float32
	row    []float32 // a copy, for the stages to edit
	ids    []chain.Token
	logits []float32
}

func newRows(n int) *rows {
	r := &rows{row: make([]float32, n), ids: make([]chain.Token, min(few, n)), logits: make([]float32, min(few, n))}
	for k := range r.all {
		random := rand.New(rand.NewPCG(1, uint64(k)))
		r.all[k] = make([]float32, n)
		for t := range r.all[k] {
			r.all[k][t] = float32(random.NormFloat64()*2.5 - 5)
		}
		for range 20 {
			r.all[k][random.IntN(n)] += float32(8 + 4*random.Float64())
		}
	}
	return r
}

// view is the n-th row with what was prepared, or the best of it.
func (r *rows) view(n int, input string, p chain.Prepared) *chain.View {
	copy(r.row, r.all[n%kinds])
	for t := range r.row {
		if p.Mask != nil && p.Mask[t/32]>>(t%32)&1 == 0 {
			r.row[t] = float32(math.Inf(-1))
		}
	}
	for _, b := range p.Bias {
		r.row[b.Token] += b.Value
	}
	v := &chain.View{Row: r.row, N: -1, Chosen: -1}
	if input == narrowed {
		v.ID, v.Logit = r.ids, r.logits
		v.N = topK(r.row, len(r.ids), r.ids, r.logits)
	}
	return v
}

// words is a made-up vocabulary: an end token, the single bytes, then words of 2 to 12 letters,
// most of them with a space before.
type words []string

func newWords(n int) words {
	w := words{""}
	for b := range 256 {
		w = append(w, string([]byte{byte(b)}))
	}
	random := rand.New(rand.NewPCG(1, 1))
	for len(w) < n {
		piece := make([]byte, 2+random.IntN(11))
		for i := range piece {
			piece[i] = byte('a' + random.IntN(26))
		}
		if random.IntN(3) > 0 {
			piece[0] = ' '
		}
		w = append(w, string(piece))
	}
	return w[:n]
}

// Size implements plugin.Vocabulary.
func (w words) Size() int { return len(w) }

// Piece implements plugin.Vocabulary.
func (w words) Piece(t int32) string { return w[t] }

// Attributes implements plugin.Vocabulary.
func (w words) Attributes(t int32) uint32 {
	if t == 0 {
		return abi.AttrControl | abi.AttrEnd
	}
	return 0
}

// Special implements plugin.Vocabulary.
func (w words) Special(kind int32) int32 {
	if kind == abi.SpecialEOS {
		return 0
	}
	return -1
}

// Tokenize implements plugin.Vocabulary: byte by byte.
func (w words) Tokenize(text string, _, _ bool) ([]int32, error) {
	tokens := make([]int32, len(text))
	for i := range len(text) {
		tokens[i] = 1 + int32(text[i])
	}
	return tokens, nil
}
