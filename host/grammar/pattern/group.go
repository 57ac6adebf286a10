// SPDX-License-Identifier: MIT

package pattern

import "strings"

// group reads what follows a parenthesis that opens. Modifiers for the rest of the group around it
// are nil.
func (p *parser) group(at int) (*node, error) {
	kind := opSequence
	before := p.flags
	switch {
	case !p.take("?"):
	case p.take(":"):
	case p.take("="):
		kind = opAhead
	case p.take("!"):
		kind = opNotAhead
	case p.take("<=") || p.take("<!"):
		return nil, &Error{at, "look-behind is not supported"}
	case p.take("<") || p.take("P<"):
		end := strings.IndexByte(p.source[p.at:], '>')
		if end < 1 || strings.ContainsAny(p.source[p.at:p.at+end], "()[]{}|\\ ") {
			return nil, p.fail("a group's name is missing")
		}
		p.at += end + 1
	case p.take("P="):
		return nil, &Error{at, "references to groups are not supported"}
	default:
		whole, err := p.modifiers(at)
		if err != nil || whole {
			return nil, err
		}
	}
	inside, err := p.choice()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, &Error{at, "a group is not closed"}
	}
	p.flags = before
	if kind == opSequence {
		return inside, nil
	}
	return newNode(kind, at, inside), nil
}

// modifiers reads letters such as i-s and the : or ) after them. It reports whether a ) came: then
// they are for what follows.
func (p *parser) modifiers(at int) (whole bool, err error) {
	on, some := true, false
	for p.more() {
		switch c := p.source[p.at]; c {
		case 'i':
			p.flags.fold = on
		case 's':
			p.flags.dotAll = on
		case 'm':
			p.flags.lines = on
		case 'u': // is always on
			if !on {
				return false, &Error{at, "flag u cannot be taken away"}
			}
		case '-':
			if !on {
				return false, &Error{at, "a group's modifiers have two -"}
			}
			on = false
		case ':', ')':
			if !some {
				return false, &Error{at, "a group begins with what ECMA-262 does not have"}
			}
			p.at++
			return c == ')', nil
		default:
			return false, &Error{at, "a group begins with what ECMA-262 does not have"}
		}
		some = true
		p.at++
	}
	return false, &Error{at, "a group is not closed"}
}
