// SPDX-License-Identifier: MIT

package background

// Patience is whether the tick waits for a background sampler that draws. Each wait in vain makes
// it give up for more of the next draws: 1, 3, 7, and so on. A draw that is done in time, waited
// for or not, ends that.
type Patience struct {
	vain int // waits in vain, one after another
	none int // draws for which it does not wait now
}

// mostVain bounds the draws without a wait: after the last of 63, a plugin that has become fast is
// found out.
const mostVain = 6

// Awaited reports whether the tick waits for the next draw.
func (p *Patience) Awaited() bool { return p.none == 0 }

// After notes whether a draw was done in time.
func (p *Patience) After(inTime bool) {
	switch {
	case inTime:
		*p = Patience{}
	case p.none > 0:
		p.none--
	default:
		p.vain = min(p.vain+1, mostVain)
		p.none = 1<<p.vain - 1
	}
}
