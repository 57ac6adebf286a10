// SPDX-License-Identifier: MIT

package scheduler

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
)

// This file computes what is special in prompts: pictures and sounds, and log-probabilities.
//
// The rows of a picture are tokens below 0 among those of a prompt (package piece), so what is done
// to lists of tokens is done to them. Two things differ: rows and tokens are never in one pass, and
// a piece is not cut.
//
// The row after each token says how likely the next one was, so a request that wants
// log-probabilities has a row for every token of its prompt but the last. A pass has few rows
// (Limits.Rows), which bounds both the memory of the logits and the time that other streams wait.
// The prompt's last token, whose row the answer is drawn from, comes in a later pass: the reader
// has all of the prompt before the first token. A program may want the log-probabilities of tokens
// of its branches, which are computed likewise.

// Errors of pieces in prompts, all of them ErrBadRequest; compare with errors.Is.
var (
	ErrPieces      = errors.New("the pictures and sounds of the prompt are not those of the request")
	ErrEndsOnPiece = errors.New("the prompt ends on a picture or a sound, and nothing can be said after one: it must end on text")
	ErrPieceSize   = errors.New("a picture or sound that one pass cannot compute")
)

// checkPieces refuses a prompt whose tokens below 0 are not the rows of whole pieces that the
// request has, or that cannot be computed.
func (s *Scheduler) checkPieces(r *Request, prompt []Token) error {
	if prompt[len(prompt)-1] < 0 {
		return fmt.Errorf("%w: %w", ErrBadRequest, ErrEndsOnPiece)
	}
	for _, p := range r.Pieces {
		if _, err := s.config.Pieces.Add(p); err != nil { // so that the table knows it as long as the request lasts
			return fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
		if p.Whole && p.Rows > s.limits.Batch {
			return fmt.Errorf("%w: %w: it has %d rows, which see one another, and a pass takes %d", ErrBadRequest, ErrPieceSize, p.Rows, s.limits.Batch)
		}
	}
	has := 0
	err := s.config.Pieces.Check(prompt, func(shape piece.Shape) error {
		if has++; findPiece(r.Pieces, &shape) == nil {
			return errNotHeld
		}
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w: %w", ErrBadRequest, ErrPieces, err)
	case has > 0 && r.PromptLogprobs:
		return fmt.Errorf("%w: log-probabilities of a prompt with pictures or sounds, whose rows have none", ErrBadRequest)
	}
	return nil
}

// heldPieces are the pieces that a program of the job may put into branches. It keeps no
// embeddings.
func (j *job) heldPieces() program.Pieces {
	held := map[[sha256.Size]byte]bool{}
	for _, p := range j.req.Pieces {
		held[p.Hash] = true
	}
	return program.Pieces{Table: j.pieces, Has: func(s piece.Shape) bool { return held[s.Hash] }}
}

// errNotHeld is why a piece cannot be computed that the table knows.
var errNotHeld = errors.New("the request does not have its numbers")

// findPiece is the piece of a shape; nil: it is not among them.
func findPiece(pieces []*piece.Piece, shape *piece.Shape) *piece.Piece {
	if i := slices.IndexFunc(pieces, func(p *piece.Piece) bool { return p.Shape == *shape }); i >= 0 {
		return pieces[i]
	}
	return nil
}

// atPiece reports whether a row of a piece is what is computed next of the branch.
func (b *branch) atPiece() bool {
	return b.job.pieces != nil && b.seq != nil && b.pending() > 0 && b.tokens()[b.computed()] < 0
}

// untilPiece is how many of the next n tokens one pass can compute: those before a piece, or the
// rows that are left of one.
func (b *branch) untilPiece(n int) int {
	if b.job.pieces == nil || n == 0 {
		return n
	}
	next := b.tokens()[b.computed():][:n]
	if shape, row, ok := b.job.pieces.Shape(next[0]); ok {
		return min(shape.Rows-row, n)
	}
	if i := slices.IndexFunc(next, func(t Token) bool { return t < 0 }); i >= 0 {
		return i
	}
	return n
}

// wholeRows is how many rows of the next piece a pass must have, all or none; 0: any number.
func (b *branch) wholeRows() int {
	if !b.atPiece() {
		return 0
	}
	if shape, _, ok := b.job.pieces.Shape(b.tokens()[b.computed()]); ok && shape.Whole {
		return shape.Rows
	}
	return 0
}

// fitWhole is how many of the scheduled tokens of a branch can be computed: none, where they are
// only a part of a whole piece.
func (b *branch) fitWhole() int {
	if n := b.wholeRows(); b.scheduled < n {
		return 0
	}
	return b.scheduled
}

// sameKind is how many of the first branches one pass can compute: of those with the same adapters
// one at a piece, or those before the next.
func sameKind(branches []*branch) int {
	for i, b := range branches {
		switch {
		case b.withKey() != branches[0].withKey():
			return i
		case b.atPiece():
			return max(i, 1)
		}
	}
	return len(branches)
}

// fillPiece puts the scheduled rows of a branch into the batch.
func (s *Scheduler) fillPiece(b *branch) error {
	at, tokens := b.seq.Len(), b.tokens()
	shape, row, ok := b.job.pieces.Shape(tokens[at])
	if ok {
		s.batch.Piece = findPiece(b.job.req.Pieces, &shape)
	}
	if s.batch.Piece == nil {
		return errNotHeld
	}
	b.addTo(&s.cost)
	s.batch.FirstRow, b.outputRow = row, -1
	position := int32(b.seq.Position())
	for _, t := range tokens[at : at+b.scheduled] {
		s.batch.Add(t, position, b.seq.ID(), false)
		if shape.Columns == 0 {
			position++
		}
	}
	return nil
}

// sweepPieces has the table of pieces drop those that nobody has any more. Requests hold theirs.
func (s *Scheduler) sweepPieces() {
	if t := s.config.Pieces; t.Due() {
		t.Sweep(s.cache.Conversations)
	}
}

// textContext is a drawer's context without rows of pieces, which a drafter does not know. Nobody
// changes it.
func (d *drawer) textContext() []Token {
	context := d.answer.Context()
	if d.job.pieces == nil {
		return context
	}
	w := &d.guess.text
	last := len(context)
	for last > 0 && context[last-1] >= 0 {
		last--
	}
	if last != w.upTo { // the context has been shifted, or this is the first time
		w.tokens, w.upTo = w.tokens[:0], last
		for _, t := range context[:last] {
			if t >= 0 {
				w.tokens = append(w.tokens, t)
			}
		}
		w.before = len(w.tokens)
	}
	w.tokens = append(w.tokens[:w.before], context[last:]...)
	return w.tokens
}

// errNoRow ends an answer to whose prompt the backend gave too few rows.
var errNoRow = errors.New("the backend gave no row for a token of the prompt")

// promptRows is what the log-probabilities of a pass's prompts need; its memory is used again.
type promptRows struct {
	rows     int       // that this tick may still give to prompts
	asks     []rowAsk  // of this pass
	branches []*branch // that they are for
}

// rowAsk is a row of the last pass and the token whose log-probability is wanted.
type rowAsk struct {
	row, top int
	at       int // position of the token
	token    Token
	logprobs *chain.Logprobs // result; nil: there is no such row
}

// wantsPromptRows reports whether the branch still wants rows of its prompt.
func (b *branch) wantsPromptRows() bool { return b.nextScore() > 0 }

// isFinished reports whether nothing is left to be done for a request that wants no answer.
func (j *job) isFinished() bool { return j.req.NoAnswer && !j.branches[0].wantsPromptRows() }

// scorable is how many of n pending tokens a branch that is scoring may compute in a pass with so
// many free rows. Tokens whose rows were told before it lost its cells need none.
func (b *branch) scorable(n, rows int) int {
	if b.job.kind == kindProgram {
		for n > 0 && b.rowsOf(n) > rows {
			n--
		}
		return n
	}
	if told := b.job.scored - b.seq.Len(); told > 0 {
		return min(n, told)
	}
	return min(n, rows, b.job.drawer.answer.PromptLen()-1-b.seq.Len())
}

// rowsOf is how many rows a pass over the next n tokens of a branch has that is scoring.
func (b *branch) rowsOf(n int) (rows int) {
	at := b.seq.Len()
	for i := at; i < at+n; i++ {
		if b.wantsRow(i) || i == len(b.tokens())-1 {
			rows++
		}
	}
	return rows
}

// nextScore is the first token of a branch whose log-probability is yet to be computed, a prompt's
// or one that a program wants; 0: there is none. Where tokens have left the context before they
// were computed, their rows are no more to be had.
func (b *branch) nextScore() int {
	if j := b.job; j.kind != kindProgram {
		if j.req.PromptLogprobs && j.scored < j.drawer.answer.PromptLen()-1 && len(j.drawer.answer.Context()) == len(j.drawer.answer.Tokens()) {
			return j.scored + 1
		}
		return 0
	}
	for ; b.scoredTo < len(b.state.Scores); b.scoredTo++ {
		if program.Awaited(b.state.Scores[b.scoredTo]) {
			return b.scoredTo
		}
	}
	return 0
}

// rowsForPrompts is how many rows of a tick are left for prompts: each other branch may have one.
func (s *Scheduler) rowsForPrompts() int {
	rows := s.limits.Rows - s.decoding
	for _, b := range s.prefilling {
		if !b.wantsPromptRows() {
			rows--
		}
	}
	return max(rows, 1)
}

// dropUnscored cuts a sequence that a branch has got, so that the first token whose row it still
// wants is computed again.
func (s *Scheduler) dropUnscored(b *branch) {
	if next := b.nextScore(); next > 0 && b.computed() >= next {
		s.cache.Truncate(b.seq, next-1)
	}
}

// wantsRow reports whether the row after position i of its context is one of the prompt's that the
// branch wants.
func (b *branch) wantsRow(i int) bool {
	if b.job.kind == kindProgram {
		return i+1 < len(b.state.Scores) && program.Awaited(b.state.Scores[i+1])
	}
	return i >= b.job.scored && i < b.job.drawer.answer.PromptLen()-1 && b.wantsPromptRows()
}

// addPromptRow has the pass tell the log-probability of the token after position i of a branch's
// context.
func (s *Scheduler) addPromptRow(b *branch, i, row int) {
	s.batch.PromptRows = true
	top := 0
	if b.job.kind == kindAnswer {
		top = max(b.job.req.Logprobs, 0)
	}
	s.promptRows.branches = append(s.promptRows.branches, b)
	s.promptRows.asks = append(s.promptRows.asks, rowAsk{row: row, at: i + 1, top: top, token: b.tokens()[i+1]})
}

// score computes and sends the log-probabilities of prompts from a pass.
func (s *Scheduler) score() {
	p := &s.promptRows
	if len(p.asks) == 0 {
		return
	}
	start := s.config.Clock()
	s.readRows()
	for from := 0; from < len(p.asks); {
		b, to := p.branches[from], from+1
		for to < len(p.asks) && p.branches[to] == b {
			to++
		}
		s.tellPrompt(b, p.asks[from:to])
		from = to
	}
	clear(p.branches)
	clear(p.asks)
	p.branches, p.asks = p.branches[:0], p.asks[:0]
	s.record.Sample += s.config.Clock().Sub(start)
}

// readRows computes the log-probabilities that a pass was asked for, on all processors: a row of a
// large vocabulary takes a millisecond.
func (s *Scheduler) readRows() {
	asks := s.promptRows.asks
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(asks)) {
		done.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(asks); i = next.Add(1) - 1 {
				a := &asks[i]
				_ = panics.Try(func() error { // without a result the answer fails
					if row := s.backend.Row(a.row); row != nil {
						a.logprobs = chain.NewLogprobs(row, a.token, a.top)
					}
					return nil
				})
			}
		})
	}
	done.Wait()
}

// tellPrompt sends a job's reader the log-probabilities of the next tokens of its prompt. Those of
// a program's branch are for the program.
func (s *Scheduler) tellPrompt(b *branch, asks []rowAsk) {
	j := b.job
	told := make([]PromptToken, len(asks))
	for i, a := range asks {
		if a.logprobs == nil {
			s.endJob(j, End{Reason: answer.ReasonError, Err: errNoRow})
			return
		}
		told[i] = PromptToken{Token: a.token, Logprobs: a.logprobs}
		if j.kind == kindProgram {
			b.state.Scores[a.at] = a.logprobs.Token
		}
	}
	if j.kind == kindProgram {
		return
	}
	j.scored += len(told)
	j.stream.send(Event{Kind: KindPrompt, Prompt: told})
}
