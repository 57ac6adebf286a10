// SPDX-License-Identifier: MIT

package cost

import (
	"math/rand/v2"
	"strings"

	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/scheduler/chain"
)

// kinds is how many different rows there are.
const kinds = 8

// rows are made-up logits, distributed like a model's: a few tokens stand out.
type rows struct {
	words  *drive.Words
	narrow bool // the best of each alone
	all    [kinds][]float32
	row    []float32 // a copy, for the stages to edit
	ids    []chain.Token
	logits []float32
}

func newRows(w *drive.Words) *rows {
	n := w.Size()
	r := &rows{words: w, row: make([]float32, n), ids: make([]chain.Token, min(few, n)), logits: make([]float32, min(few, n))}
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

// View implements drive.Model.
func (r *rows) View(place uint64, p chain.Prepared) *chain.View {
	copy(r.row, r.all[place%kinds])
	drive.Prepare(r.row, p)
	v := &chain.View{Row: r.row, N: -1, Chosen: -1}
	if r.narrow {
		v.ID, v.Logit = r.ids, r.logits
		v.N = topK(r.row, len(r.ids), r.ids, r.logits)
	}
	return v
}

// Text implements drive.Model.
func (r *rows) Text(_ uint64, t chain.Token) string {
	return strings.ToValidUTF8(r.words.Piece(t), "\uFFFD")
}
