// SPDX-License-Identifier: MIT

package draft

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// drafted asks for a draft after a context.
func drafted(l *Lookup, request uint64, most int, context ...Token) ([]Token, int) {
	a := &Ask{Request: request, Context: context, Most: most}
	l.Draft([]*Ask{a})
	return a.Draft, a.Grade
}

func TestLookup_Draft_GoesOnAsBefore(t *testing.T) {
	for name, c := range map[string]struct {
		context, want []Token
		grade         int
	}{
		"nothing before":      {[]Token{1, 2, 3, 4, 5}, nil, 0},
		"too short":           {[]Token{1, 2}, nil, 0},
		"empty":               {nil, nil, 0},
		"as before":           {[]Token{9, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3}, []Token{4, 5, 6, 7}, 0},
		"the longer match":    {[]Token{8, 1, 2, 3, 4, 4, 4, 4, 7, 1, 2, 3, 5, 5, 5, 5, 8, 1, 2, 3}, []Token{4, 4, 4, 4}, 1},
		"the later of equals": {[]Token{8, 1, 2, 3, 4, 4, 4, 4, 7, 1, 2, 3, 5, 5, 5, 5, 6, 1, 2, 3}, []Token{5, 5, 5, 5}, 0},
		"a text that repeats": {[]Token{5, 1, 2, 1, 2, 1, 2}, []Token{1, 2, 1, 2}, 1},
		"one token":           {[]Token{7, 7, 7, 7, 7, 7, 7, 7, 7, 7}, []Token{7, 7, 7, 7}, 2},
	} {
		got, grade := drafted(NewLookup(3), 1, 4, c.context...)
		if !slices.Equal(got, c.want) || len(got) > 0 && grade != c.grade {
			t.Errorf("%s: %v of grade %d, want %v of %d", name, got, grade, c.want, c.grade)
		}
	}
}

// However the context grows, is cut, changes or is another request's, the drafts are those of an
// index made for it alone.
func TestLookup_Draft_FollowsAnyChange(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l, context, request := NewLookup(1+rng.IntN(4)), []Token(nil), uint64(1)
		for range 300 {
			switch rng.IntN(12) {
			case 0:
				context = slices.Clone(context[:rng.IntN(len(context)+1)])
			case 1:
				request++
				context = nil
			case 2:
				if len(context) > 2 { // a splice
					context[len(context)-1-rng.IntN(2)] = Token(rng.IntN(4))
				}
			case 3: // a shift
				context = slices.Clone(context[rng.IntN(len(context)+1)/2:])
				request++
			}
			for range rng.IntN(20) {
				context = append(context, Token(rng.IntN(4)))
			}
			got, grade := drafted(l, request, 8, context...)
			want, wantGrade := drafted(NewLookup(l.least), 1, 8, context...)
			if !slices.Equal(got, want) || len(got) > 0 && grade != wantGrade {
				t.Fatalf("seed %d: after %v %v of grade %d, alone %v of %d", seed, context, got, grade, want, wantGrade)
			}
		}
	}
}

// Once an index has its memory, a token costs none.
func TestLookup_Draft_AllocatesNothing(t *testing.T) {
	l, context := NewLookup(3), make([]Token, 0, 4000)
	for i := range 2000 {
		context = append(context, Token(i*i%97))
	}
	a := &Ask{Request: 1, Context: context, Most: 16}
	asks := []*Ask{a}
	l.Draft(asks)
	if n := testing.AllocsPerRun(1000, func() {
		context = append(context, Token(len(context)*len(context)%97))
		a.Context, a.Draft = context, a.Draft[:0]
		l.Draft(asks)
	}); n > 0.05 { // two slices double in between
		t.Errorf("%v allocations a token", n)
	}
}

// BenchmarkLookup is what a token costs in a context of 8,000.
func BenchmarkLookup(b *testing.B) {
	l, context := NewLookup(3), make([]Token, 0, 16000)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 8000 {
		context = append(context, Token(rng.ExpFloat64()*300))
	}
	a := &Ask{Request: 1, Context: context, Most: 16}
	asks := []*Ask{a}
	b.ReportAllocs()
	for i := range b.N {
		if i%8000 == 0 {
			context = context[:8000]
		}
		context = append(context, Token(rng.ExpFloat64()*300))
		a.Context, a.Draft = context, a.Draft[:0]
		l.Draft(asks)
	}
}
