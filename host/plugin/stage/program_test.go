// SPDX-License-Identifier: MIT

package stage_test

import (
	"context"
	"errors"
	"math"
	"strconv"
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
	"github.com/penstock/penstock/tools/must"
)

// runs has the plugin that is a program write the answer to a prompt.
func (b *bench) runs(t testing.TB, g *asm.Guest, most int, skip bool) (text, reason string, err error) {
	t.Helper()
	p, err := b.loader.Load(t.Context(), g.Wasm())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	request := plugin.RequestInfo{Seed: 7, MaxTokens: most, ContextSize: 2048, Skip: skip}
	if b.told != nil {
		b.told(&request)
	}
	s, err := stage.New(p, request)
	if err != nil {
		t.Fatal(err)
	}
	of := stage.Program{Stage: s}
	tokens, _ := words{}.Tokenize("neighbour 1", false, false) // it has no errors
	a, err := b.answer(t.Context(), scheduler.Request{Ending: scheduler.Ending{MaxTokens: most, IgnoreEOG: true}, Reports: scheduler.Reports{Logprobs: -1}, Caching: scheduler.Caching{CachePrompt: true},
		Prompt: []scheduler.Segment{{Tokens: tokens}}, Chain: []chain.Stage{of, draw{}}, Program: &program.Program{Main: of.Main, Branches: p.Branches(nil)}})
	return a.Text, a.Reason, err
}

// Where the guests of these tests have their lists, candidates and scores.
const (
	listAt       = 400
	candidatesAt = 1024
	bestAt       = candidatesAt + 8
	scoresAt     = 8192
)

// running is a guest with a program of so many branches.
func running(branches string, code func(g *asm.Guest) [][]byte) *asm.Guest {
	g := asm.New(`{"name":"program","branches":`+branches+`}`).On(abi.ExportOpen, asm.I32(0))
	return g.On(abi.ExportRun, code(g)...)
}

// waitFor waits for the branch of a local, with k candidates.
func waitFor(g *asm.Guest, local, k int) []byte {
	return join(asm.I32(listAt), asm.Local(local), asm.Store, asm.I32(listAt), asm.I32(1), asm.I32(k), asm.I32(0), g.Call(abi.ImportBranchesWait), asm.Drop)
}

func join(code ...[]byte) (all []byte) {
	for _, c := range code {
		all = append(all, c...)
	}
	return all
}

// greedyProgram shows the most likely token after one branch so many times. Each time it also
// forks the branch and closes the fork.
func greedyProgram(steps int) *asm.Guest {
	return running("2", func(g *asm.Guest) [][]byte {
		candidates := join(asm.Local(0), asm.I32(1), asm.I32(candidatesAt), g.Call(abi.ImportBranchCandidates), asm.Drop)
		show := join(asm.I32(0), asm.I32(bestAt), asm.I32(0), asm.I32(1), g.Call(abi.ImportShow), asm.Drop)
		grow := join(asm.Local(0), asm.I32(bestAt), asm.I32(1), asm.I32(abi.AppendScored), g.Call(abi.ImportBranchAppend), asm.Drop)
		fork := join(asm.Local(0), g.Call(abi.ImportBranchFork), asm.SetLocal(2), asm.Local(2), g.Call(abi.ImportBranchClose), asm.Drop)
		return [][]byte{
			asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0),
			asm.Each(1, asm.I32(steps), waitFor(g, 0, 1), candidates, show, fork, grow),
			asm.I32(0),
		}
	})
}

// A program that is a guest writes what a greedy chain writes.
func TestProgram_Main_WritesTheAnswer(t *testing.T) {
	b := newBench(t)
	undisturbed := among(t, b)
	want := must.Get(b.neighbour(1))(t)
	text, reason, err := b.runs(t, greedyProgram(100), 0, false)
	if err != nil || text != want || reason != "stop" {
		t.Errorf("%q ended by %s, want %q: %v", text, reason, want, err)
	}
	text, reason, err = b.runs(t, greedyProgram(100), 5, false)
	if err != nil || !strings.HasPrefix(want, text) || strings.Count(text, " ") != 5 || reason != "length" {
		t.Errorf("with a limit of 5 tokens: %q ended by %s: %v", text, reason, err)
	}
	undisturbed()
}

// What no correct program does ends its request alone. With on_error skip the answer goes on after
// what was shown.
func TestProgram_Main_Faults(t *testing.T) {
	b := newBench(t, func(l *plugin.Limits) { l.HookFuel = 200_000 })
	undisturbed := among(t, b)
	open := func(g *asm.Guest) []byte {
		return join(asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0))
	}
	shows := func(g *asm.Guest) []byte {
		return join(asm.Poke(bestAt, 7), asm.I32(0), asm.I32(bestAt), asm.I32(0), asm.I32(1), g.Call(abi.ImportShow), asm.Drop)
	}
	wait := func(g *asm.Guest, n, k, flags int) []byte {
		return join(asm.I32(listAt), asm.I32(n), asm.I32(k), asm.I32(flags), g.Call(abi.ImportBranchesWait), asm.Drop)
	}
	for name, c := range map[string]struct {
		code func(g *asm.Guest) []byte
		says string
	}{
		"spins":             {func(*asm.Guest) []byte { return asm.Forever }, "fuel"},
		"waits for nothing": {func(g *asm.Guest) []byte { return asm.Loop(wait(g, 0, 0, 0)) }, "fuel"},
		"a closed branch": {func(g *asm.Guest) []byte {
			return join(open(g), asm.Local(0), g.Call(abi.ImportBranchClose), asm.Drop, waitFor(g, 0, 0))
		}, "handle"},
		"a foreign handle":    {func(g *asm.Guest) []byte { return join(asm.Poke(listAt, 77), wait(g, 1, 0, 0)) }, "handle 77"},
		"too many to wait":    {func(g *asm.Guest) []byte { return wait(g, 3, 0, 0) }, "3 branches"},
		"too many candidates": {func(g *asm.Guest) []byte { return join(open(g), wait(g, 0, 5000, 0)) }, "5000"},
		"an unknown flag":     {func(g *asm.Guest) []byte { return wait(g, 0, 0, 2) }, "flags 0x2"},
		"no row": {func(g *asm.Guest) []byte {
			return join(open(g), asm.Local(0), asm.I32(1), asm.I32(candidatesAt), g.Call(abi.ImportBranchCandidates), asm.Drop)
		}, "no row"},
		"no such token": {func(g *asm.Guest) []byte {
			return join(asm.Poke(listAt, 256), asm.I32(listAt), asm.I32(1), g.Call(abi.ImportBranchOpen), asm.Drop)
		}, "token 256"},
		"a cut": {func(g *asm.Guest) []byte {
			return join(open(g), asm.Local(0), asm.I32(0), g.Call(abi.ImportBranchCut), asm.Drop)
		}, "cut to 0"},
		"scores out of memory": {func(g *asm.Guest) []byte {
			return join(open(g), asm.Local(0), asm.I32(0), asm.I32(1<<20), asm.I32(100), g.Call(abi.ImportBranchScores), asm.Drop)
		}, "memory"},
		"a probability above one": {func(g *asm.Guest) []byte {
			return join(asm.PokeF(scoresAt, 1), asm.I32(0), asm.I32(bestAt), asm.I32(scoresAt), asm.I32(1), g.Call(abi.ImportShow), asm.Drop)
		}, "log-probability 1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := running("2", func(g *asm.Guest) [][]byte { return [][]byte{shows(g), wait(g, 0, 0, 0), c.code(g), asm.I32(0)} })
			if _, _, err := b.runs(t, g, 0, false); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), abi.ExportRun) {
				t.Errorf("its error is %v, and should name %s and %q", err, abi.ExportRun, c.says)
			}
			if text, reason, err := b.runs(t, g, 5, true); err != nil || !strings.HasPrefix(text, " 7 ") || strings.Count(text, " ") != 5 || reason != "length" {
				t.Errorf("skipped: %q ended by %s: %v", text, reason, err)
			}
		})
	}
	undisturbed()
}

// What a correct program may meet is an answer that it can go on after, and what it does not end
// ends with its request.
func TestProgram_Main_Limits(t *testing.T) {
	b := newBench(t)
	g := running("2", func(g *asm.Guest) [][]byte {
		open := join(asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen))
		check := func(code []byte, want int) []byte { // says where it went wrong, and goes on
			return join(code, asm.I32(want), asm.Equal, asm.EqualZero, asm.When(asm.Unreachable))
		}
		long := join(asm.Local(0), asm.I32(scoresAt), asm.I32(3000), asm.I32(0), g.Call(abi.ImportBranchAppend))
		many := join(asm.Local(0), asm.I32(scoresAt), asm.I32(1500), asm.I32(0), g.Call(abi.ImportBranchAppend))
		return [][]byte{
			check(open, 0), check(join(asm.Local(0), g.Call(abi.ImportBranchFork)), 1),
			asm.Each(1, asm.I32(100), check(join(asm.Local(0), g.Call(abi.ImportBranchFork)), abi.BranchNoneFree)), // a fork bomb
			check(open, abi.BranchNoneFree), check(long, abi.BranchContextFull), check(many, abi.BranchBudget),
			asm.I32(0),
		}
	})
	if text, reason, err := b.runs(t, g, 20, false); err != nil || text != "" || reason != "stop" {
		t.Errorf("%q ended by %s: %v", text, reason, err)
	}
	refuses := running("1", func(g *asm.Guest) [][]byte {
		g.Put(scoresAt, "no story")
		return [][]byte{asm.I32(scoresAt), asm.I32(8), g.Call(abi.ImportFail), asm.I32(1)}
	})
	if _, _, err := b.runs(t, refuses, 20, false); err == nil || !strings.Contains(err.Error(), "no story") {
		t.Errorf("it refuses with %v", err)
	}
	early := asm.New(`{"name":"early","branches":1}`)
	early.On(abi.ExportOpen, asm.I32(0), asm.I32(0), early.Call(abi.ImportBranchOpen)).On(abi.ExportRun, asm.I32(0))
	if _, _, err := b.runs(t, early, 20, false); err == nil || !strings.Contains(err.Error(), "branch_open belongs to") {
		t.Errorf("a branch before the program: %v", err)
	}
}

// Modules whose exports or manifest say two things are refused when they are loaded.
func TestLoader_RefusesHalfAProgram(t *testing.T) {
	b := newBench(t)
	for name, g := range map[string]*asm.Guest{
		"branches without a program": asm.New(`{"name":"a","branches":2}`).On(abi.ExportOpen, asm.I32(0)),
		"too many branches":          asm.New(`{"name":"a","branches":65}`).On(abi.ExportOpen, asm.I32(0)).On(abi.ExportRun, asm.I32(0)),
		"a call for a token":         asm.New(`{"name":"a"}`).On(abi.ExportOpen, asm.I32(0)).On(abi.ExportRun, asm.I32(0)).On(abi.ExportAccept, asm.I32(0)),
	} {
		if p, err := b.loader.Load(context.Background(), g.Wasm()); err == nil {
			p.Release()
			t.Errorf("%s: loaded", name)
		}
	}
}

// The rows that a program may hold count as memory of plugins, for as long as it runs.
func TestProgram_Main_RowsCountAsMemory(t *testing.T) {
	const pages = 4 << 16 // of a guest
	rows := int64(2 * 2 * 4 * vocabulary)
	for name, c := range map[string]struct {
		memory int64
		fits   bool
	}{"room for all": {pages + rows, true}, "too little": {pages + rows - 1, false}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(l *plugin.Limits) { l.Memory = c.memory })
			_, _, err := b.runs(t, greedyProgram(3), 0, false)
			if fits := err == nil; fits != c.fits || !fits && !strings.Contains(err.Error(), "plugins.memory") {
				t.Errorf("%v", err)
			}
			b.stop()
			if used, _ := b.loader.MemoryUse(); used != 0 {
				t.Errorf("%d bytes are still in use", used)
			}
		})
	}
}

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
	p := must.Get(b.loader.Load(t.Context(), g.Wasm()))(t)
	defer p.Release()
	use := plugin.RequestInfo{Seed: 7, ContextSize: 2048}
	greedyChains(&use)
	s := must.Get(stage.New(p, use))(t)
	of, began, returned := stage.Program{Stage: s}, make(chan struct{}), make(chan struct{})
	tokens, _ := words{}.Tokenize("neighbour 1", false, false) // it has no errors
	r := scheduler.Request{Reports: scheduler.Reports{Logprobs: -1}, Caching: scheduler.Caching{CachePrompt: true}, Prompt: []scheduler.Segment{{Tokens: tokens}}, Chain: []chain.Stage{of},
		Program: &program.Program{Branches: 4, Main: func(r *program.Run) error {
			close(began)
			defer close(returned)
			return of.Main(r)
		}}}
	then := end(&r)
	stream := must.Get(b.scheduler.Submit(r))(t)
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

// greedyChains are those of a request whose chains take the most likely token, whatever is asked
// for but "hot".
func greedyChains(r *plugin.RequestInfo) {
	r.Chain = func(_ context.Context, parameters []byte) (func(uint32) ([]chain.Stage, error), error) {
		if string(parameters) == "hot" {
			return nil, errors.New("temperature is hot")
		}
		return func(uint32) ([]chain.Stage, error) { return []chain.Stage{schedulertest.Greedy{}}, nil }, nil
	}
	r.Prompt = func(_ context.Context, messages []byte) ([]int32, error) {
		if string(messages) != "[]" {
			return nil, errors.New("no messages")
		}
		return words{}.Tokenize("neighbour 1", false, false)
	}
}

// insist traps where a call is not answered so.
func insist(code []byte, want int) []byte {
	return join(code, asm.I32(want), asm.Equal, asm.EqualZero, asm.When(asm.Unreachable))
}

// A branch that goes on by itself, after a prompt of messages too, writes what a greedy chain
// writes.
func TestProgram_Main_Runs(t *testing.T) {
	b := newBench(t)
	b.told = greedyChains
	undisturbed := among(t, b)
	want := must.Get(b.neighbour(1))(t)
	for name, open := range map[string]func(g *asm.Guest) []byte{
		"the prompt": func(g *asm.Guest) []byte { return join(asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen)) },
		"messages": func(g *asm.Guest) []byte {
			g.Put(scoresAt, "[]")
			return join(asm.I32(scoresAt), asm.I32(2), g.Call(abi.ImportBranchOpenMessages))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := running("2", func(g *asm.Guest) [][]byte {
				state := join(asm.Local(0), g.Call(abi.ImportBranchState))
				// so many tokens of it are the prompt
				length := join(asm.Local(0), asm.I32(0), asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchTokens))
				return [][]byte{
					open(g), asm.SetLocal(0), length, asm.SetLocal(1), insist(state, abi.StatePending),
					insist(join(asm.Local(0), asm.I32(0), asm.I32(30), asm.I32(abi.AppendScored), g.Call(abi.ImportBranchRun)), 0),
					insist(state, abi.StateRunning), waitFor(g, 0, 0), insist(state, abi.StateRan),
					insist(join(asm.Local(0), asm.Local(1), asm.I32(bestAt), asm.I32(100), g.Call(abi.ImportBranchTokens)), 30),
					insist(join(asm.Local(0), asm.Local(1), asm.I32(scoresAt), asm.I32(100), g.Call(abi.ImportBranchScores)), 30),
					insist(join(asm.I32(0), asm.I32(bestAt), asm.I32(scoresAt), asm.I32(30), g.Call(abi.ImportShow)), 0),
					asm.I32(0),
				}
			})
			text, reason, err := b.runs(t, g, 100, false)
			if err != nil || !strings.HasPrefix(want, text) || strings.Count(text, " ") != 30 || reason != "stop" {
				t.Errorf("%q ended by %s, want the beginning of %q: %v", text, reason, want, err)
			}
		})
	}
	undisturbed()
}

// An answer that goes on from a branch is drawn by the request's chain, from the tokens that were
// its prompt on.
func TestProgram_Main_Adopts(t *testing.T) {
	b := newBench(t)
	want := must.Get(b.neighbour(1))(t)
	g := running("2", func(g *asm.Guest) [][]byte {
		open := join(asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0), waitFor(g, 0, 1))
		best := join(asm.Local(0), asm.I32(1), asm.I32(candidatesAt), g.Call(abi.ImportBranchCandidates), asm.Drop)
		length := join(asm.Local(0), asm.I32(0), asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchTokens), asm.SetLocal(1))
		return [][]byte{
			open, best, length, asm.Local(0), asm.I32(bestAt), asm.I32(1), asm.I32(0), g.Call(abi.ImportBranchAppend), asm.Drop,
			insist(join(asm.I32(0), asm.Local(0), asm.Local(1), g.Call(abi.ImportAdopt)), 0), asm.I32(0),
		}
	})
	text, reason, err := b.runs(t, g, 50, false)
	if err != nil || !strings.HasPrefix(want, text) || strings.Count(text, " ") != 50 || reason != "length" {
		t.Errorf("%q ended by %s, want %q: %v", text, reason, want, err)
	}
	twice := running("1", func(g *asm.Guest) [][]byte {
		adopt := join(asm.I32(0), asm.Local(0), asm.I32(1), g.Call(abi.ImportAdopt), asm.Drop)
		return [][]byte{asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0), adopt, adopt, asm.I32(0)}
	})
	if _, _, err := b.runs(t, twice, 0, false); err == nil || !strings.Contains(err.Error(), "goes on from a branch already") {
		t.Errorf("adopted twice: %v", err)
	}
}

// A branch that follows a grammar has only tokens that this allows, when it is read, drawn from
// and goes on by itself; so has a fork. Another token is a fault.
func TestProgram_Main_FollowsAGrammar(t *testing.T) {
	b := newBench(t)
	b.told = greedyChains
	program := func(then func(g *asm.Guest) []byte) *asm.Guest {
		return running("2", func(g *asm.Guest) [][]byte {
			best := func(branch int) []byte {
				return join(asm.Local(branch), asm.I32(1), asm.I32(candidatesAt), g.Call(abi.ImportBranchCandidates), asm.Drop)
			}
			isOdd := insist(join(asm.I32(bestAt), asm.Load, asm.I32(1), asm.And), 1)
			return [][]byte{
				insist(join(asm.I32(abi.GrammarGBNF), asm.I32(scoresAt), asm.I32(1), g.Call(abi.ImportGrammarOpen)), 0),
				asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0),
				insist(join(asm.Local(0), asm.I32(0), g.Call(abi.ImportBranchGrammar)), 0), waitFor(g, 0, 1), best(0), isOdd,
				insist(join(asm.Local(0), asm.I32(0), asm.I32(12), asm.I32(0), g.Call(abi.ImportBranchRun)), 0), waitFor(g, 0, 0),
				asm.Local(0), g.Call(abi.ImportBranchFork), asm.SetLocal(1), waitFor(g, 1, 1), best(1), isOdd,
				insist(join(asm.Local(1), asm.I32(-12), asm.I32(bestAt), asm.I32(12), g.Call(abi.ImportBranchTokens)), 12),
				insist(join(asm.I32(0), asm.I32(bestAt), asm.I32(0), asm.I32(12), g.Call(abi.ImportShow)), 0),
				then(g), asm.I32(0),
			}
		})
	}
	text, _, err := b.runs(t, program(func(*asm.Guest) []byte { return nil }), 100, false)
	if err != nil || strings.Count(text, " ") != 12 {
		t.Errorf("%q: %v", text, err)
	}
	for _, word := range strings.Fields(text) {
		if n, err := strconv.Atoi(word); err != nil || n%2 == 0 {
			t.Errorf("%q has %s", text, word)
		}
	}
	_, _, err = b.runs(t, program(func(g *asm.Guest) []byte {
		return join(asm.Poke(bestAt, 6), asm.Local(1), asm.I32(bestAt), asm.I32(1), asm.I32(0), g.Call(abi.ImportBranchAppend), asm.Drop)
	}), 100, false)
	if err == nil || !strings.Contains(err.Error(), "does not fit the branch's grammar") {
		t.Errorf("a token that does not fit: %v", err)
	}
	_, _, err = b.runs(t, running("1", func(g *asm.Guest) [][]byte {
		return [][]byte{asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.I32(3), g.Call(abi.ImportBranchGrammar), asm.Drop, asm.I32(0)}
	}), 100, false)
	if err == nil || !strings.Contains(err.Error(), "no grammar has the handle 3") {
		t.Errorf("a grammar that is not open: %v", err)
	}
}

// A row is drawn from, masked and mixed; what cannot be used is refused with a reason, and what no
// correct program does is a fault.
func TestProgram_Main_Rows(t *testing.T) {
	b := newBench(t)
	b.told = greedyChains
	best := func(g *asm.Guest) []byte {
		return join(asm.Local(0), asm.I32(1), asm.I32(candidatesAt), g.Call(abi.ImportBranchCandidates), asm.Drop)
	}
	sample := func(g *asm.Guest) []byte { return join(asm.Local(0), asm.I32(0), g.Call(abi.ImportBranchSample)) }
	mask := func(g *asm.Guest, words int) []byte {
		return join(asm.Local(0), asm.I32(listAt), asm.I32(words), g.Call(abi.ImportBranchMask))
	}
	mix := func(g *asm.Guest, weight float32, n int) []byte {
		return join(asm.I32(listAt), asm.Local(0), asm.Store, asm.PokeF(listAt+4, weight), asm.Local(0), asm.I32(listAt), asm.I32(n), g.Call(abi.ImportBranchMix))
	}
	refused := func(g *asm.Guest, text, why string, at int, call []byte) []byte {
		g.Put(at, text)
		return join(insist(call, abi.BranchRefused), insist(join(asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchReason)), len(why)))
	}
	started := func(g *asm.Guest) []byte {
		return join(asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0), waitFor(g, 0, 1), asm.Poke(listAt, 0))
	}
	for name, c := range map[string]struct {
		code func(g *asm.Guest) []byte
		says string // its fault; empty: there is none
	}{
		"draws": {func(g *asm.Guest) []byte {
			return join(best(g), sample(g), asm.I32(bestAt), asm.Load, asm.Equal, asm.EqualZero, asm.When(asm.Unreachable))
		}, ""},
		"masks": {func(g *asm.Guest) []byte { // token 37 alone, then none
			return join(asm.Poke(listAt+4, 1<<5), insist(mask(g, 8), 0), insist(sample(g), 37), asm.Poke(listAt+4, 0), insist(mask(g, 8), 0), insist(sample(g), abi.BranchNoToken))
		}, ""},
		"mixes": {func(g *asm.Guest) []byte { // the least likely are all as likely: the first
			return join(insist(mix(g, -1, 1), 0), insist(sample(g), 0))
		}, ""},
		"refusals": {func(g *asm.Guest) []byte {
			chain := join(asm.I32(scoresAt), asm.I32(3), g.Call(abi.ImportChainOpen))
			messages := join(asm.I32(scoresAt+8), asm.I32(3), g.Call(abi.ImportBranchOpenMessages))
			return join(refused(g, "hot", "temperature is hot", scoresAt, chain), refused(g, "bad", "no messages", scoresAt+8, messages),
				insist(join(asm.I32(scoresAt+1), asm.I32(1), g.Call(abi.ImportChainOpen)), 1))
		}, ""},
		"too short a mask":   {func(g *asm.Guest) []byte { return join(mask(g, 7), asm.Drop) }, "7 words"},
		"no end of a weight": {func(g *asm.Guest) []byte { return join(mix(g, float32(math.Inf(1)), 1), asm.Drop) }, "weighted with"},
		"no rows":            {func(g *asm.Guest) []byte { return join(mix(g, 1, 0), asm.Drop) }, "0 rows"},
		"no chain": {func(g *asm.Guest) []byte {
			return join(asm.Local(0), asm.I32(1), g.Call(abi.ImportBranchSample), asm.Drop)
		}, "no chain has the handle 1"},
		"no tokens": {func(g *asm.Guest) []byte {
			return join(asm.Local(0), asm.I32(0), asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchRun), asm.Drop)
		}, "a run of 0 tokens"},
		"a branch that runs": {func(g *asm.Guest) []byte {
			return join(asm.Local(0), asm.I32(0), asm.I32(9), asm.I32(0), g.Call(abi.ImportBranchRun), asm.Drop, best(g))
		}, "goes on by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			g := running("2", func(g *asm.Guest) [][]byte { return [][]byte{started(g), c.code(g), asm.I32(0)} })
			_, reason, err := b.runs(t, g, 100, false)
			if c.says == "" && (err != nil || reason != "stop") || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("ended by %s: %v", reason, err)
			}
		})
	}
}
