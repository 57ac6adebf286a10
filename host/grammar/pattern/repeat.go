// SPDX-License-Identifier: MIT

package pattern

import "github.com/penstock/penstock/host/grammar/lexeme"

// fewTimes is how often a part with assertions may be copied for one repetition.
const fewTimes = 16

// repeatBefore is before for a repeated part that has assertions.
func (c *compiler) repeatBefore(n *node, k follows) follows {
	part, rest := n.parts[0], k
	if n.low == 0 && k == anyway(lexeme.All) {
		return k
	}
	switch {
	case c.stepByStep(n):
		return c.stepsBefore(n, k)
	case n.low > fewTimes || n.high > fewTimes:
		return c.refuse(part, "an assertion that is repeated more than %d times is not supported", fewTimes)
	case n.high >= 0:
		for range n.high - n.low {
			rest = c.either(k, c.copy(part, rest))
		}
	case !endsOnly(part):
		return c.refuse(part, "an assertion other than ^ and $ within a repetition is not supported")
	default:
		rest = c.starBefore(part, k)
	}
	for range n.low {
		rest = c.copy(part, rest)
	}
	return rest
}

func (c *compiler) copy(part *node, k follows) follows {
	if c.left -= part.size; c.left < 0 {
		return c.refuse(part, "repeated assertions take too many copies")
	}
	return c.before(part, k)
}

// starBefore repeats a part that has only assertions of the text's ends any number of times. Only
// what begins the text can follow ^, and after $ nothing comes: so between the first and the last
// time it is the part's texts without either.
func (c *compiler) starBefore(part *node, k follows) follows {
	between := c.a.Repeat(c.inside(part), 0, lexeme.Unbounded)
	later := c.join(between, c.either(k, c.copy(part, k)))
	later[atBegin] = k[atBegin]
	first := c.copy(part, later)
	later[atBegin] = c.a.Or(k[atBegin], first[atBegin])
	return later
}

// inside is a part's texts where neither the text begins before it nor ends after it.
func (c *compiler) inside(n *node) lexeme.Expr {
	switch {
	case !n.asserts:
		return c.plain(n)
	case n.op == opBegin || n.op == opEnd:
		return lexeme.Nothing
	case n.op == opRepeat:
		return c.a.Repeat(c.inside(n.parts[0]), n.low, n.high)
	}
	parts := make([]lexeme.Expr, len(n.parts))
	for i, p := range n.parts {
		parts[i] = c.inside(p)
	}
	if n.op == opChoice {
		return c.a.Or(parts...)
	}
	return c.a.Then(parts...)
}

// endsOnly reports whether a part has no assertions but ^ and $.
func endsOnly(n *node) bool {
	if n.op > opEnd {
		return false
	}
	for _, p := range n.parts {
		if !endsOnly(p) {
			return false
		}
	}
	return true
}

// stepByStep reports whether a repetition is of look-aheads and one character, such as (?:(?!x).)*.
func (c *compiler) stepByStep(n *node) bool {
	part := n.parts[0]
	if part.op != opSequence || len(part.parts) < 2 {
		return false
	}
	last := len(part.parts) - 1
	for _, p := range part.parts[:last] {
		if p.op != opAhead && p.op != opNotAhead {
			return false
		}
	}
	return !part.parts[last].asserts && single(part.parts[last])
}

// single reports whether a part is one character.
func single(n *node) bool {
	switch n.op {
	case opClass:
		return true
	case opSequence, opChoice:
		for _, p := range n.parts {
			if !single(p) {
				return false
			}
		}
		return n.op == opChoice || len(n.parts) == 1
	}
	return false
}

// stepsBefore is before for these. What follows has one length, so it is known of each place in
// the text whether a step begins there: the look-aheads hold where more is left than that length.
func (c *compiler) stepsBefore(n *node, k follows) follows {
	steps := n.parts[0].parts
	low, high := c.a.Lengths(k[0])
	char := steps[len(steps)-1]
	if k != anyway(k[0]) || low != high && k[0] != lexeme.Nothing {
		return c.refuse(n, "a repeated look-ahead is supported only where the end of the text follows, or a text of one length")
	}
	all := c.a.Then(c.a.Repeat(c.plain(char), n.low, n.high), k[0])
	for _, p := range steps[:len(steps)-1] {
		ahead := c.before(p, anyway(lexeme.All))
		if ahead != anyway(ahead[0]) {
			return c.refuse(p, "an assertion in a repeated look-ahead is not supported")
		}
		fails := c.a.And(c.a.Not(ahead[0]), c.a.Repeat(lexeme.Char, high+1, lexeme.Unbounded))
		all = c.a.And(all, c.a.Not(c.a.Then(lexeme.All, fails)))
	}
	return anyway(all)
}
