// SPDX-License-Identifier: MIT

package program

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/penstock/penstock/scheduler/chain"
)

// Row is the logits after a branch, one for each token of the vocabulary. They lie in the
// backend's memory, which the next forward pass overwrites, until somebody still needs them then:
// Recall copies them. Branches that were forked have a row in common.
type Row struct {
	mu     sync.Mutex
	logits []float32  // nil: they were taken back
	lent   bool       // they are the backend's
	loan   *chain.Row // a sampler draws from it; nil: none does
	said   *Summary   // the largest that was asked for; nil: none was
	sum    *float32   // the log-sum-exp by which tokens are scored; nil: the row's own
	narrow bool       // tokens were made impossible: perhaps all
	state  []float32  // the hidden state that the model's logits were computed from; nil: not wanted
}

// Lend makes a row of logits in the backend's memory. The hidden state is a copy, for programs that
// want it: it is small, and a row that was recalled has it still.
func Lend(logits, state []float32) *Row { return &Row{logits: logits, state: state, lent: true} }

// Recall gives the backend its memory back: a copy stays.
func (r *Row) Recall() { r.take(true) }

// Revoke takes the row away from its holder.
func (r *Row) Revoke() { r.take(false) }

// take gives the backend its memory back. A sampler that draws from it goes on with a copy.
func (r *Row) take(keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loan != nil {
		r.loan.Recall()
	}
	if !keep {
		r.logits = nil
	} else if r.lent {
		r.logits = slices.Clone(r.logits)
	}
	r.lent = false
}

// lendTo lends the row to a sampler, which may take long to draw: nobody waits for it. Errors:
// ErrOver.
func (r *Row) lendTo(s *chain.Row, loans *sync.WaitGroup) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logits == nil {
		return ErrOver
	}
	s.Lend([][]float32{r.logits}, loans)
	r.loan = s
	return nil
}

// returned ends the loan.
func (r *Row) returned() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loan.Return()
	r.loan = nil
}

// read has f, which is quick, read the logits, which stay where they are until it returns. Errors:
// ErrOver.
func (r *Row) read(f func(logits []float32)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logits == nil {
		return ErrOver
	}
	f(r.logits)
	return nil
}

// summary is what the row says of the k most likely tokens.
func (r *Row) summary(k int, by Summarizer) (s Summary, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == nil || k > r.said.asked {
		if r.logits == nil {
			return Summary{}, ErrOver
		}
		said := by.Summarize(r.logits, make([]Token, k), make([]float32, k))
		said.asked = k
		r.said = &said
	}
	s = *r.said
	n := min(k, len(s.IDs))
	s.IDs, s.Logits = s.IDs[:n:n], s.Logits[:n:n]
	return s, nil
}

// knows reports whether a summary of k tokens is there.
func (r *Row) knows(k int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said != nil && k <= r.said.asked
}

// empty reports whether no token is possible.
func (r *Row) empty() bool {
	return r.narrow && !slices.ContainsFunc(r.logits, func(l float32) bool { return l > impossible })
}

var impossible = float32(math.Inf(-1))

// logprob is how likely a token is, as the natural logarithm; +Inf, as of what is yet to be
// computed, if the row was taken away.
func (r *Row) logprob(t Token, by Summarizer) float32 {
	s, err := r.summary(0, by)
	if err != nil {
		return awaited
	}
	if r.sum != nil {
		s.LogSum = *r.sum
	}
	score := awaited
	_ = r.read(func(logits []float32) { score = logits[t] - s.LogSum }) // the request has ended, and nobody reads the score
	return score
}

// Summary is what a row says in short.
type Summary struct {
	LogSum  float32 // the natural logarithm of the sum of the logits' exponentials: a log-probability is a logit less this
	Entropy float32 // of the next token, in nats

	IDs    []Token   // the most likely tokens, best first, and lower ones first among equals
	Logits []float32 // theirs

	asked int
}

// Summarizer is implemented by a backend that is faster at it than Portable.
type Summarizer interface {
	// Summarize finds a row's highest logits, as many as there is room for in both lists, of which
	// the summary has the used part. It may be called from several goroutines.
	Summarize(row []float32, ids []Token, logits []float32) Summary
}

// Portable is a Summarizer for any backend.
type Portable struct{}

// Summarize implements Summarizer.
func (Portable) Summarize(row []float32, ids []Token, logits []float32) Summary {
	highest := math.Inf(-1)
	order := make([]Token, 0, len(row))
	for i, l := range row {
		if l > float32(math.Inf(-1)) {
			order = append(order, Token(i))
			highest = max(highest, float64(l))
		}
	}
	sum, weighted := 0.0, 0.0
	for _, t := range order {
		d := float64(row[t]) - highest
		sum += math.Exp(d)
		weighted += math.Exp(d) * d
	}
	slices.SortStableFunc(order, func(a, b Token) int { return cmp.Compare(row[b], row[a]) })
	n := copy(ids, order[:min(len(order), len(ids), len(logits))])
	for i, t := range ids[:n] {
		logits[i] = row[t]
	}
	s := Summary{LogSum: float32(math.Inf(-1)), IDs: ids[:n], Logits: logits[:n]}
	if sum > 0 {
		s.LogSum, s.Entropy = float32(highest+math.Log(sum)), float32(math.Log(sum)-weighted/sum)
	}
	return s
}

// A program may change its rows. A changed row is the branch's own, and that of forks that are
// made of it afterwards.

// Mask makes tokens impossible in the row: bit i of word i/32 set leaves token i. Tokens that are
// appended to the row are scored as before. Errors: ErrOver, ErrMisuse without a row and for
// another number of words than the vocabulary has.
func (b *Branch) Mask(words []uint32) error {
	if err := b.whyUnreadable(); err != nil {
		return err
	}
	if want := (b.run.options.Vocabulary + 31) / 32; len(words) != want {
		return fmt.Errorf("%w: a mask of %d words, the vocabulary has %d", ErrMisuse, len(words), want)
	}
	row, err := b.row.masked(words, b.run.options)
	if err == nil {
		b.row = row
	}
	return err
}

// whyUnreadable is why the branch's row cannot be read; nil: it can.
func (b *Branch) whyUnreadable() error {
	if err := b.whyUnusable(); err != nil {
		return err
	}
	if b.row == nil {
		return errNoRow
	}
	return b.narrow()
}

// masked is the row without the tokens that a mask leaves out.
func (r *Row) masked(words []uint32, o Options) (*Row, error) {
	sum := r.sum
	if sum == nil {
		said, err := r.summary(0, o.Summarizer)
		if err != nil {
			return nil, err
		}
		sum = &said.LogSum
	}
	to := &Row{logits: make([]float32, o.Vocabulary), sum: sum, narrow: true, state: r.state}
	return to, r.read(func(logits []float32) { o.Masker.MaskRow(to.logits, logits, words) })
}

// Weighted is a branch's row in a sum.
type Weighted struct {
	Branch *Branch
	Weight float32
}

// Mix makes the row a sum of rows with weights, which are finite. A token that is impossible in a
// row whose weight is not 0 is impossible. Tokens that are appended to it are scored by it.
// Errors: ErrOver, ErrMisuse.
func (b *Branch) Mix(rows []Weighted) error {
	if err := b.whyUnreadable(); err != nil {
		return err
	}
	sum := &Row{logits: make([]float32, b.run.options.Vocabulary), narrow: true, state: b.row.state}
	for _, w := range rows {
		if math.IsNaN(float64(w.Weight)) || math.IsInf(float64(w.Weight), 0) {
			return fmt.Errorf("%w: a row is weighted with %v", ErrMisuse, w.Weight)
		}
		if err := w.Branch.whyUnreadable(); err != nil {
			return err
		}
		if w.Weight == 0 {
			continue
		}
		if err := w.Branch.row.read(func(logits []float32) { add(sum.logits, logits, w.Weight) }); err != nil {
			return err
		}
	}
	b.row = sum
	return nil
}

// add adds a row with a weight to a sum.
func add(sum, row []float32, weight float32) {
	sum = sum[:len(row)]
	for t, l := range row {
		if l == impossible || sum[t] == impossible {
			sum[t] = impossible
		} else {
			sum[t] = min(max(sum[t]+weight*l, -math.MaxFloat32), math.MaxFloat32)
		}
	}
}
