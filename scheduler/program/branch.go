// SPDX-License-Identifier: MIT

package program

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/penstock/penstock/scheduler/piece"
)

// Branch is a list of tokens that the model may go on from. Its methods are for the program's
// goroutine.
type Branch struct {
	run    *Run
	index  int    // in the program's list of branches
	number uint64 // counts the branches of the run, from 1
	tokens []Token
	scores []float32 // by token, as far as any is to have one: see unscored
	base   int       // so many of the first tokens are the prompt for chains: the branch was opened with them
	known  int       // so many of the first tokens are as the tick knows them
	stale  bool      // the tokens have been others since the tick looked at them: its row is of those
	row    *Row      // after the last token; nil: it is to be waited for
	paid   bool      // that row counts in the tokens of the run: as the token that was added last, or by itself
	closed bool
	told   told

	samplers []*sampler     // the last one was made last
	made     map[*Chain]int // how many samplers of a chain were made
	runs     *running       // nil: the branch does not go on by itself
	finished bool           // a run has ended, for which nobody has waited yet
	end      State

	follows *following // a grammar; nil: none
	masked  bool       // the row has only what the grammar allows
}

// State is what became of a branch.
type State uint8

// The states of a branch.
const (
	Pending State = iota // it has no row
	Ready                // it has its row
	Running              // it goes on by itself
	Ran                  // a run has come to its number of tokens
	Ended                // a run has come to a token that ends answers, which was not appended
	Stuck                // a run has come to where no token is possible
)

// State tells what became of the branch, as of the last wait and of what was done since.
func (b *Branch) State() State {
	switch {
	case b.runs != nil:
		return Running
	case b.end != Pending:
		return b.end
	case b.row != nil:
		return Ready
	}
	return Pending
}

// whyUnusable is why nothing can be done with the branch; nil: something can.
func (b *Branch) whyUnusable() error {
	switch {
	case b.closed:
		return errClosed
	case b.runs != nil:
		return errRuns
	}
	return nil
}

// changed notes that the tokens are others: what was known of the last one is not of theirs.
func (b *Branch) changed() {
	b.row, b.masked, b.stale, b.end, b.finished = nil, false, true, Pending, false
}

// What a score is that is no log-probability: not asked for, or yet to be computed.
var (
	unscored = float32(math.NaN())
	awaited  = float32(math.Inf(1))
)

// Awaited reports whether a score is yet to be computed.
func Awaited(score float32) bool { return score == awaited }

// Open begins a branch with some tokens, at least one. Errors: ErrOver, ErrNoBranch,
// ErrContextFull, ErrBudget, ErrMisuse.
func (r *Run) Open(tokens []Token) (*Branch, error) {
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%w: a branch without a token", ErrMisuse)
	}
	b, err := r.newBranch()
	if err != nil {
		return nil, err
	}
	if err := b.Append(tokens, false); err != nil {
		b.Close()
		r.opened--
		return nil, err
	}
	b.base = len(tokens)
	r.tree.noteOpened(b)
	return b, nil
}

func (r *Run) newBranch() (*Branch, error) {
	if r.isOver() {
		return nil, ErrOver
	}
	index := slices.Index(r.branches, nil)
	if index < 0 {
		return nil, fmt.Errorf("%w: the program has %d", ErrNoBranch, len(r.branches))
	}
	r.opened++
	b := &Branch{run: r, index: index, number: r.opened}
	r.branches[index] = b
	return b, nil
}

// Fork begins a branch with the tokens of another. Both share what is computed of them, and the
// row. Errors: ErrOver, ErrNoBranch, ErrMisuse.
func (b *Branch) Fork() (*Branch, error) {
	if err := b.whyUnusable(); err != nil {
		return nil, err
	}
	f, err := b.run.newBranch()
	if err != nil {
		return nil, err
	}
	f.tokens, f.scores, f.row, f.base = slices.Clone(b.tokens), slices.Clone(b.scores), b.row, b.base
	f.follows, f.masked = b.follows.fork(), b.masked
	b.run.tree.noteFork(f, b)
	return f, nil
}

var (
	errClosed = fmt.Errorf("%w: the branch is closed", ErrMisuse)
	errRuns   = fmt.Errorf("%w: the branch goes on by itself; wait for it", ErrMisuse)
)

// Close ends a branch, whether or not it runs. Another may have its index at once.
func (b *Branch) Close() {
	if b.closed {
		return
	}
	b.run.tree.noteClose(b)
	if b.runs != nil {
		b.run.reserved -= b.runs.most // the tick knows what was drawn
	}
	b.closed, b.row = true, nil
	b.run.branches[b.index] = nil
	b.releaseSamplers()
}

// releaseSamplers lets the branch's samplers go, and that of a run which has not begun. What has
// begun is the tick's.
func (b *Branch) releaseSamplers() {
	if b.runs != nil && !b.runs.begun {
		b.runs.sampler.release()
		b.runs = nil
	}
	for _, s := range b.samplers {
		s.release()
	}
	b.samplers = nil
}

// Append adds tokens, and whole pieces of the request. Scored: their log-probabilities are to be
// had from Scores once the branch has been waited for. Errors: ErrOver, ErrContextFull, ErrBudget,
// ErrMisuse; then nothing is added.
func (b *Branch) Append(tokens []Token, scored bool) error {
	r, n := b.run, len(tokens)
	if err := b.whyUnusable(); err != nil {
		return err
	}
	switch {
	case r.isOver():
		return ErrOver
	case len(b.tokens)+n > r.options.Longest:
		return fmt.Errorf("%w: %d tokens after %d, a branch has room for %d", ErrContextFull, n, len(b.tokens), r.options.Longest)
	case r.used+r.reserved+n > r.options.Tokens:
		return fmt.Errorf("%w: %d of %d are in branches, and %d more would be", ErrBudget, r.used, r.options.Tokens, n)
	}
	if err := r.options.check(tokens); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	if err := b.fits(tokens); err != nil {
		return err
	}
	if scored {
		b.score(tokens)
	}
	r.tree.noteAppended(b, tokens)
	r.used += n
	b.tokens, b.paid = append(b.tokens, tokens...), true
	b.changed()
	return nil
}

// score notes that tokens which are to be added have scores. The first one's is known if there is
// a row. Before the first token of all there is none, nor after a picture.
func (b *Branch) score(tokens []Token) {
	for len(b.scores) < len(b.tokens) {
		b.scores = append(b.scores, unscored)
	}
	before := Token(-1)
	if n := len(b.tokens); n > 0 {
		before = b.tokens[n-1]
	}
	for i, t := range tokens {
		score := awaited
		switch {
		case before < 0 || t < 0: // nothing is said after a row of a picture, nor of one
			score = unscored
		case b.row != nil && i == 0:
			score = b.row.logprob(t, b.run.options.Summarizer)
		}
		b.scores, before = append(b.scores, score), t
	}
}

// Cut keeps the first n tokens, at least one. Errors: ErrMisuse, also for a place within a picture
// or a sound.
func (b *Branch) Cut(n int) error {
	if err := b.whyUnusable(); err != nil {
		return err
	}
	switch {
	case n < 1 || n > len(b.tokens):
		return fmt.Errorf("%w: a branch of %d tokens is cut to %d", ErrMisuse, len(b.tokens), n)
	case b.whyNotCuttable(n) != nil:
		return b.whyNotCuttable(n)
	case n < len(b.tokens):
		b.run.tree.noteCut(b, n)
		b.tokens, b.scores, b.known, b.base = b.tokens[:n], b.scores[:min(n, len(b.scores))], min(b.known, n), min(b.base, n)
		b.paid = false
		b.follows.cut(n)
		b.changed()
		for _, s := range b.samplers {
			s.cut(n)
		}
	}
	return nil
}

// unpaid is 1 where the branch lacks its row, and that counts: without a new token, as of a fork
// or after a cut, there would be no end to what a program has computed.
func (b *Branch) unpaid() int {
	if b.row != nil || b.paid {
		return 0
	}
	return 1
}

// payRow counts the row that the branch is waited for.
func (b *Branch) payRow() error {
	r, n := b.run, b.unpaid()
	if n > 0 && r.used+r.reserved+n > r.options.Tokens {
		return fmt.Errorf("%w: %d of %d are in branches, and one more row would be computed", ErrBudget, r.used, r.options.Tokens)
	}
	r.used += n
	b.paid = b.paid || n > 0
	return nil
}

// Tokens returns the tokens of the branch, its prompt included. Nobody changes them.
func (b *Branch) Tokens() []Token { return b.tokens }

// Ready reports whether the row after the last token is there.
func (b *Branch) Ready() bool { return b.row != nil }

// Knows reports whether the row is there and Best has been asked for as many candidates: then it
// takes no time.
func (b *Branch) Knows(k int) bool { return b.row != nil && b.row.knows(k) }

// Scores are the log-probabilities of the tokens from position from on, each given those before
// it; NaN for a token that was not appended as scored. Errors: ErrMisuse while some are yet to be
// computed.
func (b *Branch) Scores(from int) ([]float32, error) {
	if err := b.whyUnusable(); err != nil {
		return nil, err
	}
	if from < 0 || from > len(b.tokens) {
		return nil, fmt.Errorf("%w: scores from position %d of a branch of %d tokens", ErrMisuse, from, len(b.tokens))
	}
	scores := make([]float32, len(b.tokens)-from)
	for i := range scores {
		scores[i] = unscored
		if from+i < len(b.scores) {
			scores[i] = b.scores[from+i]
		}
		if Awaited(scores[i]) {
			return nil, fmt.Errorf("%w: the branch is to be waited for before the score of token %d is read", ErrMisuse, from+i)
		}
	}
	return scores, nil
}

// Best is what the row says of the k most likely tokens: fewer where fewer are possible. Errors:
// ErrOver, ErrMisuse without a row.
func (b *Branch) Best(k int) (Summary, error) {
	if err := b.whyUnreadable(); err != nil {
		return Summary{}, err
	}
	switch {
	case k < 0 || k > b.run.options.Vocabulary:
		return Summary{}, fmt.Errorf("%w: the %d most likely of %d tokens", ErrMisuse, k, b.run.options.Vocabulary)
	}
	return b.row.summary(k, b.run.options.Summarizer)
}

// Logits copies the row, a number for each token of the vocabulary, as far as there is room, and
// returns how many. Errors: ErrOver, ErrMisuse without a row.
func (b *Branch) Logits(to []float32) (n int, err error) {
	if err := b.whyUnreadable(); err != nil {
		return 0, err
	}
	err = b.row.read(func(logits []float32) { n = copy(to, logits) })
	return n, err
}

// HiddenState is what the model's last layer gave after the branch, from which the row was
// computed: Options.HiddenState numbers, which masks and sums of rows leave as they are and nobody
// changes; nil: the program does not want them. Errors: ErrMisuse without a row.
func (b *Branch) HiddenState() ([]float32, error) {
	if err := b.whyUnusable(); err != nil {
		return nil, err
	}
	if b.row == nil {
		return nil, errNoRow
	}
	return b.row.state, nil
}

var errNoRow = fmt.Errorf("%w: the branch has no row; wait for it", ErrMisuse)

// A branch may have pictures and sounds of the request, whose rows are tokens below 0 (package
// piece). They come and go as a whole, and nothing can be said after one: a branch that is waited
// for, or goes on by itself, ends on another token.

// Pieces are those that a request has.
type Pieces struct {
	Table *piece.Table           // nil: the request has none
	Has   func(piece.Shape) bool // called from the program's goroutine
}

var errNoPiece = errors.New("the request does not have that picture or sound")

// check refuses tokens that cannot be put into a branch.
func (o *Options) check(tokens []Token) error {
	rows := false
	for _, t := range tokens {
		rows = rows || t < 0
		if int(t) >= o.Vocabulary || t < 0 && o.Pieces.Table == nil {
			return fmt.Errorf("%w: token %d is not in the vocabulary of %d", ErrMisuse, t, o.Vocabulary)
		}
	}
	if !rows {
		return nil
	}
	err := o.Pieces.Table.Check(tokens, func(s piece.Shape) error {
		if !o.Pieces.Has(s) {
			return errNoPiece
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMisuse, err)
	}
	return nil
}

// endsOnPiece is why the branch has no row: its last token is a piece's; nil: it is not.
func (b *Branch) endsOnPiece() error {
	if n := len(b.tokens); n > 0 && b.tokens[n-1] < 0 {
		return fmt.Errorf("%w: the branch ends on a picture or a sound, and nothing can be said after one; append a token", ErrMisuse)
	}
	return nil
}

// whyNotCuttable is why the branch cannot be cut to n tokens: that would cut a piece; nil: it can.
func (b *Branch) whyNotCuttable(n int) error {
	if border := b.run.options.Pieces.Table.Border(b.tokens, n); border != n {
		return fmt.Errorf("%w: a branch is cut to %d tokens, within a picture or a sound that begins after %d", ErrMisuse, n, border)
	}
	return nil
}
