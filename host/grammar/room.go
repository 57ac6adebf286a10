// SPDX-License-Identifier: MIT

package grammar

// roomKey is a state of an automaton, of which it is known how many characters of an alphabet fit.
type roomKey struct {
	automaton, at int32
	of            alphabet
}

// known is what is known of it.
type known struct {
	after       []int32 // the states after one character; nil: some character does not fit
	least, most int     // so many characters fit surely, more than so many do not
}

// enough is as much room as any slice needs.
const enough = 32

// room is for each alphabet how many of its characters fit surely, whichever they are; any reports whether some do.
func (g *Grammar) room(n *node, w *work) (most [alphabets]int, any bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range n.pairs {
		p := &n.pairs[i]
		if p.automaton < 0 {
			continue
		}
		for of := range alphabets {
			key := roomKey{p.automaton, p.at, of}
			for _, length := range sliceLengths {
				if length <= most[of] {
					continue
				}
				ok, err := g.fits(key, length, w)
				if err != nil {
					return most, false, err
				}
				if !ok {
					break
				}
				most[of], any = length, true
			}
		}
	}
	return most, any, nil
}

// fits reports whether any so many characters of an alphabet fit.
func (g *Grammar) fits(key roomKey, length int, w *work) (bool, error) {
	k := g.table.rooms[key]
	if k == nil {
		after, err := g.successors(key, w)
		if err != nil {
			return false, err
		}
		k = &known{after: after, most: enough}
		if after == nil {
			k.most = 0
		}
		g.table.rooms[key] = k
		g.table.bytes += 120 + 4*len(after)
	}
	for k.least < length && length <= k.most {
		for _, at := range k.after {
			if err := w.spend(1); err != nil {
				return false, err
			}
			ok, err := true, error(nil)
			if k.least > 0 {
				ok, err = g.fits(roomKey{key.automaton, at, key.of}, k.least, w)
			}
			if err != nil {
				return false, err
			}
			if !ok {
				k.most = k.least
				return false, nil
			}
		}
		k.least++
	}
	return length <= k.least, nil
}

// successors are the states after one character of an alphabet, whichever it is; nil where one does not fit.
func (g *Grammar) successors(key roomKey, w *work) ([]int32, error) {
	s := successors{g: g, automaton: key.automaton, w: w, seen: map[int32]bool{}}
	ok := true
	switch key.of {
	case digits:
		ok = s.bytes(key.at, '0', '9')
	case letters:
		ok = s.bytes(key.at, 'a', 'z') && s.bytes(key.at, 'A', 'Z')
	default:
		ok = s.bytes(key.at, ' ', '!') && s.bytes(key.at, '#', '[') && s.bytes(key.at, ']', '~')
	}
	if key.of == plain {
		ok = ok && s.through(key.at, 0xc2, 0xdf, [][2]byte{{0x80, 0xbf}}) &&
			s.through(key.at, 0xe0, 0xe0, [][2]byte{{0xa0, 0xbf}, {0x80, 0xbf}}) &&
			s.through(key.at, 0xe1, 0xec, [][2]byte{{0x80, 0xbf}, {0x80, 0xbf}}) &&
			s.through(key.at, 0xed, 0xed, [][2]byte{{0x80, 0x9f}, {0x80, 0xbf}}) &&
			s.through(key.at, 0xee, 0xef, [][2]byte{{0x80, 0xbf}, {0x80, 0xbf}}) &&
			s.through(key.at, 0xf0, 0xf0, [][2]byte{{0x90, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}) &&
			s.through(key.at, 0xf1, 0xf3, [][2]byte{{0x80, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}) &&
			s.through(key.at, 0xf4, 0xf4, [][2]byte{{0x80, 0x8f}, {0x80, 0xbf}, {0x80, 0xbf}})
	}
	if s.err != nil || !ok {
		return nil, s.err
	}
	return s.found, nil
}

// successors collects states.
type successors struct {
	g         *Grammar
	automaton int32
	w         *work
	seen      map[int32]bool
	found     []int32
	err       error
}

// step is the state after a byte, or 0.
func (s *successors) step(at int32, b byte) int32 {
	if s.err = s.w.spend(1); s.err != nil {
		return 0
	}
	to, err := s.g.lexers.step(s.automaton, at, b)
	s.err = err
	return to
}

// bytes adds the states after each of some bytes; false where one does not fit.
func (s *successors) bytes(at int32, low, high byte) bool {
	for b := int(low); b <= int(high); b++ {
		to := s.step(at, byte(b))
		if to == 0 {
			return false
		}
		if !s.seen[to] {
			s.seen[to] = true
			s.found = append(s.found, to)
		}
	}
	return true
}

// through adds the states after one of some first bytes and then some of each range.
func (s *successors) through(at int32, low, high byte, then [][2]byte) bool {
	var last int32
	for b := int(low); b <= int(high); b++ {
		to := s.step(at, byte(b))
		if to == 0 {
			return false
		}
		if to == last {
			continue // as the byte before
		}
		last = to
		if len(then) == 1 && !s.bytes(to, then[0][0], then[0][1]) {
			return false
		}
		if len(then) > 1 && !s.through(to, then[0][0], then[0][1], then[1:]) {
			return false
		}
	}
	return true
}
