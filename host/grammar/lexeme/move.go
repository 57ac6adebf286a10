// SPDX-License-Identifier: MIT

package lexeme

// Move returns the state of other automata of the same arena that is what s is here. So states
// outlive a table that is full.
//
// # Errors
//   - ErrTooMuch, ErrFull: see Start.
func (t *Automata) Move(s State, to *Automata) (State, error) {
	if t == to || s == Dead {
		return s, nil
	}
	moved := Dead
	err := to.work(func() {
		m := mover{from: t.arena, to: to.arena, known: map[Expr]Expr{}}
		switch is := *t.info(s); is.form {
		case between:
			moved = to.boundary(m.move(Expr(is.what)), is.decoder)
		case escape:
			is.what = int32(m.move(Expr(is.what)))
			moved = to.number(is)
		default:
			r := t.rests[is.what]
			moved = to.within(is.form, is.decoder, rest{near: m.targets(r.near), far: m.targets(r.far)})
		}
	})
	return moved, err
}

// mover copies expressions from one fork of an arena to another.
type mover struct {
	from, to *Arena
	known    map[Expr]Expr
}

func (m *mover) targets(all []target) []target {
	var moved []target
	for _, part := range all {
		moved = append(moved, target{part.from, m.move(part.to)})
	}
	return moved
}

func (m *mover) move(x Expr) Expr {
	if x < m.from.base || !m.to.spend(1) {
		return x
	}
	if y, known := m.known[x]; known {
		return y
	}
	n := *m.from.at(x)
	y := Nothing
	switch n.kind {
	case machine:
		y = m.to.inMachine(n.a, n.b)
	case class:
		y = m.to.Class(m.from.rangesOf(x)...)
	case sequence:
		y = m.to.then(m.move(Expr(n.a)), m.move(Expr(n.b)))
	case repetition:
		y = m.to.repetition(m.move(Expr(n.a)), n.min, n.max)
	case complement:
		y = m.to.Not(m.move(Expr(n.a)))
	case union, intersection:
		var parts []Expr
		for _, p := range m.from.parts(x) {
			parts = append(parts, m.move(p))
		}
		if n.kind == union {
			y = m.to.Or(parts...)
		} else {
			y = m.to.And(parts...)
		}
	}
	m.known[x] = y
	return y
}
