// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/tools/must"
)

// mostLikely is a chain of a program that takes the most likely token.
func mostLikely(e *Engine) *program.Chain {
	return program.NewChain(func(uint64, int) ([]chain.Stage, error) {
		p := sampling.Default()
		p.Temperature = 0
		return e.NewChain(p)
	})
}

// byProgram has a program write the answer to a prompt, which end tokens end or not, with the
// greedy chain for what goes on from its branches.
func byProgram(t *testing.T, e *Engine, s *scheduler.Scheduler, prompt []int32, most int, ends bool, main func(*program.Run) error) string {
	t.Helper()
	r := greedy(t, e, "x", most)
	r.IgnoreEOG = !ends
	r.Prompt[0].Tokens, r.Program = prompt, &program.Program{Main: main, Branches: 3}
	texts, all := said(t, s, r)
	if all[0].Err != nil {
		t.Fatal(all[0].Err)
	}
	return texts[0]
}

// A branch that goes on by itself, one that is forked from it in the middle and goes on from its
// row, and an answer that goes on from either are what an answer is, with memories that can be cut
// and with those that cannot.
func TestProgram_Run_EqualsAnAnswer(t *testing.T) {
	const most = 24
	for name, kind := range map[string]string{"attention": "", "recurrent": "mamba", "sliding window": "cohere2"} {
		t.Run(name, func(t *testing.T) {
			o := Options{Slots: 3, CacheSequences: 4, ContextSize: 4 * 1024, KVLayout: "split"}
			e, prompt := openedSmall(t, kind, o), letters(60, 1)
			s, stop := scheduled(t, e, 3)
			defer stop()
			plain := greedy(t, e, "x", most)
			plain.Prompt[0].Tokens = prompt
			texts, _ := said(t, s, plain)
			halfway := func(r *program.Run) (*program.Branch, error) {
				b, err := r.Open(r.Prompt())
				if err == nil {
					err = b.Run(mostLikely(e), most/2, false)
				}
				if err == nil {
					_, err = r.Wait(0, false, b)
				}
				if err == nil {
					_, err = r.Wait(1, false, b) // for the row
				}
				return b, err
			}
			for way, main := range map[string]func(*program.Run) error{
				"runs": func(r *program.Run) error {
					b, err := halfway(r)
					if err != nil {
						return err
					}
					fork, err := b.Fork()
					if err != nil {
						return err
					}
					if err := errors.Join(fork.Run(mostLikely(e), most/2, true), b.Append([]int32{7}, false)); err != nil {
						return err
					}
					if _, err := r.Wait(0, false, fork, b); err != nil {
						return err
					}
					_, err = r.Show(0, fork.Tokens()[len(prompt):], nil)
					return err
				},
				"is adopted": func(r *program.Run) error {
					b, err := halfway(r)
					if err != nil {
						return err
					}
					return r.Adopt(0, b, len(prompt))
				},
			} {
				if got := byProgram(t, e, s, prompt, most, false, main); got != texts[0] {
					t.Errorf("it %s: %q, an answer is %q", way, got, texts[0])
				}
			}
		})
	}
}

// A branch that follows a grammar says only what fits, in each fork from where it is, and ends
// with the grammar.
func TestProgram_Follow_KeepsToAGrammar(t *testing.T) {
	e := opened(t, Options{Slots: 3, ContextSize: 3 * 1024})
	s, stop := scheduled(t, e, 3)
	defer stop()
	g, _ := must.Both(e.NewGrammar(t.Context(), abi.GrammarGBNF, `root ::= "The " ("frog" | "mouse") " is " [a-z]{3,5} "."`))(t)
	defer g.Close()
	prompt := tokens(t, e, "Once upon a time there was a frog.")
	texts := map[string]bool{}
	byProgram(t, e, s, prompt, 60, true, func(r *program.Run) error {
		root, err := r.Open(r.Prompt())
		if err == nil {
			err = root.Follow(g.Beginning())
		}
		if err != nil {
			return err
		}
		if _, err := r.Wait(40, false, root); err != nil {
			return err
		}
		said, err := root.Best(40)
		if err != nil {
			return err
		}
		for _, t := range said.IDs {
			if piece := e.Piece(t); len(piece) == 0 || len(piece) > 4 || "The "[:len(piece)] != piece {
				return fmt.Errorf("%q may come first", piece)
			}
		}
		c := program.NewChain(func(branch uint64, _ int) ([]chain.Stage, error) {
			p := sampling.Default()
			p.Seed, p.Temperature = uint32(branch), 1.5
			return e.NewChain(p)
		})
		all := []*program.Branch{root}
		for len(all) < 3 {
			fork, err := root.Fork()
			if err != nil {
				return err
			}
			all = append(all, fork)
		}
		for _, b := range all {
			if err := b.Run(c, 50, false); err != nil {
				return err
			}
		}
		if _, err := r.Wait(0, false, all...); err != nil {
			return err
		}
		for _, b := range all {
			text, err := e.Detokenize(b.Tokens()[len(prompt):])
			if err != nil || b.State() != program.Ended {
				return fmt.Errorf("%q ended as %d: %w", text, b.State(), err)
			}
			texts[text] = true
		}
		if err := root.Cut(len(prompt)); err != nil {
			return err
		}
		if err := root.Append([]int32{said.IDs[0]}, false); err != nil { // after a cut the grammar is where it was
			return err
		}
		if err := root.Append(slices.Clone(prompt[:2]), false); !errors.Is(err, program.ErrMisuse) {
			return fmt.Errorf("tokens that do not fit: %w", err)
		}
		return nil
	})
	fits := regexp.MustCompile(`^The (frog|mouse) is [a-z]{3,5}\.$`)
	for text := range texts {
		if !fits.MatchString(text) {
			t.Errorf("%q does not fit", text)
		}
	}
	if len(texts) == 0 {
		t.Error("nothing was drawn")
	}
}
