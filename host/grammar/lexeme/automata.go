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

// Automata are automata over bytes for the expressions of one arena, as decoders read them. Their
// states are numbers of one table, made as bytes lead there; equal states have one number.
//
// # Notes
//   - Peek and Accepts may be called at any time, even while another goroutine is in one of the
//     other methods. Start, Next, Shortest and Room change the table: callers hold one lock
//     around them.
//   - The arena must not change any more. Any number of Automata may share it; each keeps its
//     own derivatives, and drops them as a whole with itself.
type Automata struct {
	arena    *Arena
	maxBytes int
	spent    int // steps of all calls
	maxSteps int // of one call

	infos  pages[state]
	rows   pages[row]
	blocks pages[block]

	states           map[state]State
	remainders       []remainder
	remainderNumbers map[string]int32
	blockOf          map[block]uint32
	remainderBytes   int
	rooms            map[roomKey]int32
	liveDerivatives  map[Expr]derivative
}

// row has the numbers of a state's blocks, one for each sixteen bytes; 0: not known yet. Most
// states share most blocks with others.
type row [16]atomic.Uint32

// deadBlock is the number of the block in which every byte leads to Dead.
const deadBlock = 1

// block is the states after sixteen consecutive bytes.
type block [16]State

// state is what the number of a State stands for.
type state struct {
	form    form
	decoder Decoder
	accepts bool
	what    int32 // an Expr, or an index in remainders
}

// NewAutomata returns an empty table for an arena's expressions, which takes up to about memory
// bytes.
func NewAutomata(a *Arena, memory int) *Automata {
	t := &Automata{
		arena: a.fork(memory / 2), maxBytes: memory, maxSteps: stepsPerByte, states: map[state]State{}, remainderNumbers: map[string]int32{}, blockOf: map[block]uint32{},
		rooms: map[roomKey]int32{}, liveDerivatives: map[Expr]derivative{},
	}
	t.remainders = append(t.remainders, remainder{})
	t.infos.add()
	_, dead := t.rows.add()
	t.blocks.add() // number 0 means not known
	t.blocks.add() // number deadBlock
	t.blockOf[block{}] = deadBlock
	for i := range dead {
		dead[i].Store(deadBlock)
	}
	return t
}

// Spent is the steps of all calls so far. A step takes some ten nanoseconds, and a call at most
// 400,000.
func (t *Automata) Spent() int { return t.spent }

// Within bounds the steps of each call from now on; a call that would take more returns ErrTooMuch.
// No call takes more than a fixed number in any case.
func (t *Automata) Within(steps int) { t.maxSteps = min(max(steps, 1), stepsPerByte) }

// Len is the number of states.
func (t *Automata) Len() int { return int(t.rows.size) }

// Size estimates the bytes that the table takes.
func (t *Automata) Size() int {
	const perState = int(unsafe.Sizeof(row{})+2*unsafe.Sizeof(state{})) + 24
	const perBlock = int(2*unsafe.Sizeof(block{})) + 24
	return t.arena.Size() + t.Len()*perState + int(t.blocks.size)*perBlock + t.remainderBytes + 64*len(t.liveDerivatives) + 24*len(t.rooms)
}

// Start returns the state before the first byte of an expression's texts.
//
// # Errors
//   - ErrTooMuch: finding out whether the expression has a text exceeds a bound of work.
//   - ErrFull: the table has as many states as its memory allows. Those that it has can still be
//     read.
func (t *Automata) Start(x Expr, d Decoder) (State, error) {
	if x >= t.arena.base {
		return Dead, fmt.Errorf("expression %d was made after the table of states", x)
	}
	s := Dead
	err := t.bounded(func() {
		if !t.arena.isVoid(x, statesPerStep) {
			s = t.betweenCharacters(x, d)
		}
	})
	return s, err
}

// stepsPerByte and statesPerStep bound the work of one call.
const (
	stepsPerByte  = 200_000
	statesPerStep = 10_000
)

// bounded runs work that makes states.
func (t *Automata) bounded(f func()) error {
	if t.full() {
		return ErrFull
	}
	err := t.arena.bounded(t.maxSteps, func() {
		f()
		t.spent += t.maxSteps - max(t.arena.left, 0)
	})
	if t.full() {
		return ErrFull
	}
	return err
}

func (t *Automata) full() bool {
	return t.arena.err != nil || t.rows.size >= maxListed || t.blocks.size >= maxListed || t.Size() > t.maxBytes
}

// Peek returns the state after a byte, if Next has computed it.
func (t *Automata) Peek(s State, b byte) (State, bool) {
	at := t.rows.at(uint32(s))[b>>4].Load()
	if at == 0 {
		return Dead, false
	}
	return t.blocks.at(at)[b&15], true
}

// Next returns the state after a byte, Dead where no text goes on with it: a part of a character or
// of an escape is live only if it leads to a character that the expression allows, and a character
// only if some text ends after it.
//
// # Errors
//   - ErrTooMuch: the derivatives, or finding out which of them have a text, exceed a bound of
//     work. The byte is then neither allowed nor forbidden. A later call goes on with what this
//     one has found.
//   - ErrFull: see Start. A table that is full at its beginning never has enough room.
func (t *Automata) Next(s State, b byte) (State, error) {
	if next, known := t.Peek(s, b); known {
		return next, nil
	}
	var made block
	if err := t.bounded(func() { made = t.computeBlock(s, b&0xF0) }); err != nil {
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

// internState returns the number of a live state.
func (t *Automata) internState(is state) State {
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

// betweenCharacters is the state between two characters. x, what follows, has a text unless it is
// Nothing.
func (t *Automata) betweenCharacters(x Expr, d Decoder) State {
	if x == Nothing {
		return Dead
	}
	return t.internState(state{form: between, decoder: d, accepts: t.arena.at(x).nullable, what: int32(x)})
}

// liveDerivative is x's derivative, with Nothing for all that has no text.
func (t *Automata) liveDerivative(x Expr) derivative {
	if d, known := t.liveDerivatives[x]; known {
		return d
	}
	d := t.arena.mapNext(t.arena.derive(x), func(y Expr) Expr {
		if t.arena.isVoid(y, statesPerStep) {
			return Nothing
		}
		return y
	})
	if t.arena.err == nil {
		t.liveDerivatives[x] = d
	}
	return d
}

// Sixteen returns the states after b and after the fifteen other bytes with the same first four
// bits, in order; nil where all are Dead. Its errors are Next's.
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

// pages is a list that grows without moving, so it can be read while it grows. Each page has twice
// as many elements as the one before.
type pages[T any] struct {
	page [maxPages]atomic.Pointer[[]T]
	size uint32
}

const (
	firstPageBits = 5
	maxPages      = 16
	maxListed     = 1<<(firstPageBits+maxPages) - 1<<firstPageBits
)

// at returns element i, which must exist.
func (p *pages[T]) at(i uint32) *T {
	i += 1 << firstPageBits
	n := bits.Len32(i) - 1
	return &(*p.page[(n-firstPageBits)&(maxPages-1)].Load())[i&^(1<<n)]
}

// add appends an element, and returns its number and its place.
func (p *pages[T]) add() (uint32, *T) {
	i := p.size + 1<<firstPageBits
	if n := bits.Len32(i) - 1; i == 1<<n {
		page := make([]T, 1<<n)
		p.page[n-firstPageBits].Store(&page)
	}
	p.size++
	return p.size - 1, p.at(p.size - 1)
}

// Move returns the state of other automata over the same arena that equals s here. So states
// outlive a table that is full.
//
// # Errors
//   - ErrTooMuch, ErrFull: see Start.
func (t *Automata) Move(s State, to *Automata) (State, error) {
	if t == to || s == Dead {
		return s, nil
	}
	moved := Dead
	err := to.bounded(func() {
		m := mover{from: t.arena, to: to.arena, known: map[Expr]Expr{}}
		switch is := *t.info(s); is.form {
		case between:
			moved = to.betweenCharacters(m.move(Expr(is.what)), is.decoder)
		case escape:
			is.what = int32(m.move(Expr(is.what)))
			moved = to.internState(is)
		default:
			r := t.remainders[is.what]
			moved = to.withinCharacter(is.form, is.decoder, remainder{near: m.targets(r.near), far: m.targets(r.far)})
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
	if x < m.from.base || !m.to.Spend(1) {
		return x
	}
	if y, known := m.known[x]; known {
		return y
	}
	n := *m.from.at(x)
	y := Nothing
	switch n.kind {
	case machine:
		y = m.to.machineState(n.a, n.b)
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
