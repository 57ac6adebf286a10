// SPDX-License-Identifier: MIT

package schema

import (
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// placeContained simplifies what a list must contain. Where items have schemas of their own, it
// makes an alternative for each item that may be the one.
func (r *reader) placeContained(q *sequences) ([]*sequences, error) {
	made := []*sequences{r.plainContains(q)}
	prefix := prefixOf(q)
	for made[0] != nil {
		var more []*sequences
		placed := false
		for _, from := range made {
			at := -1
			for i, c := range from.contains {
				if prefix > c.from && c.least == 1 && c.most == lexeme.Unbounded {
					at = i
				} else if prefix > c.from {
					if err := r.cannot(c.at, "how many items must be so is not enforced where items have schemas of their own"); err != nil {
						return nil, err
					}
					from.contains = without(from.contains, i)
					return r.placeContained(from)
				}
			}
			if at < 0 {
				more = append(more, from)
				continue
			}
			placed = true
			c := from.contains[at]
			for i := c.from; i < prefix; i++ {
				if err := r.step(c.at, 1+i/itemsPerStep); err != nil {
					return nil, err
				}
				to := (&shape{sequences: *from}).copy().sequences
				to.contains = without(from.contains, at)
				to.parts = append(to.parts, r.itemPart(i, c.goal))
				to.least = max(to.least, i+1)
				if !to.never() {
					more = append(more, &to)
				}
			}
			to := (&shape{sequences: *from}).copy().sequences
			to.contains = without(from.contains, at)
			c.from = prefix
			to.contains = append(to.contains, c)
			to.least = max(to.least, prefix+1)
			if !to.never() {
				more = append(more, &to)
			}
		}
		if made = more; !placed {
			return made, nil
		}
		if len(made) > maxAlternatives {
			return nil, tooHard(q.contains[0].at, "a list has more than %d alternatives, as they multiply", maxAlternatives)
		}
	}
	return made, nil
}

func without(all []contain, at int) []contain {
	var kept []contain
	for i, c := range all {
		if i != at {
			kept = append(kept, c)
		}
	}
	return kept
}

// plainContains turns what must not be contained into what all items must be.
func (r *reader) plainContains(q *sequences) *sequences {
	to := (&shape{sequences: *q}).copy().sequences
	to.contains = nil
	for _, c := range q.contains {
		if c.most == 0 {
			denied := literal{c.goal.at, !c.goal.not}
			r.partCount++
			to.parts = append(to.parts, &listPart{id: r.partCount, rest: &denied, from: c.from})
			continue
		}
		to.contains = append(to.contains, c)
		to.least = max(to.least, c.from+c.least)
	}
	return &to
}

// itemPart is the schema of one item.
func (r *reader) itemPart(i int, l literal) *listPart {
	r.partCount++
	p := &listPart{id: r.partCount, prefix: make([]literal, i+1)}
	for j := range p.prefix {
		p.prefix[j] = literal{at: anyValue}
	}
	p.prefix[i] = l
	return p
}

// containing is items of which some must be what contains says.
func (r *reader) containing(q *sequences, g goal, end grammar.Condition) (grammar.Body, error) {
	of := q.contains
	item := func(more ...literal) grammar.Body {
		return r.b.Call(r.rule(r.goal(append(more, g...)...)))
	}
	once := func(c contain) bool { return c.least == 1 && c.most == lexeme.Unbounded }
	loop := grammar.Loop{Separator: r.spaces.comma}
	switch {
	case len(of) == 1 && once(of[0]):
		end.Must = []int{0}
		loop.Items = []grammar.Item{{Is: item(of[0].goal), Bit: 0, Count: 1}, {Is: item(), Bit: -1, Count: 1}}
		loop.Ends = []grammar.Condition{end}
	case len(of) == 2 && once(of[0]) && once(of[1]):
		apart, both := end, end
		apart.Must, both.Must = []int{0, 1}, []int{2}
		loop.Items = []grammar.Item{
			{Is: item(of[0].goal), Bit: 0, Count: 1}, {Is: item(of[1].goal), Bit: 1, Count: 1},
			{Is: item(of[0].goal, of[1].goal), Bit: 2, Count: 1}, {Is: item(), Bit: -1, Count: 1},
		}
		loop.Ends = []grammar.Condition{apart, both}
	case len(of) == 1 && end.Min <= of[0].least && end.Max == lexeme.Unbounded:
		c := of[0]
		loop.Items = []grammar.Item{{Is: item(c.goal), Bit: -1, Count: 1}, {Is: item(literal{c.goal.at, !c.goal.not}), Bit: -1}}
		loop.Ends = []grammar.Condition{{Min: c.least, Max: c.most}}
	default:
		return r.plainItems(g, end), r.cannot(of[0].at, "so many items, with bounds on how many there are in all, cannot be counted")
	}
	return r.b.Loop(loop), nil
}
