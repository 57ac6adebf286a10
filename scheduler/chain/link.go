// SPDX-License-Identifier: MIT

package chain

// link is a stage in its chain, with what the chain has asked it once, so that no token asks again.
type link struct {
	stage    Stage
	traits   Traits
	name     string   // in traces
	preparer Preparer // nil: it prepares nothing
	foreseer Foreseer // nil: it foresees nothing
	taker    RowTaker // nil: it is given the row
}

func linkOf(s Stage) link {
	l := link{stage: s, traits: s.Traits(), name: "stage"}
	if l.traits.Name != "" {
		l.name = l.traits.Name
	}
	if l.traits.Prepares {
		l.preparer = s.(Preparer)
	}
	if l.traits.Foresees {
		l.foreseer = s.(Foreseer)
	}
	if l.traits.TakesRow {
		l.taker = s.(RowTaker)
	}
	return l
}

func linksOf(stages []Stage) []link {
	links := make([]link, len(stages))
	for i, s := range stages {
		links[i] = linkOf(s)
	}
	return links
}

// set makes these the stages of the chain.
func (c *Chain) set(links []link) {
	c.links, c.stages = links, make([]Stage, len(links))
	c.guard, c.guardAt = nil, -1
	for i := range links {
		c.stages[i] = links[i].stage
		if c.guard == nil && links[i].traits.Guards {
			c.guard, c.guardAt = links[i].stage.(Guard), i
		}
	}
	c.askNeeds()
}

// What a stage may need, a bit each.
const (
	needPrepare = 1 << iota
	needForesee
	needLogprob
	needState
)

// askNeeds notes what the stages need: when the chain is made, and whenever they know a
// conversation.
func (c *Chain) askNeeds() {
	var needed uint32
	c.hold = 0
	for i := range c.links {
		l := &c.links[i]
		n := Needs{true, true, true, true, l.traits.Hold}
		if l.traits.Needs != nil {
			n = l.traits.Needs()
		}
		c.hold = max(c.hold, n.Hold)
		for bit, needs := range [...]bool{n.Prepare && l.preparer != nil, n.Foresee && l.foreseer != nil, n.Logprob && l.traits.Logprob != nil, n.HiddenState && l.traits.HiddenState != nil} {
			if needs {
				needed |= 1 << bit
			}
		}
	}
	c.needed.Store(needed)
	if needed&needPrepare == 0 { // nobody is asked any more, so nobody would lift it
		c.restriction.clear(len(c.links))
	}
}
