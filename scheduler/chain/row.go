// SPDX-License-Identifier: MIT

package chain

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Row is a row of logits in the backend's memory, which the next forward pass overwrites, or the
// copy of it: it is lent until it is copied or returned, even if it is empty. Rows of later tokens
// may be lent with it. Copy, Return and Recall may be called by two goroutines at a time.
type Row struct {
	mu     sync.Mutex
	onLoan bool            // the lender waits
	lent   []float32       // nil: the backend has no such row, or it was copied
	isCopy bool            // the row is the copied one
	later  [][]float32     // rows that may follow it
	copied []float32       // its memory is used again for the next row
	loans  *sync.WaitGroup // of the lender
}

// Lend lends a row, and rows that may follow it. They count among the loans until the first is
// copied and the others are not needed.
func (r *Row) Lend(rows [][]float32, loans *sync.WaitGroup) {
	loans.Add(1)
	r.onLoan, r.isCopy, r.lent, r.later, r.loans = true, false, rows[0], rows[1:], loans
}

// Skip makes the n-th of the rows that follow the row. It reports false if there is none, or none
// any more.
func (r *Row) Skip(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > len(r.later) {
		return false
	}
	r.isCopy, r.lent, r.later = false, r.later[n-1], r.later[n:]
	return true
}

// Copy copies the row if it is lent, and returns the copy, to which stages may write. When it
// returns, the row is copied, by this call or another.
func (r *Row) Copy() []float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copy()
	if len(r.later) == 0 {
		r.end()
	}
	return r.copied
}

// Recall is for a lender that cannot wait: the row is copied if it is still needed, and none
// follows it any more.
func (r *Row) Recall() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.onLoan {
		r.copy()
		r.end()
	}
}

// Return tells the lender that no row is needed any more.
func (r *Row) Return() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
}

func (r *Row) copy() {
	if !r.isCopy {
		r.copied = append(r.copied[:0], r.lent...)
		r.isCopy, r.lent = true, nil
	}
}

func (r *Row) end() {
	if r.onLoan {
		r.onLoan, r.lent, r.later = false, nil, nil
		r.loans.Done()
	}
}

// restrictedRow is the row with what the stages asked for, to which stages may write. It is written
// straight from the backend's memory: a row is half a megabyte, and those of all slots are read at
// once.
func (r *Row) restrictedRow(by *restriction) []float32 {
	if by.none() {
		return r.Copy()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return by.apply(r.logits())
}

// lendTo has a stage take what it needs of the row, wherever that is. It stays there until then.
func (r *Row) lendTo(t RowTaker, by *restriction) (taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.TakeRow(WholeRow{r.logits(), by})
}

// missing reports whether the backend had no such row.
func (r *Row) missing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.logits()) == 0
}

// logits finds the row's logits, wherever they are; r.mu is held.
func (r *Row) logits() []float32 {
	if r.isCopy {
		return r.copied
	}
	return r.lent
}

// WholeRow is the row with what the stages asked for.
type WholeRow struct {
	logits []float32
	by     *restriction
}

// WriteTo writes the logits, as many as there is room for.
func (w WholeRow) WriteTo(to []float32) { w.by.write(to, w.logits) }

// Logits are to be read, and only until TakeRow returns.
func (w WholeRow) Logits() []float32 {
	if w.by.none() {
		return w.logits
	}
	return w.by.apply(w.logits)
}

// giveRow gives a stage the row if the view has none and the stage needs one.
func (c *Chain) giveRow(i int, row *Row) {
	v, l := &c.view, &c.links[i]
	switch {
	case v.Row != nil:
	case v.N < 0 && l.taker != nil && row.lendTo(l.taker, &c.restriction):
	case v.N >= 0 && l.traits.IgnoresRow:
	default:
		v.Row = row.restrictedRow(&c.restriction)
	}
}

// banned is a block of logits of tokens that may not be drawn.
var banned = func() (b [32]float32) {
	for i := range b {
		b[i] = float32(math.Inf(-1))
	}
	return b
}()

// Masker writes a row's logits where a mask has a bit, and −Inf elsewhere, as many as all three
// have.
type Masker interface {
	MaskRow(to, row []float32, allowed []uint32)
}

// MaskRow is what a Masker does, on any processor.
func MaskRow(to, row []float32, allowed []uint32) {
	n := min(len(to), len(row), 32*len(allowed))
	for at := 0; at < n; at += 32 {
		from, block, word := row[at:min(at+32, n)], to[at:min(at+32, n)], allowed[at/32]
		if bits.OnesCount32(word) <= 16 {
			copy(block, banned[:])
			for ; word != 0; word &= word - 1 {
				if k := bits.TrailingZeros32(word); k < len(block) {
					block[k] = from[k]
				}
			}
			continue
		}
		copy(block, from)
		for word = ^word; word != 0; word &= word - 1 {
			if k := bits.TrailingZeros32(word); k < len(block) {
				block[k] = banned[0]
			}
		}
	}
}

// Logprobs are natural logarithms of probabilities under the raw logits, before any stage.
type Logprobs struct {
	Token float32
	Top   []Candidate // most likely first
	Row   []float32   // in place of Top where AllTokens were asked for: of each token, by its number
}

// AllTokens is how many of the most likely tokens are asked for where it is all of them.
const AllTokens = 1 << 30

// Candidate is a token with its log-probability.
type Candidate struct {
	Token   Token
	Logprob float32
}

// NewLogprobs computes the log-probability of a token and of the n most likely ones from a raw row.
func NewLogprobs(row []float32, token Token, n int) *Logprobs {
	all := n == AllTokens
	if all {
		n = 0
	}
	top := make([]Candidate, 0, n+1)
	highest := float32(math.Inf(-1))
	for _, l := range row {
		highest = max(highest, l)
	}
	sum := 0.0
	for i, l := range row {
		sum += math.Exp(float64(l) - float64(highest))
		if n > 0 && (len(top) < n || l > top[len(top)-1].Logprob) {
			top = insert(top, Candidate{Token: Token(i), Logprob: l}, n)
		}
	}
	logSum := math.Log(sum)
	logprob := func(logit float32) float32 { return float32(float64(logit) - float64(highest) - logSum) }
	for i := range top {
		top[i].Logprob = logprob(top[i].Logprob)
	}
	l := &Logprobs{Token: logprob(row[token]), Top: top}
	if all {
		l.Row = make([]float32, len(row))
		for i, logit := range row {
			l.Row[i] = logprob(logit)
		}
	}
	return l
}

// insert puts c into top, which is sorted with the most likely first, and keeps n of them.
func insert(top []Candidate, c Candidate, n int) []Candidate {
	i, _ := slices.BinarySearchFunc(top, c, func(a, b Candidate) int {
		if a.Logprob >= b.Logprob {
			return -1
		}
		return 1
	})
	top = slices.Insert(top, i, c)
	return top[:min(len(top), n)]
}
