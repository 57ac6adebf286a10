// SPDX-License-Identifier: MIT

package lexeme

// step is where sixteen bytes lead, of which the first is given.
func (t *Automata) step(s State, from byte) block {
	var b block
	is := *t.info(s)
	for i := range b {
		c := from + byte(i)
		switch {
		case is.form == between:
			b[i] = t.stepBetween(Expr(is.what), is.decoder, c)
		case is.form <= third:
			b[i] = t.stepContinued(is, c)
		case is.form == escape:
			b[i] = t.stepEscape(Expr(is.what), is.decoder, c)
		default:
			b[i] = t.stepHex(is, c)
		}
	}
	return b
}

// stepBetween reads the first byte of a character.
func (t *Automata) stepBetween(x Expr, d Decoder, c byte) State {
	next := t.next(x)
	if d == JSONString {
		switch {
		case c < 0x20 || c == '"':
			return Dead
		case c == '\\':
			if !anyLive(next) {
				return Dead
			}
			return t.number(state{form: escape, decoder: d, what: int32(x)})
		}
	}
	switch {
	case c < 0x80:
		return t.boundary(next.by(rune(c)), d)
	case c < 0xC2 || c > 0xF4:
		return Dead
	case c < 0xE0:
		return t.within(first, d, rest{near: targets(next, int32(c&0x1F)<<6, 1<<6)})
	case c < 0xF0:
		near := targets(next, int32(c&0x0F)<<12, 1<<12)
		if c == 0xE0 {
			near = without(near, 0, 0x800, 1<<12)
		}
		if c == 0xED { // surrogates are no characters
			near = without(near, firstSurrogate&0xFFF, 0x800, 1<<12)
		}
		return t.within(second, d, rest{near: near})
	}
	near := targets(next, int32(c&0x07)<<18, 1<<18)
	if c == 0xF0 {
		near = without(near, 0, 1<<16, 1<<18)
	}
	if c == 0xF4 {
		near = without(near, 1<<16, 3<<16, 1<<18)
	}
	return t.within(third, d, rest{near: near})
}

func anyLive(d derivative) bool {
	for _, x := range d.next {
		if x != Nothing {
			return true
		}
	}
	return false
}

// stepContinued reads one of the other bytes of a character in UTF-8.
func (t *Automata) stepContinued(is state, c byte) State {
	if c&0xC0 != 0x80 {
		return Dead
	}
	near := t.rests[is.what].near
	if is.form == first {
		return t.boundary(cutOut(near, int32(c&0x3F), 1)[0].to, is.decoder)
	}
	size := int32(1) << (6 * (is.form - first))
	return t.within(is.form-1, is.decoder, rest{near: cutOut(near, int32(c&0x3F)*size, size)})
}

// meant are the characters of escapes of one letter.
var meant = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// stepEscape reads what follows a backslash.
func (t *Automata) stepEscape(x Expr, d Decoder, c byte) State {
	next := t.next(x)
	if r, ok := meant[c]; ok {
		return t.boundary(next.by(r), d)
	}
	if c != 'u' {
		return Dead
	}
	near := without(targets(next, 0, 1<<16), firstSurrogate, 0x800, 1<<16)
	return t.within(hex4, d, rest{near: near, far: targets(next, 1<<16, 1<<20)})
}

// stepHex reads a character of \u0000 that is no letter u of its beginning.
func (t *Automata) stepHex(is state, c byte) State {
	r := t.rests[is.what]
	switch is.form {
	case pairSlash, pairU:
		if is.form == pairSlash && c == '\\' {
			return t.within(pairU, is.decoder, r)
		}
		if is.form == pairU && c == 'u' {
			return t.within(pairHex4, is.decoder, r)
		}
		return Dead
	}
	v, ok := hexValue(c)
	if !ok {
		return Dead
	}
	if is.form >= pairHex1 {
		return t.stepPair(is, r.near, v)
	}
	digits := is.form - hex1 // after this one
	size := int32(1) << (4 * digits)
	near := cutOut(r.near, v*size, size)
	far := r.far
	switch {
	case far == nil:
	case is.form == hex4 && v == 0xD: // the first half of a pair is 0xD800 to 0xDBFF
	case is.form == hex3 && v >= 8 && v < 0xC:
		far = cutOut(far, (v-8)<<18, 1<<18)
	case is.form <= hex2:
		far = cutOut(far, v*size<<10, size<<10)
	default:
		far = nil
	}
	switch {
	case digits > 0:
		return t.within(is.form-1, is.decoder, rest{near: near, far: far})
	case far != nil:
		return t.within(pairSlash, is.decoder, rest{near: far})
	}
	return t.boundary(near[0].to, is.decoder)
}

// stepPair reads a digit of the second half of a pair, which is 0xDC00 to 0xDFFF.
func (t *Automata) stepPair(is state, near []target, v int32) State {
	switch is.form {
	case pairHex4:
		if v != 0xD {
			return Dead
		}
	case pairHex3:
		if v < 0xC {
			return Dead
		}
		near = cutOut(near, (v-0xC)<<8, 1<<8)
	case pairHex2:
		near = cutOut(near, v<<4, 1<<4)
	default:
		return t.boundary(cutOut(near, v, 1)[0].to, is.decoder)
	}
	return t.within(is.form-1, is.decoder, rest{near: near})
}

func hexValue(c byte) (int32, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int32(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int32(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int32(c-'A') + 10, true
	}
	return 0, false
}
