// SPDX-License-Identifier: MIT

package penstock_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// program is a host that has an answer for some calls of a program, and writes all of them down.
// That the real host takes these calls, the examples' cases show.
type program struct {
	abi.Absent
	calls  *[]string
	answer int32 // of what may fail
}

func (p program) called(format string, args ...any) int32 {
	*p.calls = append(*p.calls, fmt.Sprintf(format, args...))
	return p.answer
}

func at[T any](p unsafe.Pointer, n int32) []T { return unsafe.Slice((*T)(p), n) }

func (program) Feature(unsafe.Pointer, int32) int32 { return 1 }
func (program) VocabSize() int32                    { return 40 }
func (program) Param(kind int32) int64              { return int64(10 * (kind + 1)) }

func (p program) BranchOpen(list unsafe.Pointer, n int32) int32 {
	return p.called("open %v", at[penstock.Token](list, n))
}
func (p program) BranchOpenMessages(text unsafe.Pointer, n int32) int32 {
	return p.called("open %s", at[byte](text, n))
}
func (p program) BranchFork(b int32) int32   { p.called("fork %d", b); return 7 }
func (p program) BranchClose(b int32) int32  { return p.called("close %d", b) }
func (p program) BranchCut(b, n int32) int32 { return p.called("cut %d to %d", b, n) }
func (p program) BranchAppend(b int32, list unsafe.Pointer, n, flags int32) int32 {
	return p.called("append %v to %d, %d", at[penstock.Token](list, n), b, flags)
}
func (program) BranchTokens(_, from int32, to unsafe.Pointer, limit int32) int32 {
	copy(at[penstock.Token](to, limit), []penstock.Token{4, 5, 6}[from:])
	return 3 - from
}
func (p program) BranchesWait(list unsafe.Pointer, n, k, flags int32) int32 {
	p.called("wait for %v, %d, %d", at[int32](list, n), k, flags)
	if flags == abi.WaitAny {
		at[int32](list, n)[0] = 7 // it is ready first
		return 1
	}
	return n
}
func (program) BranchCandidates(_, k int32, to unsafe.Pointer) int32 {
	f := at[float32](to, 2+2*k)
	f[0], f[1] = 3, 0.5
	if k > 1 {
		at[penstock.Token](to, 2+2*k)[2], at[penstock.Token](to, 2+2*k)[3] = 8, 9
		f[2+k], f[3+k] = 2, 1
	}
	return min(k, 2)
}
func (program) BranchLogits(_ int32, to unsafe.Pointer, limit int32) int32 {
	copy(at[float32](to, limit), []float32{1, 2})
	return 2
}
func (program) BranchHiddenState(_ int32, to unsafe.Pointer, limit int32) int32 {
	copy(at[float32](to, limit), []float32{3, 4})
	return 2
}
func (program) BranchScores(_, from int32, to unsafe.Pointer, n int32) int32 {
	copy(at[float32](to, n), []float32{float32(math.NaN()), -1, -2}[from:])
	return 0
}
func (p program) BranchMask(b int32, words unsafe.Pointer, n int32) int32 {
	return p.called("mask %d with %v", b, at[uint32](words, n))
}
func (p program) BranchMix(b int32, list unsafe.Pointer, n int32) int32 {
	return p.called("mix %d of %v and %v", b, at[int32](list, 2*n), at[float32](list, 2*n)[1])
}
func (p program) BranchGrammar(b, g int32) int32 { return p.called("grammar %d of %d", g, b) }
func (p program) ChainOpen(text unsafe.Pointer, n int32) int32 {
	p.called("chain %s", at[byte](text, n))
	return 3
}
func (p program) BranchSample(b, c int32) int32 { return p.called("sample %d with %d", b, c) }
func (p program) BranchRun(b, c, n, flags int32) int32 {
	return p.called("run %d with %d, %d, %d", b, c, n, flags)
}
func (program) BranchState(int32) int32 { return abi.StateEnded }
func (p program) BranchReason(to unsafe.Pointer, limit int32) int32 {
	return int32(copy(at[byte](to, limit), "the reason"))
}
func (p program) Show(choice int32, list, logs unsafe.Pointer, n int32) int32 {
	return p.called("show %v of %d, %v", at[penstock.Token](list, n), choice, logs != nil)
}
func (p program) Adopt(choice, b, from int32) int32 {
	return p.called("adopt %d for %d from %d", b, choice, from)
}

// running is a run on a host that answers some calls with a number.
func running(t *testing.T, answer int32) (r *penstock.Run, calls *[]string) {
	calls = &[]string{}
	before := abi.Use(program{calls: calls, answer: answer})
	t.Cleanup(func() { abi.Use(before) })
	return new(penstock.Run), calls
}

func TestRun_MakesTheCalls(t *testing.T) {
	r, calls := running(t, 2)
	b, chain := r.Prompt(), r.Chain(`{"temperature":0}`)
	r.Open(1, 2)
	r.OpenMessages(`[]`)
	b.Append(3)
	b.AppendScored(4, 5)
	b.Append()
	b.Cut(1)
	fork := b.Fork()
	r.Wait(5, b, fork)
	if ready := r.WaitAny(0, b, fork); len(ready) != 1 || ready[0] != fork {
		t.Errorf("ready are %v", ready)
	}
	m := penstock.NewMask()
	m.Allow(33)
	b.Mask(m)
	b.Mix(penstock.Weighted{Branch: fork, Weight: 1.5})
	b.SetGrammar(-1)
	b.Sample(nil)
	b.Run(nil, 9)
	b.RunScored(chain, 9)
	r.Show(6)
	r.ShowChoice(1, []penstock.Token{6}, []float32{-1})
	r.Adopt(1, fork, 3)
	if selected := r.Select([]*penstock.Branch{b, fork}, 0, 0); len(selected) != 2 {
		t.Errorf("selected are %v", selected)
	}
	want := []string{"open []", `chain {"temperature":0}`, "open [1 2]", "open []", "append [3] to 2, 0", "append [4 5] to 2, 1", "cut 2 to 1", "fork 2",
		"wait for [2 7], 5, 0", "wait for [2 7], 0, 1", "mask 2 with [0 2]", "mix 2 of [7 1069547520] and 1.5", "grammar -1 of 2", "sample 2 with 0",
		"run 2 with 0, 9, 0", "run 2 with 3, 9, 1", "show [6] of 0, false", "show [6] of 1, true", "adopt 7 for 1 from 3", "close 7", "fork 2"}
	if r.Err() != nil || !slices.Equal(*calls, want) {
		t.Errorf("%v\n%s\nwant\n%s", r.Err(), strings.Join(*calls, "\n"), strings.Join(want, "\n"))
	}
}

func TestRun_ReadsWhatTheHostWrites(t *testing.T) {
	r, _ := running(t, 2)
	b := r.Prompt()
	if ids, logs := b.Best(4); !slices.Equal(ids, []penstock.Token{8, 9}) || !slices.Equal(logs, []float32{-1, -2}) {
		t.Errorf("the best are %v with %v", ids, logs)
	}
	row := make([]float32, 2)
	if n := b.Logits(row); n != 2 || row[1] != 2 || b.LogSum() != 3 || b.Entropy() != 0.5 {
		t.Errorf("the row is %v, its sum %v and its entropy %v", row, b.LogSum(), b.Entropy())
	}
	state := b.HiddenState(nil)
	if again := b.HiddenState(state); !slices.Equal(state, []float32{3, 4}) || !slices.Equal(again, state) || &again[0] != &state[0] {
		t.Errorf("the hidden state is %v, and in the same memory %v", state, again)
	}
	if !slices.Equal(b.Tokens(1), []penstock.Token{5, 6}) || b.Tokens(3) != nil || !slices.Equal(b.Scores(1), []float32{-1, -2}) || b.State() != penstock.Ended {
		t.Errorf("%v, %v, %v", b.Tokens(1), b.Scores(1), b.State())
	}
	if r.MaxTokens() != 20 || r.Choices() != 70 {
		t.Errorf("%d tokens of %d choices", r.MaxTokens(), r.Choices())
	}
}

// The first error stays, and nothing is asked of the host after it.
func TestRun_FirstErrorStays(t *testing.T) {
	for answer, want := range map[int32]error{
		abi.BranchNoneFree: penstock.ErrNoBranch, abi.BranchContextFull: penstock.ErrContextFull, abi.BranchBudget: penstock.ErrBudget,
		abi.BranchNoToken: penstock.ErrNoToken, abi.BranchRefused: penstock.ErrRefused, abi.BranchCannot: penstock.ErrRefused,
	} {
		r, calls := running(t, answer)
		b := r.Prompt()
		b.Append(1)
		b.Fork().Close()
		ids, _ := b.Best(3)
		if r.Wait(1, b) || len(ids) > 0 || b.Len() > 0 || b.Scores(b.Len()-1) != nil || b.Sample(nil) != 0 || r.ShowChoice(0, []penstock.Token{1}, nil) || len(*calls) != 1 {
			t.Errorf("after %v: %v, %v", want, ids, *calls)
		}
		if !errors.Is(r.Err(), want) || want == penstock.ErrRefused && r.Err().Error() != "the reason" {
			t.Errorf("%d is %v, want %v", answer, r.Err(), want)
		}
	}
}
