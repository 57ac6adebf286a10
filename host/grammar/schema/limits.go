// SPDX-License-Identifier: MIT

package schema

import "github.com/penstock/penstock/host/grammar/lexeme"

// limits is how many characters a string has, members an object, or items a list.
type limits struct{ least, most int }

// limitless is any number.
var limitless = limits{most: lexeme.Unbounded}

// never reports whether no number is within the limits.
func (l limits) never() bool { return above(l.least, l.most) }

func characters(s *shape) *limits  { return &s.length }
func memberCount(s *shape) *limits { return &s.members.limits }
func itemCount(s *shape) *limits   { return &s.sequences.limits }

// least is a word, as minLength, that says how many there are at least in values of a kind.
func least(name string, of kind, in func(*shape) *limits) word {
	hold := func(_ *reader, s *shape, at *value) error {
		n, err := whole(at.member(name))
		in(s).least = max(in(s).least, n)
		return err
	}
	deny := func(_ *reader, s *shape, at *value) error {
		n, err := whole(at.member(name))
		if s.only(of); n == 0 {
			s.kinds = 0
		}
		in(s).most = lower(in(s).most, max(n-1, 0))
		return err
	}
	return word{names: []string{name}, hold: each(hold), deny: each(deny)}
}

// most is a word, as maxLength, that says how many there are at most.
func most(name string, of kind, in func(*shape) *limits) word {
	hold := func(_ *reader, s *shape, at *value) error {
		n, err := atMost(at.member(name))
		in(s).most = lower(in(s).most, n)
		return err
	}
	deny := func(_ *reader, s *shape, at *value) error {
		n, err := whole(at.member(name))
		s.only(of)
		in(s).least = max(in(s).least, n+1)
		return err
	}
	return word{names: []string{name}, hold: each(hold), deny: each(deny)}
}
