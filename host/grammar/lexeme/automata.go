// SPDX-License-Identifier: MIT

package lexeme

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// State is a state of Automata: what may follow the bytes that led to it.
type State int32

// Dead is the state that no text completes. All others are live: some text completes each.
const Dead State = 0

// Automata are automata over bytes for expressions of one arena, with the decoders that spell
// them. Their states have numbers from one table, which are made as bytes lead there: equal ones
// have the same number.
//
// # Notes
//   - Peek and Accepts may be called at any time, also while another goroutine is in one of the
//     other methods. Start, Next, Shortest and Room change the table: callers hold one lock around
//     them.
//   - The arena must not be changed any more. Any number of Automata may share it; each keeps what
//     it derives for itself, and gives it back as a whole, when nobody has it any more.
type Automata struct {
	arena  *Arena
	memory int // in bytes
	spent  int // steps
	most   int // of a call

	infos  pages[state]
	rows   pages[row]
	blocks pages[block]

	states    map[state]State
	rests     []rest
	restOf    map[string]int32
	blockOf   map[block]uint32
	restBytes int
	rooms     map[roomKey]int32
	living    map[Expr]derivative
}

// row is where a state's blocks are, each for sixteen bytes; 0 is not known yet. Most states have
// most blocks in common with others.
type row [16]atomic.Uint32

// deadBlock is where nothing goes on.
const deadBlock = 1

// block is where sixteen bytes lead.
type block [16]State

// state is what a number stands for.
type state struct {
	form    form
	decoder Decoder
	accepts bool
	what    int32 // an Expr, or a number of a rest
}

// NewAutomata returns an empty table for an arena's expressions, which takes about so many bytes.
func NewAutomata(a *Arena, memory int) *Automata {
	t := &Automata{
		arena: a.fork(memory / 2), memory: memory, most: stepsPerByte, states: map[state]State{}, restOf: map[string]int32{}, blockOf: map[block]uint32{},
		rooms: map[roomKey]int32{}, living: map[Expr]derivative{},
	}
	t.rests = append(t.rests, rest{})
	t.infos.add()
	_, dead := t.rows.add()
	t.blocks.add() // number 0 is none
	t.blocks.add() // number deadBlock
	t.blockOf[block{}] = deadBlock
	for i := range dead {
		dead[i].Store(deadBlock)
	}
	return t
}

// Spent is how many steps all calls took so far. One is some ten nanoseconds, and a call takes at
// most 400,000.
func (t *Automata) Spent() int { return t.spent }

// Within has each call from now on take at most so many steps, or ErrTooMuch is its error. More
// than any call takes means as many as any does.
func (t *Automata) Within(steps int) { t.most = min(max(steps, 1), stepsPerByte) }

// Len is how many states there are.
func (t *Automata) Len() int { return int(t.rows.size) }

// Size is about how many bytes the table takes.
func (t *Automata) Size() int {
	const perState = int(unsafe.Sizeof(row{})+2*unsafe.Sizeof(state{})) + 24
	const perBlock = int(2*unsafe.Sizeof(block{})) + 24
	return t.arena.size() + t.Len()*perState + int(t.blocks.size)*perBlock + t.restBytes + 64*len(t.living) + 24*len(t.rooms)
}

// Start returns the state before the first byte of an expression's texts.
//
// # Errors
//   - ErrTooMuch: to find out whether the expression has a text takes more than a fixed amount of
//     work.
//   - ErrFull: the table has as many states as its memory allows. Those that it has can still be
//     read.
func (t *Automata) Start(x Expr, d Decoder) (State, error) {
	if x >= t.arena.base {
		return Dead, fmt.Errorf("expression %d was made after the table of states", x)
	}
	s := Dead
	err := t.work(func() {
		if !t.arena.isVoid(x, statesPerStep) {
			s = t.boundary(x, d)
		}
	})
	return s, err
}

// stepsPerByte and statesPerStep bound the work of one call.
const (
	stepsPerByte  = 200_000
	statesPerStep = 10_000
)

// work runs what makes states.
func (t *Automata) work(f func()) error {
	if t.full() {
		return ErrFull
	}
	err := t.arena.bounded(t.most, func() {
		f()
		t.spent += t.most - max(t.arena.left, 0)
	})
	if t.full() {
		return ErrFull
	}
	return err
}

func (t *Automata) full() bool {
	return t.arena.err != nil || t.rows.size >= maxListed || t.blocks.size >= maxListed || t.Size() > t.memory
}

// Peek returns the state after a byte, if Next has been there.
func (t *Automata) Peek(s State, b byte) (State, bool) {
	at := t.rows.at(uint32(s))[b>>4].Load()
	if at == 0 {
		return Dead, false
	}
	return t.blocks.at(at)[b&15], true
}

// Next returns the state after a byte. It is Dead where no text goes on with the byte: no half
// character and no half escape leads anywhere but to a character that the expression allows, and
// no character to where no text ends.
//
// # Errors
//   - ErrTooMuch: the derivatives, or to find out which of them have a text, take more than a fixed
//     amount of work. The byte is neither allowed nor forbidden then. A later call goes on with
//     what this one has found.
//   - ErrFull: see Start. A table that is full at its beginning never has enough.
func (t *Automata) Next(s State, b byte) (State, error) {
	if next, known := t.Peek(s, b); known {
		return next, nil
	}
	var made block
	if err := t.work(func() { made = t.step(s, b&0xF0) }); err != nil {
		return Dead, fmt.Errorf("after byte %#02x: %w", b, err)
	}
	at, known := t.blockOf[made]
	if !known {
		var place *block
		at, place = t.blocks.add()
		*place = made
		t.blockOf[made] = at
	}
	t.rows.at(uint32(s))[b>>4].Store(at)
	return made[b&15], nil
}

// Accepts reports whether the bytes that led to a state are a whole text.
func (t *Automata) Accepts(s State) bool { return t.info(s).accepts }

func (t *Automata) info(s State) *state { return t.infos.at(uint32(s)) }

// number returns that of a state, which is live.
func (t *Automata) number(is state) State {
	if s, known := t.states[is]; known {
		return s
	}
	if t.arena.err != nil || t.rows.size >= maxListed {
		return Dead
	}
	t.rows.add()
	n, place := t.infos.add()
	*place = is
	t.states[is] = State(n)
	return State(n)
}

// boundary is the state between two characters. What follows is not void.
func (t *Automata) boundary(x Expr, d Decoder) State {
	if x == Nothing {
		return Dead
	}
	return t.number(state{form: between, decoder: d, accepts: t.arena.at(x).nullable, what: int32(x)})
}

// next is an expression's derivative in which what has no text is Nothing.
func (t *Automata) next(x Expr) derivative {
	if d, known := t.living[x]; known {
		return d
	}
	d := t.arena.mapped(t.arena.derive(x), func(y Expr) Expr {
		if t.arena.isVoid(y, statesPerStep) {
			return Nothing
		}
		return y
	})
	if t.arena.err == nil {
		t.living[x] = d
	}
	return d
}

// Sixteen returns the states after b and after the fifteen other bytes that differ from it in the
// last four bits, in their order; nil where all are Dead. Its errors are Next's.
func (t *Automata) Sixteen(s State, b byte) (*[16]State, error) {
	r := &t.rows.at(uint32(s))[b>>4]
	if r.Load() == 0 {
		if _, err := t.Next(s, b); err != nil {
			return nil, err
		}
	}
	at := r.Load()
	if at == deadBlock {
		return nil, nil
	}
	return (*[16]State)(t.blocks.at(at)), nil
}

// pages is a list that grows without moving, so what it has can be read while it grows. Each page
// has twice as many as the one before.
type pages[T any] struct {
	page [maxPages]atomic.Pointer[[]T]
	size uint32
}

const (
	firstPageBits = 5
	maxPages      = 16
	maxListed     = 1<<(firstPageBits+maxPages) - 1<<firstPageBits
)

// at returns an element, of those that there are.
func (p *pages[T]) at(i uint32) *T {
	i += 1 << firstPageBits
	n := bits.Len32(i) - 1
	return &(*p.page[(n-firstPageBits)&(maxPages-1)].Load())[i&^(1<<n)]
}

// add returns the number of a new element and its place.
func (p *pages[T]) add() (uint32, *T) {
	i := p.size + 1<<firstPageBits
	if n := bits.Len32(i) - 1; i == 1<<n {
		page := make([]T, 1<<n)
		p.page[n-firstPageBits].Store(&page)
	}
	p.size++
	return p.size - 1, p.at(p.size - 1)
}

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
