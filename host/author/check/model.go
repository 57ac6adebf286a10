// SPDX-License-Identifier: MIT

package check

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

var words = drive.NewWords(0)

// model says something else for each seed: what models say, and what is as extreme as it can be.
type model struct {
	seed  uint64
	kind  load.View
	words *drive.Words
}

// View implements drive.Model.
func (m model) View(place uint64, p chain.Prepared) *chain.View {
	r := rand.New(rand.NewPCG(m.seed, place))
	v := &chain.View{Row: m.row(r), N: -1, Chosen: -1}
	drive.Prepare(v.Row, p)
	if m.kind != load.ViewLogits && r.IntN(2) == 0 {
		narrow(v, 1+r.IntN(64))
	}
	return v
}

// row makes the logits: mostly like a model's, sometimes extreme ones.
func (m model) row(r *rand.Rand) []float32 {
	row := make([]float32, m.words.Size())
	kind := r.IntN(8)
	for t := range row {
		switch kind {
		case 0:
			row[t] = 0 // all alike
		case 1:
			row[t] = drive.Banned // all but one
		case 2:
			row[t] = float32(r.NormFloat64()) * 1e30
		case 3:
			row[t] = float32(r.NormFloat64()) * math.SmallestNonzeroFloat32 * 100
		default:
			row[t] = float32(r.NormFloat64() * 5)
		}
	}
	likely := r.IntN(len(row))
	switch kind {
	case 1:
		row[likely] = -3
	case 4:
		row[likely] = 50
	case 5:
		if m.kind != load.ViewLogits { // broken logits never reach a candidates view
			row[likely] = float32(math.NaN())
		}
	}
	return row
}

// narrow leaves the first n tokens that have a logit, as a stage before might.
func narrow(v *chain.View, n int) {
	v.ID, v.Logit, v.N = v.ID[:0], v.Logit[:0], 0
	for t, l := range v.Row {
		if l > drive.Banned && v.N < n {
			v.ID, v.Logit, v.N = append(v.ID, scheduler.Token(t)), append(v.Logit, l), v.N+1
		}
	}
}

// Text implements drive.Model: a token's piece, or nothing, or more than a buffer has room for.
func (m model) Text(place uint64, t scheduler.Token) string {
	r := rand.New(rand.NewPCG(m.seed+1, place))
	switch r.IntN(12) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("naïve ☃ ", 1+r.IntN(80))
	}
	return strings.ToValidUTF8(m.words.Piece(t), "\uFFFD")
}
