// SPDX-License-Identifier: MIT

package stage_test

import (
	"context"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
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
	want, err := b.neighbour(1)
	if err != nil {
		t.Fatal(err)
	}
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
