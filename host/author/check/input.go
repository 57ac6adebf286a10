// SPDX-License-Identifier: MIT

package check

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// input is what the model has for one token.
type input struct {
	*rand.Rand
	kind load.View
}

func newInput(seed, place uint64, kind load.View) *input {
	return &input{rand.New(rand.NewPCG(seed, place)), kind}
}

// prompt is a few tokens. Every second one has a picture, of which media tells.
func prompt(seed uint64) (_ []scheduler.Token, media []byte) {
	r := rand.New(rand.NewPCG(seed, 0))
	tokens := make([]scheduler.Token, 1+r.IntN(20))
	for i := range tokens {
		tokens[i] = r.Int32N(int32(words.Size()))
	}
	if seed%2 == 1 {
		return pictured(tokens, r)
	}
	return tokens, nil
}

var banned = float32(math.Inf(-1))

// view makes a row of some kind, with what was prepared applied to it, and perhaps narrowed by a
// stage before.
func (in *input) view(p chain.Prepared) *chain.View {
	row := in.row()
	allowed := func(t int) bool { return p.Mask == nil || p.Mask[t/32]>>(t%32)&1 == 1 }
	first, left := -1, false
	for t := range row {
		if !allowed(t) {
			row[t] = banned
			continue
		}
		if first < 0 {
			first = t
		}
		left = left || row[t] > banned
	}
	if !left {
		row[max(0, first)] = 0 // a model's rows have a number for each token
	}
	for _, b := range p.Bias {
		row[b.Token] += b.Value
	}
	v := &chain.View{Row: row, N: -1, Chosen: -1}
	if in.kind != load.ViewLogits && in.IntN(2) == 0 {
		narrow(v, 1+in.IntN(64))
	}
	return v
}

// row makes the logits: mostly like a model's, sometimes as extreme as they can be.
func (in *input) row() []float32 {
	row := make([]float32, words.Size())
	kind := in.IntN(8)
	for t := range row {
		switch kind {
		case 0:
			row[t] = 0 // all alike
		case 1:
			row[t] = banned // all but one
		case 2:
			row[t] = float32(in.NormFloat64()) * 1e30
		case 3:
			row[t] = float32(in.NormFloat64()) * math.SmallestNonzeroFloat32 * 100
		default:
			row[t] = float32(in.NormFloat64() * 5)
		}
	}
	likely := in.IntN(len(row))
	switch kind {
	case 1:
		row[likely] = -3
	case 4:
		row[likely] = 50
	case 5:
		if in.kind != load.ViewLogits { // broken logits never reach a candidates view
			row[likely] = float32(math.NaN())
		}
	}
	return row
}

// narrow leaves the first n tokens that have a logit, as a stage before might.
func narrow(v *chain.View, n int) {
	v.N = 0
	for t, l := range v.Row {
		if l > banned && v.N < n {
			v.ID, v.Logit, v.N = append(v.ID, scheduler.Token(t)), append(v.Logit, l), v.N+1
		}
	}
}

// text is what a token completed, in whole characters: its piece, or nothing, or more than a
// buffer has room for.
func (in *input) text(t scheduler.Token) string {
	switch in.IntN(12) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("naïve ☃ ", 1+in.IntN(80))
	}
	return strings.ToValidUTF8(words.Piece(t), "\uFFFD")
}
