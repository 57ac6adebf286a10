// SPDX-License-Identifier: MIT

package wire

import (
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/program"
)

// Branches tell of those of a program that writes an answer with a trace.
type Branches struct {
	Branches []Branch `json:"branches,omitempty"`
	LeftOut  int      `json:"branches_left_out,omitempty"` // tokens that are not told
}

// Branch is what has become of a branch since its last entry. See program.Grown.
type Branch struct {
	Branch  int           `json:"branch"`
	Parent  int           `json:"parent,omitempty"`
	At      *int          `json:"at,omitempty"`
	Tokens  []BranchToken `json:"tokens,omitempty"`
	Score   *float64      `json:"score,omitempty"`
	Dropped bool          `json:"dropped,omitempty"`
	Chosen  int           `json:"chosen,omitempty"`
	Choice  *int          `json:"choice,omitempty"`
}

// BranchToken is a token of a branch. A row of a picture or a sound is noToken and has no text.
type BranchToken struct {
	ID      scheduler.Token `json:"id"`
	Token   string          `json:"token"`
	Logprob *float32        `json:"logprob,omitempty"`
}

// noToken stands for a row of a picture or a sound, whose number is the scheduler's own.
const noToken scheduler.Token = -1

// BranchesOf describes those of an event; nothing where it has none.
func BranchesOf(engine serving.Engine, e scheduler.Event) (b Branches) {
	if e.Branches == nil {
		return b
	}
	b.LeftOut = e.Branches.LeftOut
	for i := range e.Branches.Grown {
		b.Branches = append(b.Branches, branchOf(engine, &e.Branches.Grown[i]))
	}
	return b
}

func branchOf(engine serving.Engine, g *program.Grown) Branch {
	b := Branch{Branch: g.Branch, Parent: g.Parent, Score: finiteScore(g.Score), Dropped: g.Dropped, Chosen: g.Chosen}
	if g.First {
		b.At = &g.At
	}
	if g.Chosen > 0 {
		b.Choice = &g.Choice
	}
	for i, t := range g.Tokens {
		one := BranchToken{ID: max(t, noToken), Token: engine.Piece(t)}
		if l := g.Logprobs[i]; l == l {
			l = max(l, leastLogprob)
			one.Logprob = &l
		}
		b.Tokens = append(b.Tokens, one)
	}
	return b
}

// finiteScore is a score as JSON can have it: a program may go on with a token that is impossible.
func finiteScore(score *float64) *float64 {
	if score == nil || *score >= leastLogprob {
		return score
	}
	least := float64(leastLogprob)
	return &least
}

// add appends what another tells.
func (b *Branches) add(more Branches) {
	b.Branches, b.LeftOut = append(b.Branches, more.Branches...), max(b.LeftOut, more.LeftOut)
}

// IsEmpty reports whether they tell nothing.
func (b *Branches) IsEmpty() bool { return len(b.Branches) == 0 && b.LeftOut == 0 }
