// SPDX-License-Identifier: MIT

package grammar

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// STAND-IN
var standIn = map[lexeme.Expr]string{}

type lexers struct {
	progs []*syntax.Prog
	keys  map[string]int32
	sets  []standSet
}
type standSet struct {
	prog    int
	pcs     []int
	partial string
	rest    int
}

func newLexers(b *Builder) (*lexers, []wordStart, []int, error) {
	l := &lexers{keys: map[string]int32{}, sets: []standSet{{}}}
	var starts []wordStart
	var lengths []int
	for _, w := range b.lexemes {
		re, err := syntax.Parse("(?s:"+standIn[w.is]+")", syntax.Perl)
		if err != nil {
			return nil, nil, nil, err
		}
		p, err := syntax.Compile(re.Simplify())
		if err != nil {
			return nil, nil, nil, err
		}
		l.progs = append(l.progs, p)
		k := len(l.progs) - 1
		at := l.intern(k, l.closure(k, []int{p.Start}), "")
		starts = append(starts, wordStart{int32(k), at})
		lengths = append(lengths, l.rest(int32(k), at))
	}
	return l, starts, lengths, nil
}

func (l *lexers) closure(k int, pcs []int) []int {
	seen := map[int]bool{}
	var out []int
	for len(pcs) > 0 {
		pc := pcs[len(pcs)-1]
		pcs = pcs[:len(pcs)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &l.progs[k].Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			pcs = append(pcs, int(in.Out), int(in.Arg))
		case syntax.InstNop, syntax.InstCapture, syntax.InstEmptyWidth:
			pcs = append(pcs, int(in.Out))
		case syntax.InstFail:
		default:
			out = append(out, pc)
		}
	}
	slices.Sort(out)
	return out
}

func (l *lexers) intern(k int, pcs []int, partial string) int32 {
	if len(pcs) == 0 {
		return 0
	}
	key := fmt.Sprint(k, pcs, partial)
	if at, ok := l.keys[key]; ok {
		return at
	}
	l.sets = append(l.sets, standSet{prog: k, pcs: pcs, partial: partial, rest: -1})
	l.keys[key] = int32(len(l.sets) - 1)
	return int32(len(l.sets) - 1)
}

func (l *lexers) step(_, at int32, b byte) (int32, error) {
	s := l.sets[at]
	text := s.partial + string([]byte{b})
	if !utf8.FullRuneInString(text) {
		if len(s.partial) > 0 || b >= 0xc2 && b < 0xf5 {
			// stand-in: any wide class
			wide := false
			for _, pc := range s.pcs {
				in := &l.progs[s.prog].Inst[pc]
				wide = wide || in.Op != syntax.InstMatch && in.MatchRune('é')
			}
			if !wide {
				return 0, nil
			}
			return l.intern(s.prog, s.pcs, text), nil
		}
		return 0, nil
	}
	r, size := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && size <= 1 {
		return 0, nil
	}
	var to []int
	for _, pc := range s.pcs {
		if in := &l.progs[s.prog].Inst[pc]; in.Op != syntax.InstMatch && in.MatchRune(r) {
			to = append(to, int(in.Out))
		}
	}
	return l.intern(s.prog, l.closure(s.prog, to), ""), nil
}

func (l *lexers) accepts(_, at int32) bool {
	s := &l.sets[at]
	return s.partial == "" && slices.ContainsFunc(s.pcs, func(pc int) bool { return l.progs[s.prog].Inst[pc].Op == syntax.InstMatch })
}

func (l *lexers) rest(a, at int32) int {
	dist := map[int32]int{at: 0}
	open := []int32{at}
	for len(open) > 0 {
		q := open[0]
		open = open[1:]
		if l.accepts(a, q) {
			return dist[q]
		}
		for b := range 256 {
			if to, _ := l.step(a, q, byte(b)); to != 0 {
				if _, ok := dist[to]; !ok {
					dist[to] = dist[q] + 1
					open = append(open, to)
				}
			}
		}
	}
	return never
}
