// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// script is a program that does at random what programs do, and checks that each row and each
// score is what the model says of just the tokens of its branch.
type script struct {
	w      *world
	rng    *rand.Rand
	like   scheduler.Request // for the model
	steps  int
	adopts bool // the request has a chain of its own alone
	live   []*program.Branch

	chains []*program.Chain
	ran    map[*program.Branch]expected
	masked map[*program.Branch]bool // its row is no longer the model's
	bomb   *bomb                    // nil: it has none
	most   int                      // tokens that a branch gets at a time
	states bool                     // it gets hidden states

	mu      sync.Mutex
	adopted bool // the answer goes on after what was shown
	shown   []scheduler.Token
	err     error // of its own
}

// errScript is how some scripts end.
var errScript = errors.New("the script has failed")

// scripted makes a request's answer that of a program.
func (w *world) scripted(c *client) {
	r := &c.request
	r.Slot, r.Shift, r.Begun, r.PromptLogprobs, r.NoAnswer = nil, nil, answer.Begun{}, false, false
	c.script = &script{w: w, rng: rand.New(rand.NewPCG(w.rng.Uint64(), 3)), like: *r, steps: 1 + w.rng.IntN(12), most: 20}
	if n := w.rng.IntN(4); n > 0 {
		c.script.most = w.backend.Limits().Context * n / 4
	}
	slow := w.lives.chain(false)
	if w.rng.IntN(3) == 0 {
		slow = w.lives.slowChain(false, w.hold)
	}
	c.script.chains = []*program.Chain{w.lives.chain(true), w.lives.chain(false), slow}
	if w.bombs && w.rng.IntN(3) == 0 {
		c.bombed, c.script.bomb = true, w.bomb()
		c.script.chains = append(c.script.chains, program.NewChain(func(uint64, int) ([]chain.Stage, error) { return []chain.Stage{c.script.bomb}, nil }))
	}
	if w.rng.IntN(4) > 0 {
		r.Chain = nil
	}
	c.script.adopts = len(r.Chain) == 1
	r.Program = &program.Program{Main: c.script.main, Branches: 1 + w.rng.IntN(w.slots), Tokens: w.rng.IntN(2) * w.rng.IntN(4000), HiddenStates: w.rng.IntN(2) == 0}
	c.script.states = r.Program.HiddenStates
}

func (p *script) main(r *program.Run) error {
	err := p.run(r)
	for _, fine := range []error{nil, errScript, program.ErrOver, program.ErrBudget, program.ErrContextFull} {
		if errors.Is(err, fine) {
			return err
		}
	}
	if p.bomb != nil && errors.As(err, new(*panics.Error)) {
		return err
	}
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	return err
}

func (p *script) run(r *program.Run) error {
	root, err := r.Open(r.Prompt())
	if err != nil {
		return err
	}
	p.live, p.ran, p.masked = append(p.live, root), map[*program.Branch]expected{}, map[*program.Branch]bool{}
	for range p.steps {
		if err := p.change(r); err != nil {
			return err
		}
		if p.rng.IntN(20) == 0 {
			time.Sleep(2 * time.Millisecond) // the tick does not wait for it
		}
		some := slices.Clone(p.live)
		p.rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		some = slices.DeleteFunc(some[:p.rng.IntN(len(some)+1)], endsOnPicture)
		anyOf := p.rng.IntN(3) == 0
		ready, err := r.Wait(p.rng.IntN(3), anyOf, some...)
		if err != nil {
			return err
		}
		if len(ready) < len(some) && !anyOf || len(ready) == 0 && len(some) > 0 {
			return fmt.Errorf("%d of %d branches are ready, any of them: %v", len(ready), len(some), anyOf)
		}
		for _, b := range ready {
			if err := p.checkRun(b); err != nil {
				return err
			}
			if b.State() != program.Ready {
				continue // it has run
			}
			if p.masked[b] {
				continue
			}
			if err := p.check(b); err != nil {
				return err
			}
		}
		if p.rng.IntN(3) == 0 {
			tokens := r.Prompt()[:p.rng.IntN(min(4, len(r.Prompt()))+1)]
			if i := slices.IndexFunc(tokens, func(t program.Token) bool { return t < 0 }); i >= 0 {
				tokens = tokens[:i] // an answer has no pictures
			}
			p.mu.Lock()
			p.shown = append(p.shown, tokens...)
			p.mu.Unlock()
			if err := showTokens(r, tokens); err != nil {
				return err
			}
		}
	}
	if p.rng.IntN(10) == 0 {
		return errScript
	}
	if p.adopts && p.rng.IntN(2) == 0 {
		return p.adopt(r)
	}
	return nil
}

// adopt has the answer go on from a new branch, which has what was shown and one token more.
func (p *script) adopt(r *program.Run) error {
	p.mu.Lock()
	tokens := append(slices.Concat(r.Prompt(), p.shown), 1)
	p.adopted = true
	p.mu.Unlock()
	p.live[0].Close()
	b, err := r.Open(tokens)
	if err != nil {
		return err
	}
	return r.Adopt(0, b, len(r.Prompt()))
}

// change does something to some branches.
func (p *script) change(r *program.Run) error {
	for range 1 + p.rng.IntN(5) {
		i := p.rng.IntN(len(p.live))
		b := p.live[i]
		var err error
		had := len(b.Tokens())
		switch p.rng.IntN(10) {
		case 0:
			var fork *program.Branch
			if fork, err = b.Fork(); err == nil {
				p.live, p.masked[fork] = append(p.live, fork), p.masked[b]
			}
		case 1:
			if len(p.live) > 1 {
				b.Close()
				p.live = slices.Delete(p.live, i, i+1)
			}
		case 2:
			if n := p.w.border(b.Tokens(), 1+p.rng.IntN(len(b.Tokens()))); n > 0 {
				err = b.Cut(n)
			}
		case 3:
			var opened *program.Branch
			if opened, err = r.Open(p.more(2*p.most, 4)); err == nil {
				p.live = append(p.live, opened)
			}
		case 4:
			err = p.goOn(b)
		case 5:
			if b.State() == program.Ready {
				err = p.draw(b)
			}
		case 6:
			if p.bomb != nil && p.rng.IntN(2) == 0 {
				err = b.Follow(p.bomb)
			} else if b.State() == program.Ready {
				err = p.mask(b)
			}
		case 7:
			if !endsOnPicture(b) { // and changes its mind
				err = b.Append([]program.Token{1}, false)
				if err == nil {
					err = b.Cut(had)
				}
				delete(p.masked, b)
			}
		default:
			err = b.Append(p.more(p.most, 9), p.rng.IntN(3) == 0)
		}
		if len(b.Tokens()) != had || b.State() == program.Running {
			delete(p.masked, b)
		}
		if len(b.Tokens()) != had && err == nil && b.State() == program.Pending {
			delete(p.ran, b) // what it has drawn is not all that it has
		}
		if err != nil && !errors.Is(err, program.ErrNoBranch) && (b.State() != program.Running || !errors.Is(err, program.ErrMisuse)) {
			return err
		}
	}
	return nil
}

// more are tokens for a branch, perhaps with pictures, which may be the last of them.
func (p *script) more(most, seeds int) []program.Token {
	tokens := prompt(1+p.rng.IntN(most), p.rng.IntN(seeds))[0].Tokens
	if len(p.like.Pieces) == 0 || p.like.Adapters != nil || p.bomb != nil || p.rng.IntN(2) == 0 {
		return tokens
	}
	if tokens = p.w.album.Into(p.rng, tokens, 1); p.rng.IntN(3) == 0 {
		tokens = append(tokens, p.w.album.Tokens[0]...)
	}
	return tokens
}

// endsOnPicture reports whether nothing can be said after a branch.
func endsOnPicture(b *program.Branch) bool { return b.Tokens()[len(b.Tokens())-1] < 0 }

// goOn has a branch go on by itself.
func (p *script) goOn(b *program.Branch) error {
	if endsOnPicture(b) {
		return nil
	}
	from, n := slices.Clone(b.Tokens()), 1+p.rng.IntN(30)
	err := b.Run(p.chains[p.rng.IntN(len(p.chains))], n, p.rng.IntN(3) == 0)
	if delete(p.ran, b); err == nil && !p.masked[b] {
		p.ran[b] = expected{from, n}
	}
	return err
}

// mask changes a branch's row.
func (p *script) mask(b *program.Branch) error {
	words := make([]uint32, p.w.backend.Limits().Vocabulary/32)
	words[0] = 6
	p.masked[b] = true
	return b.Mask(words)
}

// hold keeps the draw of a program from going on before some ticks have passed.
func (w *world) hold() {
	start, until := time.Now(), w.passed.Load()+3
	for w.passed.Load() < until {
		if time.Since(start) > 2*time.Minute {
			w.t.Error("the tick waits for the draw of a program")
			return
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// draw draws from a branch's row.
func (p *script) draw(b *program.Branch) error {
	t, err := b.Sample(p.chains[p.rng.IntN(len(p.chains))])
	if p.masked[b] {
		return err
	}
	said := p.w.backend.After(append(slices.Clone(b.Tokens()), 0), len(b.Tokens()), p.like)
	if err == nil && t != said[0] {
		return fmt.Errorf("token %d is drawn, the model says %d", t, said[0])
	}
	return err
}

// expected is what a run has begun with, and how many tokens it was for at most.
type expected struct {
	from []program.Token
	n    int
}

// checkRun checks what a branch has done by itself: each of its tokens is what the model says.
func (p *script) checkRun(b *program.Branch) error {
	of, ran := p.ran[b]
	if !ran || b.State() == program.Running {
		return nil
	}
	delete(p.ran, b)
	tokens := b.Tokens()
	n := len(tokens) - len(of.from)
	said := p.w.backend.After(append(slices.Clone(tokens), 0), len(of.from), p.like)
	if n < 0 || n > of.n || !slices.Equal(tokens[:len(of.from)], of.from) || !slices.Equal(tokens[len(of.from):], said[:n]) {
		return fmt.Errorf("a run after %d tokens is %v, the model says %v", len(of.from), tokens[len(of.from):], said)
	}
	if ends := !p.like.IgnoreEOG && said[n] == schedulertest.EndToken; b.State() == program.Ended && !ends && !slices.Contains(p.like.StopTokens, said[n]) {
		return fmt.Errorf("a run has ended before token %d", said[n])
	}
	return nil
}

func (p *script) check(b *program.Branch) error {
	tokens := b.Tokens()
	best, err := b.Best(1)
	if err != nil {
		return err
	}
	said := p.w.backend.After(append(slices.Clone(tokens), 0), 1, p.like)
	want := said[len(said)-1]
	if best.IDs[0] != want {
		return fmt.Errorf("after %d tokens the row says %d, the model %d", len(tokens), best.IDs[0], want)
	}
	state, err := b.HiddenState()
	if err != nil || p.states != (len(state) == stateWidth && state[0] == float32(want)) || !p.states && state != nil {
		return fmt.Errorf("after %d tokens the hidden state is %v, %w, the model says %d, and the program wants it: %v", len(tokens), state, err, want, p.states)
	}
	row := make([]float32, p.w.backend.Limits().Vocabulary)
	if n, err := b.Logits(row); err != nil || n != len(row) || row[best.IDs[0]] != best.Logits[0] {
		return errors.Join(err, fmt.Errorf("%d logits, of which the best is %v", n, best.Logits[0]))
	}
	scores, err := b.Scores(1)
	if err != nil {
		return err
	}
	for i, score := range scores {
		if right := said[i] == tokens[i+1]; score == score && right != (score > -1) {
			return fmt.Errorf("token %d has the score %v, and the model says %d there, not %d", i+1, score, said[i], tokens[i+1])
		}
	}
	return nil
}

// verifyScript checks an answer that a script has written: all that it has shown, unless something
// ended the answer before.
func (w *world) verifyScript(c *client) {
	c.script.mu.Lock()
	defer c.script.mu.Unlock()
	if c.script.err != nil {
		w.t.Fatalf("request %d: %v", c.id, c.script.err)
	}
	shown := c.script.shown
	if c.script.adopted {
		shown = append(slices.Clone(shown), 1)
		shown = append(shown, c.answer.tokens[min(len(shown), len(c.answer.tokens)):]...)
	}
	if len(c.request.Chain) > 1 || c.answer.missed || c.script.adopted && c.rewound { // a plugin, or the client, has put in others
		return
	}
	if kvcommon := len(c.answer.tokens); kvcommon > len(shown) || !slices.Equal(c.answer.tokens, shown[:kvcommon]) {
		w.t.Fatalf("request %d: shown were %v, its program has shown %v", c.id, c.answer.tokens, shown)
	}
	if end := c.answer.end; end.Reason == answer.ReasonStop && end.Stop == "" && end.EndToken == nil && len(c.request.Rules) == 0 && len(c.answer.tokens) < len(shown) {
		w.t.Fatalf("request %d: %d of %d tokens were shown: %+v", c.id, len(c.answer.tokens), len(shown), end)
	}
}
