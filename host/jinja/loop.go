// SPDX-License-Identifier: MIT

package jinja

// Loop is what a loop knows of itself.
type Loop struct {
	over    Value                   // of which the length is known; nil: it is not
	pull    func() (Value, bool)    // the next item
	recurse func(over Value) string // nil: the loop is not recursive
	depth   int

	index0          int // of the current item, from -1 before the first
	started         bool
	total           int // items, where counted
	counted         bool
	ahead           []Value // items that were asked for before their turn
	over0           bool    // there are none but those ahead
	before, current Value
	changedFrom     Value
}

// advance goes to the next item.
func (l *Loop) advance() (Value, bool) {
	var item Value
	switch {
	case len(l.ahead) > 0:
		item, l.ahead = l.ahead[0], l.ahead[1:]
	case l.over0:
		return nil, false
	default:
		var ok bool
		if item, ok = l.pull(); !ok {
			l.over0 = true
			return nil, false
		}
	}
	if l.started {
		l.index0++
	}
	l.started = true
	l.before, l.current = l.current, item
	return item, true
}

// peek is the next item, if there is one.
func (l *Loop) peek() (Value, bool) {
	if len(l.ahead) == 0 && !l.over0 {
		item, ok := l.pull()
		if !ok {
			l.over0 = true
		} else {
			l.ahead = append(l.ahead, item)
		}
	}
	if len(l.ahead) == 0 {
		return nil, false
	}
	return l.ahead[0], true
}

func (l *Loop) length(r *run) int {
	if l.counted {
		return l.total
	}
	l.counted = true
	if n, ok := r.lenOf(l.over); ok && l.over != nil {
		l.total = n
		return n
	}
	for !l.over0 {
		item, ok := l.pull()
		if !ok {
			l.over0 = true
			break
		}
		r.step(1)
		r.charge(32)
		l.ahead = append(l.ahead, item)
	}
	l.total = l.index0 + 1 + len(l.ahead)
	return l.total
}

// attribute is loop.name.
func (l *Loop) attribute(r *run, n string) (Value, bool) {
	switch n {
	case "index":
		return l.index0 + 1, true
	case "index0":
		return l.index0, true
	case "revindex":
		return l.length(r) - l.index0, true
	case "revindex0":
		return l.length(r) - l.index0 - 1, true
	case "first":
		return l.index0 == 0, true
	case "last":
		_, more := l.peek()
		return !more, true
	case "length":
		return l.length(r), true
	case "depth":
		return l.depth + 1, true
	case "depth0":
		return l.depth, true
	case "previtem":
		if l.index0 == 0 {
			return &Undefined{hint: "there is no previous item"}, true
		}
		return l.before, true
	case "nextitem":
		if v, ok := l.peek(); ok {
			return v, true
		}
		return &Undefined{hint: "there is no next item"}, true
	case "cycle":
		return &Function{name: n, of: l, call: func(r *run, a *Args) Value {
			if len(a.Plain) == 0 {
				r.fail("no items for cycling given")
			}
			return a.Plain[l.index0%len(a.Plain)]
		}}, true
	case "changed":
		return &Function{name: n, of: l, call: func(r *run, a *Args) Value {
			now := &Tuple{items: a.Plain}
			if l.changedFrom != nil && r.equal(l.changedFrom, now) {
				return false
			}
			l.changedFrom = now
			return true
		}}, true
	}
	return nil, false
}
