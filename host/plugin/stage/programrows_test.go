// SPDX-License-Identifier: MIT

package stage_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

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

// must traps where a call is not answered so.
func must(code []byte, want int) []byte {
	return join(code, asm.I32(want), asm.Equal, asm.EqualZero, asm.When(asm.Unreachable))
}

// A branch that goes on by itself, after a prompt of messages too, writes what a greedy chain
// writes.
func TestProgram_Main_Runs(t *testing.T) {
	b := newBench(t)
	b.told = greedyChains
	undisturbed := among(t, b)
	want, err := b.neighbour(1)
	if err != nil {
		t.Fatal(err)
	}
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
					open(g), asm.SetLocal(0), length, asm.SetLocal(1), must(state, abi.StatePending),
					must(join(asm.Local(0), asm.I32(0), asm.I32(30), asm.I32(abi.AppendScored), g.Call(abi.ImportBranchRun)), 0),
					must(state, abi.StateRunning), waitFor(g, 0, 0), must(state, abi.StateRan),
					must(join(asm.Local(0), asm.Local(1), asm.I32(bestAt), asm.I32(100), g.Call(abi.ImportBranchTokens)), 30),
					must(join(asm.Local(0), asm.Local(1), asm.I32(scoresAt), asm.I32(100), g.Call(abi.ImportBranchScores)), 30),
					must(join(asm.I32(0), asm.I32(bestAt), asm.I32(scoresAt), asm.I32(30), g.Call(abi.ImportShow)), 0),
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
	want, err := b.neighbour(1)
	if err != nil {
		t.Fatal(err)
	}
	g := running("2", func(g *asm.Guest) [][]byte {
		open := join(asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0), waitFor(g, 0, 1))
		best := join(asm.Local(0), asm.I32(1), asm.I32(candidatesAt), g.Call(abi.ImportBranchCandidates), asm.Drop)
		length := join(asm.Local(0), asm.I32(0), asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchTokens), asm.SetLocal(1))
		return [][]byte{
			open, best, length, asm.Local(0), asm.I32(bestAt), asm.I32(1), asm.I32(0), g.Call(abi.ImportBranchAppend), asm.Drop,
			must(join(asm.I32(0), asm.Local(0), asm.Local(1), g.Call(abi.ImportAdopt)), 0), asm.I32(0),
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
			isOdd := must(join(asm.I32(bestAt), asm.Load, asm.I32(1), asm.And), 1)
			return [][]byte{
				must(join(asm.I32(abi.GrammarGBNF), asm.I32(scoresAt), asm.I32(1), g.Call(abi.ImportGrammarOpen)), 0),
				asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0),
				must(join(asm.Local(0), asm.I32(0), g.Call(abi.ImportBranchGrammar)), 0), waitFor(g, 0, 1), best(0), isOdd,
				must(join(asm.Local(0), asm.I32(0), asm.I32(12), asm.I32(0), g.Call(abi.ImportBranchRun)), 0), waitFor(g, 0, 0),
				asm.Local(0), g.Call(abi.ImportBranchFork), asm.SetLocal(1), waitFor(g, 1, 1), best(1), isOdd,
				must(join(asm.Local(1), asm.I32(-12), asm.I32(bestAt), asm.I32(12), g.Call(abi.ImportBranchTokens)), 12),
				must(join(asm.I32(0), asm.I32(bestAt), asm.I32(0), asm.I32(12), g.Call(abi.ImportShow)), 0),
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
		return join(must(call, abi.BranchRefused), must(join(asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchReason)), len(why)))
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
			return join(asm.Poke(listAt+4, 1<<5), must(mask(g, 8), 0), must(sample(g), 37), asm.Poke(listAt+4, 0), must(mask(g, 8), 0), must(sample(g), abi.BranchNoToken))
		}, ""},
		"mixes": {func(g *asm.Guest) []byte { // the least likely are all as likely: the first
			return join(must(mix(g, -1, 1), 0), must(sample(g), 0))
		}, ""},
		"refusals": {func(g *asm.Guest) []byte {
			chain := join(asm.I32(scoresAt), asm.I32(3), g.Call(abi.ImportChainOpen))
			messages := join(asm.I32(scoresAt+8), asm.I32(3), g.Call(abi.ImportBranchOpenMessages))
			return join(refused(g, "hot", "temperature is hot", scoresAt, chain), refused(g, "bad", "no messages", scoresAt+8, messages),
				must(join(asm.I32(scoresAt+1), asm.I32(1), g.Call(abi.ImportChainOpen)), 1))
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
