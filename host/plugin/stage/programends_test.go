// SPDX-License-Identifier: MIT

package stage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// calling are loops, one for each host function of programs. Local 0 has a branch that is ready.
func calling() map[string]func(g *asm.Guest) []byte {
	call := func(function string, args ...int) func(g *asm.Guest) []byte {
		return func(g *asm.Guest) []byte {
			var code []byte
			for _, a := range args {
				code = append(code, asm.I32(a)...)
			}
			return join(code, g.Call(function), asm.Drop)
		}
	}
	const text = 12000
	forked := func(again func(g *asm.Guest) []byte) func(g *asm.Guest) []byte { // with a fork in local 1, which is closed
		return func(g *asm.Guest) []byte {
			failed := asm.When(asm.Forever) // there are no more handles
			return join(asm.Local(0), g.Call(abi.ImportBranchFork), asm.SetLocal(1), asm.Local(1), asm.I32(31), asm.ShiftRight, failed,
				again(g), asm.Local(1), g.Call(abi.ImportBranchClose), asm.Drop)
		}
	}
	nothing := func(*asm.Guest) []byte { return nil }
	return map[string]func(g *asm.Guest) []byte{
		abi.ImportBranchOpen: call(abi.ImportBranchOpen, 0, 0), abi.ImportBranchFork: call(abi.ImportBranchFork, 0), abi.ImportBranchClose: forked(nothing),
		abi.ImportBranchCut: call(abi.ImportBranchCut, 0, 11), abi.ImportBranchAppend: call(abi.ImportBranchAppend, 0, listAt, 0, 0),
		abi.ImportBranchTokens: call(abi.ImportBranchTokens, 0, 0, scoresAt, 1000), abi.ImportBranchesWait: call(abi.ImportBranchesWait, listAt, 1, 1, 0),
		abi.ImportBranchCandidates: call(abi.ImportBranchCandidates, 0, 8, candidatesAt), abi.ImportBranchLogits: call(abi.ImportBranchLogits, 0, scoresAt, 256),
		abi.ImportBranchHiddenState: call(abi.ImportBranchHiddenState, 0, scoresAt, 256), abi.ImportBranchScores: call(abi.ImportBranchScores, 0, 0, scoresAt, 1000), abi.ImportBranchMask: call(abi.ImportBranchMask, 0, scoresAt, 8),
		abi.ImportBranchMix: func(g *asm.Guest) []byte {
			return join(asm.PokeF(scoresAt+4, 1), call(abi.ImportBranchMix, 0, scoresAt, 1)(g))
		},
		abi.ImportBranchSample: call(abi.ImportBranchSample, 0, 0), abi.ImportChainOpen: call(abi.ImportChainOpen, text, 2),
		abi.ImportBranchRun: forked(func(g *asm.Guest) []byte {
			return join(asm.Local(1), asm.I32(0), asm.I32(2), asm.I32(0), g.Call(abi.ImportBranchRun), asm.Drop, waitFor(g, 1, 0))
		}),
		abi.ImportBranchState: call(abi.ImportBranchState, 0), abi.ImportBranchReason: call(abi.ImportBranchReason, scoresAt, 100),
		abi.ImportBranchOpenMessages: call(abi.ImportBranchOpenMessages, text, 2), abi.ImportBranchGrammar: call(abi.ImportBranchGrammar, 0, -1),
		abi.ImportShow: call(abi.ImportShow, 0, 0, 0, 0),
	}
}

// endedProgram has a program run until end has ended it, and returns how its request ended, once
// the guest has returned, and whether the guest had begun.
func (b *bench) endedProgram(t *testing.T, g *asm.Guest, end func(r *scheduler.Request) (then func(*scheduler.Stream))) (_ *scheduler.End, begun bool) {
	t.Helper()
	p, err := b.loader.Load(t.Context(), g.Wasm())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	use := plugin.RequestInfo{Seed: 7, ContextSize: 2048}
	greedyChains(&use)
	s, err := stage.New(p, use)
	if err != nil {
		t.Fatal(err)
	}
	of, began, returned := stage.Program{Stage: s}, make(chan struct{}), make(chan struct{})
	tokens, _ := words{}.Tokenize("neighbour 1", false, false) // it has no errors
	r := scheduler.Request{Reports: scheduler.Reports{Logprobs: -1}, Caching: scheduler.Caching{CachePrompt: true}, Prompt: []scheduler.Segment{{Tokens: tokens}}, Chain: []chain.Stage{of},
		Program: &program.Program{Branches: 4, Main: func(r *program.Run) error {
			close(began)
			defer close(returned)
			return of.Main(r)
		}}}
	then := end(&r)
	stream, err := b.scheduler.Submit(r)
	if err != nil {
		t.Fatal(err)
	}
	var ended *scheduler.End
	for e := range schedulertest.Events(t.Context(), stream) {
		if e.Kind == scheduler.KindToken && then != nil { // it is in its loop
			then(stream)
		}
		if e.Kind == scheduler.KindEnd {
			ended = e.End
		}
	}
	select {
	case <-began:
	default:
		return ended, false
	}
	select {
	case <-returned:
	case <-time.After(time.Minute):
		t.Fatal("the guest goes on")
	}
	return ended, true
}

// No host function of programs is out of the reach of a cancel, of a deadline, of the clock and of
// fuel, however often it is called.
func TestProgram_Main_EveryCallCanBeEnded(t *testing.T) {
	endless := func(l *plugin.Limits) { l.HookFuel, l.ProgramFuel = 1<<45, 1<<45 }
	loops, patience := calling(), 50*time.Millisecond
	for _, s := range abi.Imports {
		if strings.HasPrefix(s.Name, "branch") && loops[s.Name] == nil {
			t.Errorf("no loop calls %s", s.Name)
		}
	}
	none := func(*scheduler.Request) func(*scheduler.Stream) { return nil }
	for name, c := range map[string]struct {
		limits func(*plugin.Limits)
		end    func(*scheduler.Request) func(*scheduler.Stream)
		ended  func(e *scheduler.End) bool
	}{
		"cancelled": {endless, func(*scheduler.Request) func(*scheduler.Stream) { return (*scheduler.Stream).Cancel },
			func(e *scheduler.End) bool { return e.Reason == answer.ReasonCancelled }},
		"too late": {endless, func(r *scheduler.Request) func(*scheduler.Stream) {
			r.Deadline = time.Now().Add(patience)
			return nil
		}, func(e *scheduler.End) bool { return errors.Is(e.Err, scheduler.ErrDeadline) }},
		"too slow": {func(l *plugin.Limits) {
			endless(l)
			l.HookTime = 20 * time.Millisecond
		}, none, func(e *scheduler.End) bool {
			return errors.Is(e.Err, plugin.CauseTime) || errors.Is(e.Err, plugin.CauseBusy)
		}},
		"out of fuel": {func(l *plugin.Limits) { l.HookFuel = 500_000 }, none, func(e *scheduler.End) bool { return errors.Is(e.Err, plugin.CauseFuel) }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.limits)
			for function, again := range loops {
				g := asm.New(`{"name":"ends","branches":4}`)
				g.Put(12000, "[]").On(abi.ExportRun, asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0), waitFor(g, 0, 1),
					asm.Poke(bestAt, 7), asm.I32(0), asm.I32(bestAt), asm.I32(0), asm.I32(1), g.Call(abi.ImportShow), asm.Drop,
					asm.I32(listAt), asm.I32(0), asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchesWait), asm.Drop,
					asm.Loop(again(g)))
				e, begun := b.endedProgram(t, g, c.end)
				for ; !begun; e, begun = b.endedProgram(t, g, c.end) { // on a busy machine a deadline can pass before
					patience *= 2
				}
				if e == nil || !c.ended(e) {
					t.Errorf("%s: ended as %+v", function, e)
				}
			}
			b.stop()
			if used, _ := b.loader.MemoryUse(); used != 0 {
				t.Errorf("%d bytes are still taken", used)
			}
		})
	}
}
