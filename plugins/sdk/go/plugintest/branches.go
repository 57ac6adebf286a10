// SPDX-License-Identifier: MIT

package plugintest

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// program is the stand-in for the branches of a program. Request.Says is its model.
type program struct {
	open   map[int32]*branch
	next   int32
	most   int // branches at once
	tokens int // put into branches so far
	waits  int
	chains []parameters
	reason string // of the last refusal
}

// branch has a row once it was waited for.
type branch struct {
	tokens []penstock.Token
	scored []bool // by token
	known  int    // of so many of the first tokens the scores are known
	grown  bool   // a token was added since it was forked or cut
	row    []float32
	handle int32
	state  int32
	run    *running          // that begins with the next wait; nil: none does
	draws  map[uint64]uint64 // made with its generators, by their positions
}

// Shown is a token that a program has shown.
type Shown struct {
	Token   penstock.Token
	Logprob float32 // NaN: the program has not told
	Choice  int     // of which it is, from 0
}

// Adopted is a choice that continues from a branch after the program has returned.
type Adopted struct {
	Choice int
	Tokens []penstock.Token // of the branch
	From   int              // so many are the prompt
}

// Run runs the plugin, which is a program, and returns what it has shown. Request.Says must be
// set. An error wraps ErrRefused.
func (s *Session) Run() ([]Shown, error) {
	s.t.Helper()
	if s.Says == nil {
		s.t.Fatal("Request.Says is nil: it is the model that the program asks")
	}
	s.program = &program{open: map[int32]*branch{}, most: s.branches(), chains: []parameters{{}}}
	defer func() { s.program = nil }()
	answer := s.call(guest.Run)
	if answer != 0 {
		s.endStep(call{Call: "run", Answer: &answer, Refusal: &s.refusal})
		return s.answer, s.refused()
	}
	s.endStep(call{Call: "run", Answer: &answer})
	return s.answer, nil
}

// Adopted are the choices that continue without the program, as it asked.
func (s *Session) Adopted() []Adopted { return s.adopted }

// Computed is how many rows the program that runs, or ran last, has waited for.
func (s *Session) Computed() int { return s.computed }

// of is the branch of a handle, which must be open.
func (h host) of(handle int32) *branch {
	b := h.running().open[handle]
	if b == nil {
		h.s.t.Fatalf("no branch has the handle %d, or it is closed", handle)
	}
	return b
}

func (h host) running() *program {
	if h.s.program == nil {
		h.s.t.Fatal("branches belong to Run")
	}
	return h.s.program
}

func (h host) keep(b *branch) int32 {
	p := h.running()
	if len(p.open) == p.most {
		return abi.BranchNoneFree
	}
	p.open[p.next], b.handle, b.draws = b, p.next, map[uint64]uint64{}
	p.next++
	return p.next - 1
}

func (h host) tokensAt(tokens unsafe.Pointer, n int32) []penstock.Token {
	list := slices.Clone(unsafe.Slice((*penstock.Token)(tokens), n))
	for _, t := range list {
		if !h.known(int32(t)) {
			h.s.t.Fatalf("token %d; there are %d tokens", t, len(h.s.Pieces))
		}
	}
	return list
}

// BranchOpen implements abi.Host.
func (h host) BranchOpen(tokens unsafe.Pointer, n int32) int32 {
	list := h.s.Prompt
	if n > 0 {
		list = h.tokensAt(tokens, n)
	}
	return h.begun(list)
}

// begun is the handle of a new branch with some tokens.
func (h host) begun(tokens []penstock.Token) int32 {
	if p := h.running(); len(p.open) == p.most {
		return abi.BranchNoneFree
	}
	if code := h.refuses(0, len(tokens)); code != 0 {
		return code
	}
	return h.keep(&branch{tokens: slices.Clone(tokens), scored: make([]bool, len(tokens)), grown: true})
}

// BranchFork implements abi.Host.
func (h host) BranchFork(handle int32) int32 {
	b := *h.still(handle)
	b.tokens, b.scored, b.grown = slices.Clone(b.tokens), slices.Clone(b.scored), false
	return h.keep(&b)
}

// BranchClose implements abi.Host.
func (h host) BranchClose(handle int32) int32 {
	h.of(handle)
	delete(h.running().open, handle)
	return 0
}

// BranchCut implements abi.Host.
func (h host) BranchCut(handle, length int32) int32 {
	b := h.still(handle)
	if length < 1 || int(length) > len(b.tokens) {
		h.s.t.Fatalf("a branch of %d tokens is cut to %d", len(b.tokens), length)
	}
	if int(length) < len(b.tokens) {
		b.tokens, b.scored = b.tokens[:length], b.scored[:length]
		b.row, b.state, b.grown, b.known = nil, abi.StatePending, false, min(b.known, int(length))
	}
	return 0
}

// BranchAppend implements abi.Host.
func (h host) BranchAppend(handle int32, tokens unsafe.Pointer, n, flags int32) int32 {
	b := h.still(handle)
	list := h.tokensAt(tokens, n)
	if code := h.refuses(len(b.tokens), len(list)); code != 0 {
		return code
	}
	for _, t := range list {
		b.add(t, flags)
	}
	return int32(len(b.tokens))
}

// BranchTokens implements abi.Host.
func (h host) BranchTokens(handle, from int32, p unsafe.Pointer, limit int32) int32 {
	tokens := h.still(handle).tokens
	if from < 0 {
		from = int32(max(0, len(tokens)+int(from)))
	}
	return giveTokens(tokens[min(int(from), len(tokens)):], p, limit)
}

// BranchesWait implements abi.Host. All branches are ready at once.
func (h host) BranchesWait(list unsafe.Pointer, n, k, flags int32) int32 {
	if int(n) > h.running().most || k < 0 || k > abi.LimitCandidates || flags&^abi.WaitAny != 0 {
		h.s.t.Fatalf("a wait for %d branches, %d candidates and the flags %#x", n, k, flags)
	}
	for _, handle := range unsafe.Slice((*int32)(list), n) {
		switch b := h.of(handle); {
		case b.run != nil:
			h.goOn(b)
		case b.row == nil:
			if !b.grown {
				if code := h.refuses(0, 1); code != 0 {
					return code
				}
			}
			h.compute(b)
		}
	}
	p := h.running()
	p.waits++
	h.s.moveTo(1<<32 + p.waits)
	return n
}

// compute gives a branch its row, and its tokens their scores.
func (h host) compute(b *branch) {
	if n := len(b.tokens); b.tokens[n-1] == penstock.MediaToken {
		h.s.t.Fatalf("a branch ends on a picture or a sound, and nothing can be said after one")
	}
	b.row, b.state, b.known = h.says(b.tokens), abi.StateReady, len(b.tokens)
	h.s.computed++
}

// add appends a token. The score of the first one is known if there is a row.
func (b *branch) add(t penstock.Token, flags int32) {
	if b.row != nil {
		b.known = len(b.tokens) + 1
	}
	b.grown = true
	b.tokens, b.scored = append(b.tokens, t), append(b.scored, flags&abi.AppendScored != 0)
	b.row, b.state = nil, abi.StatePending
}

func (h host) says(tokens []penstock.Token) []float32 {
	row := h.s.Says(slices.Clone(tokens))
	if len(row) != len(h.s.Pieces) {
		h.s.t.Fatalf("Request.Says gives %d logits; there are %d tokens", len(row), len(h.s.Pieces))
	}
	return row
}

// sums are the log-sum-exp of a row and its entropy.
func sums(row []float32) (logSum, entropy float64) {
	highest, sum, weighted := float64(slices.Max(row)), 0.0, 0.0
	for _, l := range row {
		if e := math.Exp(float64(l) - highest); e > 0 {
			sum += e
			weighted += e * (float64(l) - highest)
		}
	}
	return highest + math.Log(sum), math.Log(sum) - weighted/sum
}

func (h host) rowOf(handle int32) []float32 {
	b := h.still(handle)
	if b.row == nil {
		h.s.t.Fatal("the branch has no row; wait for it")
	}
	return b.row
}

// BranchCandidates implements abi.Host.
func (h host) BranchCandidates(handle, k int32, p unsafe.Pointer) int32 {
	row := h.rowOf(handle)
	to := unsafe.Slice((*uint32)(p), 2+2*k)
	logSum, entropy := sums(row)
	to[0], to[1] = math.Float32bits(float32(logSum)), math.Float32bits(float32(entropy))
	var ids []penstock.Token
	for t, l := range row {
		if !math.IsInf(float64(l), -1) {
			ids = append(ids, penstock.Token(t))
		}
	}
	slices.SortStableFunc(ids, func(a, b penstock.Token) int { return cmp.Compare(row[b], row[a]) })
	ids = ids[:min(len(ids), int(k))]
	for i, t := range ids {
		to[2+i], to[2+int(k)+i] = uint32(t), math.Float32bits(row[t])
	}
	return int32(len(ids))
}

// BranchLogits implements abi.Host.
func (h host) BranchLogits(handle int32, p unsafe.Pointer, limit int32) int32 {
	row := h.rowOf(handle)
	if len(row) <= int(limit) {
		copy(unsafe.Slice((*float32)(p), limit), row)
	}
	return int32(len(row))
}

// BranchScores implements abi.Host.
func (h host) BranchScores(handle, from int32, p unsafe.Pointer, limit int32) int32 {
	b := h.still(handle)
	if from < 0 || int(from) > len(b.tokens) {
		h.s.t.Fatalf("scores from token %d of %d", from, len(b.tokens))
	}
	n := len(b.tokens) - int(from)
	if n > int(limit) {
		return int32(n)
	}
	to := unsafe.Slice((*float32)(p), n)
	for i := range to {
		at := int(from) + i
		to[i] = float32(math.NaN())
		if b.scored[at] && at >= b.known {
			h.s.t.Fatalf("the score of token %d is read, and is yet to be computed; wait for the branch", at)
		}
		if b.scored[at] && at > 0 {
			row := h.says(b.tokens[:at])
			logSum, _ := sums(row)
			to[i] = row[b.tokens[at]] - float32(logSum)
		}
	}
	return int32(n)
}

// Show implements abi.Host.
func (h host) Show(choice int32, tokens, logs unsafe.Pointer, n int32) int32 {
	h.choice(choice)
	for i, t := range h.tokensAt(tokens, n) {
		shown := Shown{Token: t, Logprob: float32(math.NaN()), Choice: int(choice)}
		if logs != nil {
			if shown.Logprob = unsafe.Slice((*float32)(logs), n)[i]; !(shown.Logprob <= 0) {
				h.s.t.Fatalf("token %d is shown with the log-probability %v", t, shown.Logprob)
			}
		}
		h.s.answer = append(h.s.answer, shown)
	}
	return 0
}
