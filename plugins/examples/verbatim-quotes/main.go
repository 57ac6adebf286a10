// SPDX-License-Identifier: MIT

// Command verbatim-quotes is a plugin: what the answer has in quotation marks stands, word for
// word, in the prompt or in documents.
package main

import (
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[verbatim](penstock.Manifest{
	Name:     "verbatim-quotes",
	Version:  "1.0.0",
	Summary:  "only lets the answer quote what stands in the prompt, or in documents, word for word",
	Hold:     1,
	TakeBack: 1000,
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"documents": {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 200000}, "default": [], "description": "what may be quoted; without any it is the prompt"},
			"pairs": {"type": "array", "maxItems": 8, "items": {"type": "string", "minLength": 2, "maxLength": 2}, "default": ["\"\"", "“”"], "title": "Quotation marks", "description": "each pair: the mark that opens and the one that closes"},
			"lines": {"type": "boolean", "default": false, "description": "lines that begin with > are quotes too"},
			"whole_words": {"type": "boolean", "default": true, "description": "a quote does not end inside a word"}
		}
	}`,
})

func main() {}

// verbatim is the plugin in one request.
type verbatim struct {
	vocabulary vocabulary
	machine    machine
	opening    []penstock.Token // those in which a quote is opened
	calm       []uint32         // the mask outside of quotes
	opened     [][]uint32       // the mask at the beginning of a quote, for each pair of marks

	states  []state // after each token of the answer
	content bool    // the answer is in its content, in which quotes count
	strict  bool    // the next token is to fit whatever part it is in
	shows   bool    // the mask is calm
	prompt  int
	history []penstock.Token
}

// Warm implements penstock.Warmer.
func (q *verbatim) Warm(v *penstock.Vocabulary) error {
	q.vocabulary = sorted(v)
	return nil
}

// Plan implements penstock.Planner: documents are indexed once.
func (q *verbatim) Plan(config json.Value, _ *penstock.Plan) error {
	q.machine.marks = readMarks(config)
	q.opening = q.vocabulary.opening(&q.machine)
	documents := config.Get("documents")
	if documents.Len() == 0 {
		return nil
	}
	var text normal
	for i := range documents.Len() {
		text.add([]byte(documents.At(i).Text()))
		text.separate()
	}
	return q.index(text)
}

// index makes a text what may be quoted.
func (q *verbatim) index(text normal) error {
	if n := len(text.bytes); n > largest {
		return errors.New("what may be quoted has " + strconv.Itoa(n) + " bytes, and at most " + strconv.Itoa(largest) +
			" can be searched; shorten the prompt, or give what may be quoted in config.documents")
	}
	m := &q.machine
	m.source = newSource(text.bytes)
	q.calm = q.vocabulary.outside(m, q.opening)
	for i := range m.pairs {
		q.opened = append(q.opened, make([]uint32, len(q.calm)))
		q.vocabulary.inside(m, m.opened(i), q.opened[i])
	}
	return nil
}

// Open implements penstock.Opener.
func (q *verbatim) Open(r *penstock.Request) error {
	q.prompt = r.PromptTokens
	if q.machine.pairs == nil { // an older host does not plan
		if err := q.Plan(r.Config, nil); err != nil {
			return err
		}
	}
	if q.machine.source != nil {
		return nil
	}
	var text normal
	q.history = penstock.HistoryFrom(0, q.history)
	for _, t := range q.history[:min(q.prompt, len(q.history))] {
		if piece := q.vocabulary.pieces.Piece(t); len(piece) > 0 {
			text.add(piece)
		} else {
			text.separate()
		}
	}
	return q.index(text)
}

// now is where the answer stands.
func (q *verbatim) now() state {
	if len(q.states) == 0 {
		return start
	}
	return q.states[len(q.states)-1]
}

// inContent reports whether the answer is in its content, as far as the host can tell.
func inContent() bool {
	part := penstock.AnswerPart()
	return part == penstock.Content || part == penstock.UnknownPart
}

// Prepare implements penstock.Preparer.
func (q *verbatim) Prepare(next *penstock.Next) {
	q.content = inContent()
	if !q.content && !q.strict {
		return
	}
	mask, now := next.Mask().Words(), q.now()
	m := &q.machine
	if now.pair == none {
		if !q.shows {
			copy(mask, q.calm)
		}
		q.shows = !q.vocabulary.afterPart(m, now, mask)
		return
	}
	q.shows = false
	if now == m.opened(int(now.pair)) {
		copy(mask, q.opened[now.pair])
		return
	}
	clear(mask)
	if q.vocabulary.inside(m, now, mask) {
		return
	}
	penstock.Log(penstock.Warn, "no token goes on with a quote; the answer ends in it")
	for _, s := range []penstock.Special{penstock.EOS, penstock.EOT} {
		if end, ok := penstock.SpecialToken(s); ok {
			next.Mask().Allow(end)
		}
	}
}

// Accept implements penstock.Accepter. A token that does not fit was put in by others, or it is the
// first of the content, which was chosen as a part of the reasoning: such a one is drawn again.
func (q *verbatim) Accept(t penstock.Token) penstock.Accepted {
	before := max(0, penstock.HistoryLen()-q.prompt-1)
	q.states = q.states[:min(len(q.states), before)]
	for len(q.states) < before {
		q.states = append(q.states, q.now())
	}
	now, strict := q.now(), q.strict
	q.strict = false
	if !q.content && !inContent() {
		q.states = append(q.states, start)
		return penstock.Continue
	}
	m := &q.machine
	for _, c := range q.vocabulary.pieces.Piece(t) {
		var ok bool
		if now, ok = m.step(now, c); ok {
			continue
		}
		if !strict && !q.content {
			q.strict = true
			return penstock.Splice(1)
		}
		penstock.Log(penstock.Warn, "another plugin or the client put something into a quote that is not in its source")
		now = start
	}
	q.states = append(q.states, now)
	return penstock.Continue
}

// Rewind implements penstock.Rewinder.
func (q *verbatim) Rewind(n int) error {
	q.states = q.states[:min(len(q.states), max(0, n-q.prompt))]
	q.strict = false
	return nil
}

// readMarks reads the quotation marks.
func readMarks(config json.Value) marks {
	m := marks{whole: config.Get("whole_words").Bool(), pairs: []pair{}}
	list := config.Get("pairs")
	for i := range list.Len() {
		text := list.At(i).Text()
		_, size := utf8.DecodeRuneInString(text)
		m.pairs = append(m.pairs, pair{text[:size], text[size:]})
	}
	if config.Get("lines").Bool() {
		m.pairs = append(m.pairs, pair{"\n>", "\n"})
	}
	return m
}

// marks are the quotation marks that count.
type marks struct {
	pairs []pair
	whole bool // a quote does not end inside a word
}

// pair are the mark that opens a quote and the one that closes it, at most 4 bytes each.
type pair struct{ open, close string }

// none is the pair of a text outside of quotes.
const none = -1

// state is where a text stands, after any of its bytes: a mark, or a character, may be incomplete.
type state struct {
	places  places // in a quote: where it stands in the source; none if the bytes of closing do not
	tail    uint32 // outside: the last bytes
	pair    int8   // the quote's; none
	spaces  int8   // white space at its end
	closing int8   // bytes of the closing mark at its end
	closes  bool   // the quote may end there
}

// start is before the first character, where a line begins.
var start = state{pair: none, tail: '\n'}

// mostSpaces bounds white space inside a quote, which the source has once.
const mostSpaces = 8

// machine reads texts byte by byte.
type machine struct {
	marks
	source *source
}

// opened is at the beginning of a quote.
func (m *machine) opened(pair int) state { return state{pair: int8(pair), places: m.source.all()} }

// step reads a byte. It returns false if the text then has a quote that is not in the source.
func (m *machine) step(s state, c byte) (state, bool) { return m.stepFrom(s, c, s.places.lo) }

// stepFrom is step where none of the places before from has the byte.
func (m *machine) stepFrom(s state, c byte, from int32) (state, bool) {
	if s.pair == none {
		s.tail = s.tail<<8 | uint32(c)
		for i := range m.pairs {
			if endsWith(s.tail, m.pairs[i].open) {
				s = m.opened(i)
				return s, !s.places.none()
			}
		}
		return s, true
	}
	mark := m.pairs[s.pair].close
	if s.closing > 0 && mark[s.closing] != c {
		s.closing = 0
	}
	if mark[s.closing] == c {
		if s.closing == 0 {
			s.closes = m.mayEnd(s.places, s.spaces)
		}
		if s.closing++; int(s.closing) == len(mark) {
			return state{pair: none, tail: uint32(c)}, s.closes
		}
	}
	switch {
	case !isSpace(c):
		inside := s.places.length == 0 && !utf8.RuneStart(c) // of a character
		s.places, s.spaces = m.source.with(s.places, c, from), 0
		if c == 0 || inside {
			s.places.hi = s.places.lo
		}
	case s.places.length == 0 || s.spaces > 0: // as if it were not there
		if s.spaces++; s.spaces > mostSpaces {
			s.places.hi = s.places.lo
		}
	default:
		s.places, s.spaces = m.source.with(s.places, ' ', from), 1
	}
	return s, s.closing > 0 || !s.places.none()
}

// mayEnd reports whether a quote may end.
func (m *machine) mayEnd(p places, spaces int8) bool {
	return !p.none() && p.length > 0 && (spaces > 0 || m.source.last(p) != utf8.RuneError && (!m.whole || m.source.endsWord(p)))
}

// endsWith reports whether the last bytes are a mark.
func endsWith(tail uint32, mark string) bool {
	for i := len(mark) - 1; i >= 0; i-- {
		if byte(tail) != mark[i] {
			return false
		}
		tail >>= 8
	}
	return true
}
