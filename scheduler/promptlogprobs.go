// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/program"
)

// This file computes the log-probabilities of a prompt's tokens. The row after each token says how
// likely the next one was, so a request that wants them has a row for every token of its prompt
// but the last. A pass has few rows (Limits.Rows), which bounds both the memory of the logits and
// the time that other streams wait. The prompt's last token, whose row the answer is drawn from,
// comes in a later pass: the reader has all of the prompt before the first token.

// errNoRow ends an answer to whose prompt the backend gave too few rows.
var errNoRow = errors.New("the backend gave no row for a token of the prompt")

// prompts is what the log-probabilities of a pass's prompts need; its memory is used again.
type prompts struct {
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

// scoring reports whether the branch still wants rows of its prompt.
func (b *branch) scoring() bool { return b.nextScore() > 0 }

// finished reports whether nothing is left to be done for a request that wants no answer.
func (j *job) finished() bool { return j.req.NoAnswer && !j.branches[0].scoring() }

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
	return min(n, rows, b.job.answer.PromptLen()-1-b.seq.Len())
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
		if j.req.PromptLogprobs && j.scored < j.answer.PromptLen()-1 && len(j.answer.Context()) == len(j.answer.Tokens()) {
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
		if !b.scoring() {
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
	return i >= b.job.scored && i < b.job.answer.PromptLen()-1 && b.scoring()
}

// addPromptRow has the pass tell the log-probability of the token after position i of a branch's
// context.
func (s *Scheduler) addPromptRow(b *branch, i, row int) {
	s.batch.PromptRows = true
	top := 0
	if b.job.kind == kindAnswer {
		top = max(b.job.req.Logprobs, 0)
	}
	s.prompts.branches = append(s.prompts.branches, b)
	s.prompts.asks = append(s.prompts.asks, rowAsk{row: row, at: i + 1, top: top, token: b.tokens()[i+1]})
}

// score computes and sends the log-probabilities of prompts from a pass.
func (s *Scheduler) score() {
	p := &s.prompts
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
	asks := s.prompts.asks
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
			s.end(j, End{Reason: answer.ReasonError, Err: errNoRow})
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
