// SPDX-License-Identifier: MIT

package completion

import (
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// Guessing says which tokens of the answer may be guessed (speculative decoding), by
// llama-server's names. The text is the same.
type Guessing struct {
	Most        *int    `json:"speculative.n_max"` // at once; 0: none; nil: as many as the server does
	Least       int     `json:"speculative.n_min"` // fewer are dropped
	LeastChance float64 `json:"speculative.p_min"` // that a guessed token is right, for it to be computed
}

const maxDrafted = 1 << 20

func (g *Guessing) check() error {
	if n := g.Most; n != nil && (*n < 0 || *n > maxDrafted) {
		return refusal.Invalid("speculative.n_max", "speculative.n_max is %d; it must be from 0 (no tokens are guessed) to %d", *n, maxDrafted)
	}
	if n := g.Least; n < 0 || n > maxDrafted {
		return refusal.Invalid("speculative.n_min", "speculative.n_min is %d; it must be from 0 to %d", n, maxDrafted)
	}
	if g.Most != nil && *g.Most > 0 && g.Least > *g.Most {
		return refusal.Invalid("speculative.n_min", "speculative.n_min is %d; it must not be more than speculative.n_max, which is %d", g.Least, *g.Most)
	}
	if p := g.LeastChance; !(p >= 0 && p <= 1) {
		return refusal.Invalid("speculative.p_min", "speculative.p_min is %v; it must be from 0 to 1", p)
	}
	return nil
}

// tell puts it into a request for the scheduler.
func (g *Guessing) tell(r *scheduler.Request) {
	r.LeastDrafted, r.LeastChance = g.Least, g.LeastChance
	switch {
	case g.Most != nil && *g.Most == 0:
		r.MostDrafted = -1
	case g.Most != nil:
		r.MostDrafted = *g.Most
	}
}
