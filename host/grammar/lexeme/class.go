// SPDX-License-Identifier: MIT

package lexeme

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

const (
	maxRune                       = 0x10FFFF
	firstSurrogate, lastSurrogate = 0xD800, 0xDFFF
)

// Range is characters from Low to High, both among them.
type Range struct{ Low, High rune }

// Normal sorts ranges and joins those that touch. Surrogates and what is beyond Unicode goes. What
// is so already is returned as it is.
func Normal(ranges []Range) []Range {
	if isNormal(ranges) {
		return ranges
	}
	all := make([]Range, 0, len(ranges)+1)
	for _, r := range ranges {
		r.Low, r.High = max(r.Low, 0), min(r.High, maxRune)
		if r.Low < firstSurrogate && r.High > lastSurrogate {
			all = append(all, Range{r.Low, firstSurrogate - 1}, Range{lastSurrogate + 1, r.High})
			continue
		}
		if r.Low >= firstSurrogate && r.Low <= lastSurrogate {
			r.Low = lastSurrogate + 1
		}
		if r.High >= firstSurrogate && r.High <= lastSurrogate {
			r.High = firstSurrogate - 1
		}
		if r.Low <= r.High {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(x, y Range) int { return cmp.Compare(x.Low, y.Low) })
	out := all[:0]
	for _, r := range all {
		if last := len(out) - 1; last >= 0 && r.Low <= out[last].High+1 {
			out[last].High = max(out[last].High, r.High)
		} else {
			out = append(out, r)
		}
	}
	return out
}

func isNormal(ranges []Range) bool {
	next := rune(0)
	for _, r := range ranges {
		if r.Low < next || r.High < r.Low || r.High > maxRune || r.High >= firstSurrogate && r.Low <= lastSurrogate {
			return false
		}
		next = r.High + 2
	}
	return true
}

// Complement is the characters that are in none of the ranges.
func Complement(ranges []Range) []Range {
	var out []Range
	next := rune(0)
	for _, r := range Normal(ranges) {
		if next < r.Low {
			out = append(out, Range{next, r.Low - 1})
		}
		next = r.High + 1
	}
	return Normal(append(out, Range{next, maxRune}))
}

// Intersect is the characters that are in a range of both.
func Intersect(x, y []Range) []Range {
	x, y = Normal(x), Normal(y)
	var out []Range
	for len(x) > 0 && len(y) > 0 {
		if low, high := max(x[0].Low, y[0].Low), min(x[0].High, y[0].High); low <= high {
			out = append(out, Range{low, high})
		}
		if x[0].High < y[0].High {
			x = x[1:]
		} else {
			y = y[1:]
		}
	}
	return out
}

// Class is one character that lies in a range.
func (a *Arena) Class(ranges ...Range) Expr {
	all := Normal(ranges)
	if len(all) == 0 {
		return Nothing
	}
	return a.intern(node{kind: class}, nil, all)
}

// Text is one text, in UTF-8. Bytes that are none are U+FFFD.
func (a *Arena) Text(s string) Expr {
	if 2*len(s)/utf8.UTFMax > a.left { // the steps of its characters, at least
		a.spend(len(s))
		return Nothing
	}
	all := []rune(s) // no surrogates are among them
	x := Empty
	for _, r := range slices.Backward(all) {
		if a.err != nil {
			return Nothing
		}
		x = a.then(a.intern(node{kind: class}, nil, []Range{{r, r}}), x)
	}
	return x
}
