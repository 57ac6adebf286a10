// SPDX-License-Identifier: MIT

package schema

import (
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// chain is an object whose members come in the schema's order, others after them.
type chain struct {
	r       *reader
	m       *members
	listed  []member
	others  []grammar.Item // members that are not listed
	counted bool
	rules   map[link]grammar.Rule
}

// link is a place in a chain: the members from the one at on may come, count came before.
type link struct{ at, count int }

func (r *reader) chainOf(m *members, listed []member, groups []group) *chain {
	c := &chain{r: r, m: m, rules: map[link]grammar.Rule{}}
	for _, of := range listed {
		if !among(m.absent, of.name) {
			c.listed = append(c.listed, of)
		}
	}
	next := 1<<len(m.some) - 1
	for _, g := range groups {
		items := r.items(g, next)
		c.others = append(c.others, items...)
		next += len(items)
	}
	c.counted = m.least > len(m.required) || m.most != lexeme.Unbounded && (len(groups) > 0 || m.most < len(c.listed))
	return c
}

// links is how many there are at most.
func (c *chain) links() int {
	if !c.counted {
		return 2 * len(c.listed)
	}
	return len(c.listed) * (min(len(c.listed), max(c.m.least, c.m.most)+1) + 1)
}

// whole is the object.
func (c *chain) whole() grammar.Body {
	return c.r.b.Seq(c.r.spaces.openObject, c.from(link{}), c.r.spaces.closeObject)
}

// from is the members from a link on.
func (c *chain) from(l link) grammar.Body {
	if rule, has := c.rules[l]; has {
		return c.r.b.Call(rule)
	}
	rule := c.r.b.Rule()
	c.rules[l] = rule
	c.r.b.Define(rule, c.body(l))
	return c.r.b.Call(rule)
}

func (c *chain) body(l link) grammar.Body {
	if l.at == len(c.listed) {
		return c.unlisted(l)
	}
	of := c.listed[l.at]
	var parts []grammar.Body
	if !c.counted || !above(l.count+1, c.m.most) {
		next := link{l.at + 1, 1}
		if c.counted {
			next.count = min(l.count+1, max(c.m.least, c.m.most)+1)
		}
		parts = append(parts, c.r.b.Seq(c.separated(l, of.is), c.from(next)))
	}
	if !among(c.m.required, of.name) {
		parts = append(parts, c.from(link{l.at + 1, l.count}))
	}
	return c.r.b.Alt(parts...)
}

// separated puts a comma before all members but the first.
func (c *chain) separated(l link, is grammar.Body) grammar.Body {
	if l.count == 0 {
		return is
	}
	return c.r.b.Seq(c.r.spaces.comma, is)
}

// unlisted is the members that are not listed, at the end.
func (c *chain) unlisted(l link) grammar.Body {
	end := grammar.Condition{Max: lexeme.Unbounded}
	if c.counted {
		end.Min = max(0, c.m.least-l.count)
		if c.m.most != lexeme.Unbounded {
			end.Max = max(0, c.m.most-l.count)
		}
	}
	var parts []grammar.Body
	if end.Min == 0 && len(c.m.some) == 0 {
		parts = append(parts, c.r.b.Seq())
	}
	if len(c.others) > 0 && end.Max != 0 {
		end.Min = max(1, end.Min)
		loop := grammar.Loop{Separator: c.r.spaces.comma, Items: c.others}
		for _, cover := range covers(len(c.m.some)) {
			by := end
			for _, some := range cover {
				by.Must = append(by.Must, some-1)
			}
			loop.Ends = append(loop.Ends, by)
		}
		parts = append(parts, c.separated(l, c.r.b.Loop(loop)))
	}
	return c.r.b.Alt(parts...)
}
