// SPDX-License-Identifier: MIT

package plugintest_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// told is a program whose steps are a test's.
type told struct{}

var (
	_     = penstock.Register[told](penstock.Manifest{Name: "told", Branches: 4, BranchesConfig: "n"})
	steps func(r *penstock.Run) error
)

// Run implements penstock.Runner.
func (told) Run(r *penstock.Run) error { return steps(r) }

// counting says that the next number is the likeliest, and 0, which ends, after 3.
func counting(tokens []penstock.Token) []float32 {
	row := []float32{-1, 0, 0.5, 1}
	row[(tokens[len(tokens)-1]+1)%4] = 4
	return row
}

func run(t *testing.T, r plugintest.Request, f func(*penstock.Run) error) (*plugintest.Session, []plugintest.Shown, error) {
	t.Helper()
	r.Pieces, r.Prompt, r.Says = []string{"", "a", "b", "c"}, []penstock.Token{1}, counting
	r.Attributes = map[penstock.Token]penstock.Attributes{0: penstock.AttrEnd}
	steps = f
	s := plugintest.Open[told](t, r)
	shown, err := s.Run()
	return s, shown, err
}

func TestSession_Run_Rows(t *testing.T) {
	_, _, err := run(t, plugintest.Request{}, func(r *penstock.Run) error {
		b, c := r.Prompt(), r.Open(3)
		r.Wait(1, b, c)
		before := b.LogSum()
		m := penstock.NewMask()
		m.Allow(1)
		m.Allow(3)
		b.Mask(m)
		if ids, logs := b.Best(4); !slices.Equal(ids, []penstock.Token{3, 1}) || math.Abs(float64(logs[0])+math.Log(1+1/math.E)) > 1e-5 || b.LogSum() >= before {
			t.Errorf("masked: %v with %v, log-sum-exp %v of %v", ids, logs, b.LogSum(), before)
		}
		c.Mix(penstock.Weighted{Branch: c, Weight: 1.5}, penstock.Weighted{Branch: b, Weight: -0.5})
		row := make([]float32, 4)
		if c.Logits(row); row[1] != 0 || row[3] != 1.5-0.5 || !math.IsInf(float64(row[0]), -1) || !math.IsInf(float64(row[2]), -1) {
			t.Errorf("mixed: %v", row)
		}
		greedy := r.Chain(`{"temperature":0}`)
		if got := b.Sample(greedy); got != 3 {
			t.Errorf("the likeliest token is %d", got)
		}
		c.Mask(penstock.NewMask())
		c.Sample(nil)
		return nil
	})
	if !errors.Is(err, plugintest.ErrRefused) {
		t.Errorf("a draw from nothing: %v", err)
	}
}

func TestSession_Run_RunsAndAdopts(t *testing.T) {
	s, shown, err := run(t, plugintest.Request{Choices: 2, Sampling: `{"temperature":0}`, Template: func(string) ([]penstock.Token, error) { return []penstock.Token{2, 2}, nil }}, func(r *penstock.Run) error {
		b, short := r.OpenMessages(`[]`), r.Prompt()
		b.RunScored(nil, 10)
		short.Run(nil, 1)
		if b.State() != penstock.Running {
			t.Errorf("it begins with the wait: %v", b.State())
		}
		r.Wait(0, b, short)
		if got := b.Tokens(0); !slices.Equal(got, []penstock.Token{2, 2, 3}) || b.State() != penstock.Ended || !(b.Scores(2)[0] < 0) {
			t.Errorf("%v, state %v", got, b.State())
		}
		if got := short.Tokens(0); !slices.Equal(got, []penstock.Token{1, 2}) || short.State() != penstock.Ran {
			t.Errorf("%v, state %v", got, short.State())
		}
		for choice := range r.Choices() {
			r.ShowChoice(choice, []penstock.Token{2}, nil)
		}
		r.Adopt(1, short, 1)
		return r.Err()
	})
	if err != nil || len(shown) != 2 || shown[1].Choice != 1 {
		t.Errorf("shown: %v: %v", shown, err)
	}
	if a := s.Adopted(); len(a) != 1 || a[0].Choice != 1 || a[0].From != 1 || !slices.Equal(a[0].Tokens, []penstock.Token{1, 2}) {
		t.Errorf("adopted: %v", a)
	}
}

// What a branch draws depends on the seed and on which branch it is, and is as likely as the chain
// says.
func TestSession_Run_Draws(t *testing.T) {
	draws := func(seed uint64) (all [2][]penstock.Token) {
		_, _, err := run(t, plugintest.Request{Seed: seed}, func(r *penstock.Run) error {
			a, b, hot := r.Prompt(), r.Prompt(), r.Chain(`{"temperature":5,"top_k":3}`)
			r.Wait(0, a, b)
			for range 300 {
				all[0], all[1] = append(all[0], a.Sample(hot)), append(all[1], b.Sample(hot))
			}
			return r.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	first := draws(7)
	if again := draws(7); !slices.Equal(first[0], again[0]) || slices.Equal(first[0], first[1]) || slices.Equal(first[0], draws(8)[0]) {
		t.Error("draws do not follow the seed and the branch")
	}
	if slices.Contains(first[0], 0) || !slices.Contains(first[0], 1) || !slices.Contains(first[0], 3) {
		t.Errorf("of three candidates: %v", first[0])
	}
}

// As on the host, each wait begins a position of random numbers.
func TestSession_Run_RandomNumbersAreThoseOfTheHost(t *testing.T) {
	_, _, err := run(t, plugintest.Request{Seed: 7}, func(r *penstock.Run) error {
		drawn := []uint64{penstock.Random()}
		r.Wait(0)
		drawn = append(drawn, penstock.Random(), penstock.Random())
		for i, at := range [][2]uint64{{1, 0}, {1<<32 + 1, 0}, {1<<32 + 1, 1}} {
			if want := abi.Draw(7, 0, at[0], at[1]); drawn[i] != want {
				t.Errorf("draw %d is %#x, want %#x", i, drawn[i], want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A program gets as many branches as the request asks for, and as many tokens as the host gives it.
func TestSession_Run_KeepsToItsLimits(t *testing.T) {
	_, _, err := run(t, plugintest.Request{Config: `{"n":1}`}, func(r *penstock.Run) error {
		r.Prompt().Fork()
		return r.Err()
	})
	if !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), penstock.ErrNoBranch.Error()) {
		t.Errorf("a second branch of one: %v", err)
	}
	rows := 0
	_, _, err = run(t, plugintest.Request{Config: `{"n":2}`, MaxTokens: 8, ContextSize: 16}, func(r *penstock.Run) error {
		b := r.Open(1, 2)
		for r.Wait(0, b) {
			rows++
			if b.Len() > 1 {
				b.Cut(1) // the row is computed again
			} else {
				b.Append(2)
			}
		}
		return r.Err()
	})
	// The prompt's one token, and twice that, max_tokens and 256, of which two are in the branch.
	if want := 1 + 2*(1+8+256) - 2 + 1; !strings.Contains(fmt.Sprint(err), penstock.ErrBudget.Error()) || rows != want {
		t.Errorf("%d rows, want %d: %v", rows, want, err)
	}
}
